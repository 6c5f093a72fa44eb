"""Association tests before and after: SS and ICAT as measures of bias, LMS as one of quality."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from evenhand.certificate.bias import ends
from evenhand.core.estimates import Estimate
from evenhand.core.items import OVERALL
from evenhand.core.protocols import get_protocol
from evenhand.instruments.association.comparison import shared_items
from evenhand.instruments.association.estimation import ScoredItems
from evenhand.instruments.association.measures.totals import Floats, Preferences
from evenhand.instruments.association.results import GroupResult
from evenhand.runs.certificates import BiasRow, QualityRow, QualityVerdict
from evenhand.runs.comparison import ALL_ITEMS, Difference, compare
from evenhand.runs.run import Run
from evenhand.stats.differences import NO_ITEM_DIFFERS, judge_margin
from evenhand.stats.intervals import Interval
from evenhand.stats.resampling import Resampling

GENDER = "gender"

_TITLES = {
    ("SS", ALL_ITEMS): "Stereotype score of the association tests",
    ("SS", GENDER): "Stereotype score, items about gender",
    ("ICAT", ALL_ITEMS): "ICAT of the association tests",
}

_CREDITS: dict[str, Callable[[Preferences], Floats]] = {
    "SS": lambda preferences: preferences.stereotype,
    "LMS": lambda preferences: preferences.meaningful,
    "ICAT": lambda preferences: np.concatenate([preferences.stereotype, preferences.meaningful]),
}
"""What of an item's preferences a measure counts."""


def association_rows(before: Run, after: Run, *, resampling: Resampling) -> list[BiasRow]:
    """SS and ICAT over all items, and SS over items about gender where there are such."""
    compared = compare(
        before,
        after,
        measures=("SS", "ICAT"),
        by_group=True,
        resampling=resampling,
    )
    task = _main_task(compared.differences)
    return [
        BiasRow(
            measure=row.measure if row.group == ALL_ITEMS else f"{row.measure} {row.group}",
            title=_TITLES[row.measure, row.group],
            before=row.first,
            after=row.second,
            difference=_certain_where_equal(row, before, after),
            before_interval=ends(_own(before, row)),
            after_interval=ends(_own(after, row)),
            neutral=50.0 if row.measure == "SS" else 100.0,
            unit="points",
        )
        for row in compared.differences
        if row.task == task and (row.measure, row.group) in _TITLES
    ]


def lms_row(before: Run, after: Run, *, margin: float, resampling: Resampling) -> QualityRow:
    """LMS of both models, and whether it fell by no more than the margin."""
    compared = compare(before, after, measures=("LMS",), resampling=resampling)
    task = _main_task(compared.differences)
    (row,) = [row for row in compared.differences if row.task == task]
    difference = _certain_where_equal(row, before, after)
    interval = Interval(difference.low, difference.high, difference.method)
    return QualityRow(
        measure="LMS",
        title="Language modelling score of the association tests",
        before=row.first,
        after=row.second,
        difference=difference,
        unit="points",
        margin=-margin,
        verdict=QualityVerdict(judge_margin(interval, worst=-margin).value),
    )


def _main_task(differences: tuple[Difference, ...]) -> str:
    """Both tasks together where a model does both, else the one that it does."""
    tasks = [row.task for row in differences]
    return OVERALL if OVERALL in tasks else tasks[0]


def _own(run: Run, row: Difference) -> Estimate:
    result = run.result.tasks[row.task]
    group: GroupResult = result if row.group == ALL_ITEMS else result.by_bias_type[row.group]
    return group.estimate(row.measure)


def _certain_where_equal(row: Difference, before: Run, after: Run) -> Estimate:
    """A difference without an interval because both models prefer the same in every item is surely 0."""
    difference = row.difference
    if difference.value != 0 or not math.isnan(difference.low):
        return difference
    protocol = get_protocol(before.result.protocol)
    sides = [ScoredItems.from_frame(side, protocol).preferences for side in shared_items(before, after)[:2]]
    first, second = (_CREDITS[row.measure](side) for side in sides)
    if not np.array_equal(first, second):
        return difference
    return difference.model_copy(update={"low": 0.0, "high": 0.0, "method": NO_ITEM_DIFFERS, "reason": None})
