"""Why the twin of a sentence would be odd although each of its words can be exchanged."""

from __future__ import annotations

from collections.abc import Iterable

from evenhand.text.twins.en.lexicon import Class, classes_of
from evenhand.text.twins.en.words import (
    ANIMALS,
    DEITIES,
    FITS_ONE_GENDER,
    NO_PERSONS,
    PERSONIFIED,
    SHIPS,
    noun_pairs,
)
from evenhand.text.twins.tokens import Tokens
from evenhand.text.twins.twin import LeftOut, Role, Swap

_PERSONS = frozenset({Role.NOUN, Role.TITLE, Role.NAME})
_DIALECT = frozenset({"im", "er", "e", "isself", "erself", "imself", "is"})
"""What follows the apostrophe in *'im*."""
_PERSON_ENDINGS = ("man", "men", "maid", "maids")
_REACH = 8
"""Words after *God* within which a male pronoun is taken for his."""


def doubt(tokens: Tokens, swaps: Iterable[Swap]) -> LeftOut | None:
    """The reason to leave out a sentence for what stands in it beside the words that are exchanged."""
    words = frozenset(tokens.lower())
    return _one_sided(words) or _spelling(tokens) or _deity(tokens) or _thing(words, tuple(swaps))


def _one_sided(words: frozenset[str]) -> LeftOut | None:
    for listed, problem in ((FITS_ONE_GENDER, "fits only one gender"), (ANIMALS, "is an animal of one sex")):
        found = sorted(words & listed)
        if found:
            return LeftOut(f"{found[0]!r} {problem}")
    return None


def _spelling(tokens: Tokens) -> LeftOut | None:
    to_female, to_male = noun_pairs()
    for at in range(len(tokens)):
        text = tokens[at].text
        if text.endswith(_PERSON_ENDINGS) and text.islower() and text not in NO_PERSONS:
            if text not in to_female and text not in to_male and classes_of(text) & Class.NOUN:
                return LeftOut(f"{text!r} has no clear twin")
        elif text in ("'", "‘", "’") and tokens[at + 1].text in _DIALECT and not tokens[at + 1].spaced:
            return LeftOut("a pronoun in dialect")
    return None


def _deity(tokens: Tokens) -> LeftOut | None:
    words = tokens.lower()
    for at, word in enumerate(words):
        if word in DEITIES and {"he", "his", "him", "himself"} & set(words[at + 1 : at + 1 + _REACH]):
            return LeftOut(f"a pronoun may stand for {word!r}")
    return None


def _thing(words: frozenset[str], swaps: tuple[Swap, ...]) -> LeftOut | None:
    """Ships and countries, which may be *she*."""
    if any(swap.role in _PERSONS and not swap.male for swap in swaps):
        return None
    found = sorted(words & SHIPS) if any(not swap.male for swap in swaps) else []
    if not found and all(swap.role is Role.POSSESSIVE and not swap.male for swap in swaps):
        found = sorted(words & PERSONIFIED)
    return LeftOut(f"a pronoun may stand for {found[0]!r}") if found else None
