"""Whether *her* is *his* or *him*, read from the words around it, or not at all."""

from __future__ import annotations

from evenhand.text.twins.en import grammar
from evenhand.text.twins.en.lexicon import Class, classes_of
from evenhand.text.twins.en.open_classes import open_class_reading
from evenhand.text.twins.en.particles import ambivalent_reading, is_ambivalent
from evenhand.text.twins.en.phrases import leads_to_noun, may_be_noun, may_describe
from evenhand.text.twins.en.readings import Place, Reading, object_if, possessive_if
from evenhand.text.twins.tokens import NOTHING, Tokens
from evenhand.text.twins.word_lists import word_set

_UNCLEAR_MARKS = frozenset({"...", "…", "(", "[", "-", "‐", "‑", "'s", "'d", "'ll", "*", "_"})
_NOUNS_OF_VERBS = frozenset({"might", "will", "need", "being", "having", "wont"})
_TITLES = word_set("mr mrs miss ms dr sir lord lady captain colonel monsieur madame")
_BEFORE_NAMES = grammar.SAYING | grammar.EVER_GIVING | grammar.COMPLEMENTED_OR_GIVING
"""Verbs whose object may be followed by a name that is not its own."""


def reading_of_her(tokens: Tokens, at: int) -> Reading:
    """Whether *her* at a place of a sentence is possessive, an object, or neither for certain."""
    place = Place(tokens, at)
    following = place.after()
    if following.is_word and (place.before.lower in ("it", "them") or _is_clipped(place)):
        return Reading.UNCLEAR
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
    return open_class_reading(place)


def _is_clipped(place: Place) -> bool:
    """Whether a participle in dialect follows: *flyin'*."""
    return place.after().lower.endswith("in") and place.after(2).text == "'" and not place.after(2).spaced


def _before_mark(place: Place) -> Reading:
    following = place.after()
    if following is NOTHING:
        return Reading.OBJECT
    if following.text in ("/", "@/@"):
        return _beside_other_pronoun(place)
    if following.text[0].isdigit():
        return possessive_if(place.verb is None and may_be_noun(place.after(2)))
    if following.is_quote and following.spaced:
        opens = place.tokens.opens_quotation(place.at + 1)
        quoted = place.after(2)
        common = may_be_noun(quoted) and not quoted.is_capitalised
        return possessive_if(opens and common and place.verb not in _BEFORE_NAMES)
    return Reading.UNCLEAR if following.text in _UNCLEAR_MARKS else Reading.OBJECT


def _before_compound(place: Place) -> Reading:
    """*her well-known face* is possessive; *thought her good-looking* is not."""
    parts = (place.after(), place.after(3))
    if "-".join(part.lower for part in parts) in grammar.COMPOUND_ADVERBS:
        return Reading.OBJECT
    if parts[0].lower in grammar.COUNTED_NOUNS or place.verb not in grammar.COMPLEMENTED_OR_GIVING:
        return Reading.POSSESSIVE
    end = place.at + 3
    while place.tokens.hyphen_after(end):
        end += 2
    return possessive_if(may_be_noun(place.tokens[end + 1]) and place.verb not in grammar.GIVING)


def _before_closed_class(place: Place) -> Reading | None:
    word = place.after().lower
    if word in _NOUNS_OF_VERBS:
        gerund = word in ("being", "having") and place.verb not in grammar.WITH_PARTICIPLE
        willed = word != "might" and place.follows_preposition
        return possessive_if(gerund or willed or place.before.lower == "all")
    if word in ("or", "and") and place.after(2).lower in ("his", "her"):
        return _beside_other_pronoun(place)
    if word in grammar.NUMERALS:
        timed = place.after(2).lower in grammar.MEASURES or (word == "one" and place.verb)
        possible = may_be_noun(place.after(2)) or may_describe(place.after(2))
        return possessive_if(possible and not timed and place.verb not in grammar.EVER_GIVING)
    if word in grammar.BEHIND_AN_OBJECT:
        return Reading.OBJECT
    if word in grammar.ORDINALS:
        described = place.verb not in grammar.GIVING and may_be_noun(place.after(2))
        return possessive_if(described or word == "other")
    if word in grammar.PREDICATES:
        return Reading.UNCLEAR if may_be_noun(place.after(2)) else Reading.OBJECT
    if _is_adverb(word):
        return _before_adverb(place)
    return None


def _beside_other_pronoun(place: Place) -> Reading:
    """*her or his badge* is possessive as a whole; *between her and his mother* is not."""
    if place.after().lower == "and":
        return object_if(place.before.lower == "between" or place.after(2).lower == "her")
    if place.after(2).lower != "his":
        return Reading.OBJECT
    noun = place.after(3)
    return possessive_if(may_be_noun(noun) or may_describe(noun) or noun.lower == "own")


def _before_adverb(place: Place) -> Reading:
    """*her recently repaired watch* is possessive; *loved her dearly* is not."""
    if (
        place.after().lower in ("not", "ever", "never", "always")
        and place.follows_preposition
        and place.after(2).lower.endswith("ing")
    ):
        return Reading.POSSESSIVE
    distance = 2
    while _is_adverb(place.after(distance).lower) and not place.tokens.hyphen_after(place.at + distance):
        distance += 1
    described = place.after(distance)
    if place.tokens.hyphen_after(place.at + distance):
        return possessive_if(place.verb not in grammar.COMPLEMENTED_OR_GIVING)
    if may_describe(described) and leads_to_noun(place.tokens, place.at + distance):
        of_manner = place.after().lower.endswith("ly") and place.verb not in grammar.COMPLEMENTED_OR_GIVING
        return possessive_if(place.verb is None or of_manner)
    governed = place.verb or place.follows_preposition or place.before.lower in grammar.CONJUNCTIONS
    other = Class.FINITE | Class.ADJECTIVE | Class.ING
    before_noun = may_be_noun(described) and not classes_of(described.lower) & other
    return object_if(bool(governed) and not before_noun)


def _is_adverb(word: str) -> bool:
    adverb = word not in grammar.BEHIND_AN_OBJECT and classes_of(word) == Class.ADVERB
    return adverb or word in grammar.ADVERBS


def _before_capital(place: Place) -> Reading:
    """*her Uncle* is possessive; *told her Robert had gone* is not."""
    word = place.after().lower
    if word in grammar.HONOURS:
        return Reading.POSSESSIVE
    if word in grammar.TIMES or word in _TITLES or place.after(2).lower in grammar.AUXILIARIES - {"'s"}:
        return Reading.UNCLEAR
    return possessive_if(place.verb not in _BEFORE_NAMES)
