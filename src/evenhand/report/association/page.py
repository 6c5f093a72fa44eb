"""The page: one HTML file that needs nothing else, for people who did not run the measurement."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from evenhand.core.errors import RunError
from evenhand.core.protocols import HEADLINE
from evenhand.instruments.association.measures import MEASURES
from evenhand.instruments.association.results import MEASURE_NAMES
from evenhand.report.association.page_data import page_data
from evenhand.report.association.reading import TASK_TITLES, lean_of, main_task, read
from evenhand.report.association.run_badges import run_badges, shipped_calibration
from evenhand.report.rendering import page_parts, template_environment
from evenhand.runs.calibration import Calibration
from evenhand.runs.comparison import Comparison
from evenhand.runs.run import Run, run_label


def render_association_page(
    runs: Sequence[Run], *, comparisons: Sequence[Comparison] = (), calibration: Calibration | None = None
) -> str:
    """The page of one or several runs as HTML.

    Args:
        runs: What the page is about.
        comparisons: Of the first run with each of the others.
        calibration: What is known about the measures; that of the package if not given.
    """
    if not runs:
        raise RunError("A page needs at least one run.")
    known = calibration or shipped_calibration()
    template = template_environment().get_template("page.html.j2")
    return template.render(
        title=_title(runs),
        runs=[_run_view(run, known) for run in runs],
        comparisons=[_comparison_view(comparison) for comparison in comparisons],
        task_titles=TASK_TITLES,
        headline=[MEASURES.get(name) for name in HEADLINE],
        all_measures=[MEASURES.get(name) for name in MEASURE_NAMES],
        **page_parts(styles=("page.css",), script="page.js", data=page_data(runs)),
    )


def _title(runs: Sequence[Run]) -> str:
    return runs[0].label if len(runs) == 1 else f"{len(runs)} runs side by side"


def _run_view(run: Run, calibration: Calibration | None) -> dict[str, Any]:
    order = [task for task in TASK_TITLES if task in run.result.tasks]
    badges = run_badges(run, calibration)
    return {
        "run": run,
        "label": run.label,
        "planted": run.record.model.planted if run.record.model else None,
        "reading": read(run),
        "main": run.result.tasks[main_task(run)],
        "main_badges": badges[main_task(run)],
        "tasks": [(task, run.result.tasks[task], lean_of(run.result.tasks[task])) for task in order],
        "badges": [(task, badges[task]) for task in order if badges[task]],
        "skipped": sum(run.record.skipped.values()),
    }


def _comparison_view(comparison: Comparison) -> dict[str, Any]:
    rows = [row for row in comparison.differences if row.group == "all" and row.measure in HEADLINE]
    return {
        "comparison": comparison,
        "first": run_label(comparison.first, comparison.first_language),
        "second": run_label(comparison.second, comparison.second_language),
        "rows": rows,
        "mcnemar": {row.task: row for row in comparison.mcnemar},
    }
