"""Shares of labels per group, with the errors of the classifier that gave the labels carried through.

* Prediction-powered: on texts that people labelled too, the mean difference of both labels is taken off. It is right
  whatever errors the classifier makes, also where they differ between groups, as long as the texts that people
  labelled are a random sample of all. Predictions count by a factor that makes the variance smallest.
* Unconfused: the shares are solved for that the classifier's confusions turn into those that were counted. It is right
  where the classifier confuses labels equally often in all groups.

References:
    Angelopoulos et al. (2023), "Prediction-powered inference"; Angelopoulos, Duchi and Zrnic (2023), "PPI++"; Rogan and
    Gladen (1978), "Estimating prevalence from the results of a screening test"; Zou and Donner (2008), "Construction of
    confidence limits about effect measures".
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

from evenhand.stats.group_shares import GroupShares, contrast_values, label_shares
from evenhand.stats.intervals import Interval, cluster_interval
from evenhand.stats.resampling import Floats, Resampling

WITH_CONFUSION = "contexts and labelled texts, margins put together as squares"

FEWEST_OF_A_LABEL = 5
"""With fewer texts of a label that people labelled, nobody knows what a classifier takes them for."""

_LARGEST_CONDITION = 30.0
"""Beyond it, undoing confusions makes noise thirty times larger."""


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
    def contexts(self) -> int:
        """How many contexts there are."""
        return len(self.counts)

    def shares(self, weights: Floats) -> Floats:
        """People's labels, and how all predictions differ from those of the texts that people labelled."""
        everything, human, predicted = (
            label_shares(np.tensordot(weights, counts, axes=1))
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
    def contexts(self) -> int:
        """How many contexts there are."""
        return len(self.counts)

    def shares(self, weights: Floats) -> Floats:
        """Counted shares, with the confusions undone."""
        counted = label_shares(np.tensordot(weights, self.counts, axes=1))
        return _unconfused(counted, self.confusions.sum(axis=0)[None])

    def are_possible(self, *, resampling: Resampling) -> bool:
        """Whether no share is further below 0 or above 1 than chance takes it: its interval reaches what is possible.

        Impossible shares tell that the classifier errs otherwise here than on the texts that people labelled. A fixed
        limit will not do: where a label is rare or few texts were labelled, chance alone takes shares below it
        (``benchmarks/regard_guard.py``).
        """
        (shares,) = self.shares(np.ones((1, self.contexts)))
        for place in np.argwhere((shares < 0) | (shares > 1)):
            contrast = np.zeros(shares.shape)
            contrast[tuple(place)] = 1.0
            interval = self.interval(contrast, resampling=resampling)
            if interval.reason is not None or interval.high < 0 or interval.low > 1:
                return False
        return True

    def interval(self, contrast: Floats, *, resampling: Resampling) -> Interval:
        """Contexts resampled with the confusions as they are, and labelled texts with the counts as they are."""
        by_context = super().interval(contrast, resampling=resampling)
        counted = label_shares(self.counts.sum(axis=0)[None])
        value = self.value(contrast)

        def statistic(weights: Floats) -> Floats:
            shares = _unconfused(counted, np.tensordot(weights, self.confusions, axes=1))
            values = contrast_values(shares, contrast)
            return np.where(np.isnan(values), value, values)

        by_text = cluster_interval(statistic, len(self.confusions), resampling=resampling)
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


def _unconfused(counted: Floats, confusion: Floats) -> Floats:
    """Shares pi with ``pi @ rates = counted``, for each matrix of confusions."""
    rates = label_shares(confusion)
    usable = ~np.isnan(rates).any(axis=(1, 2)) & (np.abs(np.linalg.det(np.nan_to_num(rates))) > 1e-9)
    inverses = np.full(rates.shape, math.nan)
    inverses[usable] = np.linalg.inv(rates[usable])
    shares: Floats = counted @ inverses
    return shares
