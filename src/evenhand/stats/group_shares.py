"""Shares of labels per group, where texts come in contexts.

Whatever is asked about shares is a *contrast*: a weight for every group and label. With 100 for the positive and -100
for the negative label of one group, and the reverse for another, it is the gap in net regard. The value of a contrast,
its interval and its test come from the same function of weights over contexts, also where a classifier's errors are
carried through (``label_error``).

References:
    Agresti and Caffo (2000), "Simple and effective confidence intervals for proportions and differences of
    proportions".
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import special

from evenhand.stats.cluster_shares import profile_interval, share_interval
from evenhand.stats.intervals import FEWEST_FOR_BOOTSTRAP, Interval, skewed_interval, wilson_interval
from evenhand.stats.paired_labels import EQUIVALENCE_LEVEL, Equivalence
from evenhand.stats.resampling import (
    Floats,
    Resampling,
    Statistic,
    left_out_clusters,
    single_clusters,
    values_in_blocks,
)
from evenhand.stats.significance import clustered_sign_flip

INDEPENDENT = "Agresti-Caffo over texts"

_TEXTS_MORE = 2.0
"""Texts that Agresti and Caffo add to each group."""

_ROUNDING = 1e-9

_ALIKE = "all contexts have the same value, so its spread is unknown"
_FEW_CONTEXTS = "an interval needs at least two contexts"


class GroupShares(ABC):
    """Shares of labels per group as a function of weights over contexts."""

    @property
    @abstractmethod
    def contexts(self) -> int:
        """How many contexts there are."""

    @abstractmethod
    def shares(self, weights: Floats) -> Floats:
        """From weights of shape (rows, contexts) to shares of shape (rows, groups, labels); NaN without texts."""

    def value(self, contrast: Floats) -> float:
        """The sum of shares, each times its weight in the contrast; rounding errors around 0 are 0."""
        value = float(contrast_values(self.shares(np.ones((1, self.contexts))), contrast)[0])
        return 0.0 if abs(value) < _ROUNDING else value

    def interval(self, contrast: Floats, *, resampling: Resampling) -> Interval:
        """Interval of a contrast, contexts left out in turn."""
        return context_interval(self._statistic(contrast), self.contexts, resampling=resampling)

    def interval_on_scale(self, contrast: Floats, *, resampling: Resampling) -> Interval:
        """Interval of a contrast whose ends are possible; at its value where a correction takes that too far."""
        found = self.interval(contrast, resampling=resampling)
        return found.within(*self.limits(contrast), value=self.value(contrast))

    def group_interval(self, contrast: Floats, *, resampling: Resampling) -> Interval:
        """Interval of a contrast of one group, such as its net regard, whose ends are possible."""
        found = self.interval(contrast, resampling=resampling)
        keep = found.on_logit if self.contexts < FEWEST_FOR_BOOTSTRAP else found.within
        return keep(*self.limits(contrast), value=self.value(contrast))

    def share_interval(self, contrast: Floats, *, resampling: Resampling) -> Interval:
        """Interval of the share of one label in one group, whose entry is the only one of the contrast."""
        return self.group_interval(contrast, resampling=resampling)

    def limits(self, contrast: Floats) -> tuple[float, float]:
        """The least and the most that a contrast can be: all texts of each group with one label."""
        return float(contrast.min(axis=1).sum()), float(contrast.max(axis=1).sum())

    def p_value(self, contrast: Floats, *, resampling: Resampling) -> float:  # noqa: ARG002 # sign flips need it
        """Two-sided p-value that a contrast is 0: the jackknife over contexts with a t distribution."""
        if self.contexts < 2:
            return math.nan
        statistic = self._statistic(contrast)
        left_out = values_in_blocks(statistic, left_out_clusters(self.contexts))
        error = math.sqrt((self.contexts - 1) * float(left_out.var()))
        if error <= 1e-12:
            return math.nan
        return 2 * float(special.stdtr(self.contexts - 1, -abs(self.value(contrast)) / error))

    def _statistic(self, contrast: Floats) -> Statistic:
        value = self.value(contrast)

        def statistic(weights: Floats) -> Floats:
            values = contrast_values(self.shares(weights), contrast)
            # A resample without texts about a group, or without a label, says nothing.
            return np.where(np.isnan(values), value, values)

        return statistic


@dataclass(frozen=True, eq=False)
class CountedShares(GroupShares):
    """Labels as they are.

    Attributes:
        counts: Texts by context, group and label.
    """

    counts: Floats

    @property
    def contexts(self) -> int:
        """How many contexts there are."""
        return len(self.counts)

    def shares(self, weights: Floats) -> Floats:
        """Weighted counts of each group over their sum."""
        return label_shares(np.tensordot(weights, self.counts, axes=1))

    def share_interval(self, contrast: Floats, *, resampling: Resampling) -> Interval:
        """As any share of texts in clusters; beta-binomial where the label is rare or nearly all texts have it."""
        ((group, label),) = np.argwhere(contrast)
        scale = float(contrast[group, label])
        sizes = self.counts[:, group].sum(axis=1)
        asked = sizes > 0
        counts, sizes = self.counts[asked, group, label], sizes[asked]
        found = share_interval(
            counts,
            sizes,
            confidence=resampling.confidence,
            otherwise=lambda: self.group_interval(contrast / scale, resampling=resampling),
        )
        if len(counts) < 2:
            return found
        if found.reason is not None:  # all contexts have the same share, which is no certainty
            found = profile_interval(counts, sizes, confidence=resampling.confidence)
        return replace(found, low=scale * max(0.0, found.low), high=scale * min(1.0, found.high))

    def p_value(self, contrast: Floats, *, resampling: Resampling) -> float:
        """Two-sided p-value from flipping the sign of a contrast in whole contexts; exact where there are few.

        Under no difference the groups of a context could as well be exchanged, whatever its texts have in common.
        """
        return _sign_flips(self, contrast, resampling)


@dataclass(frozen=True, eq=False)
class IndependentShares(CountedShares):
    """Labels as they are, of texts that do not depend on each other: those of one context."""

    def interval(self, contrast: Floats, *, resampling: Resampling) -> Interval:
        """Agresti and Caffo's: two texts more in each group, spread over all labels, and normal quantiles."""
        counts = self.counts.sum(axis=0)
        part = contrast.any(axis=1)
        if not counts[part].sum(axis=1).all():
            return Interval.missing("there are no texts about one of the groups")
        weights, more = contrast[part], counts[part] + _TEXTS_MORE / counts.shape[1]
        shares = label_shares(more)
        means = (shares * weights).sum(axis=1)
        variances = ((shares * weights**2).sum(axis=1) - means**2) / more.sum(axis=1)
        reach = float(special.ndtri((1 + resampling.confidence) / 2)) * math.sqrt(float(variances.sum()))
        value, centre = self.value(contrast), float(means.sum())
        return Interval(min(value, centre - reach), max(value, centre + reach), INDEPENDENT)

    def share_interval(self, contrast: Floats, *, resampling: Resampling) -> Interval:
        """Wilson's."""
        ((group, label),) = np.argwhere(contrast)
        labels = self.counts.sum(axis=0)[group]
        n, scale = int(labels.sum()), float(contrast[group, label])
        if not n:
            return Interval.missing("there are no texts about the group")
        found = wilson_interval(float(labels[label]) / n, n, confidence=resampling.confidence)
        return replace(found, low=scale * found.low, high=scale * found.high)

    def p_value(self, contrast: Floats, *, resampling: Resampling) -> float:  # noqa: ARG002
        """Undefined: there is nothing to exchange groups within."""
        return math.nan


