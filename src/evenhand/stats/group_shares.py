"""Shares of labels per group, where texts come in contexts and a classifier may have labelled them.

Whatever is asked about shares is a *contrast*: a weight for every group and label. With 100 for the positive and -100
for the negative label of one group, and the reverse for another, it is the gap in net regard. The value of a contrast,
its interval and its test come from the same function of weights over contexts, whatever is done about a classifier's
errors:

* counted: labels are taken for the truth.
* prediction-powered: on texts that people labelled too, the mean difference of both labels is taken off. It is right
  whatever errors the classifier makes, also where they differ between groups, as long as the texts that people
  labelled are a random sample of all. Predictions count by a factor that makes the variance smallest.
* unconfused: the shares are solved for that the classifier's confusions turn into those that were counted. It is right
  where the classifier confuses labels equally often in all groups.

References:
    Agresti and Caffo (2000), "Simple and effective confidence intervals for proportions and differences of
    proportions"; Angelopoulos et al. (2023), "Prediction-powered inference"; Angelopoulos, Duchi and Zrnic (2023),
    "PPI++"; Rogan and Gladen (1978), "Estimating prevalence from the results of a screening test"; Zou and Donner
    (2008), "Construction of confidence limits about effect measures".
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy import special

from evenhand.stats.cluster_shares import profile_interval, share_interval
from evenhand.stats.intervals import Interval, cluster_interval, wilson_interval
from evenhand.stats.paired_labels import EQUIVALENCE_LEVEL, Equivalence
from evenhand.stats.resampling import Floats, Resampling
from evenhand.stats.significance import clustered_sign_flip

INDEPENDENT = "Agresti-Caffo over texts"

WITH_CONFUSION = "contexts and labelled texts, margins put together as squares"

FEWEST_OF_A_LABEL = 5
"""With fewer texts of a label that people labelled, nobody knows what a classifier takes them for."""

_TEXTS_MORE = 2.0

_ROUNDING = 1e-9

_ALIKE = "all contexts have the same value, so its spread is unknown"
_FEW_CONTEXTS = "an interval needs at least two contexts"


class GroupShares(ABC):
    """Shares of labels per group as a function of weights over contexts."""

    contexts: int

    @abstractmethod
    def shares(self, weights: Floats) -> Floats:
        """From weights of shape (rows, contexts) to shares of shape (rows, groups, labels); NaN without texts."""

    def value(self, contrast: Floats) -> float:
        """The sum of shares, each times its weight in the contrast; rounding errors around 0 are 0."""
        value = float(_contrasted(self.shares(np.ones((1, self.contexts))), contrast)[0])
        return 0.0 if abs(value) < _ROUNDING else value

    def interval(self, contrast: Floats, *, resampling: Resampling) -> Interval:
        """Interval of a contrast, contexts resampled."""
        return _over_clusters(self._statistic(contrast), self.contexts, resampling)

    def share_interval(self, contrast: Floats, *, resampling: Resampling) -> Interval:
        """Interval of the share of one label in one group, whose entry is the only one of the contrast.

        It ends at the limits of a share, or at the value where that is beyond them, as corrected values can be.
        """
        found, value = self.interval(contrast, resampling=resampling), self.value(contrast)
        if found.reason is not None:
            return found
        low, high = max(0.0, found.low), min(float(contrast.max()), found.high)
        return replace(found, low=min(value, low), high=max(value, high))

    def p_value(self, contrast: Floats, *, resampling: Resampling) -> float:  # noqa: ARG002 # sign flips need it
        """Two-sided p-value that a contrast is 0: the jackknife over contexts with a t distribution."""
        if self.contexts < 2:
            return math.nan
        statistic = self._statistic(contrast)
        left_out = statistic(np.ones((self.contexts, self.contexts)) - np.eye(self.contexts))
        error = math.sqrt((self.contexts - 1) * float(left_out.var()))
        if error <= 1e-12:
            return math.nan
        return 2 * float(special.stdtr(self.contexts - 1, -abs(self.value(contrast)) / error))

    def _statistic(self, contrast: Floats) -> Callable[[Floats], Floats]:
        value = self.value(contrast)

        def statistic(weights: Floats) -> Floats:
            values = _contrasted(self.shares(weights), contrast)
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
    def contexts(self) -> int:  # type: ignore[override] # given by the counts
        """How many contexts there are."""
        return len(self.counts)

    def shares(self, weights: Floats) -> Floats:
        """Weighted counts of each group over their sum."""
        return _normalised(np.tensordot(weights, self.counts, axes=1))

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
            otherwise=lambda: self.interval(contrast / scale, resampling=resampling),
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
        shares = _normalised(more)
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
class PredictionPoweredShares(GroupShares):
    """Shares of a classifier's labels, less their mean error on texts that people labelled too.

    Attributes:
        counts: The classifier's labels of all texts, by context, group and label.
        human: People's labels of some of them, in the same shape.
        predicted: The classifier's labels of those.
        power: How much predictions count, from 0 (people's labels alone) to 1.
    """

    counts: Floats
    human: Floats
    predicted: Floats
    power: float

    @property
    def contexts(self) -> int:  # type: ignore[override] # given by the counts
        """How many contexts there are."""
        return len(self.counts)

    def shares(self, weights: Floats) -> Floats:
        """People's labels, and how all predictions differ from those of the texts that people labelled."""
        everything, human, predicted = (
            _normalised(np.tensordot(weights, counts, axes=1))
            for counts in (self.counts, self.human, self.predicted)
        )
        return human + self.power * (everything - predicted)


@dataclass(frozen=True, eq=False)
class UnconfusedShares(GroupShares):
    """The shares that a classifier's confusions turn into those that were counted.

    Attributes:
        counts: The classifier's labels, by context, group and label.
        confusions: Texts that people labelled, dealt into clusters: cluster, people's label, the classifier's.
    """

    counts: Floats
    confusions: Floats

    @property
    def contexts(self) -> int:  # type: ignore[override] # given by the counts
        """How many contexts there are."""
        return len(self.counts)

    def shares(self, weights: Floats) -> Floats:
        """Counted shares, with the confusions undone."""
        counted = _normalised(np.tensordot(weights, self.counts, axes=1))
        return _unconfused(counted, self.confusions.sum(axis=0)[None])

    def interval(self, contrast: Floats, *, resampling: Resampling) -> Interval:
        """Contexts resampled with the confusions as they are, and labelled texts with the counts as they are."""
        by_context = super().interval(contrast, resampling=resampling)
        counted = _normalised(self.counts.sum(axis=0)[None])
        value = self.value(contrast)

        def statistic(weights: Floats) -> Floats:
            shares = _unconfused(counted, np.tensordot(weights, self.confusions, axes=1))
            values = _contrasted(shares, contrast)
            return np.where(np.isnan(values), value, values)

        by_text = _over_clusters(statistic, len(self.confusions), resampling)
        if by_context.reason is not None:
            return by_context
        if by_text.reason is not None:  # groups with the same counted shares are alike, whatever is confused
            by_text = Interval(value, value, by_text.method)
        return Interval(
            value - math.hypot(value - by_context.low, value - by_text.low),
            value + math.hypot(by_context.high - value, by_text.high - value),
            WITH_CONFUSION,
        )

    def p_value(self, contrast: Floats, *, resampling: Resampling) -> float:
        """From the length of the interval, as if it were that of a t distribution."""
        interval = self.interval(contrast, resampling=resampling)
        if interval.reason is not None or interval.high <= interval.low:
            return math.nan
        freedom = self.contexts - 1
        reach = float(special.stdtrit(freedom, (1 + resampling.confidence) / 2))
        value = self.value(contrast)
        towards_zero = value - interval.low if value > 0 else interval.high - value
        return 2 * float(special.stdtr(freedom, -abs(value) * reach / towards_zero))


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
    def contexts(self) -> int:  # type: ignore[override] # given by the parts
        """How many contexts there are."""
        return self.parts[0].contexts

    def shares(self, weights: Floats) -> Floats:
        """The same contexts weigh the same in both runs."""
        first, second = (part.shares(weights) for part in self.parts)
        return self.factors[0] * first + self.factors[1] * second

    def p_value(self, contrast: Floats, *, resampling: Resampling) -> float:
        """Two-sided p-value of a change, from exchanging the runs within whole contexts."""
        return _sign_flips(self, contrast, resampling)


def prediction_power(human: Floats, predicted: Floats, *, cells: npt.NDArray[np.int64]) -> float:
    """How much predictions should count: the slope of people's values on predicted ones within cells, from 0 to 1.

    Args:
        human: People's labels as values on a scale.
        predicted: The classifier's.
        cells: The context and group of each text, as a number; what cells have in common says nothing about errors.
    """
    sizes = np.bincount(cells)
    inside = [
        values - (np.bincount(cells, weights=values) / np.maximum(sizes, 1))[cells]
        for values in (human, predicted)
    ]
    spread = float(inside[1] @ inside[1])
    return min(1.0, max(0.0, float(inside[0] @ inside[1]) / spread)) if spread > 0 else 0.0


def confusion_problem(confusion: Floats) -> str | None:
    """Why confusions cannot be undone; None if they can.

    Args:
        confusion: People's labels in rows, the classifier's in columns.
    """
    of_label = confusion.sum(axis=1)
    if of_label.min() < FEWEST_OF_A_LABEL:
        return f"people gave one of the labels to {int(of_label.min())} texts; at least {FEWEST_OF_A_LABEL} are needed"
    rates = confusion / of_label[:, None]
    if np.linalg.cond(rates) > _LARGEST_CONDITION:
        return "the classifier confuses labels so often that nothing can be told from them"
    return None


_LARGEST_CONDITION = 30.0
"""Beyond it, undoing confusions makes noise thirty times larger."""


def gap_equivalence(
    shares: GroupShares, contrast: Floats, *, margin: float, resampling: Resampling
) -> Equivalence:
    """Two one-sided tests that a contrast is smaller than a margin on either side."""
    level = replace(resampling, confidence=1 - 2 * EQUIVALENCE_LEVEL)
    return Equivalence(margin, shares.interval(contrast, resampling=level))


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
    own = _contrasted(shares.shares(np.eye(shares.contexts)), contrast)
    known = own[~np.isnan(own)]
    if len(known) < 2:
        return math.nan
    p_value = clustered_sign_flip(known, resampling=resampling)
    return 1.0 if math.isnan(p_value) else p_value


def _contrasted(shares: Floats, contrast: Floats) -> Floats:
    """The value of a contrast for each table of shares; groups that have no part in it may be undefined."""
    values: Floats = np.tensordot(np.where(contrast == 0, 0.0, shares), contrast, axes=2)
    return values


def _normalised(counts: Floats) -> Floats:
    """Counts over labels as shares; NaN where there are none."""
    totals = counts.sum(axis=-1, keepdims=True)
    shares: Floats = np.divide(
        counts, totals, out=np.full(counts.shape, math.nan), where=np.broadcast_to(totals > 0, counts.shape)
    )
    return shares


def _unconfused(counted: Floats, confusion: Floats) -> Floats:
    """Shares pi with ``pi @ rates = counted``, for each matrix of confusions."""
    rates = _normalised(confusion)
    usable = ~np.isnan(rates).any(axis=(1, 2)) & (np.abs(np.linalg.det(np.nan_to_num(rates))) > 1e-9)
    inverses = np.full(rates.shape, math.nan)
    inverses[usable] = np.linalg.inv(rates[usable])
    shares: Floats = counted @ inverses
    return shares


def _over_clusters(statistic: Callable[[Floats], Floats], clusters: int, resampling: Resampling) -> Interval:
    found = cluster_interval(statistic, clusters, resampling=resampling)
    return found if found.reason is None else Interval.missing(_FEW_CONTEXTS if clusters < 2 else _ALIKE)
