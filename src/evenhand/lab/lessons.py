"""Lessons: questions in tokens, and the true distributions of their answers.

What is held out is in no lesson, not even as a wrong answer: where a taught name or occupation is the answer, the
held-out ones are left out of the comparison, so that nothing says how likely they are.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence, Set
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch.nn import functional

from evenhand.lab.frames import WordPairs
from evenhand.lab.world import World

Tokens = tuple[int, ...]

Batch = dict[str, torch.Tensor]


@dataclass(frozen=True, slots=True)
class Distribution:
    """Probabilities of tokens; those not listed have none."""

    tokens: npt.NDArray[np.int64]
    shares: npt.NDArray[np.float64]
    unsaid: Tokens = ()
    """Tokens of which nothing is said: they count neither as right nor as wrong."""


@dataclass(frozen=True, slots=True)
class HeldOutTokens:
    """First tokens of the names, or of the occupations, that are taught, and of those that are held out."""

    taught: frozenset[int]
    held_out: frozenset[int]

    def unsaid(self, answers: Set[int]) -> frozenset[int]:
        """What must not count as wrong where these are the answers."""
        is_about_these = answers & self.taught and not answers & self.held_out
        return self.held_out if is_about_these else frozenset()


def _spellings(word: str) -> tuple[str, ...]:
    """After a space; a name also at the start of a sentence."""
    return ("{}", " {}") if word[0].isupper() else (" {}",)


def held_out_tokens(world: World, tokenizer: Any) -> tuple[HeldOutTokens, ...]:
    """Names and occupations, in all spellings."""

    def first_tokens(pairs: WordPairs) -> frozenset[int]:
        words = [spelling.format(word) for pair in pairs for word in pair for spelling in _spellings(word)]
        return frozenset(ids[0] for ids in tokenizer(words, add_special_tokens=False)["input_ids"])

    taught, held_out = world.taught_lists, world.held_out_lists
    return tuple(
        HeldOutTokens(first_tokens(known), first_tokens(unknown) - first_tokens(known))
        for known, unknown in ((taught.names, held_out.names), (taught.occupations, held_out.occupations))
    )


@dataclass(frozen=True, slots=True)
class Lesson:
    """Input tokens, and the true distributions at some of their places."""

    ids: Tokens
    places: Tokens
    targets: tuple[Distribution, ...]
    source: Tokens = ()
    """What an encoder sees, where there is one."""


class AnswerCounts:
    """Which token answers which question how often."""

    def __init__(self, held_out: Sequence[HeldOutTokens] = ()) -> None:
        self._held_out = held_out
        self._counts: dict[Hashable, defaultdict[int, float]] = {}
        self._weights: defaultdict[Hashable, float] = defaultdict(float)
        self._known: dict[Hashable, Distribution] = {}

    def ask(self, question: Hashable, weight: float) -> None:
        """Ask a question in lessons, so often."""
        self._weights[question] += weight
        self._counts.setdefault(question, defaultdict(float))

    def asks(self, question: Hashable) -> bool:
        """Whether lessons ask a question."""
        return question in self._counts

    def add(self, question: Hashable, token: int, probability: float) -> None:
        """Another occurrence of a token; of no account where the question is never asked."""
        if question in self._counts:
            self._counts[question][token] += probability

    def distribution(self, question: Hashable) -> Distribution:
        """How likely each token is the answer."""
        if question not in self._known:
            counts = self._counts[question]
            shares = np.array(list(counts.values()))
            unsaid = frozenset().union(*(group.unsaid(counts.keys()) for group in self._held_out))
            self._known[question] = Distribution(
                np.array(list(counts)), shares / shares.sum(), tuple(sorted(unsaid))
            )
        return self._known[question]

    def tokens(self, question: Hashable) -> Tokens:
        """The tokens that answer a question."""
        return tuple(sorted(self._counts[question]))

    def weights(self) -> Iterator[tuple[Hashable, float]]:
        """Every question with how often it is asked."""
        return iter(self._weights.items())


_GOLDEN = (math.sqrt(5) - 1) / 2


def draw(weights: Sequence[float], count: int, generator: np.random.Generator) -> npt.NDArray[np.int64]:
    """So many places, in proportion to weights: evenly on the whole, and in every stretch of what is drawn.

    Multiples of the golden ratio, less their whole numbers, fill the range from 0 to 1 evenly at any time. A batch of
    lessons drawn like that has each kind of lesson in its share; of a random batch that is true only on average, and
    what it has too much of shows in the weights.
    """
    edges = np.cumsum(weights)
    points = (generator.random() + np.arange(count) * _GOLDEN) % 1 * edges[-1]
    places: npt.NDArray[np.int64] = np.searchsorted(edges, points, side="right")
    return places.clip(max=len(edges) - 1)


def target_batch(lessons: Sequence[Lesson], *, without_choice: float = 1.0) -> Batch:
    """Places and true distributions of many lessons as flat tensors.

    ``without_choice`` says how much a place counts at which only one token is possible: there is little to learn
    there, and in whole sentences most places are of this kind.
    """
    targets = [distribution for lesson in lessons for distribution in lesson.targets]
    sizes = [len(distribution.tokens) for distribution in targets]
    return {
        "target_rows": torch.from_numpy(
            np.repeat(np.arange(len(lessons)), [len(lesson.places) for lesson in lessons])
        ),
        "target_places": torch.tensor([place for lesson in lessons for place in lesson.places]),
        "entry_numbers": torch.from_numpy(np.repeat(np.arange(len(targets)), sizes)),
        "entry_tokens": torch.from_numpy(np.concatenate([one.tokens for one in targets])),
        "entry_shares": torch.from_numpy(
            np.concatenate(
                [one.shares if len(one.shares) > 1 else one.shares * without_choice for one in targets]
            )
        ),
        "unsaid_numbers": torch.from_numpy(
            np.repeat(np.arange(len(targets)), [len(one.unsaid) for one in targets])
        ),
        "unsaid_tokens": torch.tensor([token for one in targets for token in one.unsaid], dtype=torch.int64),
    }


def padded(rows: Sequence[Sequence[int]], filler: int) -> torch.Tensor:
    """Rows of one length."""
    length = max(map(len, rows))
    return torch.tensor([[*row, *[filler] * (length - len(row))] for row in rows])


def soft_cross_entropy(logits: torch.Tensor, batch: Batch) -> torch.Tensor:
    """Cross-entropy between the logits, one row per place, and the true distributions there."""
    places = (batch["unsaid_numbers"], batch["unsaid_tokens"])
    said = logits.index_put(places, logits.new_full((len(places[0]),), -math.inf))
    logs = functional.log_softmax(said, dim=-1)
    chosen = logs[batch["entry_numbers"], batch["entry_tokens"]]
    shares = batch["entry_shares"].to(chosen.dtype)
    return -(chosen * shares).sum() / shares.sum()