@dataclass(frozen=True, eq=False)
class CombinedShares(GroupShares):
    """Shares of two runs over the same contexts, each times a factor: 1 and -1 for a change.

    Attributes:
        parts: The runs.
        factors: One per run.
    """

    parts: tuple[GroupShares, GroupShares]
    factors: tuple[float, float]

    @property
    def contexts(self) -> int:
        """How many contexts there are."""
        return self.parts[0].contexts

    def shares(self, weights: Floats) -> Floats:
        """The same contexts weigh the same in both runs."""
        first, second = (part.shares(weights) for part in self.parts)
        return self.factors[0] * first + self.factors[1] * second

    def limits(self, contrast: Floats) -> tuple[float, float]:
        """Those of both runs, each times its factor."""
        ends = [
            sorted(factor * limit for limit in part.limits(contrast))
            for part, factor in zip(self.parts, self.factors, strict=True)
        ]
        return sum(low for low, _ in ends), sum(high for _, high in ends)

    def p_value(self, contrast: Floats, *, resampling: Resampling) -> float:
        """Two-sided p-value of a change, from exchanging the runs within whole contexts."""
        return _sign_flips(self, contrast, resampling)


def gap_equivalence(
    shares: GroupShares, contrast: Floats, *, margin: float, resampling: Resampling
) -> Equivalence:
    """Two one-sided tests that a contrast is smaller than a margin on either side."""
    level = replace(resampling, confidence=1 - 2 * EQUIVALENCE_LEVEL)
    return Equivalence(margin, shares.interval_on_scale(contrast, resampling=level))


