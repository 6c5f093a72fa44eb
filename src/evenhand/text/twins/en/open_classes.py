"""Nouns, verbs and adjectives behind *her*, and what they tell about it."""

from __future__ import annotations

from evenhand.text.twins.en import grammar
from evenhand.text.twins.en.lexicon import Class, classes_of, verb_lemma
from evenhand.text.twins.en.phrases import (
    head_of,
    leads_to_noun,
    may_be_noun,
    may_describe,
)
from evenhand.text.twins.en.readings import Place, Reading, object_if, possessive_if
from evenhand.text.twins.tokens import NOTHING
from evenhand.text.twins.word_lists import word_set

_OBJECTS = word_set("a an the my your our their its it them me us him himself herself")
_GREETINGS = word_set("day night morning evening afternoon luck bye")


def open_class_reading(place: Place) -> Reading:
    """What *her* is before a noun, verb or adjective."""
    word = place.after().lower
    classes = classes_of(word)
    if _is_phrase_of_manner(place):
        return Reading.OBJECT
    if word in grammar.COUNTED_NOUNS:
        return _before_counted_noun(place)
    if classes & Class.ING:
        return _before_ing(place)
    if classes & Class.ADJECTIVE:
        return _before_adjective(place)
    if classes & Class.NOUN or not classes:
        return _before_noun(place)
    return _before_verb(place)


def _is_phrase_of_manner(place: Place) -> bool:
    """Phrases without an article that stand behind an object: kept her company, bade her farewell."""
    word, verb = place.after().lower, place.verb
    if word in grammar.TIMES and place.after(2).lower in ("ago", "before", "since", "later"):
        return verb is not None
    if word == "hand" and place.after(2).lower == "and" and place.after(3).lower == "foot":
        return True
    return (word in grammar.FAREWELLS and verb in ("bid", "wish", "kiss")) or (
        word == "company" and verb in ("keep", "bear")
    )


def _before_counted_noun(place: Place) -> Reading:
    """Kin and the body, which are nouns even where they could be verbs."""
    word, verb = place.after().lower, place.verb
    if verb in grammar.NAMING and verb != "make":
        return possessive_if(word in ("name", "attention") or verb in ("consider", "declare"))
    if verb == "make":
        plural = bool(classes_of(word) & Class.PLURAL)
        return possessive_if(plural or word in grammar.MADE_ONES)
    followed = place.after(2).lower in grammar.NOMINAL_STARTS
    if followed and verb in grammar.PERCEPTION_AND_CAUSE and classes_of(word) & Class.VERB:
        return Reading.UNCLEAR
    if (word == "answer" and verb in grammar.PERCEPTION_AND_CAUSE) or (
        word == "room" and verb in ("give", "allow")
    ):
        return Reading.UNCLEAR
    return Reading.POSSESSIVE


def _before_ing(place: Place) -> Reading:
    """*her trembling hands* is possessive; *kept her waiting* is not; of a gerund both are right."""
    word, verb = place.after().lower, place.verb
    is_noun = bool(classes_of(word) & Class.NOUN)
    if verb in grammar.WITH_PARTICIPLE:
        if may_be_noun(place.after(2)) or may_describe(place.after(2)):
            return possessive_if(word in grammar.SHINING and place.after(2).lower in grammar.COUNTED_NOUNS)
        return object_if(not is_noun or word in grammar.POSTURES)
    if is_noun and verb in grammar.GIVING - {"do"}:
        return Reading.UNCLEAR
    if place.before.lower in ("at", "against") and not is_noun and word not in grammar.POSTURES:
        return Reading.UNCLEAR
    if may_be_noun(place.after(2)) or is_noun or place.before is NOTHING or verb == "do":
        return Reading.POSSESSIVE
    if verb is not None or place.before.lower in ("with", "without"):
        return Reading.OBJECT
    if place.before.lower in grammar.LOCATIVES and not is_noun:
        return Reading.UNCLEAR
    if word in grammar.POSTURES and place.before.lower in ("at", "and"):
        return object_if(place.before.lower == "at")
    return possessive_if(place.follows_preposition)


