"""Differences between two runs or models on the same clusters, items or seeds, and whether a margin holds.

A ratio has two values per item: its numerator and its denominator, such as surprise and tokens. Whole items are
resampled, so that both stay together.
"""

from __future__ import annotations

import math
from enum import StrEnum

import numpy as np
from scipy import stats

from evenhand.stats.intervals import FEWEST_FOR_BOOTSTRAP, Interval, cluster_interval, expanded_tail
from evenhand.stats.resampling import Floats, Resampling, Statistic

BOOTSTRAP = "paired bootstrap over items, expanded percentile"
NO_ITEM_DIFFERS = "no item differs"
STUDENT = "paired t"

_DRAWS = 2_000_000
"""Items that are drawn at a time, so that memory stays small."""


class MarginVerdict(StrEnum):
    """Whether a difference stays within what is tolerated."""

    KEPT = "kept"
    LOST = "lost"
    UNDECIDED = "undecided"


def judge_margin(interval: Interval, *, worst: float) -> MarginVerdict:
    """Read a margin off an interval of after minus before.

    Kept if the whole interval is on the good side of ``worst``, lost if all of it is beyond. A negative ``worst`` is
    for what should not fall, a positive one for what should not rise. At 95% each of the two claims is wrong in at
    most one case of forty, which is the usual level of a test for non-inferiority.
    """
    if math.isnan(interval.low):
        return MarginVerdict.UNDECIDED
    low, high, limit = (
        (interval.low, interval.high, worst) if worst < 0 else (-interval.high, -interval.low, -worst)
    )
    if low >= limit:
        return MarginVerdict.KEPT
    return MarginVerdict.LOST if high < limit else MarginVerdict.UNDECIDED


def difference_interval(
    statistic: Statistic, clusters: int, *, resampling: Resampling, widest: float = math.inf
) -> Interval:
    """Interval of second minus first, both runs resampled over the same clusters."""

    def difference(weights: Floats) -> Floats:
        nothing = np.zeros_like(weights)
        second = statistic(np.hstack([nothing, weights]))
        return second - statistic(np.hstack([weights, nothing]))

    return cluster_interval(difference, clusters, resampling=resampling, lowest=-widest, highest=widest)


def ratio_interval(numerators: Floats, denominators: Floats, *, resampling: Resampling) -> Interval:
    """Interval of the sum of numerators over the sum of denominators, items resampled."""
    items = len(numerators)
    if items < 2:
        return Interval.missing("an interval needs at least two items")
    if items < FEWEST_FOR_BOOTSTRAP:
        return cluster_interval(
            lambda weights: (weights @ numerators) / (weights @ denominators), items, resampling=resampling
        )
    value = float(numerators.sum() / denominators.sum())
    replicates = _replicates(numerators, denominators, resampling)
    tail = expanded_tail(items, resampling.confidence)
    low, high = np.nanquantile(replicates, [tail, 1 - tail])
    return Interval(min(float(low), value), max(float(high), value), BOOTSTRAP)


def difference_of_means(
    before: Floats, after: Floats, *, weights: Floats, resampling: Resampling
) -> tuple[float, Interval]:
    """Sum of after minus before over the sum of weights, with its interval; certain where no item differs."""
    differences = after - before
    value = float(differences.sum() / weights.sum())
    if not differences.any():
        return value, Interval(0.0, 0.0, NO_ITEM_DIFFERS)
    return value, ratio_interval(differences, weights, resampling=resampling)


def t_interval(differences: Floats, *, confidence: float) -> tuple[Interval, float]:
    """Interval of the mean of paired differences, and the two-sided p-value of the paired t-test."""
    count = len(differences)
    if count < 2:
        return Interval.missing("an interval needs at least two seeds"), math.nan
    mean = float(differences.mean())
    error = float(differences.std(ddof=1)) / math.sqrt(count)
    if error <= 1e-12 * abs(mean):
        return Interval.missing("all seeds give the same difference, so its spread is unknown"), math.nan
    reach = error * float(stats.t.ppf((1 + confidence) / 2, count - 1))
    p_value = 2 * float(stats.t.sf(abs(mean) / error, count - 1))
    return Interval(mean - reach, mean + reach, STUDENT), p_value


def _replicates(numerators: Floats, denominators: Floats, resampling: Resampling) -> Floats:
    items = len(numerators)
    generator = np.random.default_rng([resampling.seed, items, 3])
    block = max(1, _DRAWS // items)
    parts = []
    for start in range(0, resampling.resamples, block):
        drawn = generator.integers(0, items, size=(min(block, resampling.resamples - start), items))
        parts.append(numerators[drawn].sum(axis=1) / denominators[drawn].sum(axis=1))
    return np.concatenate(parts)
