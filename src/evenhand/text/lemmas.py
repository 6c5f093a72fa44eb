"""Lemmas: the dictionary forms of inflected words, from the tables of simplemma.

A table of forms knows no context, so a word may have a lemma that is not meant. Words are therefore looked for by
their lemma and by how they are written.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from evenhand.core.errors import UnknownNameError, require_extra
from evenhand.core.items import Span

_WORD = re.compile(r"[^\W\d_]+(?:['’\-‐‑][^\W\d_]+)*")


@dataclass(frozen=True, slots=True)
class LemmatisedWord:
    """A word of a text: where it stands, and the forms by which it is found, in lower case."""

    span: Span
    forms: frozenset[str]


def lemmatised_words(text: str, language: str) -> list[LemmatisedWord]:
    """The words of a text, from left to right; a word with hyphens is one."""
    return [
        LemmatisedWord(Span(*match.span()), forms_of(match[0], language)) for match in _WORD.finditer(text)
    ]


@lru_cache(maxsize=2**16)
def forms_of(word: str, language: str) -> frozenset[str]:
    """A word as it is written and its lemma, in lower case.

    Raises:
        UnknownNameError: If there is no table of the language.
        MissingExtraError: If simplemma is not installed.
    """
    require_extra("regard", "simplemma", purpose="Finding words by their lemma")
    import simplemma

    try:
        lemma = simplemma.lemmatize(word, lang=language)
    except ValueError:
        from simplemma.strategies.dictionaries.dictionary_factory import SUPPORTED_LANGUAGES

        raise UnknownNameError("language of lemmas", language, SUPPORTED_LANGUAGES) from None
    return frozenset({word.casefold(), lemma.casefold()})


class PhraseFinder:
    """Finds listed phrases of several words by the forms of their words."""

    def __init__(self, phrases: Iterable[str], language: str) -> None:
        """Take phrases of two words or more; of those that begin alike, the longest is meant."""
        self._by_start: dict[str, list[tuple[tuple[frozenset[str], ...], str]]] = {}
        for phrase in sorted(phrases, key=lambda own: -len(own.split())):
            parts = tuple(forms_of(part, language) for part in phrase.split())
            for form in sorted(parts[0]):
                self._by_start.setdefault(form, []).append((parts, phrase))

    def at(self, words: Sequence[LemmatisedWord], place: int) -> str | None:
        """The phrase that begins at a place; None if none does."""
        found = (
            phrase
            for form in sorted(words[place].forms)
            for parts, phrase in self._by_start.get(form, ())
            if len(words) >= place + len(parts)
            and not any(own.isdisjoint(words[place + step].forms) for step, own in enumerate(parts))
        )
        return max(found, key=lambda phrase: len(phrase.split()), default=None)
