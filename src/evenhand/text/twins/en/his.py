"""Whether *his* is *her* or *hers*, read from the words around it, or not at all."""

from __future__ import annotations

from evenhand.text.twins.en import grammar
from evenhand.text.twins.en.lexicon import Class, classes_of
from evenhand.text.twins.en.phrases import may_be_noun
from evenhand.text.twins.en.readings import Place, Reading
from evenhand.text.twins.tokens import NOTHING, Tokens
from evenhand.text.twins.word_lists import word_set

_ALSO_ADJECTIVES = word_set("after above under off over up out about within without down")
_NOUNS_OF_VERBS = word_set("might will need being")
_DESCRIBED = word_set("not both no such enough either as so yet")
_ONE = word_set("a an another some any no one two three many several this that these those")
_COPULAS = word_set("is was are were be been being become became not than like 's")


def reading_of_his(tokens: Tokens, at: int) -> Reading:
    """Whether *his* at a place of a sentence has a noun behind it; ``OBJECT`` is said of one that stands alone."""
    place = Place(tokens, at)
    following = place.after()
    if not following.is_word:
        return _before_mark(place)
    if tokens.hyphen_after(at + 1) or following.lower in _NOUNS_OF_VERBS:
        return Reading.POSSESSIVE
    if _is_one_of_several(place) and classes_of(following.lower) & Class.FINITE:
        return Reading.UNCLEAR
    if following.lower in ("and", "or"):
        return _before_conjunction(place)
    if following.lower == "can" or (place.before.lower == "as" and following.lower == "ever"):
        return Reading.UNCLEAR
    if following.lower in _DESCRIBED:
        return Reading.POSSESSIVE if following.lower in ("not", "yet", "no") else Reading.UNCLEAR
    if following.lower in _ALSO_ADJECTIVES and may_be_noun(place.after(2)):
        return Reading.UNCLEAR
    if following.lower in grammar.BEHIND_AN_OBJECT or following.lower in (
        "too",
        "alone",
        "again",
        "there",
        "here",
    ):
        return Reading.OBJECT
    return Reading.POSSESSIVE


def _is_one_of_several(place: Place) -> bool:
    """Whether it stands as in *a friend of his*, where a verb may follow."""
    return place.before.lower == "of" and any(
        place.tokens[place.at - distance].lower in _ONE for distance in (3, 4)
    )


def _before_mark(place: Place) -> Reading:
    following = place.after()
    if following is NOTHING:
        return Reading.OBJECT
    if following.text[0].isdigit():
        return Reading.POSSESSIVE
    if following.text in ("/", "@/@"):
        return _before_conjunction(place)
    if following.is_quote and following.spaced:
        return Reading.POSSESSIVE if place.tokens.opens_quotation(place.at + 1) else Reading.UNCLEAR
    if following.text in ("...", "…", "(", "[", "-", "‐", "‑", "—", "--", "*", "_"):
        return Reading.UNCLEAR
    if following.text == ",":
        return Reading.OBJECT if place.before.lower in _COPULAS | {"of"} else Reading.UNCLEAR
    return Reading.OBJECT


def _before_conjunction(place: Place) -> Reading:
    """*his or her badge* has a noun in common; *a friend of his and mine* has none."""
    other = place.after(2).lower
    if other == "hers":
        return Reading.OBJECT
    if other == "her" and place.before.lower != "of":
        return (
            Reading.POSSESSIVE if may_be_noun(place.after(3)) or place.after(3).is_word else Reading.UNCLEAR
        )
    return Reading.OBJECT if place.before.lower in _COPULAS | {"of"} and other != "her" else Reading.UNCLEAR
