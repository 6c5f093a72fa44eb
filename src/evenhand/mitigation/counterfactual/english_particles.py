"""Words behind *her* that are adverbs in one sentence and nouns or adjectives in another: back, home, best, later."""

from __future__ import annotations

from evenhand.mitigation.counterfactual import english_grammar as grammar
from evenhand.mitigation.counterfactual.english_lexicon import Class, classes_of
from evenhand.mitigation.counterfactual.english_phrases import (
    is_open,
    leads_to_noun,
    may_be_noun,
    may_describe,
)
from evenhand.mitigation.counterfactual.english_readings import Place, Reading, as_object, of
from evenhand.mitigation.counterfactual.word_lists import word_set

_ADJECTIVE_LIKE = word_set(
    """
    near past inside outside round opposite then later earlier close right left better best present early
    late long straight high low little most more less least nearest dearest favourite favorite worst
    """
)
_ADVERB_LIKE = word_set(
    """
    now once still just even down well much fast hard back home like half all first last next
    """
)
_ADJECTIVES = word_set("early late long close straight high low near round little")
_NOUN_LIKE = word_set(
    """
    past right left best worst back home present like better half all last next equal
    """
)
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
        return as_object(certain=True) if place.after(2).lower in grammar.TIMES else Reading.POSSESSIVE
    if word in ("very", "only"):
        return _before_degree(place)
    if word in ("back", "home"):
        return _before_back_or_home(place)
    if word in ("first", "last", "next"):
        return _before_ordinal(place)
    if word in ("more", "less", "most", "least"):
        return _before_comparison(place)
    if word == "all":
        return as_object(
            certain=place.after(2).lower
            in ("the", "his", "about", "that", "this", "he", "she", "day", "night")
        )
    following = place.after(2)
    if is_open(following) and (may_be_noun(following) or may_describe(following)):
        return _before_phrase(place)
    if word in _ADJECTIVES and leads_to_noun(place.tokens, place.at + 1):
        return of(possessive=place.verb not in grammar.GIVING)
    return _at_end(place)


def _before_degree(place: Place) -> Reading:
    following = place.after(2)
    if following.lower in ("much", "well", "often", "soon", "once", "twice") or not is_open(following):
        return as_object(certain=following.lower not in grammar.NUMERALS)
    classes = classes_of(following.lower)
    if classes == Class.ADVERB:
        return Reading.UNCLEAR if may_describe(place.after(3)) else Reading.OBJECT
    if may_be_noun(following) and not classes & Class.ADJECTIVE:
        return Reading.POSSESSIVE
    return of(possessive=leads_to_noun(place.tokens, place.at + 2))


def _before_back_or_home(place: Place) -> Reading:
    word, verb = place.after().lower, place.verb
    if place.after(2).lower in (
        "door",
        "garden",
        "room",
        "town",
        "life",
        "pocket",
        "teeth",
        "country",
        "village",
    ):
        return Reading.POSSESSIVE
    if is_open(place.after(2)) and may_be_noun(place.after(2)) and verb:
        return Reading.UNCLEAR
    if verb is None:
        return of(
            possessive=place.follows_preposition or place.before.lower in ("and", "was", "is", "the", ",")
        )
    if word == "back" and verb == "turn":
        return of(possessive=place.after(2).lower in ("on", "to", "upon", "and", ",", "."))
    if verb in grammar.MOTIONS:
        return Reading.OBJECT
    return of(possessive=verb in (_HURT if word == "back" else _DWELLING))


def _before_ordinal(place: Place) -> Reading:
    following = place.after(2)
    if following.lower in grammar.NUMERALS:
        return of(possessive=place.verb not in grammar.GIVING)
    if following.lower in grammar.TIMES and place.after().lower != "first":
        return of(possessive=place.verb is None)
    if place.verb in grammar.GIVING and place.after().lower != "first":
        return Reading.UNCLEAR
    return of(possessive=may_be_noun(following) or may_describe(following))


def _before_comparison(place: Place) -> Reading:
    following = place.after(2)
    if not following.is_word or following.lower in (
        "than",
        "and",
        "for",
        "because",
        "in",
        "when",
        "as",
        "every",
    ):
        return as_object(certain=place.verb is not None)
    if may_describe(following) or classes_of(following.lower) == Class.ADVERB:
        possessive = leads_to_noun(place.tokens, place.at + 2)
        return of(possessive=possessive and place.verb not in grammar.WITH_COMPLEMENT)
    return Reading.UNCLEAR


def _before_phrase(place: Place) -> Reading:
    word = place.after().lower
    if place.verb is None:
        return of(possessive=word in _ADJECTIVE_LIKE or word in ("once", "still", "half", "well", "now"))
    if word == "little" and place.verb in grammar.GIVING | grammar.SOMETIMES_GIVING:
        return of(possessive=place.after(2).lower in grammar.COUNTED_NOUNS)
    timed = place.after(2).lower in grammar.TIMES
    return of(
        possessive=word in _ADJECTIVE_LIKE - {"then"} and not timed and place.verb not in grammar.GIVING
    )


def _at_end(place: Place) -> Reading:
    word = place.after().lower
    if place.verb is None:
        if place.follows_preposition:
            return of(possessive=True) if word in _NOUN_LIKE else Reading.OBJECT
        return Reading.UNCLEAR
    if word in ("best", "worst"):
        if place.verb in _DONE:
            return Reading.POSSESSIVE
        return as_object(certain=place.verb in ("love", "like", "know", "remember"))
    if word in ("right", "left", "past", "present", "half", "like", "better"):
        following = place.after(2).lower
        return as_object(
            certain=word in ("past", "like", "better") and following in grammar.NOMINAL_STARTS | {"than"}
        )
    return Reading.OBJECT
