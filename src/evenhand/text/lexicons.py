"""Lexicons: words by category, found in texts by their lemma, with negations seen.

A match that is negated is told apart: *war kein Mörder*. A negation counts for what follows it in its clause, a few
words at most; *a nurse who was not a killer* is a nurse. German verbs have theirs behind them, too: *tötete niemanden*.
That is a rule of thumb, as is every word list.
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
from evenhand.text.lemmas import LemmatisedWord, PhraseFinder, forms_of, lemmatised_words
from evenhand.text.word_search import LANGUAGES_WITH_NEGATION, has_negation

COMPOUND = "*"
"""Before a word of a lexicon: every longer word counts whose lemma ends with it, such as *Serienmörder*."""

_RESOURCES = resources.files("evenhand.data") / "resources" / "regard"

LEXICON_LANGUAGES = ("de", "en")
"""Languages in which a lexicon ships."""

_CLAUSE_END = re.compile(r"[,;:.!?…–—]|\b(?:aber|sondern|but|who|whose|whom|which|that)\b")

_REACH = 5
"""Words between a negation and what it negates."""

_NEGATED_OBJECT = re.compile(r"\s*(?:no|nobody|none|nothing|neither|no-one)\b", re.IGNORECASE)
"""What negates an English word that stands right before it: *killed nobody*."""

_LACK = re.compile(r"\bohne\b", re.IGNORECASE)
"""What negates only what follows it."""


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
        before_it = text[ends[-1] if ends else start : span.start].split()
        behind_it = text[span.end : after.start() if after else len(text)]
        if has_negation(" ".join(before_it[-_REACH:]), self.language):
            return True
        if self.language == "en":
            return _NEGATED_OBJECT.match(behind_it) is not None
        is_verb = self.language == "de" and text[span.start].islower()
        return is_verb and has_negation(_LACK.sub("", " ".join(behind_it.split()[:_REACH])), self.language)


@dataclass(frozen=True, slots=True)
class _CategoryWords:
    """The words of a category by the forms that they are found by."""

    single: frozenset[str]
    endings: tuple[str, ...]
    phrases: PhraseFinder
    """Several words in a row."""

    @classmethod
    def of(cls, words: Iterable[str], language: str) -> _CategoryWords:
        single: set[str] = set()
        endings: set[str] = set()
        phrases: list[str] = []
        for word in words:
            if " " in word:
                phrases.append(word)
            elif word.startswith(COMPOUND):
                endings |= forms_of(word.removeprefix(COMPOUND), language)
            else:
                single |= forms_of(word, language)
        return cls(frozenset(single), tuple(sorted(endings)), PhraseFinder(phrases, language))

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
        phrase = self.phrases.at(words, place)
        if phrase is not None:
            return len(phrase.split())
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
