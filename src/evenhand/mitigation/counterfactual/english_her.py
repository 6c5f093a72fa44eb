"""Whether *her* is *his* or *him*, read from the words around it, or not at all."""

from __future__ import annotations

from evenhand.mitigation.counterfactual import english_grammar as grammar
from evenhand.mitigation.counterfactual.english_lexicon import Class, classes_of
from evenhand.mitigation.counterfactual.english_particles import ambivalent_reading, is_ambivalent
from evenhand.mitigation.counterfactual.english_phrases import (
    head_of,
    is_open,
    leads_to_noun,
    may_be_noun,
    may_describe,
)
from evenhand.mitigation.counterfactual.english_readings import Place, Reading, as_object, of
from evenhand.mitigation.counterfactual.tokens import NOTHING, Tokens
from evenhand.mitigation.counterfactual.word_lists import word_set

_UNCLEAR_MARKS = frozenset({"...", "…", "(", "[", "-", "‐", "‑", "'s", "'d", "'ll", "*", "_"})
_NOUNS_OF_VERBS = frozenset({"might", "will", "need", "being", "having", "wont"})
_OBJECTS = word_set("a an the my your our their its it them me us him himself herself")
_COMPLEMENTED = grammar.WITH_COMPLEMENT | grammar.NAMING


def reading_of_her(tokens: Tokens, at: int) -> Reading:
    """Whether *her* at a place of a sentence is possessive, an object, or neither for certain."""
    place = Place(tokens, at)
    following = place.after()
    if not following.is_word:
        return _before_mark(place)
    if tokens.hyphen_after(at + 1):
        return _before_compound(place)
    if is_ambivalent(following.lower):
        return ambivalent_reading(place)
    closed = _before_closed_class(place)
    if closed is not None:
        return closed
    if following.is_capitalised and not tokens.is_shouted:
        return _before_capital(place)
    return _before_open_class(place)


def _before_mark(place: Place) -> Reading:
    following = place.after()
    if following is NOTHING:
        return Reading.OBJECT
    if following.text in ("/", "@/@"):
        return _beside_other_pronoun(place)
    if following.text[0].isdigit():
        return of(possessive=place.verb is None and may_be_noun(place.after(2)))
    if following.is_quote and following.spaced:
        opens = place.tokens.opens_quotation(place.at + 1)
        quoted = place.after(2)
        named = place.verb in grammar.SAYING | grammar.NAMING | grammar.GIVING
        return of(possessive=opens and may_be_noun(quoted) and not quoted.is_capitalised and not named)
    return Reading.UNCLEAR if following.text in _UNCLEAR_MARKS else Reading.OBJECT


def _before_compound(place: Place) -> Reading:
    parts = (place.after(), place.after(3))
    if "-".join(part.lower for part in parts) in grammar.COMPOUND_ADVERBS:
        return Reading.OBJECT
    if parts[0].lower in grammar.COUNTED_NOUNS or place.verb not in _COMPLEMENTED | grammar.GIVING:
        return Reading.POSSESSIVE
    end = place.at + 3
    while place.tokens.hyphen_after(end):
        end += 2
    return of(possessive=may_be_noun(place.tokens[end + 1]) and place.verb not in grammar.GIVING)


def _before_closed_class(place: Place) -> Reading | None:
    word = place.after().lower
    if word in _NOUNS_OF_VERBS:
        gerund = word in ("being", "having") and place.verb not in grammar.WITH_PARTICIPLE
        return of(possessive=gerund or place.follows_preposition)
    if word in ("or", "and") and place.after(2).lower in ("his", "her"):
        return _beside_other_pronoun(place)
    if word in grammar.NUMERALS:
        timed = place.after(2).lower in grammar.TIMES
        possible = may_be_noun(place.after(2)) or may_describe(place.after(2))
        return of(
            possessive=possible and not timed and place.verb not in grammar.GIVING | grammar.SOMETIMES_GIVING
        )
    if word in grammar.BEHIND_AN_OBJECT:
        return Reading.OBJECT
    if word in grammar.ORDINALS:
        return of(
            possessive=(place.verb not in grammar.GIVING and may_be_noun(place.after(2))) or word == "other"
        )
    if word in grammar.PREDICATES:
        return of(possessive=False) if may_be_noun(place.after(2)) else Reading.OBJECT
    if word in grammar.ADVERBS or classes_of(word) == Class.ADVERB:
        return _before_adverb(place)
    return None


def _beside_other_pronoun(place: Place) -> Reading:
    """*her or his badge* is possessive as a whole; *between her and his mother* is not."""
    if place.after().lower == "and":
        return as_object(certain=place.before.lower == "between" or place.after(2).lower == "her")
    if place.after(2).lower != "his":
        return Reading.OBJECT
    return of(
        possessive=may_be_noun(place.after(3))
        or may_describe(place.after(3))
        or place.after(3).lower == "own"
    )


def _before_adverb(place: Place) -> Reading:
    if place.after().lower == "not" and place.follows_preposition and place.after(2).lower.endswith("ing"):
        return Reading.POSSESSIVE
    distance = 2
    while (
        place.after(distance).lower in grammar.ADVERBS
        or classes_of(place.after(distance).lower) == Class.ADVERB
    ):
        distance += 1
    described = place.after(distance)
    if may_describe(described) and leads_to_noun(place.tokens, place.at + distance):
        common = place.verb is None or (
            place.after().lower.endswith("ly") and place.verb not in _COMPLEMENTED | grammar.GIVING
        )
        return of(possessive=common)
    if (
        place.verb is None
        and not place.follows_preposition
        and place.before.lower not in grammar.CONJUNCTIONS
    ):
        return Reading.UNCLEAR
    if (
        may_be_noun(described)
        and not may_describe(described)
        and not classes_of(described.lower) & Class.FINITE
    ):
        return Reading.UNCLEAR
    return Reading.OBJECT


