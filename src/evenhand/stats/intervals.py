"""Intervals that respect clusters.

With ten clusters or more: the percentile bootstrap over clusters, with the percentiles widened so that
its length matches a t interval (Hesterberg 2015, "What teachers should know about the bootstrap", the
expanded percentile interval); the plain percentile interval is too short with few clusters.

With two to nine clusters no bootstrap is honest: three clusters have ten distinct resamples. There the
delete-one-cluster jackknife with a t quantile is used, which is wide because little is known.

Of documents or contexts a few are often far from the rest. A t interval then ends too soon on their side: a sample
without them has a low mean and a small error. So their means have the jackknife whatever their number, and its end on
that side goes out as far as their skewness asks (Hall 1992, "On the removal of skewness by transformation"). A sample
shows less skewness than there is, so it is raised. What a sample has none of, no interval can allow for:
``unseen_share`` says how much that may be.

A value that is the smaller of two, such as ICAT, has a kink where they are equal: every resample moves it down there.
So the two are resampled on their own, and their intervals give that of the smaller.

Where the observations do not depend on each other, a share has Wilson's interval.

Intervals over two crossed factors are in ``crossed``, those of shares close to 0 or 1 in ``cluster_shares``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import special  # not stats, which takes half a second to import

from evenhand.core.estimates import Estimate
from evenhand.stats.resampling import Floats, Resampling, Statistic, left_out_clusters, values_in_blocks

FEWEST_FOR_BOOTSTRAP = 10

BOOTSTRAP = "cluster bootstrap, expanded percentile"

JACKKNIFE = "cluster jackknife, t"

SKEWED_JACKKNIFE = "cluster jackknife, t with skewness"

JACKKNIFE_LOGIT = "cluster jackknife, t on the logit"

EXACT_EXTREME = "exact, all clusters at the limit"

WILSON = "Wilson score"

NONE = "none"


@dataclass(frozen=True, slots=True)
class Interval:
    """Two ends, how they were found, and why they are missing if they are NaN."""

    low: float
    high: float
    method: str
    reason: str | None = None

    @classmethod
    def missing(cls, reason: str) -> Interval:
        """No interval, and why."""
        return cls(math.nan, math.nan, NONE, reason)

    def around(self, value: float, *, n: int, clusters: int) -> Estimate:
        """The estimate whose interval this is, and what it was computed from."""
        return Estimate(
            value=value,
            low=self.low,
            high=self.high,
            n=n,
            clusters=clusters,
            method=self.method,
            reason=self.reason,
        )

    def within(self, lowest: float, highest: float, *, value: float) -> Interval:
        """The same with ends that are possible; at the value where a correction takes that beyond what is possible."""
        low, high = min(value, max(lowest, self.low)), max(value, min(highest, self.high))
        if self.reason is not None or (low, high) == (self.low, self.high):
            return self
        return replace(self, low=low, high=high, method=f"{self.method}, cut at the end of the scale")

    def on_logit(self, lowest: float, highest: float, *, value: float) -> Interval:
        """A t interval of a value on a scale with two ends, taken on the logit of its place between them.

        It never leaves the scale and is longer towards its middle. Of few clusters whose mean lies off the middle it
        holds the truth more often than the t interval that is cut at the end of the scale. Values of few clusters on a
        scale are skewed towards its middle, so it takes the end that skewness leaves alone.
        """
        place, width = (value - lowest) / (highest - lowest), highest - lowest
        if self.method != SKEWED_JACKKNIFE or not 0 < place < 1:
            return self.within(lowest, highest, value=value)
        reach = min(value - self.low, self.high - value) / (width * place * (1 - place))  # the delta method
        centre = float(special.logit(place))
        low, high = (lowest + width * float(special.expit(centre + side * reach)) for side in (-1, 1))
        return Interval(low, high, JACKKNIFE_LOGIT)


def cluster_interval(
    statistic: Statistic,
    clusters: int,
    *,
    resampling: Resampling,
    lowest: float = -math.inf,
    highest: float = math.inf,
) -> Interval:
    """Interval of a statistic that is a function of weights over clusters.

    Args:
        statistic: From weights of shape (rows, clusters) to one value per row.
        clusters: How many clusters there are.
        resampling: Resamples, seed and confidence level.
        lowest: Smallest value that the statistic can take.
        highest: Largest value that the statistic can take.
    """
    if clusters < 2:
        return Interval.missing("an interval needs at least two target terms")
    value = float(statistic(np.ones((1, clusters)))[0])
    if not _varies(statistic, clusters, value):
        return _without_variation(value, clusters, resampling.confidence, lowest, highest)
    if clusters < FEWEST_FOR_BOOTSTRAP:
        deviations = values_in_blocks(statistic, left_out_clusters(clusters)) - value
        error = math.sqrt((clusters - 1) / clusters * float(deviations @ deviations))
        reach = error * float(special.stdtrit(clusters - 1, (1 + resampling.confidence) / 2))
        return Interval(max(lowest, value - reach), min(highest, value + reach), JACKKNIFE)
    replicates = resampling.bootstrap(statistic, clusters)
    tail = expanded_tail(clusters, resampling.confidence)
    low, high = np.quantile(replicates, [tail, 1 - tail])
    # Where a statistic has its maximum, as ICAT has at neutral, all replicates can lie below the value.
    return Interval(min(float(low), value), max(float(high), value), BOOTSTRAP)


def skewed_interval(
    value: float,
    left_out: Floats,
    *,
    confidence: float,
    freedom: float | None = None,
    skewness: float | None = None,
) -> Interval:
    """A t interval of a mean, or of what is much like one, whose end goes out where values are skewed.

    Args:
        value: Of all clusters.
        left_out: Without each cluster in turn.
        confidence: The confidence level.
        freedom: Degrees of freedom; one less than there are clusters if None.
        skewness: Of the mean, if clusters do not count alike.
    """
    count = len(left_out)
    deviations = left_out - value
    error = math.sqrt((count - 1) / count * float(deviations @ deviations))
    reach = float(special.stdtrit(freedom or count - 1, (1 + confidence) / 2))
    # What is lower without a cluster is raised by it.
    skewed = skewness_of_values(-left_out) / math.sqrt(count) if skewness is None else skewness
    below, above = (_skewed_reach(reach, side * skewed) for side in (-1, 1))
    return Interval(value - below * error, value + above * error, SKEWED_JACKKNIFE)


def skewness_of_values(values: Floats, *, as_many_as: float | None = None) -> float:
    """The third standardised moment, raised because few values hide much of it.

    Args:
        values: A sample. Less than three values, and values that are all alike, have no skewness.
        as_many_as: How many equal clusters would tell as much, if clusters do not count alike.
    """
    count = len(values)
    deviations = values - values.mean()
    deviation = float(values.std())
    if count < _FEWEST_SKEWED or deviation <= 1e-12 * float(np.abs(values).max()):
        return 0.0
    unbiased = float(np.mean(deviations**3)) / deviation**3 * math.sqrt(count * (count - 1)) / (count - 2)
    return unbiased * (1 + _HIDDEN_SKEWNESS / (as_many_as or count))


_FEWEST_SKEWED = 3

_HIDDEN_SKEWNESS = 5.0
"""Divided by the number of values, by how much the usual estimate of skewness is raised. Of n exponential values it is
2 / (1 + 7.5 / n) on average instead of 2. With two thirds of what is missing, intervals of a dozen documents err in 4%
at most (``benchmarks/interval_coverage.py``); all of it would lengthen those of a few normal values more."""

_FARTHEST_END = 2.5
"""Times as far as without skewness. The transformation is for small skewness; ends of few values would say nothing."""


def _skewed_reach(reach: float, skewness: float) -> float:
    """How many standard errors an end is away, by Hall's transformation; never less than without skewness."""
    if skewness <= 1e-6:  # where the transformation is the identity, and all digits cancel out
        return reach
    left = 1 - skewness * (reach + skewness / 6)
    if left <= 0:  # beyond, the transformation brings the end back
        return _FARTHEST_END * reach
    return float(np.clip(3 / skewness * (1 - np.cbrt(left)), reach, _FARTHEST_END * reach))


