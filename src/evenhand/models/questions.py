"""Questions and methods: what is asked about an item, and how the answers become scores."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol, TypeAlias

from evenhand.core.items import Association
from evenhand.models.engine.modes import gc_disabled
from evenhand.models.engine.requests import Requests
from evenhand.models.tokenised_text import prepare

LogProbabilities: TypeAlias = Sequence[float]
"""Natural logarithms."""

Combine: TypeAlias = Callable[[Sequence[LogProbabilities]], float]


class UnscorableError(Exception):
    """An item that a method cannot ask about, and why."""


class ScoreKind(StrEnum):
    """How the log-probabilities of a candidate's tokens become its score."""

    MEAN_PROB = "mean-prob"
    MEAN_LOG = "mean-log"
    SUM_LOG = "sum-log"
    PLL = "pll"
    PLL_WITHIN_WORD = "pll-within-word"


def mean_probability(values: LogProbabilities) -> float:
    """Arithmetic mean of the tokens' probabilities."""
    return math.fsum(map(math.exp, values)) / len(values)


def geometric_mean(values: LogProbabilities) -> float:
    """2 to the power of the mean binary logarithm."""
    return math.exp(math.fsum(values) / len(values))


def sum_of_logs(values: LogProbabilities) -> float:
    """Sum of the binary logarithms."""
    return math.fsum(values) / math.log(2)


COMBINATIONS: dict[ScoreKind, Callable[[LogProbabilities], float]] = {
    ScoreKind.MEAN_PROB: mean_probability,
    ScoreKind.MEAN_LOG: geometric_mean,
    ScoreKind.SUM_LOG: sum_of_logs,
    ScoreKind.PLL: sum_of_logs,
    ScoreKind.PLL_WITHIN_WORD: sum_of_logs,
}


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked for one candidate, and how the answers become its score."""

    candidate: str
    requests: Requests
    combine: Combine
    whole: bool = True
    """Whether the answers together are the candidate's probability; quotients and pseudo-likelihoods are not."""


@dataclass(frozen=True, slots=True)
class WordMethod:
    """How the probability of a word in a blank is read."""

    requests: Callable[[str, str], Requests]
    """From a context with a blank and a word to what is requested.

    Raises:
        UnscorableError: If the word cannot be asked for.
    """
    by_sentence: bool = False
    """Whether the answers are those of the whole sentence, so that they compare only with each other."""


class Method(Protocol):
    """Turns an item into questions."""

    @property
    def name(self) -> str:
        """A short name for records and tables."""
        ...

    @property
    def description(self) -> str:
        """What it does, in a sentence."""
        ...

    def texts(self, item: Association) -> Iterable[tuple[str, bool]]:
        """Texts that the questions will tokenise, each with or without special tokens.

        They are tokenised ahead, all in one go. Nothing breaks if some are missing.
        """
        ...

    def questions(self, item: Association) -> list[Question]:
        """One question for each candidate.

        Raises:
            UnscorableError: If the item cannot be asked about.
        """
        ...


def of_all(combine: Callable[[LogProbabilities], float]) -> Combine:
    """Combine the answers to all requests as one list."""
    return lambda answers: combine([value for answer in answers for value in answer])


def questions_of(method: Method, tokenizer: Any, items: Sequence[Association]) -> list[list[Question] | str]:
    """For each item its questions, or the reason why it cannot be asked about.

    The tokenizer is the model's, or None where the model is asked about plain text.
    """
    with gc_disabled():
        texts = [entry for item in items for entry in method.texts(item)]
        for special in (True, False):
            prepare(tokenizer, (text for text, wanted in texts if wanted is special), special=special)
        return [_questions_or_reason(method, item) for item in items]


def _questions_or_reason(method: Method, item: Association) -> list[Question] | str:
    try:
        return method.questions(item)
    except UnscorableError as reason:
        return str(reason)
