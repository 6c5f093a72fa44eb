"""The page: one HTML file that needs nothing else, for people who did not run the measurement."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from evenhand.core.errors import RunError
from evenhand.core.files import write_text
from evenhand.core.items import OVERALL
from evenhand.core.protocols import HEADLINE
from evenhand.core.results import MEASURE_NAMES, Comparison
from evenhand.core.runs import Run, run_label
from evenhand.measures import MEASURES
from evenhand.report.page_data import page_data, to_script_json
from evenhand.report.plots import plotting_javascript
from evenhand.report.reading import language_name, lean_of, main_task, read
from evenhand.report.tables import number, show, show_p

TASK_TITLES = {
    OVERALL: "Both tasks together",
    "intrasentence": "Intra-sentence",
    "intersentence": "Inter-sentence",
}


def write_page(
    runs: Sequence[Run] | Run, path: str | Path, *, comparisons: Sequence[Comparison] = ()
) -> Path:
    """Write the page of one or several runs to a file."""
    target = Path(path)
    write_text(target, render_page([runs] if isinstance(runs, Run) else list(runs), comparisons=comparisons))
    return target


def render_page(runs: Sequence[Run], *, comparisons: Sequence[Comparison] = ()) -> str:
    """The page of one or several runs as HTML."""
    if not runs:
        raise RunError("A page needs at least one run.")
    environment = Environment(
        loader=PackageLoader("evenhand.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(show=show, number=number, show_p=show_p, language=language_name)
    return environment.get_template("page.html.j2").render(
        title=_title(runs),
        runs=[_run_view(run) for run in runs],
        comparisons=[_comparison_view(comparison) for comparison in comparisons],
        task_titles=TASK_TITLES,
        headline=[MEASURES[name] for name in HEADLINE],
        all_measures=[MEASURES[name] for name in MEASURE_NAMES],
        style=_resource("page.css"),
        script=_resource("page.js"),
        plotting=Markup(plotting_javascript().replace("</script", "<\\/script")),  # noqa: S704
        data=Markup(to_script_json(page_data(runs))),  # noqa: S704
    )


def _title(runs: Sequence[Run]) -> str:
    return runs[0].label if len(runs) == 1 else f"{len(runs)} runs side by side"


def _resource(name: str) -> Markup:
    """A file of ours that goes into the page as it is."""
    text = (resources.files("evenhand.report") / "templates" / name).read_text(encoding="utf-8")
    return Markup(text)  # noqa: S704


def _run_view(run: Run) -> dict[str, Any]:
    order = [task for task in TASK_TITLES if task in run.result.tasks]
    return {
        "run": run,
        "label": run.label,
        "reading": read(run),
        "main": run.result.tasks[main_task(run)],
        "tasks": [(task, run.result.tasks[task], lean_of(run.result.tasks[task])) for task in order],
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
