"""Resampling plans over clusters: seeded, cached, and the same for every statistic that uses them."""

from __future__ import annotations

from collections.abc import Callable
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

    def bootstrap_weights(self, clusters: int) -> Floats:
        """How often each cluster is drawn in each resample, shape (resamples, clusters)."""
        return _bootstrap_weights(clusters, self.resamples, self.seed)

    def swaps(self, clusters: int) -> Floats:
        """For each row, which clusters are swapped (1) or left (0).

        All patterns when there are no more than ``resamples`` of them, which makes a test exact;
        otherwise random ones.
        """
        return _swaps(clusters, self.resamples, self.seed)

    def swaps_are_exhaustive(self, clusters: int) -> bool:
        """Whether ``swaps`` lists every pattern."""
        return _fit_all_patterns(clusters, self.resamples)


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
