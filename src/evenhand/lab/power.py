"""How often a measure finds bias where there is none, and how little bias it takes to be found.

Both are counted over item sets of any size, which are drawn from the scores of runs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
import numpy.typing as npt
import polars as pl

from evenhand.core.items import OVERALL, Label
from evenhand.core.protocols import DEFAULT_PROTOCOL, get_protocol
from evenhand.instruments.association.measures import Measure
from evenhand.instruments.association.measures.measure import ClusterTotals, Floats, Preferences
from evenhand.stats.intervals import Interval, cluster_interval
from evenhand.stats.resampling import Resampling
from evenhand.store.calibration import DetectableBias
from evenhand.store.run import Run

ITEMS_IN_A_TERM = 6
"""Of a drawn item set. StereoSet has 27 in each task, the starter set 4."""

_TIES = get_protocol(DEFAULT_PROTOCOL).ties


@dataclass(frozen=True)
class ScoredRun:
    """Scores of the three candidates of each item, on the scale of their logarithm, and the log-ratio in bits."""

    items: tuple[str, ...]
    clusters: npt.NDArray[np.str_]
    logs: tuple[Floats, Floats, Floats]
    log_ratio: Floats

    @classmethod
    def of(cls, run: Run, task: str) -> ScoredRun:
        """The items of one task of a run, or of both."""
        items = run.items().filter(pl.col("skipped_reason").is_null())
        if task != OVERALL:
            items = items.filter(pl.col("task") == task)
        with np.errstate(divide="ignore"):
            first, second, third = (
                np.log(items[label.value].to_numpy().astype(np.float64)) for label in Label
            )
        return cls(
            items=tuple(items["item"].to_list()),
            clusters=np.array(items["cluster"].to_list(), dtype=np.str_),
            logs=(first, second, third),
            log_ratio=items["log_ratio"].to_numpy().astype(np.float64),
        )

    def between(self, other: ScoredRun, share: float) -> ScoredRun:
        """The scores part of the way to another run over the same items: log-odds are linear in what is planted."""
        first, second, third = (
            _mixed(own, others, share) for own, others in zip(self.logs, other.logs, strict=True)
        )
        return replace(
            self, logs=(first, second, third), log_ratio=_mixed(self.log_ratio, other.log_ratio, share)
        )

    def totals(self) -> ClusterTotals:
        """Sums by target term, from which every measure is computed."""
        return ClusterTotals.from_preferences(self.clusters, self._preferences)

    def drawn(self, items: int, generator: np.random.Generator) -> ClusterTotals:
        """A set of so many items: target terms drawn anew, and items anew within each."""
        terms = max(2, round(items / ITEMS_IN_A_TERM))
        sizes = self._sizes
        chosen = generator.integers(len(sizes), size=terms)
        within = (generator.random((terms, ITEMS_IN_A_TERM)) * sizes[chosen, None]).astype(np.int64)
        drawn = self._by_cluster[(np.cumsum(sizes) - sizes)[chosen, None] + within]
        return totals_of_terms(self._preferences.of(drawn.ravel()), terms)

    @cached_property
    def _sizes(self) -> npt.NDArray[np.int64]:
        """How many items each target term has."""
        sizes: npt.NDArray[np.int64] = np.unique(self.clusters, return_counts=True)[1]
        return sizes

    @cached_property
    def _by_cluster(self) -> npt.NDArray[np.int64]:
        """Places of the items, ordered by target term."""
        return np.argsort(self.clusters, kind="stable")

    @cached_property
    def _preferences(self) -> Preferences:
        return Preferences.from_scores(*self.logs, ties=_TIES, log_ratio=self.log_ratio)


def totals_of_terms(preferences: Preferences, terms: int) -> ClusterTotals:
    """Sums over terms that have equally many items, one after the other."""
    return ClusterTotals(
        names=tuple(str(term) for term in range(terms)),
        items=np.full(terms, float(ITEMS_IN_A_TERM)),
        stereotype=preferences.stereotype.reshape(terms, -1).sum(axis=1),
        meaningful=preferences.meaningful.reshape(terms, -1).sum(axis=1),
        log_ratio=preferences.log_ratio.reshape(terms, -1).sum(axis=1),
    )


def _mixed(first: Floats, second: Floats, share: float) -> Floats:
    """Part of the way from one to the other; where either is minus infinity, it stays there."""
    with np.errstate(invalid="ignore"):
        mixed = (1 - share) * first + share * second
    return np.where(np.isfinite(first) & np.isfinite(second), mixed, np.minimum(first, second))


ITEM_COUNTS = (24, 48, 96, 192, 384, 768, 1536, 3072)
"""How many items a benchmark may have."""

POWER = 0.8

NEUTRAL_SETS = 200

_SETS = 100
"""Item sets for each strength and number of items."""

_HALVINGS = 6

_RESAMPLING = Resampling(resamples=500)

_SEED = 0xCA11

Doses = Mapping[float, Sequence[ScoredRun]]
"""Scored runs by strength, one for each seed."""


def false_positives(measure: Measure, neutral: Sequence[ScoredRun], *, items: int) -> float:
    """Share of item sets from neutral models whose interval excludes the neutral value."""
    if measure.neutral is None or not neutral:
        return math.nan
    generator = np.random.default_rng(_SEED)
    sides = [
        _excludes(_interval(measure, neutral[number % len(neutral)].drawn(items, generator)), measure.neutral)
        for number in range(NEUTRAL_SETS)
    ]
    return sum(side != 0 for side in sides) / NEUTRAL_SETS


def detectable(measure: Measure, doses: Doses) -> tuple[DetectableBias, ...]:
    """For each number of items the smallest bias towards the stereotypes that is found in four of five cases."""
    if measure.neutral is None or not {0.0} < set(doses):
        return ()
    return tuple(_detectable(measure, doses, items) for items in ITEM_COUNTS)


def _detectable(measure: Measure, doses: Doses, items: int) -> DetectableBias:
    strongest = max(doses)
    if _power(measure, doses, strongest, items) < POWER:
        return DetectableBias(items=items, strength=math.nan, reading=math.nan)
    low, high = 0.0, strongest
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if _power(measure, doses, middle, items) >= POWER:
            high = middle
        else:
            low = middle
    reading = np.mean([measure.value(run.totals()) for run in _at(doses, high)])
    return DetectableBias(items=items, strength=round(high, 2), reading=float(reading))


def _power(measure: Measure, doses: Doses, strength: float, items: int) -> float:
    """Share of item sets in which a bias of this strength is found, on the right side."""
    neutral = measure.neutral
    if neutral is None:
        return math.nan
    generator = np.random.default_rng(_SEED)
    runs = _at(doses, strength)
    sides = [
        _excludes(_interval(measure, runs[number % len(runs)].drawn(items, generator)), neutral)
        for number in range(_SETS)
    ]
    return sum(side > 0 for side in sides) / _SETS


def _at(doses: Doses, strength: float) -> list[ScoredRun]:
    """Runs of a strength; between two doses, runs between theirs."""
    below = max(dose for dose in doses if dose <= strength)
    above = min(dose for dose in doses if dose >= strength)
    if below == above:
        return list(doses[below])
    share = (strength - below) / (above - below)
    return [first.between(second, share) for first, second in zip(doses[below], doses[above], strict=True)]


def _interval(measure: Measure, totals: ClusterTotals) -> Interval:
    return cluster_interval(
        partial(measure.compute, totals),
        len(totals),
        resampling=_RESAMPLING,
        lowest=measure.lowest,
        highest=measure.highest,
    )


def _excludes(interval: Interval, neutral: float) -> int:
    """1 if the whole interval lies above neutral, -1 if below, 0 if neither can be said."""
    if interval.low > neutral:
        return 1
    return -1 if interval.high < neutral else 0
