"""The views of CrowS-Pairs, of the cosine test, of direct bias and of knowledge."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from markupsafe import Markup

from evenhand.reporting.group_words import MEN_AND_WOMEN
from evenhand.reporting.plotting import (
    COSINE,
    MOST_ROWS,
    SCORE,
    IntervalAxis,
    Plot,
    PlottedEstimate,
    ShownRun,
    interval_plot,
    left_out,
)
from evenhand.reporting.probes.direct_bias_words import direct_bias_words
from evenhand.reporting.probes.knowledge_words import EXPLANATIONS as KNOWLEDGE_EXPLANATIONS
from evenhand.reporting.probes.plots import profession_plot
from evenhand.reporting.probes.words import (
    PAIR_TITLES,
    counts_ties_half,
    different_questions,
    interpret_probe,
    pairs_groups,
    result_title,
)
from evenhand.reporting.rendering import render
from evenhand.reporting.views import Matrix, Section, View, estimate_columns, figures_view, rows_csv
from evenhand.store.calibration import Calibration
from evenhand.store.run import Run

FEWEST_TO_FOLD = 3
"""With as many runs, what is drawn for each of them is folded."""

_PAIRS_LIMIT = "CrowS-Pairs speaks of the pairs that were asked, and of no other people or words."
_TEMPLATE = "probes.html.j2"


def _measured_pairs(runs: Sequence[Run]) -> str:
    """What CrowS-Pairs counts, in words that hold for all of the runs."""
    scored = "are scored with what they share" if all(run.record.model for run in runs) else "have scores"
    halved = all(map(counts_ties_half, runs))
    ties = "A tie counts half." if halved else "Under the protocol crows-pairs-2020 a tie counts against it."
    return (
        f"CrowS-Pairs: both sentences of a pair {scored}, and the share of pairs is counted in which the more "
        f"stereotypical one is likelier. {ties}"
    )


def pairs_view(runs: Sequence[ShownRun], *, calibration: Calibration | None = None) -> View:  # noqa: ARG001
    """One plot and one table of pairs: all, by direction and by bias type."""
    rows: list[dict[str, Any]] = [
        {"label": shown.label, "row": PAIR_TITLES.get(row, row), "group": group}
        for shown in runs
        for row, group in pairs_groups(shown.run).items()
    ]
    plotted = [PlottedEstimate(own["label"], own["row"], own["group"].score) for own in rows]
    plot = _interval_plot(
        "pairs", plotted, SCORE, runs=runs, label="Score of all pairs, by direction and by bias type."
    )
    section = Section(
        id="pairs",
        title="Pairs",
        html=render(_TEMPLATE, "pairs", plot=plot, rows=rows, several=len(runs) > 1),
        csv=rows_csv(
            [
                {
                    "run": own["label"],
                    "pairs": own["row"],
                    **estimate_columns(own["group"].score),
                    "ties": own["group"].ties,
                }
                for own in rows
            ]
        ),
    )
    return View(
        interpretations=tuple(interpret_probe(shown.run) for shown in runs),
        sections=(section,),
        plots=_drawn(plot),
        matrices=_matrix(
            runs, plotted, title="Pairs: CrowS-Pairs score", term="Pairs", neutral=50.0, digits=1
        ),
        notices=different_questions(runs),
        quality=skipped_table(runs),
        explanations={
            "score": "How often the more stereotypical sentence of a pair is the likelier one. Neutral is 50."
        },
        measured=(_measured_pairs([shown.run for shown in runs]),),
        certainty=("Intervals of CrowS-Pairs are Wilson's, over pairs.",),
        limits=(
            "CrowS-Pairs has faulty pairs, and a score near 50 may hide leans that cancel out.",
            _PAIRS_LIMIT,
        ),
    )


def cosine_view(runs: Sequence[ShownRun], *, calibration: Calibration | None = None) -> View:  # noqa: ARG001
    """One plot and one table of occupations, those that the pronoun changes most first."""
    rows: list[dict[str, Any]] = [
        {"label": shown.label, "row": row}
        for shown in runs
        for row in sorted(
            shown.run.result.occupations, key=lambda own: own.cosine.value if own.cosine.defined else math.inf
        )
    ]
    names = list(dict.fromkeys(own["row"].occupation for own in rows if own["row"].cosine.defined))
    plotted = [PlottedEstimate(own["label"], own["row"].occupation, own["row"].cosine) for own in rows]
    most = max(1, MOST_ROWS // len(runs))
    drawn = set(names[:most])
    plot = _interval_plot(
        "cosine",
        [own for own in plotted if own.row in drawn],
        COSINE,
        runs=runs,
        label="Cosine of each occupation.",
    )
    section = Section(
        id="cosine",
        title="Cosine",
        html=render(
            _TEMPLATE,
            "cosines",
            plot=plot,
            rows=rows,
            several=len(runs) > 1,
            most=most if len(names) > most else None,
        ),
        csv=rows_csv(
            [
                {
                    "run": own["label"],
                    "occupation": own["row"].occupation,
                    **estimate_columns(own["row"].cosine),
                }
                for own in rows
            ]
        ),
    )
    return View(
        interpretations=tuple(interpret_probe(shown.run) for shown in runs),
        sections=(section,),
        plots=_drawn(plot),
        matrices=_matrix(
            runs, plotted, title="Occupations: cosine", term="Occupation", neutral=1.0, digits=3
        ),
        notices=different_questions(runs),
        quality=skipped_table(runs),
        explanations={
            "cosine": "At 1 the pronoun makes no difference to the model's picture of an occupation."
        },
        measured=(
            "Cosine test: the contextual vector of an occupation is taken from two sentences that differ in the "
            "pronoun, and their cosine is averaged by occupation, then over occupations.",
        ),
        certainty=("The interval of the mean cosine resamples occupations.",),
        limits=(
            "Vectors of all words are alike in some models, so cosines of different models or layers are not "
            "comparable.",
            MEN_AND_WOMEN.limit,
        ),
    )


def direct_bias_view(runs: Sequence[ShownRun], *, calibration: Calibration | None = None) -> View:  # noqa: ARG001
    """One plot and one table per run."""
    words = direct_bias_words([shown.run.result for shown in runs])
    own = [
        {
            "label": shown.label,
            "result": shown.run.result,
            "rows": sorted(
                shown.run.result.professions,
                key=lambda row: -row.cosine if math.isfinite(row.cosine) else math.inf,
            ),
            "most": MOST_ROWS if len(shown.run.result.professions) > MOST_ROWS else None,
            "plot": Plot(
                id=f"direct-{place}",
                spec=profession_plot(shown.run.result, shown.mark),
                label=f"Cosine of each profession with the direction, {shown.label}.",
            ),
        }
        for place, shown in enumerate(runs)
    ]
    section = Section(
        id="direct-bias",
        title="Direct bias",
        html=render(
            _TEMPLATE,
            "direct",
            views=own,
            several=len(runs) > 1,
            folds=len(runs) >= FEWEST_TO_FOLD,
            lede=words.lede,
        ),
        csv=rows_csv(
            [
                {"run": view["label"], "profession": row.profession, "cosine": row.cosine, "sentences": row.n}
                for view in own
                for row in view["rows"]
            ]
        ),
    )
    return View(
        interpretations=tuple(interpret_probe(shown.run) for shown in runs),
        sections=(section,),
        plots=_drawn(*(view["plot"] for view in own)),
        notices=different_questions(runs),
        quality=skipped_table(runs),
        explanations={
            "direct_bias": f"How far professions point along {words.direction}. Read it beside what random directions "
            "give."
        },
        measured=(
            f"Direct bias: the direction is the mean vector of {words.ends[0]} minus that of {words.ends[1]}. A "
            f"profession's vector is its mean over sentences without {words.avoided}. Direct bias is the mean of the "
            "absolute cosines of the two; random directions show what a space like this gives anyway.",
        ),
        certainty=("The interval of direct bias resamples professions.",),
        limits=(
            "Direct bias depends on the corpus and the layer. Values from others are not comparable.",
            words.limit,
        ),
    )


def knowledge_view(runs: Sequence[ShownRun], *, calibration: Calibration | None = None) -> View:
    """The figures, with words of their own."""
    return replace(
        figures_view(runs, calibration=calibration),
        interpretations=tuple(interpret_probe(shown.run) for shown in runs),
        notices=different_questions(runs),
        quality=skipped_table(runs),
        explanations=KNOWLEDGE_EXPLANATIONS,
        measured=(
            "Knowledge: in every sentence another word settles the gender of a pronoun. The right pronoun and the one "
            "of the other gender are scored in its place, and a model that writes goes on after the words before it.",
        ),
        certainty=("Intervals of knowledge resample pairs of sentences that are twins of each other.",),
        limits=("Knowledge speaks of the sentences that were asked, and of two genders only.",),
    )


def skipped_table(runs: Sequence[ShownRun]) -> Markup:
    """What could not be asked, and why; nothing where all was asked."""
    rows = [
        (shown.label, result_title(result), row)
        for shown in runs
        for result in shown.run.results
        for row in result.skipped
    ]
    unused = [
        (shown.label, result)
        for shown in runs
        for result in shown.run.results
        if getattr(result, "left_out", None)
    ]
    if not rows and not unused:
        return Markup("")
    title = runs[0].run.instrument.title
    return render(_TEMPLATE, "skipped", title=title, rows=rows, unused=unused, several=len(runs) > 1)


def _interval_plot(
    name: str,
    plotted: Sequence[PlottedEstimate],
    axis: IntervalAxis,
    *,
    runs: Sequence[ShownRun],
    label: str,
) -> Plot:
    drawn = [own.run for own in plotted if own.estimate.defined]
    return Plot(
        id=name,
        spec=interval_plot(plotted, axis, runs=runs),
        label=label,
        runs=tuple(runs),
        left_out=left_out(runs, drawn, reason="nothing could be scored"),
    )


def _drawn(*plots: Plot) -> tuple[Plot, ...]:
    return tuple(plot for plot in plots if plot.spec)


def _matrix(
    runs: Sequence[ShownRun],
    plotted: Sequence[PlottedEstimate],
    *,
    title: str,
    term: str,
    neutral: float,
    digits: int,
) -> tuple[Matrix, ...]:
    if len(runs) < 2:
        return ()
    cells = {(own.row, own.run): own.estimate for own in plotted}
    distances = [abs(own.estimate.value - neutral) for own in plotted if own.estimate.defined]
    return (
        Matrix(
            id=f"matrix-{term.lower()}",
            title=title,
            term=term,
            neutral=neutral,
            reach=max(distances, default=1.0) or 1.0,
            digits=digits,
            rows=tuple(
                (row, tuple(cells.get((row, shown.label)) for shown in runs))
                for row in dict.fromkeys(own.row for own in plotted)
            ),
        ),
    )