_UNSEEN = 0.05


def unseen_share(clusters: float) -> float:
    """The largest share of all clusters there could be of which so many show none in one of twenty samples.

    A loss or a gap that is confined to that share can go unseen, whatever the interval (the rule of three).
    """
    return 1.0 - float(_UNSEEN ** (1 / clusters))


def smallest_interval(intervals: Sequence[Interval], *, highest: float = math.inf) -> Interval:
    """Interval of the smallest of several values, from theirs.

    Both ends are the smallest of their kind (Berger 1982, "Multiparameter hypothesis testing and acceptance sampling").
    With two values that are equal the interval misses as often as theirs do, whatever their correlation; with two that
    are far apart it is that of the smaller one; in between it misses less often.
    """
    return Interval(
        min(interval.low for interval in intervals),
        min(highest, *(interval.high for interval in intervals)),
        f"smaller of two: {intervals[0].method}",
    )


def expanded_tail(clusters: int, confidence: float) -> float:
    """The share of replicates beyond either end of an expanded percentile interval."""
    quantile = special.stdtrit(clusters - 1, (1 - confidence) / 2)
    return float(special.ndtr(quantile * math.sqrt(clusters / (clusters - 1))))


def _varies(statistic: Statistic, clusters: int, value: float) -> bool:
    """Whether leaving out some cluster changes the value. The first that does is enough."""
    alike = 1e-12 * max(1.0, abs(value))
    return any(
        not (np.abs(statistic(weights) - value) <= alike).all() for weights in left_out_clusters(clusters)
    )


