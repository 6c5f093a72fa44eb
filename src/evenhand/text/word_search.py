"""Find listed words in sentences, as whole words with their positions; among them negations.

A list finds most negations and not all; Turkish ones also show in verb suffixes. It serves to find items in which only
one of two candidates is negated, not to analyse language.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from evenhand.core.items import Span

_WORD = re.compile(r"[^\W\d_]+")

_WORD_CHARACTER = re.compile(r"\w")

_HYPHENS = "‐‑-"


def words_of(sentence: str) -> set[str]:
    """The words of a sentence, as they are written; hyphens and apostrophes separate words."""
    return set(_WORD.findall(sentence))


def gendered_words_in(words: Iterable[str], vocabulary: frozenset[str]) -> list[str]:
    """Those words that are in a vocabulary.

    An entry in lower case is found in any case, one with a capital only as written: German *Junge* is a boy, *junge* is
    young.
    """
    return [word for word in words if word in vocabulary or word.casefold() in vocabulary]


@dataclass(frozen=True, slots=True)
class WordMatch:
    """A word of the list, and its position in the sentence."""

    word: str
    span: Span


@dataclass(frozen=True, slots=True)
class WordFinder:
    """Finds words by their spellings.

    A spelling stands alone: not within a word, not beside a hyphen (*nurse-led*), and not before an ending that is set
    off (*Lehrer/in*, *Lehrer:innen*, or with a star).

    Attributes:
        anywhere: Spellings with the word of the list that each means.
        at_start: Spellings that count only where no letter or digit comes before them in the sentence.
    """

    anywhere: Mapping[str, str]
    at_start: Mapping[str, str] = field(default_factory=dict)
    _beginnings: frozenset[str] = field(init=False)
    _pattern: re.Pattern[str] = field(init=False)

    def __post_init__(self) -> None:
        spellings = sorted({*self.anywhere, *self.at_start}, key=lambda spelling: (-len(spelling), spelling))
        beginnings = (_WORD.search(spelling) for spelling in spellings)
        object.__setattr__(self, "_beginnings", frozenset(match[0] for match in beginnings if match))
        object.__setattr__(
            self,
            "_pattern",
            re.compile(
                rf"(?<![\w{_HYPHENS}])(?:{'|'.join(map(re.escape, spellings))})(?![\w{_HYPHENS}]|[*:/]\w)"
            ),
        )

    @classmethod
    def of_nouns(cls, nouns: Iterable[str]) -> WordFinder:
        """Finds nouns as they are listed, and with a capital at the start of a sentence.

        Elsewhere a capital that is not in the list makes a name of a noun: Mr *Baker* bakes no bread.
        """
        listed = tuple(nouns)
        return cls(
            anywhere={noun: noun for noun in listed},
            at_start={noun[:1].upper() + noun[1:]: noun for noun in listed},
        )

    def may_be_among(self, words: set[str]) -> bool:
        """A quick check whether a sentence of these words can contain any listed word."""
        return not self._beginnings.isdisjoint(words)

    def find(self, sentence: str) -> list[WordMatch]:
        """Every occurrence of a listed word in a sentence, from left to right."""
        matches = []
        for match in self._pattern.finditer(sentence):
            word = self.anywhere.get(match[0])
            if word is None and not _WORD_CHARACTER.search(sentence, 0, match.start()):
                word = self.at_start.get(match[0])
            if word is not None:
                matches.append(WordMatch(word, Span(*match.span())))
        return matches


_PATTERNS: Mapping[str, str] = MappingProxyType(
    {
        "en": r"\b(?:not|no|never|none|nobody|nothing|nowhere|neither|nor|cannot|without|hardly)\b|n['’]t\b|\bnon-",
        "de": r"\b(?:nicht|nichts|nie|niemals|niemand|niemanden|niemandem|ohne|weder|kein(?:e[mnrs]?)?|kaum)\b",
        "fr": r"\b(?:ne|pas|jamais|aucune?|rien|sans|ni|non|guère)\b|\bn['’]",
        "es": r"\b(?:no|nunca|jamás|nada|nadie|ning(?:ún|una|uno)|sin|ni|tampoco)\b",
        "tr": (
            r"\b(?:değil\w*|yok\w*|hiç\w*|asla)\b"
            r"|\w{2,}m(?:[ae]z(?:l?[ae]r|s[ıi]n\w*)?|[ıiuü]yor\w*|[ae]d[ıi]\w*|[ae]y[ae]c[ae]\w*|[ae]m[ıi]ş\w*)\b"
        ),
    }
)

LANGUAGES_WITH_NEGATION = tuple(sorted(_PATTERNS))


def has_negation(text: str, language: str) -> bool:
    """Whether the text contains a negation; the language must be one of ``LANGUAGES_WITH_NEGATION``."""
    return re.search(_PATTERNS[language], text, flags=re.IGNORECASE) is not None