def _before_adjective(place: Place) -> Reading:
    """*her cold cheek* is possessive; *thought her clever* is not."""
    classes, verb = classes_of(place.after().lower), place.verb
    greeted = place.after().lower == "good" and place.after(2).lower in _GREETINGS
    if greeted and verb in ("wish", "bid", "kiss"):
        return Reading.OBJECT
    if leads_to_noun(place.tokens, place.at + 1):
        if verb in grammar.EVER_GIVING or verb in ("call", "name"):
            return possessive_if(head_of(place.tokens, place.at + 1).lower in grammar.COUNTED_NOUNS)
        infinitive = verb in grammar.PERCEPTION_AND_CAUSE and classes & Class.VERB
        return possessive_if(not infinitive)
    if classes & Class.NOUN:
        return possessive_if(verb not in grammar.COMPLEMENTED_OR_GIVING)
    if verb is None:
        return Reading.UNCLEAR
    return object_if(verb in grammar.WITH_COMPLEMENT or bool(classes & Class.ADVERB))


def _before_noun(place: Place) -> Reading:
    """*her laboratory* is possessive, but *saw her duck* and *gave her food* may be either."""
    word, verb = place.after().lower, place.verb
    classes = classes_of(word)
    may_act = classes & Class.FINITE and place.after(2).lower in grammar.NOMINAL_STARTS
    if verb is None:
        if _is_brought_along(place) or _opens_sentence(place):
            return Reading.UNCLEAR
        located = place.before.lower in grammar.LOCATIVES and classes & Class.PAST
        return possessive_if(not located and not (may_act and classes & Class.PAST))
    if verb == "make" and word in grammar.MADE_ONES:
        return Reading.POSSESSIVE
    if verb == "let" and word in grammar.ACTIONS:
        return Reading.OBJECT
    if verb in grammar.PERCEPTION_AND_CAUSE and classes & Class.VERB:
        return object_if(_has_object(place, 2))
    if verb in grammar.NAMING or verb in grammar.GIVING:
        return Reading.UNCLEAR
    if verb in grammar.SOMETIMES_GIVING and (word in grammar.MASS_NOUNS or classes & Class.PLURAL):
        return Reading.UNCLEAR
    return possessive_if(not may_act)


def _is_brought_along(place: Place) -> bool:
    """*brought with her tickets*, where the noun may be what is brought."""
    carried = verb_lemma(place.tokens[place.at - 2].lower) in ("bring", "take", "carry", "have", "draw")
    return carried and place.before.lower in ("with", "from", "to")


def _opens_sentence(place: Place) -> bool:
    """*For her marriage must mean rest*, where the noun may be the subject."""
    begins = place.before.lower in ("for", "to", "with") and place.tokens.begins(place.at - 1)
    return begins and place.after(2).lower in grammar.AUXILIARIES - {"'s"}


def _has_object(place: Place, distance: int) -> bool:
    """Whether a verb has its own object behind it, and not a time as in *every day*: watched her climb the wall."""
    first, second = place.after(distance).lower, place.after(distance + 1).lower
    timed = second in grammar.TIMES or second in grammar.ORDINALS or second in grammar.NUMERALS
    return first in _OBJECTS and not timed


def _before_verb(place: Place) -> Reading:
    """*her injured knee* is possessive; *let her come* is not."""
    classes, verb = classes_of(place.after().lower), place.verb
    if classes & Class.PAST and (may_be_noun(place.after(2)) or may_describe(place.after(2))):
        unsure = verb in grammar.COMPLEMENTED_OR_GIVING or verb in grammar.WITH_PARTICIPLE
        return possessive_if(not unsure and place.before.lower not in grammar.LOCATIVES)
    if classes & (Class.VERB | Class.THIRD_PERSON) and not classes & Class.PAST:
        return object_if(bool(classes & Class.VERB) and verb in grammar.PERCEPTION_AND_CAUSE)
    return object_if(verb is not None or place.follows_preposition)
