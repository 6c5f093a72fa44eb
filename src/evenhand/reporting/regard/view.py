"""The view of regard: shares by group and context, gaps, and the texts behind a notice."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from markupsafe import Markup

from evenhand.data.group_texts import REGARD_LABELS
from evenhand.instruments.regard.results import ContextRegard, GroupGap, RegardResult
from evenhand.reporting.plotting import Plot, PlottedEstimate, ShownRun
from evenhand.reporting.regard.content import content_view
from evenhand.reporting.regard.plots import gap_plot, group_marks, shares_plot
from evenhand.reporting.regard.words import (
    EQUIVALENCE_INTERVAL,
    TREATMENT_WORDS,
    gap_verdict,
    group_words,
    interpret_regard,
    method_sentences,
)
from evenhand.reporting.rendering import render
from evenhand.reporting.views import Section, View, estimate_columns, rows_csv
from evenhand.store.calibration import Calibration
from evenhand.store.run import Run

ALL_TITLE = "All contexts"

MOST_TEXTS = 6_000
"""Of all runs of a page together: about a megabyte. The run folder has them all."""

_TEMPLATE = "regard.html.j2"
_NET_REGARD = "Of 100 texts, how many more are positive than negative (net regard)"


def regard_view(runs: Sequence[ShownRun], *, calibration: Calibration | None = None) -> View:  # noqa: ARG001
    """Shares of each run, gaps of all of them, what texts are about, and texts."""
    shares = [_shares_of(place, shown) for place, shown in enumerate(runs)]
    gaps = _gap_plot(runs)
    content = content_view(runs)
    plots = [own["plot"] for own in shares] + [gaps, *content.plots]
    sections = (
        Section(
            id="regard-shares",
            title="Shares",
            html=render(_TEMPLATE, "shares", views=shares, several=len(runs) > 1),
            csv=rows_csv([row for shown in runs for row in _share_rows(shown)]),
        ),
        Section(
            id="regard-gaps",
            title="Gaps",
            html=render(
                _TEMPLATE,
                "gaps",
                plot=gaps,
                margin=_margin(runs[0].run.result),
                tested=EQUIVALENCE_INTERVAL,
                groups=[group_words(group) for group in runs[0].run.result.groups],
                views=[
                    {
                        "label": shown.label,
                        "rows": list(_gap_rows(shown)),
                        "result": shown.run.result,
                        "sentences": method_sentences(shown.run),
                    }
                    for shown in runs
                ],
                treatments=_treatments(runs),
                several=len(runs) > 1,
            ),
            csv=rows_csv([_gap_csv(row) for shown in runs for row in _gap_rows(shown)]),
        ),
        *content.sections,
        Section(
            id="regard-texts",
            title="Texts",
            html=render(
                _TEMPLATE,
                "texts",
                groups=list(dict.fromkeys(group for shown in runs for group in shown.run.result.groups)),
                contexts=list(
                    dict.fromkeys(name for shown in runs for name in shown.run.result.by_context if name)
                ),
                labels=list(REGARD_LABELS.items()),
                runs=[shown.label for shown in runs],
            ),
        ),
    )
    return View(
        interpretations=tuple(interpret_regard(shown.run) for shown in runs),
        sections=sections,
        plots=tuple(plot for plot in plots if plot.spec),
        explanations={
            "gap": f"{_NET_REGARD}: the largest difference between two groups. At 0 all are spoken of alike.",
            "signed_gap": f"{_NET_REGARD}: the number for the first group minus that for the second. At 0 both are "
            "spoken of alike.",
        },
        quality=_skipped(runs),
        measured=(
            "Regard: every text is labelled by how it makes others think of the person in it: negative, neutral or "
            "positive. A gap is the difference in net regard between two groups, in points.",
        ),
        certainty=(
            "Intervals of regard leave out whole contexts in turn, because texts of one context are alike, and allow "
            "for a few contexts that are far from the rest. Tests exchange groups within whole contexts: every "
            "pattern where there are few contexts, random ones otherwise. A gap is shown where both say so. Within a "
            "single context texts are taken as independent.",
        ),
        limits=(
            "Texts after these few beginnings are not all that a model writes, and other groups of people may fare "
            "differently.",
            "A classifier's labels are not people's. Without a sample that people labelled, its errors may widen a "
            "gap, hide it or make one.",
        ),
        data={"regard": {"runs": [_texts_of(shown, share=len(runs)) for shown in runs]}},
        scripts=("regard.js",),
        judges_texts=True,
    )


def _skipped(runs: Sequence[ShownRun]) -> Markup:
    """Which texts were skipped, by reason and group; nothing where all were used."""
    rows = [(shown.label, row) for shown in runs for row in shown.run.result.skipped]
    return render(_TEMPLATE, "skipped", rows=rows, several=len(runs) > 1) if rows else Markup("")


def named_parts(result: RegardResult) -> dict[str, ContextRegard]:
    """All contexts, then each kind with its contexts below it, by what they are called."""
    parts = {ALL_TITLE: result.all}
    contexts = result.by_context if len(result.by_context) > 1 else {}
    for kind in (*result.by_kind, ""):
        if kind:
            parts[kind.capitalize()] = result.by_kind[kind]
        parts |= {name: own for name, own in contexts.items() if result.kind_of_context[name] == kind}
    return parts


def summary_parts(result: RegardResult) -> list[str]:
    """The parts that have several contexts."""
    return [ALL_TITLE, *(kind.capitalize() for kind in result.by_kind)]


def _shares_of(place: int, shown: ShownRun) -> dict[str, Any]:
    result: RegardResult = shown.run.result
    parts = named_parts(result)
    plot = Plot(
        id=f"regard-shares-{place}",
        spec=shares_plot(parts, result.groups, bold=summary_parts(result)),
        label=f"Shares of negative and positive texts by group and context, {shown.label}.",
    )
    rows = [
        {"part": name, "group": group, "own": own}
        for name, part in parts.items()
        for group, own in part.figures.groups.items()
    ]
    return {"label": shown.label, "plot": plot, "groups": group_marks(result.groups), "rows": rows}


def _share_rows(shown: ShownRun) -> Iterator[dict[str, Any]]:
    for name, part in named_parts(shown.run.result).items():
        for group, own in part.figures.groups.items():
            for measure in (*REGARD_LABELS.values(), "net_regard"):
                yield {
                    "run": shown.label,
                    "contexts": name,
                    "group": group,
                    "measure": measure,
                    **estimate_columns(getattr(own, measure)),
                }


def _gap_rows(shown: ShownRun) -> Iterator[dict[str, Any]]:
    for name, part in named_parts(shown.run.result).items():
        for gap in part.figures.gaps:
            yield {
                "run": shown.label,
                "part": name,
                "pair": f"{gap.first} − {gap.second}",
                "gap": gap,
                "verdict": gap_verdict(gap),
                "regard": part,
            }


def _gap_csv(row: Mapping[str, Any]) -> dict[str, Any]:
    gap: GroupGap = row["gap"]
    regard: ContextRegard = row["regard"]
    return {
        "run": row["run"],
        "contexts": row["part"],
        "first": gap.first,
        "second": gap.second,
        **estimate_columns(gap.gap),
        "p": gap.p_value,
        "p_holm": gap.p_holm,
        "within_margin": gap.equivalence.holds,
        "tested_low": gap.equivalence.low,
        "tested_high": gap.equivalence.high,
        "treatment": regard.figures.treatment.value,
        "chi_squared": regard.chi_squared,
        "chi_squared_p": regard.p,
        "cramers_v": regard.cramers_v,
    }


def _gap_plot(runs: Sequence[ShownRun]) -> Plot:
    """Gaps in all contexts, by kind and by context; only in all and by kind where there are more than two groups."""
    plotted = []
    for shown in runs:
        result: RegardResult = shown.run.result
        several = len(result.all.figures.gaps) > 1
        for name, part in named_parts(result).items():
            if several and name in result.by_context:
                continue
            for gap in part.figures.gaps:
                row = f"{gap.first} − {gap.second}, {name.lower()}" if several else name
                plotted.append(PlottedEstimate(shown.label, row, gap.gap))
    return Plot(
        id="regard-gaps",
        spec=gap_plot(
            plotted, margin=_margin(runs[0].run.result), runs=runs, bold=summary_parts(runs[0].run.result)
        ),
        label="Gaps between groups with their intervals.",
        runs=tuple(runs),
    )


def _margin(result: RegardResult) -> float:
    return result.all.figures.gaps[0].equivalence.margin


def _treatments(runs: Sequence[ShownRun]) -> list[dict[str, Any]]:
    """What each treatment of a classifier's errors makes of the gap in all contexts, for runs that have several."""
    return [
        {
            "run": shown.label,
            "name": figures.treatment.value,
            "pair": f"{gap.first} − {gap.second}",
            "gap": gap.gap,
            "words": TREATMENT_WORDS[figures.treatment],
        }
        for shown in runs
        if shown.run.result.all.others
        for figures in (shown.run.result.all.figures, *shown.run.result.all.others)
        for gap in figures.gaps
    ]


def _texts_of(shown: ShownRun, *, share: int) -> dict[str, Any]:
    """The texts of a run, as many as its share of a page: evenly spread over all of them."""
    run: Run = shown.run
    step = math.ceil(len(run.scores) / (MOST_TEXTS // share))
    kept = run.scores.gather_every(step)
    columns = ("group", "context", "label", "text", "human_label")
    return {
        "label": shown.label,
        "total": len(run.scores),
        "texts": [list(row) for row in kept.select(columns).iter_rows()],
    }
