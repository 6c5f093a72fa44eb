"""Resampling plans over clusters: seeded, cached, and the same for every statistic that uses them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from evenhand.core.errors import EvenhandError

Floats: TypeAlias = npt.NDArray[np.float64]
Statistic: TypeAlias = Callable[[Floats], Floats]
"""From weights of shape (rows, clusters) to one value per row."""

MOST_RESAMPLES = 1_000_000

MOST_CELLS = 2**24
"""A plan of up to so many resamples times clusters is kept whole; a larger one is drawn anew, in blocks."""

_BLOCK_CELLS = 2**22
"""Rows times clusters of a block, so that memory stays small."""


@dataclass(frozen=True, slots=True)
class Resampling:
    """How often to resample, from which seed, and how sure an interval is to be."""

    resamples: int = 10_000
    seed: int = 20_210_801
    confidence: float = 0.95

    def __post_init__(self) -> None:
        if not 100 <= self.resamples <= MOST_RESAMPLES:
            raise EvenhandError(
                f"{self.resamples} resamples were asked for; 100 to {MOST_RESAMPLES:,} are possible, "
                "10,000 is usual."
            )
        if not 0.5 <= self.confidence < 1:
            raise EvenhandError(
                f"A confidence level of {self.confidence} was asked for; it must be at least 0.5 and below 1."
            )
        if self.seed < 0:
            raise EvenhandError(f"The seed is {self.seed}; it must not be negative.")

    def bootstrap_weights(self, clusters: int) -> Iterator[Floats]:
        """How often each cluster is drawn in each resample, in blocks of shape (rows, clusters)."""
        if self.resamples * clusters <= MOST_CELLS:
            yield _bootstrap_weights(clusters, self.resamples, self.seed)
            return
        generator = np.random.default_rng([self.seed, clusters, 0])
        for rows in _block_sizes(self.resamples, clusters):
            drawn = generator.integers(0, clusters, size=(rows, clusters))
            yield np.stack([np.bincount(row, minlength=clusters) for row in drawn]).astype(np.float64)

    def bootstrap(self, statistic: Statistic, clusters: int, *, most: int | None = None) -> Floats:
        """The values of a statistic in the resamples, or in the first so many of them."""
        wanted = self.resamples if most is None else min(most, self.resamples)
        values: list[Floats] = []
        for weights in self.bootstrap_weights(clusters):
            values.append(statistic(weights[:wanted]))
            wanted -= len(values[-1])
            if not wanted:
                break
        return np.concatenate(values)

    def swaps(self, clusters: int) -> Iterator[Floats]:
        """For each row, which clusters are swapped (1) or left (0): blocks of shape (rows, clusters).

        All patterns when there are no more than ``resamples`` of them, which makes a test exact;
        otherwise random ones.
        """
        if self.swaps_are_exhaustive(clusters) or self.resamples * clusters <= MOST_CELLS:
            yield _swaps(clusters, self.resamples, self.seed)
            return
        generator = np.random.default_rng([self.seed, clusters, 1])
        for rows in _block_sizes(self.resamples, clusters):
            yield generator.integers(0, 2, size=(rows, clusters)).astype(np.float64)

    def swapped(self, statistic: Statistic, clusters: int) -> Floats:
        """The values of a statistic of swaps, for every row of them."""
        return values_in_blocks(statistic, self.swaps(clusters))

    def swaps_are_exhaustive(self, clusters: int) -> bool:
        """Whether ``swaps`` lists every pattern."""
        return _fit_all_patterns(clusters, self.resamples)


def single_clusters(clusters: int) -> Iterator[Floats]:
    """Weights of each cluster alone, in blocks of rows."""
    start = 0
    for rows in _block_sizes(clusters, clusters):
        yield np.eye(rows, clusters, k=start)
        start += rows


def left_out_clusters(clusters: int) -> Iterator[Floats]:
    """Weights without each cluster in turn, in blocks of rows."""
    return (1 - block for block in single_clusters(clusters))


def values_in_blocks(statistic: Statistic, blocks: Iterable[Floats]) -> Floats:
    """The values of a statistic for all rows, of which no more than one block is in memory."""
    return np.concatenate([statistic(block) for block in blocks])


def _block_sizes(rows: int, columns: int) -> Iterator[int]:
    block = max(1, _BLOCK_CELLS // columns)
    for start in range(0, rows, block):
        yield min(block, rows - start)


def _fit_all_patterns(clusters: int, resamples: int) -> bool:
    """Whether 2**clusters is no more than the resamples, without a number that is too large to be written down."""
    return clusters < resamples.bit_length()


@lru_cache(maxsize=16)
def _bootstrap_weights(clusters: int, resamples: int, seed: int) -> Floats:
    generator = np.random.default_rng([seed, clusters, 0])
    weights = generator.multinomial(clusters, np.full(clusters, 1 / clusters), size=resamples)
    return _frozen(weights.astype(np.float64))


@lru_cache(maxsize=16)
def _swaps(clusters: int, resamples: int, seed: int) -> Floats:
    if _fit_all_patterns(clusters, resamples):
        patterns = (np.arange(2**clusters)[:, None] >> np.arange(clusters)) & 1
    else:
        patterns = np.random.default_rng([seed, clusters, 1]).integers(0, 2, size=(resamples, clusters))
    return _frozen(patterns.astype(np.float64))


def _frozen(array: Floats) -> Floats:
    array.setflags(write=False)
    return array
