"""The view of context association tests: scores by task and bias type, target terms, and the items themselves."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from markupsafe import Markup

from evenhand.core.estimates import Estimate
from evenhand.core.protocols import HEADLINE
from evenhand.instruments.association.measures import MEASURES
from evenhand.instruments.association.results import MEASURE_NAMES, TargetResult, TaskResult
from evenhand.reporting.association.item_cards import ItemCard, item_card, most_leaning
from evenhand.reporting.association.item_pages import ITEMS_FILE, ItemPage
from evenhand.reporting.association.items import all_positive, page_items, text_key
from evenhand.reporting.association.plots import bias_type_plot, icat_plane
from evenhand.reporting.association.words import (
    EXPLANATIONS,
    NEUTRAL,
    expected_of,
    interpret_association,
    main_task,
)
from evenhand.reporting.calibration.words import run_badges
from evenhand.reporting.plotting import Plot, ShownRun, left_out
from evenhand.reporting.rendering import render
from evenhand.reporting.views import Matrix, Section, View, estimate_columns, rows_csv
from evenhand.reporting.words import TASK_TITLES, task_title
from evenhand.store.calibration import Calibration
from evenhand.store.run import Run

_TEMPLATE = "association.html.j2"
_ITEMS = "items"
_MOST_DRAWN = 8
"""With more runs, bias types are a table first and a plot second."""

_MOST_TERMS, _FEWEST_TERMS = 4_500, 400
"""Target terms in all tables of a page together, and those that any table may have."""

MEASURED = (
    "Context association test: each item gives a context and three ways to complete it, a stereotype, an "
    "anti-stereotype and something unrelated. A scorer, usually a language model, gives each a score. In the "
    "intra-sentence task the candidate fills a blank; in the inter-sentence task it is the next sentence. Only the "
    "order of the three scores counts, not their size; the log ratio alone looks at how far two probabilities lie "
    "apart."
)
CERTAINTY = (
    "Items about the same target term resemble each other, so intervals resample whole terms. Groups with fewer than "
    "ten terms use a jackknife over terms instead, which is wide on purpose."
)
LIMITS = (
    "It speaks of the stereotypes in this benchmark, chosen by its authors, and of no others.",
    "A score near 50 does not show that a model is free of stereotypes; they may cancel out, or be absent from the "
    "items.",
    "Translated items carry the culture of the original. Compare languages with care.",
    "Benchmarks of this kind have faulty items; see data quality.",
)


def association_view(runs: Sequence[ShownRun], *, calibration: Calibration | None) -> View:
    """The view of audits and evaluations."""
    tasks = [task for task in TASK_TITLES if any(task in shown.run.result.tasks for shown in runs)]
    data = association_data(runs, tasks)
    return View(
        interpretations=tuple((interpret_association(shown.run),) for shown in runs),
        sections=_sections(runs, tasks, _cards(data)),
        matrices=_matrices(runs) if len(runs) > 1 else (),
        planted=tuple(
            (shown.label, expected_of(shown.run.record.model.planted))
            for shown in runs
            if shown.run.record.model and shown.run.record.model.planted
        ),
        quality=render(_TEMPLATE, "quality", runs=[(shown, _main(shown.run)) for shown in runs]),
        lab=_lab(runs, calibration),
        explanations=EXPLANATIONS,
        measured=(MEASURED,),
        certainty=(CERTAINTY,),
        limits=LIMITS,
        data={"association": data},
        scripts=("items.js", "association.js"),
    )


def association_data(runs: Sequence[ShownRun], tasks: Sequence[str]) -> dict[str, Any]:
    """What the script of the view works on: plots by task, target terms and items of every run, kept small."""
    items = page_items([shown.run for shown in runs])
    scores = {key: iter(own.scores) for key, own in items.items()}
    tables = sum(len(shown.run.result.tasks) for shown in runs)
    return {
        "tasks": [[task, task_title(task)] for task in tasks],
        "plots": {
            task: {"plane": icat_plane(runs, task), "bias-types": bias_type_plot(runs, task)}
            for task in tasks
        },
        "texts": {key: own.texts for key, own in items.items()},
        "totals": {key: own.total for key, own in items.items()},
        "runs": [_run_data(shown, scores, tables) for shown in runs],
    }


def shown_targets(result: TaskResult, tables: int) -> list[TargetResult]:
    """The terms of a result that one of so many tables on a page shows, in their order: those that pull most."""
    most = max(_FEWEST_TERMS, _MOST_TERMS // max(1, tables))
    pulls = sorted((-abs(target.pull), place) for place, target in enumerate(result.by_target))
    return [result.by_target[place] for place in sorted(place for _, place in pulls[:most])]


def with_item_pages(view: View, pages: Sequence[ItemPage]) -> View:
    """The view of a run whose items are on pages beside its own."""
    links = render(_TEMPLATE, "item_pages", pages=pages, total=pages[-1].last, table=ITEMS_FILE)
    sections = tuple(
        replace(section, html=section.html + links) if section.id == _ITEMS else section
        for section in view.sections
    )
    return replace(view, sections=sections)


def _cards(data: Mapping[str, Any]) -> list[ItemCard]:
    """Of items of the first run, for readers without scripts."""
    run = data["runs"][0]
    return [
        item_card(row) for row in most_leaning(zip(data["texts"][run["texts"]], run["items"], strict=True))
    ]


def _sections(
    runs: Sequence[ShownRun], tasks: Sequence[str], cards: Sequence[ItemCard]
) -> tuple[Section, ...]:
    several = len(runs) > 1
    by_task = [
        (shown, task, shown.run.result.tasks[task])
        for shown in runs
        for task in tasks
        if task in shown.run.result.tasks
    ]
    by_type = [
        (shown, task, bias_type, group)
        for shown, task, result in by_task
        for bias_type, group in result.by_bias_type.items()
    ]
    plane, bias_types = _plots(runs, tasks)
    return (
        Section(
            id="scores",
            title="Scores by task",
            html=render(
                _TEMPLATE,
                "scores",
                rows=by_task,
                several=several,
                headline=[MEASURES.get(name) for name in HEADLINE],
                all_measures=[MEASURES.get(name) for name in _measure_names(runs)],
                covered={own.label: own.run.coverage for own in runs}
                if any(own.run.coverage for own in runs)
                else {},
            ),
            csv=rows_csv(
                [
                    {"run": shown.label, "task": task, "measure": name, **estimate_columns(estimate)}
                    for shown, task, result in by_task
                    for name, estimate in result.estimates()
                ]
            ),
        ),
        Section(id="plane", title="ICAT plane", html=render(_TEMPLATE, "plane", plot=plane), is_interactive=True),
        Section(
            id="bias-types",
            title="Bias types",
            html=render(
                _TEMPLATE,
                "bias_types",
                plot=bias_types,
                rows=by_type,
                several=several,
                folded=len(runs) > _MOST_DRAWN,
            ),
            csv=rows_csv(
                [
                    {
                        "run": shown.label, "task": task, "bias_type": bias_type, "measure": name,
                        **estimate_columns(group.estimate(name)),
                    }
                    for shown, task, bias_type, group in by_type
                    for name in HEADLINE
                ]
            ),
            is_interactive=True,
        ),
        Section(
            id="targets",
            title="Target terms",
            html=render(_TEMPLATE, "targets", several=several),
            csv=rows_csv(
                [
                    {
                        "run": shown.label, "task": task, "term": target.target, "bias_type": target.bias_type,
                        "n": target.n, "SS": target.SS.value, "SS_low": target.SS.low, "SS_high": target.SS.high,
                        "LMS": target.LMS, "ICAT": target.ICAT, "pull": target.pull,
                    }
                    for shown, task, result in by_task
                    for target in shown_targets(result, len(by_task))
                ]
            ),
            is_interactive=True,
        ),
        Section(
            id=_ITEMS,
            title="Items",
            html=render(_TEMPLATE, "items", cards=cards),
            has_csv_script=True,
            is_interactive=True,
        ),
    )  # fmt: skip


def _plots(runs: Sequence[ShownRun], tasks: Sequence[str]) -> tuple[Plot, Plot]:
    """Both plots of the first task; the script draws those of the task that is chosen."""
    drawn = [shown.label for shown in runs if shown.run.result.tasks.get(tasks[0])]
    absent = (
        left_out(runs, drawn, reason=f"it has no scores for {task_title(tasks[0]).lower()}") if tasks else ()
    )
    return (
        Plot(
            id="plane",
            spec={"task": tasks[0]},
            label="Language modelling score against stereotype score, with lines of equal ICAT.",
            runs=tuple(runs),
            left_out=absent,
        ),
        Plot(
            id="bias-types",
            spec={"task": tasks[0]},
            label="Stereotype score by bias type with intervals.",
            runs=tuple(runs),
            left_out=absent,
        ),
    )


def _matrices(runs: Sequence[ShownRun]) -> tuple[Matrix, ...]:
    """SS of each target term, and of each bias type, in every run: of all items, or of the only task."""
    results = [_main(shown.run) for shown in runs]
    types = [{name: group.SS for name, group in result.by_bias_type.items()} for result in results]
    terms = [
        {target.target: target.SS for target in shown_targets(result, len(results))} for result in results
    ]
    made = []
    for name, title, term, cells in (
        ("target-terms", "Target terms: stereotype score", "Term", terms),
        ("types", "Bias types: stereotype score", "Bias type", types),
    ):
        names = sorted({key for own in cells for key in own}, key=str.casefold)
        if names:
            made.append(
                Matrix(
                    id=f"matrix-{name}",
                    title=title,
                    term=term,
                    neutral=NEUTRAL,
                    reach=50.0 if name == "target-terms" else 30.0,
                    digits=0 if name == "target-terms" else 1,
                    rows=tuple((key, tuple(own.get(key) for own in cells)) for key in names),
                )
            )
    return tuple(made)


def _lab(runs: Sequence[ShownRun], calibration: Calibration | None) -> Markup:
    badges = [
        (shown, task, shown.run.result.tasks[task].n, own[task])
        for shown in runs
        for own in [run_badges(shown.run, calibration)]
        for task in TASK_TITLES
        if own.get(task)
    ]
    if not badges:
        return Markup("")
    main = [(shown, n, own) for shown, task, n, own in badges if task == main_task(shown.run)]
    return render(
        _TEMPLATE,
        "lab",
        main=main,
        badges=badges,
        headline=HEADLINE,
        measures=[name for name in MEASURE_NAMES if any(name in own for *_, own in badges)],
        several=len(runs) > 1,
    )


def _main(run: Run) -> TaskResult:
    result: TaskResult = run.result.tasks[main_task(run)]
    return result


def _measure_names(runs: Sequence[ShownRun]) -> list[str]:
    """Measures of any run, those of other packages behind our own."""
    names = (
        name
        for shown in runs
        for result in shown.run.result.tasks.values()
        for name, _ in result.estimates()
        if name in MEASURES
    )
    return list(dict.fromkeys(names))


def _run_data(
    shown: ShownRun, scores: Mapping[str, Iterator[list[list[Any]]]], tables: int
) -> dict[str, Any]:
    """What the script knows of a run; the scores of runs that share texts come in the order of the runs."""
    run = shown.run
    key = text_key(run)
    return {
        "label": shown.label,
        "texts": key,
        "targets": {
            task: [
                [target.target, target.bias_type, target.n, *_rounded(target.SS), *_rounded_values(
                    target.LMS, target.ICAT, target.pull
                ), target.SS.reason]
                for target in shown_targets(result, tables)
            ]
            for task, result in run.result.tasks.items()
        },
        "terms": {task: len(result.by_target) for task, result in run.result.tasks.items()},
        "items": next(scores[key]),
        "ratios": all_positive(run.items()),
        "scoring": run.record.scoring.descriptions if run.record.scoring else {},
    }  # fmt: skip


def _rounded(estimate: Estimate) -> list[float | None]:
    return _rounded_values(estimate.value, estimate.low, estimate.high)


def _rounded_values(*values: float) -> list[float | None]:
    return [None if math.isnan(value) else round(value, 2) for value in values]
