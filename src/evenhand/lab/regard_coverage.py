"""How often intervals of a gap in regard hold the gap that was planted: simulated studies, no model.

Each study has contexts of its own, texts about two groups in each of them, and labels by a classifier with planted
errors; people label some of the texts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from evenhand.instruments.regard.analysis import TextLabelTable
from evenhand.instruments.regard.estimation import NET_REGARD
from evenhand.lab.regard_gap import GROUPS, PlantedGap, plant_labels
from evenhand.stats.group_shares import CountedShares, GroupShares
from evenhand.stats.label_error import UnconfusedShares
from evenhand.stats.resampling import Resampling
from evenhand.stats.vote_aggregation import NO_LABEL

RESAMPLING = Resampling(resamples=1_000)

CONTRAST = np.stack([NET_REGARD, -NET_REGARD])

SIGNIFICANT = 0.05

LABELLED = 300
"""Texts of a study that people label, where they label some."""


def counted(table: TextLabelTable) -> GroupShares:
    """Labels as they are."""
    return CountedShares(table.counts(table.label))


def prediction_powered(table: TextLabelTable) -> GroupShares:
    """With the mean error on the labelled sample taken off."""
    shares = table.prediction_powered()
    if shares is None:
        raise ValueError("the labelled sample is too small")
    return shares


def unconfused(table: TextLabelTable) -> GroupShares:
    """With confusions undone."""
    return UnconfusedShares(table.counts(table.label), table.confusions())


@dataclass(frozen=True, slots=True)
class RegardWorld:
    """What is planted, and what is done about the classifier's errors."""

    labels: str
    treatment: str
    shares: Callable[[TextLabelTable], GroupShares]
    plan: PlantedGap


@dataclass(frozen=True, slots=True)
class StudyCoverage:
    """What the intervals of many studies hold."""

    share: float
    below: float
    above: float
    error: float
    """The mean of estimate minus truth, in points."""
    length: float
    """The mean length of intervals, in points."""
    deviation: float
    """The standard deviation of estimates over studies, in points."""
    rejected: float
    """Studies whose test says that there is a gap."""
    shown: float
    """Studies whose test and interval both say so."""


def study_table(plan: PlantedGap, generator: np.random.Generator) -> TextLabelTable:
    """The labels of one simulated study."""
    labels = plant_labels(plan, generator)
    return TextLabelTable(
        groups=GROUPS,
        contexts=plan.contexts,
        group=labels.group,
        cluster=labels.context,
        label=labels.given,
        human=np.where(labels.in_sample, labels.true, NO_LABEL),
    )


def coverage(world: RegardWorld, *, studies: int, seed: int) -> StudyCoverage:
    """Simulate studies, and count on which side of the planted gap their intervals lie."""
    generator = np.random.default_rng(seed)
    rows = []
    for _ in range(studies):
        shares = world.shares(study_table(world.plan, generator))
        interval = shares.interval(CONTRAST, resampling=RESAMPLING)
        p_value = shares.p_value(CONTRAST, resampling=RESAMPLING)
        rows.append((interval.low, interval.high, shares.value(CONTRAST), p_value))
    low, high, value, p_values = np.array(rows).T
    rejected = p_values < SIGNIFICANT
    gap = world.plan.gap
    return StudyCoverage(
        share=float(((low <= gap) & (gap <= high)).mean()),
        below=float((high < gap).mean()),
        above=float((low > gap).mean()),
        error=float(value.mean()) - world.plan.gap,
        length=float((high - low).mean()),
        deviation=float(value.std(ddof=1)),
        rejected=float(rejected.mean()),
        shown=float((rejected & ((low > 0) | (high < 0))).mean()),
    )
