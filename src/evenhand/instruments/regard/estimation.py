"""Estimation: from shares as a function of weights over contexts to figures of groups and of the gaps between them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from evenhand.core.estimates import Estimate
from evenhand.data.group_texts import REGARD_LABELS
from evenhand.instruments.regard.results import (
    ErrorTreatment,
    GapEquivalence,
    GroupGap,
    GroupRegard,
    RegardFigures,
)
from evenhand.stats.group_shares import GroupShares, gap_equivalence, widest_gap_interval
from evenhand.stats.intervals import Interval
from evenhand.stats.resampling import Floats, Resampling

NET_REGARD: Floats = 100 * np.array([float(code) for code in REGARD_LABELS])
"""What each label adds to net regard, in points."""

SHARES: Mapping[str, Floats] = dict(
    zip(REGARD_LABELS.values(), 100 * np.eye(len(REGARD_LABELS)), strict=True)
)
"""What each label adds to its own share, in percent, by the name of the label."""

_NO_TEXTS = "there are no texts about a group"


@dataclass(frozen=True, slots=True)
class RegardEstimator:
    """Makes figures of shares.

    Attributes:
        shares: Of labels per group.
        sizes: Texts of each group.
        contexts: How many contexts the texts have.
        margin: The largest gap that is called no difference, in points.
        resampling: Resamples, seed and confidence level.
    """

    shares: GroupShares
    sizes: Mapping[str, int]
    contexts: int
    margin: float
    resampling: Resampling

    def figures(self, treatment: ErrorTreatment) -> RegardFigures:
        """All groups and all gaps between two of them."""
        return RegardFigures(
            treatment=treatment,
            groups={group: self._group(group) for group in self.sizes},
            gaps=tuple(self._gap(first, second) for first, second in combinations(self.sizes, 2)),
            widest_gap=self._widest_gap(),
        )

    def _group(self, group: str) -> GroupRegard:
        return GroupRegard(
            n=self.sizes[group],
            **{name: self._share(group, weights) for name, weights in SHARES.items()},
            net_regard=self._net_regard(group),
        )

    def _gap(self, first: str, second: str) -> GroupGap:
        n = self.sizes[first] + self.sizes[second]
        contrast = self._contrast(NET_REGARD, first, second)
        tested = gap_equivalence(self.shares, contrast, margin=self.margin, resampling=self.resampling)
        return GroupGap(
            first=first,
            second=second,
            **{
                name: self._estimate(self._contrast(weights, first, second), n=n)
                for name, weights in SHARES.items()
            },
            gap=self._estimate(contrast, n=n),
            p_value=self.shares.p_value(contrast, resampling=self.resampling),
            equivalence=GapEquivalence(
                margin=self.margin, low=tested.interval.low, high=tested.interval.high, holds=tested.holds
            ),
        )

    def _widest_gap(self) -> Estimate:
        """The interval allows for every pair of groups that could be the widest apart (Bonferroni)."""
        pairs = list(combinations(self.sizes, 2))
        level = replace(self.resampling, confidence=1 - (1 - self.resampling.confidence) / len(pairs))
        contrasts = [self._contrast(NET_REGARD, first, second) for first, second in pairs]
        values = [abs(self.shares.value(contrast)) for contrast in contrasts]
        n = sum(self.sizes.values())
        if any(math.isnan(value) for value in values):
            return Estimate.undefined(_NO_TEXTS, n=n, clusters=self.contexts)
        intervals = [self.shares.interval_on_scale(contrast, resampling=level) for contrast in contrasts]
        return widest_gap_interval(intervals).around(max(values), n=n, clusters=self.contexts)

    def _share(self, group: str, weights: Floats) -> Estimate:
        contrast = self._contrast(weights, group)
        n = self.sizes[group]
        if not n:
            return Estimate.undefined(_NO_TEXTS, clusters=self.contexts)
        interval = self.shares.share_interval(contrast, resampling=self.resampling)
        return self._around(contrast, interval, n=n)

    def _net_regard(self, group: str) -> Estimate:
        contrast, n = self._contrast(NET_REGARD, group), self.sizes[group]
        if math.isnan(self.shares.value(contrast)):
            return Estimate.undefined(_NO_TEXTS, n=n, clusters=self.contexts)
        return self._around(contrast, self.shares.group_interval(contrast, resampling=self.resampling), n=n)

    def _estimate(self, contrast: Floats, *, n: int) -> Estimate:
        if math.isnan(self.shares.value(contrast)):
            return Estimate.undefined(_NO_TEXTS, n=n, clusters=self.contexts)
        found = self.shares.interval_on_scale(contrast, resampling=self.resampling)
        return self._around(contrast, found, n=n)

    def _around(self, contrast: Floats, interval: Interval, *, n: int) -> Estimate:
        return interval.around(self.shares.value(contrast), n=n, clusters=self.contexts)

    def _contrast(self, weights: Floats, first: str, second: str | None = None) -> Floats:
        """One group by these weights of labels, and another one by their opposites."""
        groups = list(self.sizes)
        contrast = np.zeros((len(groups), len(weights)))
        contrast[groups.index(first)] = weights
        if second is not None:
            contrast[groups.index(second)] = -weights
        return contrast
