"""The word of a context that is most like a missing target, and whether that guess is to be trusted.

A guess is doubtful if the two are not much alike, if the word is very short, or if it is a common one: a word that
stands in the contexts of many target terms is hardly the name of one of them.
"""

from __future__ import annotations

import re
import string
import unicodedata
from collections.abc import Iterable
from difflib import SequenceMatcher, get_close_matches

from evenhand.core.items import BLANK
from evenhand.translation.documents import ItemTexts

CLOSEST_CUTOFF = 0.4
"""Least similarity (difflib) of a target and the word of the context that takes its place."""

COMPOUND_SHARE = 0.8
"""Share of a target of several words that a word must begin with to be taken for it: *Kap Verde*, *kapverdisch*."""

TRUSTED_SIMILARITY = 0.6
"""Similarity, in any case, below which a guess is doubtful."""

SHORTEST_TRUSTED = 4
"""Characters of a word below which a guess is doubtful."""

COMMON_WORD_TERMS = 15
"""Target terms in whose contexts a word stands that is too common to be trusted."""


def closest_word(target: str, context: str) -> str | None:
    """The word of a context that is most like a target; None if none is like it.

    A target of several words is only found where they are written as one.
    """
    words = [word for word in context.split(" ") if BLANK not in word]
    if len(target.split()) > 1:
        return next((bare for bare in map(_bare, words) if _is_compound_of(bare, target)), None)
    close = get_close_matches(target, words, n=1, cutoff=CLOSEST_CUTOFF)
    return (_bare(close[0]) or None) if close else None


def common_words(items: Iterable[ItemTexts]) -> frozenset[str]:
    """The words that stand in the contexts of so many target terms that none of them is meant by it."""
    terms: dict[str, set[str]] = {}
    for item in items:
        term = str(item.row.get("target_original") or item.target)
        for word in re.findall(r"\w+", item.context.casefold()):
            terms.setdefault(word, set()).add(term)
    return frozenset(word for word, own in terms.items() if len(own) >= COMMON_WORD_TERMS)


def is_doubtful(word: str, target: str, *, common: frozenset[str]) -> bool:
    """Whether a word of a context may well not be what a target means."""
    first, second = word.casefold(), target.casefold()
    return (
        len(word) < SHORTEST_TRUSTED
        or first in common
        or SequenceMatcher(None, first, second, autojunk=False).ratio() < TRUSTED_SIMILARITY
    )


def _is_compound_of(word: str, target: str) -> bool:
    joined, start = "".join(target.split()).casefold(), 0
    for one, other in zip(joined, word.casefold(), strict=False):
        if one != other:
            break
        start += 1
    return start >= COMPOUND_SHARE * len(joined)


def _bare(word: str) -> str:
    """A word without the punctuation around it; accents that are characters of their own stay."""
    start, end = 0, len(word)
    while start < end and _is_punctuation(word[start]):
        start += 1
    while end > start and _is_punctuation(word[end - 1]):
        end -= 1
    return word[start:end]


def _is_punctuation(character: str) -> bool:
    return character in string.punctuation or unicodedata.category(character)[0] in "PSZ"
