"""Two runs over the same items: how large is the difference, and could it be chance?

A statistic of two runs takes weights of shape (rows, 2 x clusters): the first half weighs the clusters
of the first run, the second half those of the second. Putting weight on one half evaluates one run.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from statsmodels.stats.contingency_tables import mcnemar

from evenhand.stats.intervals import Interval, cluster_interval
from evenhand.stats.neutrality import share_as_extreme
from evenhand.stats.resampling import Floats, Resampling, Statistic


def difference_interval(
    statistic: Statistic, clusters: int, *, resampling: Resampling, widest: float = math.inf
) -> Interval:
    """Interval of second minus first, both runs resampled over the same clusters."""

    def difference(weights: Floats) -> Floats:
        nothing = np.zeros_like(weights)
        second = statistic(np.hstack([nothing, weights]))
        return second - statistic(np.hstack([weights, nothing]))

    return cluster_interval(difference, clusters, resampling=resampling, lowest=-widest, highest=widest)


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
    table = [
        [np.count_nonzero(first & second), np.count_nonzero(first & ~second)],
        [np.count_nonzero(~first & second), np.count_nonzero(~first & ~second)],
    ]
    return float(mcnemar(table, exact=True).pvalue)


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
