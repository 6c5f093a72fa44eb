"""Tests of a single run against neutrality and of two runs against each other, and Holm's adjustment of many.

A statistic of two runs takes weights of shape (rows, 2 x clusters): the first half weighs the clusters
of the first run, the second half those of the second. Putting weight on one half evaluates one run.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from scipy import stats

from evenhand.stats.resampling import Floats, Resampling, Statistic


def exact_binomial(wins: int, losses: int) -> float:
    """Two-sided exact binomial p-value of wins against losses; ties are left out beforehand."""
    if wins + losses == 0:
        return math.nan
    return float(stats.binomtest(wins, wins + losses, 0.5).pvalue)


def clustered_sign_flip(net_preferences: Floats, *, resampling: Resampling) -> float:
    """Two-sided p-value for net preferences (wins minus losses) summed by cluster.

    Under neutrality the sign of each cluster's sum is as likely as its opposite, whatever the
    dependence within the cluster; so signs of whole clusters are flipped.
    """
    deciding = net_preferences[net_preferences != 0]
    if len(deciding) == 0:
        return math.nan
    signs = 1 - 2 * resampling.swaps(len(deciding))
    return share_as_extreme(signs @ deciding, float(deciding.sum()), resampling, len(deciding))


def swap_test(statistic: Statistic, clusters: int, *, resampling: Resampling) -> float:
    """Two-sided p-value of second minus first from swapping the runs within whole clusters.

    If the two runs differ by chance only, it does not matter which run a cluster's scores are
    attributed to.
    """
    if clusters == 0:
        return math.nan
    swapped = resampling.swaps(clusters)

    def difference(swapped: Floats) -> Floats:
        kept = 1 - swapped
        return statistic(np.hstack([swapped, kept])) - statistic(np.hstack([kept, swapped]))

    observed = float(difference(np.zeros((1, clusters)))[0])
    return share_as_extreme(difference(swapped), observed, resampling, clusters)


def mcnemar_test(first: npt.NDArray[np.bool_], second: npt.NDArray[np.bool_]) -> float:
    """Exact McNemar p-value of two sets of yes/no decisions on the same items."""
    if len(first) == 0:
        return math.nan
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


def share_as_extreme(replicates: Floats, observed: float, resampling: Resampling, clusters: int) -> float:
    """Share of replicates at least as far from zero as the observed value.

    When the patterns are drawn at random, the observed one counts among them, so that no p-value is 0.
    """
    tolerance = 1e-9 * max(1.0, abs(observed))
    extreme = int(np.count_nonzero(np.abs(replicates) >= abs(observed) - tolerance))
    if resampling.swaps_are_exhaustive(clusters):
        return extreme / len(replicates)
    return (extreme + 1) / (len(replicates) + 1)
