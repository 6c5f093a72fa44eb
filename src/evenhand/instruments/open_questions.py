"""Sentences with a gap, words to fill it, and their probabilities."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from evenhand.core.errors import UnknownNameError


class WordScore(StrEnum):
    """How the probabilities of a word's tokens become that of the word."""

    PRODUCT = "product"
    """What the chain rule says, so that words of different length compare."""
    MEAN_PROB = "mean-prob"
    """The arithmetic mean, as in the context association tests."""

    @classmethod
    def named(cls, name: str) -> WordScore:
        """The score of this name."""
        if name not in set(cls):
            raise UnknownNameError("score", name, [known.value for known in cls])
        return cls(name)

    def combine(self, logs: Sequence[float]) -> float:
        """The natural logarithm of the word's probability."""
        if self is WordScore.PRODUCT:
            return math.fsum(logs)
        return math.log(math.fsum(map(math.exp, logs)) / len(logs)) if logs else -math.inf


@dataclass(frozen=True, slots=True)
class OpenQuestion:
    """A sentence with ``BLANK`` at its gap, and the words whose probabilities are wanted there."""

    text: str
    fills: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """The natural logarithm of a word's probability, or why there is none."""

    log_probability: float
    problem: str | None = None
