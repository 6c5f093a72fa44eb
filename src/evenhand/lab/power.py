"""How often a measure cries wolf, and how little it takes to make it cry."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from evenhand.instruments.association.measures import Measure
from evenhand.instruments.association.measures.totals import ClusterTotals
from evenhand.lab.scored import ScoredRun
from evenhand.runs.calibration import Detectable
from evenhand.stats.intervals import Interval, cluster_interval
from evenhand.stats.resampling import Resampling

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
    found = [
        _excludes(_interval(measure, neutral[number % len(neutral)].drawn(items, generator)), measure.neutral)
        for number in range(NEUTRAL_SETS)
    ]
    return sum(side != 0 for side in found) / NEUTRAL_SETS


def detectable(measure: Measure, doses: Doses) -> tuple[Detectable, ...]:
    """For each number of items the smallest bias towards the stereotypes that is found in four of five cases."""
    if measure.neutral is None or not {0.0} < set(doses):
        return ()
    return tuple(_detectable(measure, doses, items) for items in ITEM_COUNTS)


def _detectable(measure: Measure, doses: Doses, items: int) -> Detectable:
    strongest = max(doses)
    if _power(measure, doses, strongest, items) < POWER:
        return Detectable(items=items, strength=math.nan, reading=math.nan)
    low, high = 0.0, strongest
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if _power(measure, doses, middle, items) >= POWER:
            high = middle
        else:
            low = middle
    reading = np.mean([measure.value(run.totals()) for run in _at(doses, high)])
    return Detectable(items=items, strength=round(high, 2), reading=float(reading))


def _power(measure: Measure, doses: Doses, strength: float, items: int) -> float:
    """Share of item sets in which a bias of this strength is found, on the right side."""
    neutral = measure.neutral
    if neutral is None:
        return math.nan
    generator = np.random.default_rng(_SEED)
    runs = _at(doses, strength)
    found = [
        _excludes(_interval(measure, runs[number % len(runs)].drawn(items, generator)), neutral)
        for number in range(_SETS)
    ]
    return sum(side > 0 for side in found) / _SETS


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