def _without_variation(
    value: float, clusters: int, confidence: float, lowest: float, highest: float
) -> Interval:
    """Where every cluster has the same value, resampling would claim certainty.

    At a limit of the range the exact binomial bound for "all of so many clusters" is known (the rule
    of three); elsewhere nothing can be said.
    """
    share = ((1 - confidence) / 2) ** (1 / clusters)
    if value == highest and math.isfinite(lowest):
        return Interval(lowest + share * (highest - lowest), highest, EXACT_EXTREME)
    if value == lowest and math.isfinite(highest):
        return Interval(lowest, highest - share * (highest - lowest), EXACT_EXTREME)
    return Interval.missing("all target terms have the same value, so its spread is unknown")


def wilson_interval(share: float, n: int, *, confidence: float) -> Interval:
    """Wilson's interval of a share of ``n`` independent observations.

    An observation may count half, as a tie does; the interval is then a little wider than it need be, because a
    share made of halves varies less than one of ones and zeros.
    """
    if n == 0:
        return Interval.missing("there is nothing to take a share of")
    z = float(special.ndtri((1 + confidence) / 2))
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    reach = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    # At 0 and 1 the share is an end of its interval, which rounding must not move past it.
    return Interval(max(0.0, min(share, centre - reach)), min(1.0, max(share, centre + reach)), WILSON)


_BLOCK = 2_000
"""Sign patterns at a time, so that memory stays small."""


def flip_test(value_of: Callable[[Floats], Floats], columns: int, *, resampling: Resampling) -> float:
    """Share of sign patterns over columns whose value is at least the observed one.

    Args:
        value_of: From signs of shape (patterns, columns) to one value per pattern.
        columns: How many columns there are.
        resampling: How many patterns, and their seed.
    """
    observed = float(value_of(np.ones((1, columns)))[0])
    values = values_in_blocks(
        lambda swaps: value_of(1 - 2 * swaps),
        (
            swaps[start : start + _BLOCK]
            for swaps in resampling.swaps(columns)
            for start in range(0, len(swaps), _BLOCK)
        ),
    )
    extreme = int(np.count_nonzero(values >= observed - 1e-9 * max(1.0, observed)))
    if resampling.swaps_are_exhaustive(columns):
        return extreme / len(values)
    return (extreme + 1) / (len(values) + 1)
