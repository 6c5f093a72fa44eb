"""The page of a calibration: one HTML file that shows whether the measures can be trusted, and how far."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from evenhand.core.files import write_text
from evenhand.core.items import OVERALL
from evenhand.reporting.calibration.plots import detectable_plot, dose_plot
from evenhand.reporting.calibration.regard_rows import NOT_ASKED, about_regard, regard_row
from evenhand.reporting.calibration.words import (
    count_models,
    families_of,
    family_title,
    measures_of,
    reads_bits,
    short_name,
    shown_failures,
    shown_reading,
    signed_bits,
    title_of,
    verdict,
    what_it_did,
    what_it_should,
)
from evenhand.reporting.numbers import NOT_THERE, number_or_dash
from evenhand.reporting.plotting import Mark, Plot
from evenhand.reporting.rendering import render_page_template
from evenhand.reporting.views import rows_csv
from evenhand.reporting.words import language_name, task_title
from evenhand.store.calibration import Calibration, MeasureCalibration

DRAWN = ("SS", "log_ratio", "LMS", "ICAT")
"""Measures with a plot and a card; the others vary them, and stand in the table."""


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
    finding = [own for entries in by_measure.values() if (own := finding_entries(entries))]
    findings = [_finding_view(own, among=finding, families=families) for own in finding]
    plots = [*(panel for view in measures for panel in view["panels"]), *(view["plot"] for view in findings)]
    marked = [(family_title(family), Mark.number(place)) for place, family in enumerate(families)]
    rows = [[measure_row(entry) for entry in own] for own in by_measure.values()]
    items = sum(calibration.items.values())
    return render_page_template(
        "calibration.html.j2",
        data={
            "plots": {plot.id: plot.spec for plot in plots},
            "csv": {
                "figures": rows_csv([asdict(row) for own in rows for row in own]),
                "errors": rows_csv(_error_table(calibration)),
                "regard": rows_csv(
                    [reading.model_dump(exclude={"checks"}) for reading in calibration.regard]
                ),
            },
        },
        version=calibration.environment.evenhand,
        head_title="Calibration of the measures",
        title="Do the measures read what is there?",
        kicker="Calibration",
        facts=[
            *([("Models", f"{count_models(calibration):,}"), ("Items", f"{items:,}")] if measures else []),
            ("Language", language_name(calibration.language)),
            ("Version", f"Evenhand {calibration.environment.evenhand}"),
            ("Made", f"{calibration.created:%d %B %Y}"),
        ],
        contents=[
            ("verdict", "Verdict"),
            *([("how", "How to read this"), ("doses", "Planted and read")] if measures else []),
            *([("finds", "How little it finds")] if findings else []),
            *([("errors", "Errors, model by model"), ("figures", "All figures")] if measures else []),
            *([("regard", "Regard")] if calibration.regard else []),
            ("limits", "Limits"),
            ("method", "Method"),
        ],
        calibration=calibration,
        verdict=verdict(calibration),
        models=count_models(calibration),
        families=marked,
        tasks=[(task_title(task), count) for task, count in calibration.items.items()],
        failures=shown_failures(calibration),
        measures=measures,
        findings=findings,
        groups=rows,
        errors=error_rows(calibration),
        regard=[regard_row(reading) for reading in calibration.regard],
        about_regard=about_regard(calibration.regard),
        not_asked=NOT_ASKED,
        strengths=[signed_bits(strength) for strength in calibration.strengths],
    )


def _error_table(calibration: Calibration) -> list[dict[str, Any]]:
    """One row per measure and model."""
    return [
        {
            "measure": entry.measure, "family": entry.family, "task": entry.task, "part": entry.part.value,
            "planted_bits": point.strength, "seed": point.seed, "read": point.estimate.value,
            "target": point.target, "error": point.error,
        }
        for entry in calibration.measures
        for point in entry.errors
    ]  # fmt: skip


def _measure_view(entries: Sequence[MeasureCalibration], families: Sequence[str]) -> dict[str, Any]:
    shown = main_entries(entries)
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
            Plot(
                id=_plot_id("dose", entry),
                spec=dose_plot(entry, among=shown, families=families),
                label=f"{title_of(entry.measure)} against planted bias, {entry_title(entry)}.",
                caption=entry_title(entry),
            )
            for entry in shown
        ],
        "strengths": [
            (signed_bits(strength), [readings(entry, strength) for entry in shown])
            for strength in sorted({point.strength for entry in shown for point in entry.points})
        ],
    }


def _finding_view(
    shown: Sequence[MeasureCalibration],
    *,
    among: Sequence[Sequence[MeasureCalibration]],
    families: Sequence[str],
) -> dict[str, Any]:
    return {
        "short": short_name(shown[0].measure),
        "title": title_of(shown[0].measure),
        "columns": [entry_title(entry) for entry in shown],
        "rows": [
            (f"{items:,}", [smallest_found(entry, items) for entry in shown]) for items in item_counts(shown)
        ],
        "plot": Plot(
            id=_plot_id("finds", shown[0]),
            spec=detectable_plot(shown, among=[entry for own in among for entry in own], families=families),
            label=f"Smallest planted bias that {title_of(shown[0].measure)} finds, by number of items.",
            caption=title_of(shown[0].measure),
        ),
    }


def _plot_id(kind: str, entry: MeasureCalibration) -> str:
    return f"{kind} {entry.measure} {entry.family}"


@dataclass(frozen=True, slots=True)
class MeasureRow:
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


def measure_row(entry: MeasureCalibration) -> MeasureRow:
    """The figures of an entry, each with its unit."""
    unit = "bits" if reads_bits(entry) else "points"
    false_positives = f"{entry.false_positives:.1%} of {entry.neutral_sets:,}"
    return MeasureRow(
        measure=short_name(entry.measure),
        family=family_title(entry.family),
        task=task_title(entry.task),
        spearman=number_or_dash(entry.spearman, 3),
        slope=NOT_THERE if math.isnan(entry.slope) else f"{number_or_dash(entry.slope, 2)} {unit}",
        neutral_point=number_or_dash(entry.neutral_point, 2),
        error=number_or_dash(entry.error, 2),
        false_positives=NOT_THERE if math.isnan(entry.false_positives) else false_positives,
        passed=entry.passed,
    )


@dataclass(frozen=True, slots=True)
class ErrorRow:
    """How far a measure is off on every model of a family: what it read minus what it should have read."""

    measure: str
    family: str
    task: str
    part: str
    """Whether lessons had what was asked."""
    largest: str
    at: tuple[str, ...]
    """For each strength the error of each model, in the order of seeds."""


def error_rows(calibration: Calibration) -> list[ErrorRow]:
    """Every measure, family, task and part with a known target."""
    return [
        ErrorRow(
            measure=short_name(entry.measure),
            family=family_title(entry.family),
            task=task_title(entry.task),
            part=entry.part.value,
            largest=shown_error(entry, entry.largest_error).lstrip("+"),
            at=tuple(
                ", ".join(
                    shown_error(entry, point.error) for point in entry.errors if point.strength == strength
                )
                or NOT_THERE
                for strength in calibration.strengths
            ),
        )
        for entry in calibration.measures
        if entry.errors
    ]


def shown_error(entry: MeasureCalibration, error: float) -> str:
    """An error with its sign; bits need two digits more than points of 100."""
    shown = f"{error:+.{3 if reads_bits(entry) else 1}f}"
    return shown.replace("-", "−") if float(shown) else shown.lstrip("+-")


def main_entries(entries: Sequence[MeasureCalibration]) -> list[MeasureCalibration]:
    """Of a measure one entry per family: both tasks together, or the task that there is."""
    by_family: dict[str, MeasureCalibration] = {}
    for entry in entries:
        if entry.family not in by_family or entry.task == OVERALL:
            by_family[entry.family] = entry
    return list(by_family.values())


def finding_entries(entries: Sequence[MeasureCalibration]) -> list[MeasureCalibration]:
    """The main entries on which the smallest bias was sought, unless it was found on none of them."""
    sought = [entry for entry in main_entries(entries) if entry.detectable]
    is_detected = any(not math.isnan(row.strength) for entry in sought for row in entry.detectable)
    return sought if is_detected else []


def entry_title(entry: MeasureCalibration) -> str:
    """The family, and the task unless it is both together."""
    title = family_title(entry.family)
    return title if entry.task == OVERALL else f"{title}, {task_title(entry.task).lower()}"


def item_counts(entries: Sequence[MeasureCalibration]) -> list[int]:
    """Numbers of items for which the smallest bias was sought."""
    return sorted({row.items for entry in entries for row in entry.detectable})


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
    smallest = next((row for row in entry.detectable if row.items == items), None)
    if smallest is None:
        return NOT_THERE
    if math.isnan(smallest.strength):
        return "not found"
    return f"{smallest.strength:.2f} bits (reads {shown_reading(entry, smallest.reading)})"
