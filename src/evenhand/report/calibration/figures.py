"""The figures of a calibration as they stand in tables."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from evenhand.core.items import OVERALL
from evenhand.report.calibration.badge import reads_bits, short_name, shown_reading
from evenhand.report.calibration.words import family_title, task_title
from evenhand.runs.calibration import MeasureCalibration

NOT_THERE = "–"


@dataclass(frozen=True, slots=True)
class Figures:
    """One measure on one family and task, ready to be shown."""

    measure: str
    family: str
    task: str
    spearman: str
    slope: str
    neutral_point: str
    error: str
    false_positives: str
    passed: bool


def figures(entry: MeasureCalibration) -> Figures:
    """The figures of an entry, each with its unit."""
    unit = "bits" if reads_bits(entry) else "points"
    false_positives = f"{entry.false_positives:.1%} of {entry.neutral_sets:,}"
    return Figures(
        measure=short_name(entry.measure),
        family=family_title(entry.family),
        task=task_title(entry.task),
        spearman=_figure(entry.spearman, 3),
        slope=NOT_THERE if math.isnan(entry.slope) else f"{_figure(entry.slope, 2)} {unit}",
        neutral_point=_figure(entry.neutral_point, 2),
        error=_figure(entry.error, 2),
        false_positives=NOT_THERE if math.isnan(entry.false_positives) else false_positives,
        passed=entry.passed,
    )


def main_entries(entries: Sequence[MeasureCalibration]) -> list[MeasureCalibration]:
    """Of a measure one entry a family: both tasks together, or the task that there is."""
    found: dict[str, MeasureCalibration] = {}
    for entry in entries:
        if entry.family not in found or entry.task == OVERALL:
            found[entry.family] = entry
    return list(found.values())


def finding_entries(entries: Sequence[MeasureCalibration]) -> list[MeasureCalibration]:
    """The main entries on which the smallest bias was sought, unless it was found on none of them."""
    sought = [entry for entry in main_entries(entries) if entry.detectable]
    found = any(not math.isnan(row.strength) for entry in sought for row in entry.detectable)
    return sought if found else []


def entry_title(entry: MeasureCalibration) -> str:
    """The family, and the task unless it is both together."""
    title = family_title(entry.family)
    return title if entry.task == OVERALL else f"{title}, {task_title(entry.task).lower()}"


def item_counts(entries: Sequence[MeasureCalibration]) -> list[int]:
    """Numbers of items for which the smallest bias was sought."""
    return sorted({found.items for entry in entries for found in entry.detectable})


def readings(entry: MeasureCalibration, strength: float) -> str:
    """What was read at a strength: the mean over seeds, the lowest and the highest."""
    values = [
        point.estimate.value
        for point in entry.points
        if point.strength == strength and point.estimate.defined
    ]
    if not values:
        return NOT_THERE
    low, mean, high = (
        shown_reading(entry, value) for value in (min(values), sum(values) / len(values), max(values))
    )
    return f"{mean} ({low} to {high})"


def smallest_found(entry: MeasureCalibration, items: int) -> str:
    """The smallest bias that so many items show, and what is read there."""
    found = next((row for row in entry.detectable if row.items == items), None)
    if found is None:
        return NOT_THERE
    if math.isnan(found.strength):
        return "not found"
    return f"{found.strength:.2f} bits (reads {shown_reading(entry, found.reading)})"


def _figure(value: float, digits: int) -> str:
    if math.isnan(value):
        return NOT_THERE
    return f"{round(value, digits) + 0.0:.{digits}f}".replace("-", "−")
