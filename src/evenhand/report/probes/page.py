"""The page of probes: one HTML file that needs nothing else, for people who did not run them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from evenhand.core.errors import RunError
from evenhand.core.planted_bias import PlantedBias
from evenhand.instruments.probe_results import CosineResult, CrowsPairsResult, DirectBiasResult, MalorResult
from evenhand.report.probes.malor_view import malor_groups
from evenhand.report.probes.questions import different_questions, run_labels
from evenhand.report.probes.tables import PROBE_COLUMNS, probe_rows
from evenhand.report.probes.views import cosine_view, direct_bias_views, pairs_view
from evenhand.report.probes.words import EXPERIMENT_TITLES, TEST_TITLES, read_result, result_title
from evenhand.report.rendering import page_parts, template_environment
from evenhand.runs.run import Run

Kind = TypeVar("Kind", MalorResult, CrowsPairsResult, CosineResult, DirectBiasResult)


def render_probe_page(runs: Sequence[Run]) -> str:
    """The page of one or several probes as HTML."""
    if not runs:
        raise RunError("A page needs at least one run.")
    labelled = dict(zip(run_labels(runs), runs, strict=True))
    groups = malor_groups(_results(labelled, MalorResult), _planted_leans(labelled))
    pairs = pairs_view(_results(labelled, CrowsPairsResult))
    cosines = cosine_view(_results(labelled, CosineResult))
    direct = direct_bias_views(_results(labelled, DirectBiasResult))
    views = [*groups, *pairs, *cosines, *direct]
    template = template_environment().get_template("probes.html.j2")
    return template.render(
        title=next(iter(labelled)) if len(runs) == 1 else f"{len(runs)} probes side by side",
        runs=[_run_view(label, run) for label, run in labelled.items()],
        facts=_facts(runs),
        notices=different_questions(runs),
        columns=PROBE_COLUMNS,
        rows=probe_rows(runs),
        groups=groups,
        pairs=pairs,
        cosines=cosines,
        direct=direct,
        skipped=[
            (label, result_title(result), row)
            for label, run in labelled.items()
            for result in run.results
            for row in result.skipped
        ],
        **page_parts(
            styles=("page.css", "probes.css"),
            script="probes.js",
            data={plot["id"]: plot["spec"] for view in views for plot in view["plots"]},
        ),
    )


def _results(runs: Mapping[str, Run], kind: type[Kind]) -> list[tuple[str, Kind]]:
    return [
        (label, result) for label, run in runs.items() for result in run.results if isinstance(result, kind)
    ]


def _facts(runs: Sequence[Run]) -> dict[str, list[str]]:
    asked = dict.fromkeys(
        result.experiment for run in runs for result in run.results if isinstance(result, MalorResult)
    )
    return {
        "models": list(dict.fromkeys(run.record.model.id for run in runs if run.record.model)),
        "languages": list(dict.fromkeys(run.record.language for run in runs)),
        "tests": list(
            dict.fromkeys(TEST_TITLES.get(run.record.instrument, run.record.instrument) for run in runs)
        ),
        "experiments": [EXPERIMENT_TITLES.get(name, name) for name in asked],
    }


def _run_view(label: str, run: Run) -> dict[str, Any]:
    return {
        "label": label,
        "record": run.record,
        "planted": planted_in(run),
        "expected": _expected(run),
        "readings": [(result_title(result), read_result(run, result)) for result in run.results],
        "options": [(name.replace("_", " "), _shown(value)) for name, value in run.record.options.items()],
    }


def planted_in(run: Run) -> PlantedBias | None:
    """What was planted in the model of a run, if it is one of the lab's."""
    return run.record.model.planted if run.record.model else None


def _planted_leans(runs: Mapping[str, Run]) -> dict[str, Mapping[str, float]]:
    return {
        label: planted.occupations
        for label, run in runs.items()
        if (planted := planted_in(run)) and planted.occupations
    }


def _expected(run: Run) -> str:
    """What was planted says what MALoR should be."""
    planted = planted_in(run)
    asked = {
        lean.occupation
        for result in run.results
        if isinstance(result, MalorResult)
        for lean in result.occupations
        if lean.log2_ratio.defined
    }
    bits = planted.malor(asked) if planted else None
    if bits is None:
        return ""
    return f"Over these occupations MALoR should be {f'{bits:.2f} bits' if bits else '0 but for chance'}."


def _shown(value: Any) -> str:
    """An option as people write it."""
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_shown(own)}" for name, own in value.items()) or "none"
    if isinstance(value, list | tuple):
        return ", ".join(_shown(own) for own in value) or "none"
    return "none" if value is None else str(value)
