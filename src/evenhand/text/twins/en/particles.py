"""Words behind *her* that are adverbs in one sentence and nouns or adjectives in another: back, home, best, later."""

from __future__ import annotations

from evenhand.text.twins.en import grammar
from evenhand.text.twins.en.lexicon import Class, classes_of
from evenhand.text.twins.en.phrases import (
    is_open,
    leads_to_noun,
    may_be_noun,
    may_describe,
)
from evenhand.text.twins.en.readings import Place, Reading, object_if, possessive_if
from evenhand.text.twins.word_lists import word_set

_ADJECTIVE_LIKE = word_set(
    """
    near past inside outside round opposite then later earlier close right left better best present early
    late long straight high low little most more less least nearest dearest favourite favorite worst
    """
)
_ADVERB_LIKE = word_set(
    """
    far north south east west now once still just even down well much fast hard back home like half all
    first last next
    """
)
_ADJECTIVES = word_set("early late long close straight high low near round little")
_NOUN_LIKE = word_set(
    """
    past right left best worst back home present like better half all last next equal
    """
)
_AFTER_FAR = word_set("more less better from away beyond too into")
_AFTER_ALL = word_set("the his about that this he she day night")
_AFTER_MORE = word_set("than and for because in when as every")
_AT_HOME = word_set("door garden room town life pocket teeth country village")
_DONE = word_set("do try give look feel be see")
_HURT = word_set("hurt break injure strain scratch arch straighten rub bend hit")
_DWELLING = word_set("sell own lose build furnish return leave find buy rent share open enter")


def is_ambivalent(word: str) -> bool:
    """Whether a word is one of these."""
    return word in _ADJECTIVE_LIKE or word in _ADVERB_LIKE or word in ("every", "very", "only", "own")


def ambivalent_reading(place: Place) -> Reading:
    """What *her* is before such a word."""
    word = place.after().lower
    if word == "own":
        return Reading.POSSESSIVE
    if word == "every":
        return _before_every(place)
    if word == "far" and place.after(2).lower in _AFTER_FAR:
        return Reading.OBJECT
    if word == "like" and place.after(2).lower in grammar.NOMINAL_STARTS:
        return Reading.OBJECT
    if word in ("very", "only"):
        return _before_degree(place)
    if word in ("back", "home"):
        return _before_back_or_home(place)
    if word in ("first", "last", "next"):
        return _before_ordinal(place)
    if word in ("more", "less", "most", "least"):
        return _before_comparison(place)
    if word == "all":
        return object_if(place.after(2).lower in _AFTER_ALL)
    following = place.after(2)
    if is_open(following) and (may_be_noun(following) or may_describe(following)):
        return _before_phrase(place)
    if word in _ADJECTIVES and leads_to_noun(place.tokens, place.at + 1):
        return possessive_if(place.verb not in grammar.GIVING)
    return _at_end(place)


def _before_every(place: Place) -> Reading:
    """*her every movement* is possessive; *visits her every day* is not."""
    if place.after(2).lower in grammar.TIMES:
        return Reading.OBJECT
    return possessive_if(place.after(2).lower not in ("kind", "sort", "possible", "one"))


def _before_degree(place: Place) -> Reading:
    following = place.after(2)
    if following.lower in ("much", "well", "often", "soon", "once", "twice") or not is_open(following):
        return object_if(following.lower not in grammar.NUMERALS)
    classes = classes_of(following.lower)
    if classes == Class.ADVERB:
        return Reading.UNCLEAR if may_describe(place.after(3)) else Reading.OBJECT
    if may_be_noun(following) and not classes & Class.ADJECTIVE:
        return Reading.POSSESSIVE
    return possessive_if(leads_to_noun(place.tokens, place.at + 2))


def _before_back_or_home(place: Place) -> Reading:
    word, verb = place.after().lower, place.verb
    if place.after(2).lower in _AT_HOME:
        return Reading.POSSESSIVE
    if is_open(place.after(2)) and may_be_noun(place.after(2)) and verb:
        return Reading.UNCLEAR
    if verb is None:
        return possessive_if(
            place.follows_preposition or place.before.lower in ("and", "was", "is", "the", ",")
        )
    if word == "back" and verb == "turn":
        return possessive_if(place.after(2).lower in ("on", "to", "upon", "and", ",", "."))
    if verb in grammar.MOTIONS:
        return object_if(not classes_of(place.after(2).lower) & Class.PAST)
    return possessive_if(verb in (_HURT if word == "back" else _DWELLING))


def _before_ordinal(place: Place) -> Reading:
    following = place.after(2)
    if following.lower in grammar.NUMERALS:
        return possessive_if(place.verb not in grammar.GIVING)
    if following.lower in grammar.TIMES and place.after().lower != "first":
        return possessive_if(place.verb is None)
    if place.verb in grammar.GIVING and place.after().lower != "first":
        return Reading.UNCLEAR
    return possessive_if(may_be_noun(following) or may_describe(following))


def _before_comparison(place: Place) -> Reading:
    following = place.after(2)
    if not following.is_word or following.lower in _AFTER_MORE:
        return object_if(place.verb is not None)
    if may_describe(following) or classes_of(following.lower) == Class.ADVERB:
        possessive = leads_to_noun(place.tokens, place.at + 2)
        return possessive_if(possessive and place.verb not in grammar.WITH_COMPLEMENT)
    return Reading.UNCLEAR


def _before_phrase(place: Place) -> Reading:
    word = place.after().lower
    if place.verb is None:
        return possessive_if(word in _ADJECTIVE_LIKE or word in ("once", "still", "half", "well", "now"))
    if word == "little" and place.verb in grammar.EVER_GIVING:
        return possessive_if(place.after(2).lower in grammar.COUNTED_NOUNS)
    classes = classes_of(place.after(2).lower)
    if word in ("best", "better", "well", "most") and classes & Class.PAST:
        return Reading.UNCLEAR
    timed = place.after(2).lower in grammar.TIMES or classes & Class.ADVERB
    describes = word in _ADJECTIVE_LIKE and word != "then"
    return possessive_if(describes and not timed and place.verb not in grammar.GIVING)


def _at_end(place: Place) -> Reading:
    word = place.after().lower
    if place.verb is None:
        if place.follows_preposition:
            described = word in _ADJECTIVE_LIKE and place.after(2).text == ","
            return Reading.POSSESSIVE if word in _NOUN_LIKE else object_if(not described)
        return Reading.UNCLEAR
    if word == "fast" and place.verb == "break":
        return Reading.POSSESSIVE
    if word in ("best", "worst"):
        if place.verb in _DONE:
            return Reading.POSSESSIVE
        return object_if(place.verb in ("love", "like", "know", "remember"))
    if word in ("right", "left", "past", "present", "half", "like", "better"):
        following = place.after(2).lower
        compared = following in grammar.NOMINAL_STARTS or following == "than"
        return object_if(compared and word in ("past", "like", "better"))
    return Reading.OBJECT
