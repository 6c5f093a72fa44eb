"""The page of a calibration: one HTML file that shows whether the measures can be trusted, and how far."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from evenhand.core.calibration import Calibration, Check, MeasureCalibration
from evenhand.core.files import write_text
from evenhand.core.items import OVERALL
from evenhand.report.badge import reads_bits, short_name, shown_reading
from evenhand.report.calibration_plots import detectable_plot, dose_plot
from evenhand.report.calibration_words import (
    count_models,
    families_of,
    family_title,
    measures_of,
    shown_check,
    signed_bits,
    task_title,
    title_of,
    verdict,
    what_it_did,
    what_it_should,
)
from evenhand.report.rendering import page_parts, template_environment

DRAWN = ("SS", "log_ratio", "LMS", "ICAT")
"""Measures with a plot and a card; the others vary them, and stand in the table."""

NOT_THERE = "–"


def write_calibration_page(calibration: Calibration, path: str | Path) -> Path:
    """Write the page of a calibration to a file."""
    target = Path(path)
    write_text(target, render_calibration_page(calibration))
    return target


def render_calibration_page(calibration: Calibration) -> str:
    """The page of a calibration as HTML."""
    families = families_of(calibration)
    by_measure = measures_of(calibration)
    drawn = [name for name in DRAWN if name in by_measure] or list(by_measure)
    measures = [_measure_view(by_measure[name], families) for name in drawn]
    finding = [own for entries in by_measure.values() if (own := _finding(entries))]
    findings = [_finding_view(own, among=finding, families=families) for own in finding]
    plots = {panel["id"]: panel["spec"] for view in measures for panel in view["panels"]}
    plots |= {view["id"]: view["spec"] for view in findings}
    template = template_environment().get_template("calibration.html.j2")
    return template.render(
        calibration=calibration,
        verdict=verdict(calibration),
        models=count_models(calibration),
        families=[family_title(family) for family in families],
        items=sum(calibration.items.values()),
        tasks=[(task_title(task), count) for task, count in calibration.items.items()],
        failures=[_failure(entry, check) for entry, check in calibration.failures],
        measures=measures,
        findings=findings,
        groups=[[_row(entry) for entry in own] for own in by_measure.values()],
        strengths=[signed_bits(strength) for strength in calibration.strengths],
        **page_parts(styles=("page.css", "calibration.css"), script="calibration.js", data=plots),
    )


def _measure_view(entries: Sequence[MeasureCalibration], families: Sequence[str]) -> dict[str, Any]:
    shown = _shown(entries)
    checks = [check for entry in entries for check in entry.checks]
    return {
        "short": short_name(entries[0].measure),
        "title": title_of(entries[0].measure),
        "should": what_it_should(entries[0].response),
        "did": what_it_did(entries),
        "passed": all(check.passed for check in checks),
        "checks_passed": sum(check.passed for check in checks),
        "checks": len(checks),
        "in_bits": any(reads_bits(entry) for entry in shown),
        "panels": [
            {
                "id": _plot_id("dose", entry),
                "title": _column(entry),
                "spec": dose_plot(entry, among=shown, families=families),
            }
            for entry in shown
        ],
        "strengths": [
            (signed_bits(strength), [_readings(entry, strength) for entry in shown])
            for strength in sorted({point.strength for entry in shown for point in entry.points})
        ],
    }


def _finding(entries: Sequence[MeasureCalibration]) -> list[MeasureCalibration]:
    """One entry a family, of those on which the smallest bias was sought and found."""
    return [
        entry
        for entry in _shown(entries)
        if any(not math.isnan(found.strength) for found in entry.detectable)
    ]


def _finding_view(
    shown: Sequence[MeasureCalibration],
    *,
    among: Sequence[Sequence[MeasureCalibration]],
    families: Sequence[str],
) -> dict[str, Any]:
    counts = sorted({found.items for entry in shown for found in entry.detectable})
    return {
        "id": _plot_id("finds", shown[0]),
        "short": short_name(shown[0].measure),
        "title": title_of(shown[0].measure),
        "columns": [_column(entry) for entry in shown],
        "rows": [(f"{items:,}", [_smallest(entry, items) for entry in shown]) for items in counts],
        "spec": detectable_plot(shown, among=[entry for own in among for entry in own], families=families),
    }


def _failure(entry: MeasureCalibration, check: Check) -> str:
    where = (
        f"{short_name(entry.measure)}, {family_title(entry.family).lower()}, {task_title(entry.task).lower()}"
    )
    return f"{where}: {shown_check(check)}."


def _row(entry: MeasureCalibration) -> dict[str, Any]:
    false_positives = NOT_THERE
    if not math.isnan(entry.false_positives):
        false_positives = f"{entry.false_positives:.1%} of {entry.neutral_sets:,}"
    unit = "bits" if reads_bits(entry) else "points"
    return {
        "measure": short_name(entry.measure),
        "family": family_title(entry.family),
        "task": task_title(entry.task),
        "spearman": _figure(entry.spearman, 3),
        "slope": NOT_THERE if math.isnan(entry.slope) else f"{_figure(entry.slope, 2)} {unit}",
        "neutral_point": _figure(entry.neutral_point, 2),
        "error": _figure(entry.error, 2),
        "false_positives": false_positives,
        "passed": entry.passed,
    }


def _shown(entries: Sequence[MeasureCalibration]) -> list[MeasureCalibration]:
    """One entry a family: both tasks together, or the task that there is."""
    found: dict[str, MeasureCalibration] = {}
    for entry in entries:
        if entry.family not in found or entry.task == OVERALL:
            found[entry.family] = entry
    return list(found.values())


def _column(entry: MeasureCalibration) -> str:
    title = family_title(entry.family)
    return title if entry.task == OVERALL else f"{title}, {task_title(entry.task).lower()}"


def _plot_id(kind: str, entry: MeasureCalibration) -> str:
    return f"{kind} {entry.measure} {entry.family}"


def _readings(entry: MeasureCalibration, strength: float) -> str:
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


def _smallest(entry: MeasureCalibration, items: int) -> str:
    found = next((row for row in entry.detectable if row.items == items), None)
    if found is None:
        return NOT_THERE
    if math.isnan(found.strength):
        return "not found"
    return f"{found.strength:.2f} bits (reads {shown_reading(entry, found.reading)})"


def _figure(value: float, digits: int) -> str:
    return NOT_THERE if math.isnan(value) else f"{value:.{digits}f}".replace("-", "−")
