"""What the lab's models are taught: for every question that the measures ask, the answer's true probabilities.

A corpus shows one answer at a time, and a model needs many to learn how often each is right. The lab knows, so it
teaches the whole distribution at once: of the token in a gap, of the next token, of whether a sentence follows. That is
what an endless corpus would teach, without the noise of a finite one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch.nn import functional

from evenhand.models.objectives.objective import Batch

Tokens = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Distribution:
    """Probabilities of tokens; those not listed have none."""

    tokens: npt.NDArray[np.int64]
    shares: npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Lesson:
    """Input tokens, and what is wanted at some of their places."""

    ids: Tokens
    places: Tokens
    wanted: tuple[Distribution, ...]
    source: Tokens = ()
    """What an encoder sees, where there is one."""


class Teacher(Protocol):
    """Gives lessons to one family of models."""

    def lessons(self, count: int, generator: np.random.Generator) -> Sequence[Any]:
        """So many lessons, drawn in proportion to how often a corpus would have them."""
        ...

    def collate(self, lessons: list[Any]) -> Batch:
        """Lessons as a batch."""
        ...

    def loss(self, model: Any, batch: Batch) -> torch.Tensor:
        """How far a model is from what is wanted."""
        ...


class Tally:
    """Which token answers which question how often."""

    def __init__(self) -> None:
        self._counts: defaultdict[Hashable, defaultdict[int, float]] = defaultdict(lambda: defaultdict(float))
        self._known: dict[Hashable, Distribution] = {}

    def add(self, question: Hashable, token: int, probability: float) -> None:
        """Another occurrence of a token."""
        self._counts[question][token] += probability

    def wanted(self, question: Hashable) -> Distribution:
        """How likely each token is the answer."""
        if question not in self._known:
            counts = self._counts[question]
            shares = np.array(list(counts.values()))
            self._known[question] = Distribution(np.array(list(counts)), shares / shares.sum())
        return self._known[question]

    def weights(self) -> Iterator[tuple[Hashable, float]]:
        """Every question with how often it is asked."""
        return ((question, sum(counts.values())) for question, counts in self._counts.items())


def draw(weights: Sequence[float], count: int, generator: np.random.Generator) -> npt.NDArray[np.int64]:
    """So many places, in proportion to weights, as evenly as whole numbers allow, in random order."""
    edges = np.cumsum(weights)
    points = (np.arange(count) + generator.random()) / count * edges[-1]
    return generator.permutation(np.minimum(np.searchsorted(edges, points, side="right"), len(edges) - 1))


def wanted_batch(lessons: Sequence[Lesson], *, without_choice: float = 1.0) -> Batch:
    """Places and wanted distributions of many lessons as flat tensors.

    ``without_choice`` says how much a place counts at which only one token is possible: there is little to learn
    there, and in whole sentences most places are of this kind.
    """
    wanted = [distribution for lesson in lessons for distribution in lesson.wanted]
    sizes = [len(distribution.tokens) for distribution in wanted]
    return {
        "wanted_rows": torch.from_numpy(
            np.repeat(np.arange(len(lessons)), [len(lesson.places) for lesson in lessons])
        ),
        "wanted_places": torch.tensor([place for lesson in lessons for place in lesson.places]),
        "entry_numbers": torch.from_numpy(np.repeat(np.arange(len(wanted)), sizes)),
        "entry_tokens": torch.from_numpy(np.concatenate([one.tokens for one in wanted])),
        "entry_shares": torch.from_numpy(
            np.concatenate(
                [one.shares if len(one.shares) > 1 else one.shares * without_choice for one in wanted]
            )
        ),
    }


def soft_cross_entropy(logits: torch.Tensor, batch: Batch) -> torch.Tensor:
    """Cross-entropy between logits at the wanted places, a row a place, and what is wanted there."""
    logs = functional.log_softmax(logits, dim=-1)
    chosen = logs[batch["entry_numbers"], batch["entry_tokens"]]
    shares = batch["entry_shares"].to(chosen.dtype)
    return -(chosen * shares).sum() / shares.sum()
