"""Is a share of preferences different from one half?"""

from __future__ import annotations

import math

import numpy as np
from scipy import stats

from evenhand.stats.resampling import Floats, Resampling


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


def share_as_extreme(replicates: Floats, observed: float, resampling: Resampling, clusters: int) -> float:
    """Share of replicates at least as far from zero as the observed value.

    When the patterns are drawn at random, the observed one counts among them, so that no p-value is 0.
    """
    tolerance = 1e-9 * max(1.0, abs(observed))
    extreme = int(np.count_nonzero(np.abs(replicates) >= abs(observed) - tolerance))
    if resampling.swaps_are_exhaustive(clusters):
        return extreme / len(replicates)
    return (extreme + 1) / (len(replicates) + 1)
