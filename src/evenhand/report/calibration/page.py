"""The page of a calibration: one HTML file that shows whether the measures can be trusted, and how far."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from evenhand.core.files import write_text
from evenhand.report.calibration.badge import reads_bits, short_name
from evenhand.report.calibration.figures import (
    entry_title,
    figures,
    finding_entries,
    item_counts,
    main_entries,
    readings,
    smallest_found,
)
from evenhand.report.calibration.plots import detectable_plot, dose_plot
from evenhand.report.calibration.words import (
    count_models,
    families_of,
    family_title,
    measures_of,
    shown_failure,
    signed_bits,
    task_title,
    title_of,
    verdict,
    what_it_did,
    what_it_should,
)
from evenhand.report.rendering import page_parts, template_environment
from evenhand.runs.calibration import Calibration, MeasureCalibration

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
        failures=[shown_failure(entry, check) for entry, check in calibration.failures],
        measures=measures,
        findings=findings,
        groups=[[figures(entry) for entry in own] for own in by_measure.values()],
        strengths=[signed_bits(strength) for strength in calibration.strengths],
        **page_parts(styles=("page.css", "calibration.css"), script="calibration.js", data=plots),
    )


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
            {
                "id": _plot_id("dose", entry),
                "title": entry_title(entry),
                "spec": dose_plot(entry, among=shown, families=families),
            }
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
        "id": _plot_id("finds", shown[0]),
        "short": short_name(shown[0].measure),
        "title": title_of(shown[0].measure),
        "columns": [entry_title(entry) for entry in shown],
        "rows": [
            (f"{items:,}", [smallest_found(entry, items) for entry in shown]) for items in item_counts(shown)
        ],
        "spec": detectable_plot(shown, among=[entry for own in among for entry in own], families=families),
    }


def _plot_id(kind: str, entry: MeasureCalibration) -> str:
    return f"{kind} {entry.measure} {entry.family}"
