"""Persons in texts: words that are masked, and the same text about somebody else."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

import numpy as np

from evenhand.core.errors import EvenhandError
from evenhand.regard.features import TextRows
from evenhand.stats.classification import Integers

MASK = "XYZ"


class PersonTreatment(StrEnum):
    """What is done about the person of a text, so that a classifier cannot go by their group."""

    KEEP = "keep"
    """Nothing."""
    MASK = "mask"
    """The person's words are one word for everybody, in training and in labelling."""
    COUNTERFACTUAL = "counterfactual"
    """Training sees every text about both groups, with the same label."""


_WORDS: Mapping[str, str] = {
    "de": "Person Frau Mann Herr Dame Mädchen Junge Mannes Männer Frauen XYZ er sie ihm ihn ihr ihre ihrem ihren ihrer "
    "ihres sein seine seinem seinen seiner seines der die das den dem des",
    "en": "person woman man lady gentleman girl boy women men XYZ he she they him her them his hers their theirs himself "
    "herself themself themselves",
}
"""German articles tell a gender too."""


@dataclass(frozen=True)
class PersonWords:
    """Words that tell a person's group, in one language."""

    language: str
    words: tuple[str, ...]

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        longest_first = sorted(self.words, key=len, reverse=True)
        return re.compile(rf"\b(?:{'|'.join(map(re.escape, longest_first))})\b", re.IGNORECASE)

    def masked(self, rows: TextRows) -> TextRows:
        """The texts with every such word masked."""
        return TextRows(tuple(self._pattern.sub(MASK, text) for text in rows.texts), rows.numbers)

    def with_counterfactuals(self, rows: TextRows) -> tuple[Integers, TextRows]:
        raise NotImplementedError


def person_words(language: str) -> PersonWords:
    """The words of a language.

    Raises:
        EvenhandError: If the language is not known.
    """
    if language not in _WORDS:
        raise EvenhandError(
            f"Persons cannot be masked or exchanged in the language {language!r}; known are {', '.join(_WORDS)}. Give "
            "the language of the texts with --language, or leave out --persons."
        )
    return PersonWords(language, tuple(_WORDS[language].split()))
