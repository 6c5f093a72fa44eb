"""Batches: every example once an epoch, like lengths together, and the same whoever asks again."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from evenhand.training.batches import DrawnExamples, EpochBatches, piece_layout

LENGTHS = np.random.default_rng(3).integers(3, 60, size=3000)
EXAMPLES = [tuple(range(length)) for length in LENGTHS]


def places(batches: EpochBatches, epoch: int) -> list[list[int]]:
    batches.set_epoch(epoch)
    return [[draw.place for draw in batch] for batch in batches]


def test_every_example_has_its_turn_once_an_epoch() -> None:
    found = places(EpochBatches(EXAMPLES, batch_size=32, seed=0), 4)
    assert sorted(place for batch in found for place in batch) == list(range(len(EXAMPLES)))
    assert len(found) == len(EpochBatches(EXAMPLES, batch_size=32, seed=0)) == 94
    assert sorted(map(len, found)) == [24] + [32] * 93


def test_an_epoch_has_the_same_batches_whenever_it_is_asked_for() -> None:
    batches = EpochBatches(EXAMPLES, batch_size=32, seed=5)
    third = places(batches, 3)
    assert places(batches, 4) != third
    assert places(EpochBatches(EXAMPLES, batch_size=32, seed=5), 3) == third
    assert places(EpochBatches(EXAMPLES, batch_size=32, seed=6), 3) != third


def padding(found: list[list[int]]) -> float:
    """Share of the padded rows that is padding."""
    full = sum(max(LENGTHS[batch]) * len(batch) for batch in found)
    return float(1 - LENGTHS.sum() / full)


def test_like_lengths_are_together() -> None:
    grouped = padding(places(EpochBatches(EXAMPLES, batch_size=32, seed=0), 0))
    unsized: list[Any] = [object() for _ in EXAMPLES]
    assert grouped < 0.05
    assert padding(places(EpochBatches(unsized, batch_size=32, seed=0), 0)) > 0.3


def test_short_and_long_batches_are_mixed() -> None:
    found = places(EpochBatches(EXAMPLES, batch_size=32, seed=0), 0)
    means = [float(LENGTHS[batch].mean()) for batch in found]
    assert abs(np.corrcoef(means, range(len(means)))[0, 1]) < 0.3


def test_an_epoch_is_sorted_in_quarters_at_most() -> None:
    """Of 94 batches at most 23 are sorted together, so there are five groups.

    No two examples are of the same length. So batches of a group follow one another in length, and batches that are
    open at the same length are of different groups.
    """
    found = places(EpochBatches([range(length) for length in range(3_000)], batch_size=32, seed=0), 0)
    together = [sum(min(batch) <= length <= max(batch) for batch in found) for length in range(3_000)]
    assert len(found) == 94
    assert max(together) == math.ceil(94 / 23) == 5


@dataclass(frozen=True)
class Number:
    """A piece that is nothing but chance."""

    drawn: float
    rows: int = 1
    length: int = 1
    tokens: int = 1


class Chance:
    """An objective whose batches are nothing but chance."""

    name = "chance"
    pads = True
    examples = tuple(range(20))

    def lay_out(self, examples: Sequence[Any], generator: np.random.Generator) -> list[Number]:
        return [Number(drawn) for drawn in generator.random(len(examples)).tolist()]

    def loss(self, model: Any, pieces: Sequence[Number]) -> torch.Tensor:
        loss: torch.Tensor = model(torch.tensor([piece.drawn for piece in pieces])).sum()
        return loss


def test_chance_depends_on_seed_epoch_and_examples_alone() -> None:
    drawn = DrawnExamples(Chance.examples)
    batches = EpochBatches(Chance.examples, batch_size=4, seed=1)

    def draws(epoch: int, seed: int) -> list[tuple[Any, ...]]:
        batches.set_epoch(epoch)
        lay_out = piece_layout(Chance(), seed=seed)
        return [tuple(lay_out([drawn[draw] for draw in batch])) for batch in list(batches)[::-1]]

    first = draws(1, 1)
    assert draws(1, 1) == first
    assert len({number for batch in first for number in batch}) == 20
    assert not set(draws(2, 1)) & set(first)
    assert not set(draws(1, 2)) & set(first)
