"""Shares of items in clusters that differ.

Within a cluster counts are binomial, between clusters shares follow a beta distribution (Skellam 1948, "A probability
distribution derived from the binomial distribution by regarding the probability of success as variable between the
sets of trials"). The correlation of two items of one cluster is ``1 / (alpha + beta + 1)``; 0 is the plain binomial.

Close to 0 or 1 a bootstrap over clusters sees too few of the rarer outcomes to know how far they vary. There a share
has the interval of the profile likelihood (Venzon and Moolgavkar 1988, "A method for computing
profile-likelihood-based confidence intervals"): all shares that some correlation makes likely enough, with a t
quantile for the number of clusters.

A cluster of few items leans by chance alone. How true shares are spread over clusters is estimated without a family of
distributions, and with it the part of the lean that is chance.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
from scipy import special

from evenhand.stats.intervals import Interval
from evenhand.stats.resampling import Floats

PROFILE = "beta-binomial profile likelihood over clusters"

BLENDED = "cluster bootstrap and beta-binomial profile, blended"

ALWAYS, NEVER = 0.10, 0.20
"""Shares of the rarer outcome: up to the first the profile stands alone, from the second on it is not used."""

_CORRELATIONS = special.expit(np.linspace(-9, 0, 24))
"""Up to a half. A higher one would say that clusters are all of one kind or the other. A single rare outcome cannot
rule that out, several can, so that its interval would be wider than theirs."""

_SMALLEST = 1e-9


def share_interval(
    counts: Floats, sizes: Floats, *, confidence: float, otherwise: Callable[[], Interval]
) -> Interval:
    """Interval of a share of all items, where items come in clusters.

    Between ``ALWAYS`` and ``NEVER`` the ends move from those of the profile to those of ``otherwise``, so that one
    item more or less never makes an interval jump.

    Args:
        counts: Items with the outcome in each cluster; a tie may count half.
        sizes: Items in each cluster.
        confidence: The confidence level.
        otherwise: The interval, from 0 to 1, where neither outcome is rare.
    """
    share = float(counts.sum() / sizes.sum())
    trust = (min(share, 1 - share) - ALWAYS) / (NEVER - ALWAYS)
    if len(counts) < 2 or trust >= 1:
        return otherwise()
    profile = profile_interval(counts, sizes, confidence=confidence)
    if trust <= 0:
        return profile
    other = otherwise()
    if math.isnan(other.low):
        return profile
    return Interval(
        trust * other.low + (1 - trust) * profile.low,
        trust * other.high + (1 - trust) * profile.high,
        BLENDED,
    )


def profile_interval(counts: Floats, sizes: Floats, *, confidence: float) -> Interval:
    """Interval of the share of a beta-binomial distribution, whatever its correlation.

    One rare outcome tells nothing about the correlation, several that are spread over clusters tell that it is low. So
    that such outcomes never make the interval shorter on their side, its end there is no closer to the limit than with
    one of them. Where there is none, the end is the same, or the exact one for "all of so many clusters", which holds
    for any correlation, where that says more.
    """
    share = float(counts.sum() / sizes.sum())
    if share > 0.5:
        low, high = _reflected(_rare_ends(sizes - counts, sizes, confidence=confidence))
    else:
        low, high = _rare_ends(counts, sizes, confidence=confidence)
    return Interval(low, high, PROFILE)


def _reflected(ends: tuple[float, float]) -> tuple[float, float]:
    return 1 - ends[1], 1 - ends[0]


def _rare_ends(counts: Floats, sizes: Floats, *, confidence: float) -> tuple[float, float]:
    """The ends of the interval of a share of at most a half."""
    single = np.zeros_like(counts)
    single[np.argmax(sizes)] = 1
    highest = _profile_ends(single, sizes, confidence=confidence)[1]
    if not counts.any():
        return 0.0, min(highest, 1 - ((1 - confidence) / 2) ** (1 / len(counts)))
    low, high = _profile_ends(counts, sizes, confidence=confidence)
    return low, max(high, highest)


def _profile_ends(counts: Floats, sizes: Floats, *, confidence: float) -> tuple[float, float]:
    """Where the profile likelihood falls to what a t quantile for the number of clusters allows."""
    share = float(counts.sum() / sizes.sum())
    likelihood = _profile_likelihood(counts, sizes)
    top, most = _peak(likelihood, share)
    least = most - float(special.stdtrit(len(counts) - 1, (1 + confidence) / 2)) ** 2 / 2
    low, high = (_crossing(likelihood, top, limit, least=least) for limit in (_SMALLEST, 1 - _SMALLEST))
    return min(share, low), max(share, high)


def _profile_likelihood(counts: Floats, sizes: Floats) -> Callable[[float], float]:
    """Log-likelihood of a share under the correlation that suits it best."""
    (successes, items), times = np.unique(np.stack([counts, sizes]), axis=1, return_counts=True)
    total = (1 / _CORRELATIONS - 1)[:, None]

    def likelihood(share: float) -> float:
        alpha, beta = share * total, (1 - share) * total
        terms = special.betaln(successes + alpha, items - successes + beta) - special.betaln(alpha, beta)
        return float((terms @ times).max())

    return likelihood


def _peak(likelihood: Callable[[float], float], share: float) -> tuple[float, float]:
    """The likeliest share and its log-likelihood, by steps on the logit that get smaller."""
    place, step, most = float(special.logit(share)), 0.5, likelihood(share)
    while step > 0.01:
        tried = {side: likelihood(float(special.expit(place + side * step))) for side in (-1, 1)}
        side = max(tried, key=lambda each: tried[each])
        if tried[side] > most:
            place, most = place + side * step, tried[side]
        else:
            step /= 2
    return float(special.expit(place)), most


def _crossing(likelihood: Callable[[float], float], inside: float, outside: float, *, least: float) -> float:
    """Where the log-likelihood falls to ``least``, by bisection."""
    for _ in range(24):
        middle = (inside + outside) / 2
        if likelihood(middle) >= least:
            inside = middle
        else:
            outside = middle
    return inside


GRID = np.linspace(0.0125, 0.9875, 40)
"""Shares that clusters can have in a mixing distribution; 0.5 lies between two of them."""

_STEPS = 120

_PULLS = np.append(0.0, np.geomspace(1, 1_000, 15))
"""From none to one that no data withstand."""

_ROWS = 500
"""Rows of weights at a time, so that memory stays small."""


def mixing_distribution(counts: Floats, sizes: Floats, weights: Floats) -> Floats:
    """How true shares of clusters are spread over ``GRID``, for each row of weights over clusters.

    The nonparametric maximum likelihood estimate by the EM algorithm (Laird 1978, "Nonparametric maximum likelihood
    estimation of a mixing distribution"), stopped after a fixed number of steps, which keeps it smooth.
    """
    likelihoods = _likelihoods(counts, sizes)
    parts = [_mixing(likelihoods, weights[start : start + _ROWS]) for start in range(0, len(weights), _ROWS)]
    return np.concatenate(parts)


def largest_folded_share(counts: Floats, sizes: Floats, *, confidence: float) -> float:
    """The largest mean of min(p, 1 - p) over clusters that some distribution of their true shares makes likely enough.

    The upper end of its profile likelihood, with a t quantile for the number of clusters. A pull towards larger means
    stands for each of them (a Lagrange multiplier), and the distribution that is likeliest under a pull is found as the
    one without is: the factors of the EM algorithm are the gradient, whatever its positive terms are (Baum and Eagon
    1967, "An inequality with applications to statistical estimation").
    """
    # The two shares next to 0.5 stand for it too: data do not tell them apart, and it has the largest minimum.
    folded = np.where(np.abs(GRID - 0.5) < GRID[1] - GRID[0], 0.5, np.minimum(GRID, 1 - GRID))
    likelihoods = _likelihoods(counts, sizes)
    mixing = _mixing(likelihoods, np.ones((len(_PULLS), len(counts))), _PULLS[:, None] * folded)
    logs = np.log(mixing @ likelihoods.T).sum(axis=1)
    lost = np.maximum.accumulate(np.sqrt(2 * np.maximum(0.0, logs[0] - logs)))
    return float(np.interp(special.stdtrit(len(counts) - 1, (1 + confidence) / 2), lost, mixing @ folded))


def _likelihoods(counts: Floats, sizes: Floats) -> Floats:
    """Of each share of ``GRID`` in each cluster, relative to the likeliest."""
    logs = counts[:, None] * np.log(GRID) + (sizes - counts)[:, None] * np.log1p(-GRID)
    relative: Floats = np.exp(logs - logs.max(axis=1, keepdims=True))
    return relative


def _mixing(likelihoods: Floats, weights: Floats, pulls: Floats | float = 0.0) -> Floats:
    mixing = np.full((len(weights), len(GRID)), 1 / len(GRID))
    for _ in range(_STEPS):
        mixing = mixing * ((weights / (mixing @ likelihoods.T)) @ likelihoods + pulls)
        mixing /= mixing.sum(axis=1, keepdims=True)
    return mixing


@lru_cache(maxsize=256)
def folding_bias(size: int) -> Floats:
    """For each share of ``GRID``, how far below min(p, 1 - p) a cluster of ``size`` items reads on average."""
    counts = np.arange(size + 1)
    logs = special.gammaln(size + 1) - special.gammaln(counts + 1) - special.gammaln(size - counts + 1)
    chances = np.exp(logs + counts * np.log(GRID)[:, None] + (size - counts) * np.log1p(-GRID)[:, None])
    bias: Floats = np.minimum(GRID, 1 - GRID) - chances @ (np.minimum(counts, size - counts) / size)
    bias.setflags(write=False)
    return bias


def dispersion_test(counts: Floats, sizes: Floats) -> float:
    """P-value of the chi-squared test that all clusters have one share; small where they differ more than by chance."""
    share = float(counts.sum() / sizes.sum())
    if share in (0.0, 1.0) or len(counts) < 2:
        return 1.0
    statistic = float(((counts - sizes * share) ** 2 / (sizes * share * (1 - share))).sum())
    return float(special.chdtrc(len(counts) - 1, statistic))