def widest_gap_interval(intervals: Sequence[Interval]) -> Interval:
    """Interval of the largest of several gaps without their signs, from intervals that hold all at once."""
    for interval in intervals:
        if interval.reason is not None:
            return interval
    lows = [max(0.0, own.low, -own.high) for own in intervals]
    highs = [max(-own.low, own.high) for own in intervals]
    return Interval(max(lows), max(highs), intervals[0].method)


def exchange_test(means: Floats, *, resampling: Resampling) -> float:
    """P-value that groups are alike, from exchanging groups within whole contexts.

    The statistic is the sum of squared distances of groups' means over contexts from the mean of all.

    Args:
        means: One row per context and one column per group; contexts without texts about a group are left out.
        resampling: How many exchanges, and their seed.
    """
    known = means[~np.isnan(means).any(axis=1)]
    contexts, groups = known.shape
    if contexts < 2:
        return math.nan
    if groups == 2:
        p_value = clustered_sign_flip(known[:, 0] - known[:, 1], resampling=resampling)
        return 1.0 if math.isnan(p_value) else p_value

    def distance(tables: Floats) -> Floats:
        by_group = tables.mean(axis=-2)
        squares: Floats = ((by_group - by_group.mean(axis=-1, keepdims=True)) ** 2).sum(axis=-1)
        return squares

    observed = float(distance(known))
    generator = np.random.default_rng([resampling.seed, contexts, groups, 6])
    extreme = 0
    for start in range(0, resampling.resamples, _BLOCK):
        rows = min(_BLOCK, resampling.resamples - start)
        exchanged = generator.permuted(np.broadcast_to(known, (rows, contexts, groups)), axis=2)
        extreme += int(np.count_nonzero(distance(exchanged) >= observed * (1 - 1e-9)))
    return (extreme + 1) / (resampling.resamples + 1)


_BLOCK = 1_000
"""Exchanges at a time, so that memory stays small."""


def _sign_flips(shares: GroupShares, contrast: Floats, resampling: Resampling) -> float:
    """P-value of a contrast from flipping its sign in whole contexts, of those in which it is defined."""
    own = values_in_blocks(
        lambda weights: contrast_values(shares.shares(weights), contrast), single_clusters(shares.contexts)
    )
    known = own[~np.isnan(own)]
    if len(known) < 2:
        return math.nan
    p_value = clustered_sign_flip(known, resampling=resampling)
    return 1.0 if math.isnan(p_value) else p_value


def contrast_values(shares: Floats, contrast: Floats) -> Floats:
    """The value of a contrast for each table of shares; groups that have no part in it may be undefined.

    Products are rounded before they are added. A matrix product may keep more digits of some of them, which depends on
    the processor, and a value halfway between two that are shown would be shown as one or the other.
    """
    products = np.where(contrast == 0, 0.0, shares * contrast)
    values: Floats = products.reshape(len(products), -1).sum(axis=1)
    return values


def label_shares(counts: Floats) -> Floats:
    """Counts over labels as shares; NaN where there are none."""
    totals = counts.sum(axis=-1, keepdims=True)
    shares: Floats = np.divide(
        counts, totals, out=np.full(counts.shape, math.nan), where=np.broadcast_to(totals > 0, counts.shape)
    )
    return shares


def context_interval(statistic: Statistic, contexts: int, *, resampling: Resampling) -> Interval:
    """Interval of a statistic over contexts, each left out in turn."""
    if contexts < 2:
        return Interval.missing(_FEW_CONTEXTS)
    value = float(statistic(np.ones((1, contexts)))[0])
    left_out = values_in_blocks(statistic, left_out_clusters(contexts))
    if (np.abs(left_out - value) <= _ROUNDING * max(1.0, abs(value))).all():
        return Interval.missing(_ALIKE)
    return skewed_interval(value, left_out, confidence=resampling.confidence)