def _before_capital(place: Place) -> Reading:
    word = place.after().lower
    if word in grammar.HONOURS:
        return Reading.POSSESSIVE
    titled = word in (
        "mr",
        "mrs",
        "miss",
        "ms",
        "dr",
        "sir",
        "lord",
        "lady",
        "captain",
        "colonel",
        "monsieur",
        "madame",
    )
    if word in grammar.TIMES or titled:
        return Reading.UNCLEAR
    return of(
        possessive=place.verb
        not in grammar.SAYING | grammar.GIVING | _COMPLEMENTED | grammar.SOMETIMES_GIVING
    )


def _before_open_class(place: Place) -> Reading:
    word = place.after().lower
    classes = classes_of(word)
    if word in grammar.COUNTED_NOUNS:
        return _before_counted_noun(place)
    if classes & Class.ING:
        return _before_ing(place)
    if classes & Class.ADJECTIVE:
        return _before_adjective(place)
    if classes & Class.NOUN or not classes:
        return _before_noun(place)
    return _before_verb(place)


def _before_counted_noun(place: Place) -> Reading:
    """Kin and the body, which are nouns even where they could be verbs."""
    word, verb = place.after().lower, place.verb
    if verb in grammar.NAMING and verb != "make":
        return of(possessive=word in ("name", "attention") or verb in ("consider", "declare"))
    if verb == "make":
        plural = bool(classes_of(word) & Class.PLURAL)
        return of(possessive=plural or word in grammar.MADE_ONES)
    followed = place.after(2).lower in grammar.NOMINAL_STARTS
    if followed and verb in grammar.PERCEPTION_AND_CAUSE and classes_of(word) & Class.VERB:
        return Reading.UNCLEAR
    if word == "answer" and verb in grammar.PERCEPTION_AND_CAUSE:
        return Reading.UNCLEAR
    return Reading.POSSESSIVE


def _before_ing(place: Place) -> Reading:
    word, verb = place.after().lower, place.verb
    is_noun = bool(classes_of(word) & Class.NOUN)
    if verb in grammar.WITH_PARTICIPLE:
        if may_be_noun(place.after(2)) or may_describe(place.after(2)):
            return Reading.UNCLEAR
        return as_object(certain=not is_noun or word in grammar.POSTURES)
    if may_be_noun(place.after(2)) or is_noun or place.before is NOTHING:
        return Reading.POSSESSIVE
    if verb is not None or place.before.lower in ("with", "without"):
        return Reading.OBJECT
    if place.before.lower in grammar.LOCATIVES and not is_noun:
        return Reading.UNCLEAR
    if word in grammar.POSTURES and place.before.lower in ("at", "and"):
        return as_object(certain=place.before.lower == "at")
    return of(possessive=place.follows_preposition)


def _before_adjective(place: Place) -> Reading:
    classes, verb = classes_of(place.after().lower), place.verb
    if leads_to_noun(place.tokens, place.at + 1):
        if verb in grammar.GIVING | grammar.SOMETIMES_GIVING:
            return of(possessive=head_of(place.tokens, place.at + 1).lower in grammar.COUNTED_NOUNS)
        infinitive = verb in grammar.PERCEPTION_AND_CAUSE and classes & Class.VERB
        return of(possessive=not infinitive)
    if classes & Class.NOUN:
        return of(possessive=verb not in _COMPLEMENTED | grammar.GIVING | grammar.PERCEPTION_AND_CAUSE)
    if verb is None:
        return Reading.UNCLEAR
    return as_object(certain=verb in grammar.WITH_COMPLEMENT or bool(classes & Class.ADVERB))


def _before_noun(place: Place) -> Reading:
    word, verb = place.after().lower, place.verb
    classes = classes_of(word)
    may_act = classes & Class.FINITE and place.after(2).lower in grammar.NOMINAL_STARTS
    if verb is None:
        located = place.before.lower in grammar.LOCATIVES and classes & Class.PAST
        return of(possessive=not located and not (may_act and classes & Class.PAST))
    if verb == "make" and word in grammar.MADE_ONES:
        return Reading.POSSESSIVE
    if verb == "let" and word in grammar.ACTIONS:
        return Reading.OBJECT
    if verb in grammar.PERCEPTION_AND_CAUSE and classes & Class.VERB:
        return as_object(certain=_has_object(place, 2))
    if verb in grammar.NAMING or verb in grammar.GIVING:
        return Reading.UNCLEAR
    if verb in grammar.SOMETIMES_GIVING and (word in grammar.MASS_NOUNS or classes & Class.PLURAL):
        return Reading.UNCLEAR
    return of(possessive=not may_act)


def _has_object(place: Place, distance: int) -> bool:
    """Whether a verb has its own object behind it, and not a time as in *every day*: watched her climb the wall."""
    first, second = place.after(distance).lower, place.after(distance + 1).lower
    timed = second in grammar.TIMES or second in grammar.ORDINALS or second in grammar.NUMERALS
    return first in _OBJECTS and not timed


def _before_verb(place: Place) -> Reading:
    classes, verb = classes_of(place.after().lower), place.verb
    if (
        classes & Class.PAST
        and (may_be_noun(place.after(2)) or may_describe(place.after(2)))
        and is_open(place.after(2))
    ):
        located = place.before.lower in grammar.LOCATIVES
        return of(
            possessive=not located and verb not in _COMPLEMENTED | grammar.WITH_PARTICIPLE | grammar.GIVING
        )
    if classes & Class.VERB and not classes & Class.PAST:
        return as_object(certain=verb in grammar.PERCEPTION_AND_CAUSE)
    return as_object(certain=verb is not None or place.follows_preposition)
