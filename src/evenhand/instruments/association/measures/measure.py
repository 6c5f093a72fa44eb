"""What a measure is: a function of totals per target term, which come from preferences per item."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from evenhand.core.protocols import Ties
from evenhand.stats.cluster_shares import share_interval
from evenhand.stats.intervals import Interval, cluster_interval, smallest_interval
from evenhand.stats.resampling import Resampling
from evenhand.store.calibration import Expectation

Floats: TypeAlias = npt.NDArray[np.float64]


def preference(first: Floats, second: Floats, *, ties: Ties) -> Floats:
    """1 where the first score is higher, 0 where it is lower, the protocol's credit where equal.

    Scores are compared as they are: rounding first would make ties that are not there.
    """
    return np.where(first > second, 1.0, np.where(first < second, 0.0, ties.credit))


@dataclass(frozen=True, slots=True)
class Preferences:
    """What the scores say about each item, all arrays of one length."""

    stereotype: Floats
    """Credit for preferring the stereotype over the anti-stereotype."""
    meaningful: Floats
    """Mean credit for preferring each of the two over the unrelated candidate."""
    tied: npt.NDArray[np.bool_]
    """Whether stereotype and anti-stereotype have the same score."""
    log_ratio: Floats
    """By how many bits the stereotype is the more probable of the two; NaN where that is not known."""

    @classmethod
    def from_scores(
        cls,
        stereotype: Floats,
        anti_stereotype: Floats,
        unrelated: Floats,
        *,
        ties: Ties,
        log_ratio: Floats | None = None,
    ) -> Preferences:
        """Compare the three candidates of each item.

        Log-ratios come from elsewhere, because a score need not be a probability.
        """
        related = preference(stereotype, unrelated, ties=ties) + preference(
            anti_stereotype, unrelated, ties=ties
        )
        return cls(
            stereotype=preference(stereotype, anti_stereotype, ties=ties),
            meaningful=related / 2,
            tied=stereotype == anti_stereotype,
            log_ratio=np.full(len(stereotype), np.nan) if log_ratio is None else log_ratio,
        )

    def of(self, items: npt.NDArray[np.int64]) -> Preferences:
        """The preferences of these items, some perhaps more than once."""
        return Preferences(
            self.stereotype[items], self.meaningful[items], self.tied[items], self.log_ratio[items]
        )


@dataclass(frozen=True, slots=True)
class ClusterTotals:
    """Sums of preferences over the items of each target term, one entry a term.

    Every measure is a function of these totals and of a weight per term: ones give the value, a
    resample's counts give a bootstrap replicate, a zero gives the value without a term.
    """

    names: tuple[str, ...]
    items: Floats
    stereotype: Floats
    meaningful: Floats
    log_ratio: Floats
    """NaN for a term with an item whose log-ratio is not known."""

    @classmethod
    def from_preferences(cls, clusters: npt.NDArray[np.str_], preferences: Preferences) -> ClusterTotals:
        """Sum the preferences within each cluster, clusters in sorted order."""
        names, index = np.unique(clusters, return_inverse=True)
        ones = np.ones(len(index))

        def sums(values: Floats) -> Floats:
            return np.bincount(index, weights=values, minlength=len(names)).astype(np.float64)

        return cls(
            names=tuple(str(name) for name in names),
            items=sums(ones),
            stereotype=sums(preferences.stereotype),
            meaningful=sums(preferences.meaningful),
            log_ratio=sums(preferences.log_ratio),
        )

    def __len__(self) -> int:
        return len(self.names)

    def beside(self, other: ClusterTotals) -> ClusterTotals:
        """The terms of two runs in one object, first these and then the other's.

        A weight of 0 or 1 then chooses, term by term, from which run the term is taken: what paired
        resampling and swapping need.
        """
        return ClusterTotals(
            names=self.names + other.names,
            items=np.concatenate([self.items, other.items]),
            stereotype=np.concatenate([self.stereotype, other.stereotype]),
            meaningful=np.concatenate([self.meaningful, other.meaningful]),
            log_ratio=np.concatenate([self.log_ratio, other.log_ratio]),
        )

    @property
    def unit_weights(self) -> Floats:
        """The weights under which a measure gives its value on the items as they are."""
        return np.ones((1, len(self)))


Compute: TypeAlias = Callable[[ClusterTotals, Floats], Floats]
"""From totals and weights of shape (rows, terms) to one value per row."""


@dataclass(frozen=True, slots=True)
class Measure:
    """A named, versioned function of totals per target term and weights over terms.

    ``compute`` takes weights of shape (rows, terms) and returns one value a row, so that a value, its
    bootstrap replicates and its leave-one-out values come from the same code.
    """

    name: str
    version: str
    title: str
    neutral: float | None
    """The value that means no lean either way; None where the measure has no such point."""
    ideal: float
    compute: Compute
    doc: str
    lowest: float = 0.0
    highest: float = 100.0
    unit: str | None = None
    """What it is counted in, where that is not points of 100."""
    undefined: str = "it does not follow from these scores"
    """Why there is no value where ``compute`` gives NaN."""
    expectation: Expectation | None = None
    """How it must respond to planted bias; None for a measure that the lab does not calibrate."""
    counts: Callable[[ClusterTotals], Floats] | None = None
    """For a share of items: the items of each term that it counts."""
    branches: tuple[Compute, ...] = ()
    """For a measure with a kink: the smooth functions of which it is the smallest."""
    own_interval: Callable[[ClusterTotals, Resampling], Interval] | None = None
    """For a measure whose interval is not that of other measures."""
    reads: str | None = None
    """What its interval is of, where that is not what the name says."""

    def value(self, totals: ClusterTotals) -> float:
        """The measure on the items as they are."""
        return float(self.compute(totals, totals.unit_weights)[0])

    def interval(self, totals: ClusterTotals, *, resampling: Resampling) -> Interval:
        """The interval of its value, terms resampled."""
        if self.own_interval is not None:
            return self.own_interval(totals, resampling)
        if self.branches:
            return self._kinked_interval(totals, resampling)
        if self.counts is None:
            found = self._plain_interval(totals, resampling)
        else:
            found = self._share_interval(totals, self.counts(totals), resampling)
        return replace(found, method=f"{found.method}; {self.reads}") if self.reads else found

    def _plain_interval(self, totals: ClusterTotals, resampling: Resampling) -> Interval:
        return cluster_interval(
            partial(self.compute, totals),
            len(totals),
            resampling=resampling,
            lowest=self.lowest,
            highest=self.highest,
        )

    def _kinked_interval(self, totals: ClusterTotals, resampling: Resampling) -> Interval:
        intervals = [
            cluster_interval(partial(branch, totals), len(totals), resampling=resampling)
            for branch in self.branches
        ]
        if any(math.isnan(interval.low) for interval in intervals):
            return self._plain_interval(totals, resampling)
        smallest = smallest_interval(intervals, highest=self.highest)
        return replace(smallest, low=max(self.lowest, smallest.low))

    def _share_interval(self, totals: ClusterTotals, counts: Floats, resampling: Resampling) -> Interval:
        scale = self.highest - self.lowest

        def resampled() -> Interval:
            found = self._plain_interval(totals, resampling)
            return replace(found, low=found.low / scale, high=found.high / scale)

        found = share_interval(counts, totals.items, confidence=resampling.confidence, otherwise=resampled)
        if math.isnan(found.low):
            return found
        value = self.value(totals)
        return replace(found, low=min(value, scale * found.low), high=max(value, scale * found.high))
