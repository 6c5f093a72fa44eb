"""Tests of one run and of two, differences with their margins, and Holm's adjustment of many.

A statistic of two runs takes weights of shape (rows, 2 x clusters): the first half weighs the clusters
of the first run, the second half those of the second. Putting weight on one half evaluates one run.

A ratio has two values per item: its numerator and its denominator, such as surprise and tokens. Whole items are
resampled, so that both stay together.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from enum import StrEnum
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import special

from evenhand.core.estimates import Estimate
from evenhand.stats.intervals import (
    FEWEST_FOR_BOOTSTRAP,
    Interval,
    cluster_interval,
    expanded_tail,
    skewed_interval,
    skewness_of_values,
)
from evenhand.stats.resampling import Floats, Resampling, Statistic


def exact_binomial(wins: int, losses: int) -> float:
    """Two-sided exact binomial p-value of wins against losses; ties are left out beforehand."""
    if wins + losses == 0:
        return math.nan
    from scipy import stats

    return float(stats.binomtest(wins, wins + losses, 0.5).pvalue)


def clustered_sign_flip(net_preferences: Floats, *, resampling: Resampling) -> float:
    """Two-sided p-value for net preferences (wins minus losses) summed by cluster.

    Under neutrality the sign of each cluster's sum is as likely as its opposite, whatever the
    dependence within the cluster; so signs of whole clusters are flipped.
    """
    deciding = net_preferences[net_preferences != 0]
    if len(deciding) == 0:
        return math.nan
    sums = resampling.swapped(lambda swaps: (1 - 2 * swaps) @ deciding, len(deciding))
    return share_as_extreme(sums, float(deciding.sum()), resampling, len(deciding))


def sign_flip_name(net_preferences: Floats, *, resampling: Resampling, of: str) -> str:
    """What ``clustered_sign_flip`` does with these preferences, in words."""
    deciding = int(np.count_nonzero(net_preferences))
    drawn = "exact" if resampling.swaps_are_exhaustive(deciding) else f"{resampling.resamples:,} random"
    return f"{drawn} sign flips of {of}"


def swap_test(statistic: Statistic, clusters: int, *, resampling: Resampling) -> float:
    """Two-sided p-value of second minus first from swapping the runs within whole clusters.

    If the two runs differ by chance only, it does not matter which run a cluster's scores are
    attributed to.
    """
    if clusters == 0:
        return math.nan

    def difference(swapped: Floats) -> Floats:
        kept = 1 - swapped
        return statistic(np.hstack([swapped, kept])) - statistic(np.hstack([kept, swapped]))

    observed = float(difference(np.zeros((1, clusters)))[0])
    return share_as_extreme(resampling.swapped(difference, clusters), observed, resampling, clusters)


def mcnemar_test(first: npt.NDArray[np.bool_], second: npt.NDArray[np.bool_]) -> float:
    """Exact McNemar p-value of two sets of yes/no decisions on the same items."""
    if len(first) == 0:
        return math.nan
    from scipy import stats

    only_first = int(np.count_nonzero(first & ~second))
    only_second = int(np.count_nonzero(~first & second))
    tail = stats.binom.cdf(min(only_first, only_second), only_first + only_second, 0.5)
    return min(1.0, 2 * float(tail))


def holm(p_values: list[float]) -> list[float]:
    """Holm-adjusted p-values; undefined ones stay undefined and do not count."""
    defined = [index for index, p in enumerate(p_values) if not math.isnan(p)]
    adjusted = [math.nan] * len(p_values)
    values = np.array([p_values[index] for index in defined])
    order = np.argsort(values, kind="stable")
    stepped = np.maximum.accumulate((len(defined) - np.arange(len(defined))) * values[order])
    for place, p in zip(order.tolist(), np.minimum(stepped, 1.0).tolist(), strict=True):
        adjusted[defined[place]] = p
    return adjusted


def largest_shown(estimates: Mapping[str, Estimate]) -> str | None:
    """The name of the largest of several independent values, if it is shown to be larger than each of the others.

    The interval of its difference from every other one must lie above 0. Its ends come from those of both values
    (Zou and Donner 2008, "Construction of confidence limits about effect measures"). That the largest was chosen by
    looking needs no more than that: some value is wrongly called the largest no more often than two-sided tests err
    (Gutmann and Maymin 1987, "Is the selected population the best?").
    """
    if len(estimates) < 2 or any(math.isnan(own.low) for own in estimates.values()):
        return None
    name = max(estimates, key=lambda own: estimates[own].value)
    first = estimates[name]
    for other, second in estimates.items():
        reach = math.hypot(first.value - first.low, second.high - second.value)
        if other != name and first.value - second.value <= reach:
            return None
    return name


def share_as_extreme(replicates: Floats, observed: float, resampling: Resampling, clusters: int) -> float:
    """Share of replicates at least as far from zero as the observed value.

    When the patterns are drawn at random, the observed one counts among them, so that no p-value is 0.
    """
    tolerance = 1e-9 * max(1.0, abs(observed))
    extreme = int(np.count_nonzero(np.abs(replicates) >= abs(observed) - tolerance))
    if resampling.swaps_are_exhaustive(clusters):
        return extreme / len(replicates)
    return (extreme + 1) / (len(replicates) + 1)


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
    for what should not fall, a positive one for what should not rise. An interval of 95% that misses to
    either side equally often makes each of the two claims wrong in one case of forty at most, the usual level of a
    test for non-inferiority.
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


def total_interval(
    statistic: Statistic, clusters: int, *, resampling: Resampling, lowest: float, highest: float
) -> Interval:
    """Interval of first plus second, both runs resampled over the same clusters.

    Args:
        statistic: Of two runs.
        clusters: How many clusters there are.
        resampling: Resamples, seed and confidence level.
        lowest: Smallest value that the statistic can take in one run.
        highest: Largest value that it can take in one run.
    """

    def total(weights: Floats) -> Floats:
        nothing = np.zeros_like(weights)
        return statistic(np.hstack([nothing, weights])) + statistic(np.hstack([weights, nothing]))

    return cluster_interval(total, clusters, resampling=resampling, lowest=2 * lowest, highest=2 * highest)


def distance_interval(difference: Interval, total: Interval, *, neutral: float) -> Interval:
    """Interval of how much farther the second of two values is from neutral than the first.

    With d the difference and t the total of both distances with their signs, the change of the distance is
    (|t + d| - |t - d|) / 2. Its sign is that of d times t, so it is clear where both intervals exclude 0. Two values at
    the same distance have d or t at 0, so they are called different no more often than its interval misses. A
    bootstrap of absolute values would not have that: noise makes them larger.

    Args:
        difference: Of second minus first.
        total: Of first plus second.
        neutral: The neutral value.
    """
    for interval in (difference, total):
        if math.isnan(interval.low):
            return Interval.missing(interval.reason or "there is no interval of the difference")
    signed = (total.low - 2 * neutral, total.high - 2 * neutral)
    corners = [(abs(t + d) - abs(t - d)) / 2 for t in signed for d in (difference.low, difference.high)]
    return Interval(min(corners), max(corners), f"{difference.method}; of the distance from neutral")


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


def clustered_ratio_interval(
    numerators: Floats, denominators: Floats, *, clusters: npt.NDArray[Any], confidence: float
) -> Interval:
    """Interval of the sum of numerators over the sum of denominators, where items of a cluster are alike.

    The jackknife over clusters with a t quantile, longer on the side to which clusters are skewed. Clusters of unequal
    size tell less than as many equal ones, so its degrees of freedom are of as many equal clusters as would weigh the
    same, and a skewness of clusters is that much more one of their mean.
    """
    numbers = np.unique(clusters, return_inverse=True)[1]
    tops, bottoms = (np.bincount(numbers, weights=values) for values in (numerators, denominators))
    if len(tops) < 2:
        return Interval.missing("an interval over clusters needs at least two of them")
    counts, alike = bottoms > 0, effective_clusters(bottoms)
    return skewed_interval(
        float(tops.sum() / bottoms.sum()),
        (tops.sum() - tops) / (bottoms.sum() - bottoms),
        confidence=confidence,
        freedom=max(1.0, alike - 1),
        skewness=skewness_of_values(tops[counts] / bottoms[counts], as_many_as=alike)
        * float((bottoms**3).sum())
        / float(bottoms @ bottoms) ** 1.5,
    )


def effective_clusters(sizes: npt.NDArray[Any]) -> float:
    """As many clusters of equal size as would weigh the same (Kish 1965, "Survey sampling")."""
    return float(sizes.sum()) ** 2 / float(sizes @ sizes)


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
    reach = error * float(special.stdtrit(count - 1, (1 + confidence) / 2))
    p_value = 2 * float(special.stdtr(count - 1, -abs(mean) / error))
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
