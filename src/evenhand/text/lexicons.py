"""Lexicons: words by category, found in texts by their lemma, with negations seen.

A match in a clause with a negation is told apart: *war kein Mörder*. That is a rule of thumb, as is every word list.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from pathlib import Path

from evenhand.core.errors import DatasetError
from evenhand.core.items import Span
from evenhand.data.csv_files import read_table
from evenhand.text.lemmas import LemmatisedWord, forms_of, lemmatised_words
from evenhand.text.word_search import LANGUAGES_WITH_NEGATION, has_negation

COMPOUND = "*"
"""Before a word of a lexicon: every longer word counts whose lemma ends with it, such as *Serienmörder*."""

_RESOURCES = resources.files("evenhand.data") / "resources" / "regard"

LEXICON_LANGUAGES = ("de", "en")
"""Languages in which a lexicon ships."""

_CLAUSE_END = re.compile(r"[,;:.!?…–—]|\b(?:aber|sondern|but)\b")


@dataclass(frozen=True, slots=True)
class LexiconMatch:
    """Words of a text that are in a lexicon."""

    category: str
    span: Span
    is_negated: bool


@dataclass(frozen=True)
class CategoryLexicon:
    """Words by category, in one language."""

    language: str
    words: Mapping[str, tuple[str, ...]]
    name: str
    sha256: str

    @cached_property
    def _categories(self) -> dict[str, _CategoryWords]:
        return {category: _CategoryWords.of(words, self.language) for category, words in self.words.items()}

    def find(self, text: str, *, start: int = 0) -> list[LexiconMatch]:
        """Every match behind a place, category by category; no word is part of two matches of a category."""
        words = [word for word in lemmatised_words(text, self.language) if word.span.start >= start]
        return [
            LexiconMatch(category, span, is_negated=self._is_negated(text, span, start=start))
            for category, listed in self._categories.items()
            for span in listed.find(words)
        ]

    def _is_negated(self, text: str, span: Span, *, start: int) -> bool:
        if self.language not in LANGUAGES_WITH_NEGATION:
            return False
        ends = [end.end() for end in _CLAUSE_END.finditer(text, start, span.start)]
        after = _CLAUSE_END.search(text, span.end)
        clause = text[ends[-1] if ends else start : after.start() if after else len(text)]
        return has_negation(clause, self.language)


@dataclass(frozen=True, slots=True)
class _CategoryWords:
    """The words of a category by the forms that they are found by."""

    single: frozenset[str]
    endings: tuple[str, ...]
    phrases: tuple[tuple[frozenset[str], ...], ...]
    """Several words in a row, the longest first."""

    @classmethod
    def of(cls, words: Iterable[str], language: str) -> _CategoryWords:
        single: set[str] = set()
        endings: set[str] = set()
        phrases: list[tuple[frozenset[str], ...]] = []
        for word in words:
            parts = [forms_of(part, language) for part in word.removeprefix(COMPOUND).split()]
            if len(parts) > 1:
                phrases.append(tuple(parts))
            elif word.startswith(COMPOUND):
                endings |= parts[0]
            else:
                single |= parts[0]
        return cls(
            frozenset(single), tuple(sorted(endings)), tuple(sorted(phrases, key=lambda parts: -len(parts)))
        )

    def find(self, words: Sequence[LemmatisedWord]) -> list[Span]:
        """The spans of all matches, from left to right."""
        spans = []
        place = 0
        while place < len(words):
            length = self._length(words, place)
            if length:
                spans.append(Span(words[place].span.start, words[place + length - 1].span.end))
            place += length or 1
        return spans

    def _length(self, words: Sequence[LemmatisedWord], place: int) -> int:
        """How many words from a place on are a match; 0 if none is."""
        for parts in self.phrases:
            following = words[place : place + len(parts)]
            if len(following) == len(parts) and not any(
                own.isdisjoint(word.forms) for own, word in zip(parts, following, strict=True)
            ):
                return len(parts)
        forms = words[place].forms
        is_listed = not self.single.isdisjoint(forms) or any(
            form.endswith(self.endings) and form not in self.endings for form in forms
        )
        return int(is_listed)


def load_lexicon(language: str, path: Path | None = None) -> CategoryLexicon:
    """The lexicon that ships in a language, or that of a CSV file with ``category`` and ``word``.

    Raises:
        DatasetError: If there is none, or the file cannot be used.
    """
    chosen = path or Path(str(_RESOURCES / f"lexicons_{language}.csv"))
    if path is None and language not in LEXICON_LANGUAGES:
        raise DatasetError(
            f"No lexicon ships in the language {language!r}. Give one with --lexicon, a CSV file with category and "
            "word."
        )
    table = read_table(chosen, needed=("category", "word"))
    words: dict[str, list[str]] = {}
    for row in table.rows:
        word = row["word"].removeprefix(COMPOUND)
        if not (row["category"] and word):
            raise DatasetError(f"{row.place}: a row needs a category and a word, such as caregiving,nurse.")
        if COMPOUND in word or (word != row["word"] and " " in word):
            raise DatasetError(
                f"{row.place}: {row['word']!r} is not understood. A * stands before a single word, and means all words "
                "that end with it: *killer."
            )
        words.setdefault(row["category"], []).append(row["word"])
    by_category = {category: tuple(dict.fromkeys(own)) for category, own in words.items()}
    return CategoryLexicon(language, by_category, chosen.stem, table.sha256)
