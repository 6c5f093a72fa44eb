"""Batches: examples of like length together, in an order that depends on the seed and the epoch alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from torch.utils.data import Dataset, Sampler

from evenhand.models.objectives.objective import Objective, Piece

SORTED_TOGETHER = 64
"""Batches whose examples are sorted by length together, but at most a quarter of an epoch, so that it stays random."""

_ORDER, _LAYOUT, _STAGE = 0x0D3, 0xC01, 0x57A


@dataclass(frozen=True, slots=True)
class Draw:
    """An example's turn in an epoch."""

    epoch: int
    place: int


class DrawnExamples(Dataset[Any]):
    """Examples by their turn, which goes with them so that laying them out needs no memory of its own."""

    def __init__(self, examples: Sequence[Any]) -> None:
        self.examples = examples

    def __len__(self) -> int:
        return len(self.examples)

    def __getitem__(self, draw: Draw) -> tuple[Draw, Any]:
        return draw, self.examples[draw.place]


class EpochBatches(Sampler[list[Draw]]):
    """The batches of an epoch. Examples that have a ``len`` are grouped by it."""

    drop_last = False

    def __init__(self, examples: Sequence[Any], *, batch_size: int, seed: int) -> None:
        self.batch_size = batch_size
        self.epoch = 0
        self._seed = seed
        self._lengths = np.array([len(example) if hasattr(example, "__len__") else 0 for example in examples])

    def set_epoch(self, epoch: int) -> None:
        """Which epoch is gone through next."""
        self.epoch = epoch

    def __len__(self) -> int:
        return math.ceil(len(self._lengths) / self.batch_size)

    def __iter__(self) -> Iterator[list[Draw]]:
        for batch in self._order():
            yield [Draw(self.epoch, place) for place in batch]

    def _order(self) -> list[list[int]]:
        generator = np.random.default_rng([self._seed, self.epoch, _ORDER])
        return self._grouped(generator.permutation(len(self._lengths)), generator)

    def _grouped(self, shuffled: npt.NDArray[np.int64], generator: np.random.Generator) -> list[list[int]]:
        """Batches of examples, grouped by length, in random order."""
        together = self.batch_size * max(1, min(SORTED_TOGETHER, len(self) // 4))
        batches: list[list[int]] = []
        for start in range(0, len(shuffled), together):
            group = shuffled[start : start + together]
            by_length = group[np.argsort(self._lengths[group], kind="stable")]
            batches += [
                by_length[first : first + self.batch_size].tolist()
                for first in range(0, len(by_length), self.batch_size)
            ]
        return [batches[place] for place in generator.permutation(len(batches))]


class StageBatches(EpochBatches):
    """Batches of which an epoch is only a stage: a pass over all examples takes several, all of one length.

    Checkpoints are written after epochs, and a pass over millions of examples is too long to wait for one. What does
    not fill the last stage of a pass is left out, less than one stage. No stage is longer than a pass.
    """

    def __init__(
        self, lengths: npt.NDArray[np.int64], *, batch_size: int, seed: int, stages: int, passes: int
    ) -> None:
        super().__init__((), batch_size=batch_size, seed=seed)
        self._lengths = lengths
        steps = max(1, len(lengths) // batch_size)
        self._steps = min(steps, max(1, steps * passes // stages))
        self._per_pass = steps // self._steps
        self.stages = self._per_pass * passes
        """How many there are in all."""

    def __len__(self) -> int:
        return self._steps

    @property
    def used(self) -> int:
        """Examples that are gone through in a pass."""
        return min(len(self._lengths), self._per_pass * self._steps * self.batch_size)

    def _order(self) -> list[list[int]]:
        number, stage = divmod(self.epoch, self._per_pass)
        shuffled = np.random.default_rng([self._seed, number, _ORDER]).permutation(len(self._lengths))
        size = self._steps * self.batch_size
        own = shuffled[stage * size : (stage + 1) * size]
        return self._grouped(own, np.random.default_rng([self._seed, self.epoch, _STAGE]))


def piece_layout(
    objective: Objective, *, seed: int
) -> Callable[[Sequence[tuple[Draw, Any]]], Sequence[Piece]]:
    """How drawn examples become pieces, with chance that depends on the seed, the epoch and the first example."""

    def lay_out(drawn: Sequence[tuple[Draw, Any]]) -> Sequence[Piece]:
        first = drawn[0][0]
        generator = np.random.default_rng([seed, first.epoch, first.place, _LAYOUT])
        return objective.lay_out([example for _, example in drawn], generator)

    return lay_out
