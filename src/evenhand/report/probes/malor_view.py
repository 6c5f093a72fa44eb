"""What the page shows of MALoR: for each experiment and direction the plots and tables of all runs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from evenhand.instruments.probe_results import MalorResult, OccupationLean
from evenhand.report.interval_plots import BITS, PlottedEstimate, interval_plot
from evenhand.report.number_words import clear_side
from evenhand.report.probes.malor_words import correlation_figures, correlation_verdict
from evenhand.report.probes.plots import (
    MOST_BARS,
    NO_FIELD,
    NOTHING_PLANTED,
    FieldMark,
    change_plot,
    field_marks,
    lean_plot,
    share_plot,
)
from evenhand.report.probes.words import group_title

_PAIR = 2
_SMALL = 0.0005

Labelled = Sequence[tuple[str, MalorResult]]


PlantedLeans = Mapping[str, Mapping[str, float]]
"""By run, what was planted in each occupation, where that is known."""


def malor_groups(results: Labelled, planted: PlantedLeans) -> list[dict[str, Any]]:
    """A group an experiment and direction, with the runs that have it."""
    marks = field_marks([result for _, result in results])
    keys = dict.fromkeys((result.experiment, result.direction) for _, result in results)
    return [
        _group(
            f"group-{place}",
            [own for own in results if (own[1].experiment, own[1].direction) == key],
            marks=marks,
            planted=planted,
        )
        for place, key in enumerate(keys)
    ]


def changed_sides(before: MalorResult, after: MalorResult) -> list[dict[str, Any]]:
    """Occupations that lean to the other side in the second run, surely or not, those that moved farthest first."""
    later = {lean.occupation: lean for lean in after.occupations}
    found = [
        (lean, later[lean.occupation])
        for lean in before.occupations
        if lean.occupation in later and lean.log2_ratio.value * later[lean.occupation].log2_ratio.value < 0
    ]
    found.sort(key=lambda pair: -abs(pair[1].log2_ratio.value - pair[0].log2_ratio.value))
    return [
        {
            "occupation": first.occupation,
            "before": first.log2_ratio,
            "after": second.log2_ratio,
            "clear_in_both": bool(clear_side(first.log2_ratio) and clear_side(second.log2_ratio)),
        }
        for first, second in found
    ]


def _group(
    name: str, results: Labelled, *, marks: Sequence[FieldMark], planted: PlantedLeans
) -> dict[str, Any]:
    first = results[0][1]
    present = {lean.field or NO_FIELD for _, result in results for lean in result.occupations}
    own = [mark for mark in marks if mark.name in present]
    compared = _change(name, results) if len(results) == _PAIR else None
    leans = (
        []
        if compared
        else [
            {"id": f"{name}-leans-{place}", "label": label, "spec": spec, "planted": label in planted}
            for place, (label, result) in enumerate(results)
            if (spec := lean_plot(result, own, planted=planted.get(label, NOTHING_PLANTED)))
        ]
    )
    fields = _fields(name, results)
    correlations = _correlations(name, results, own)
    plots = [*leans, *([compared] if compared else []), *([fields] if fields else []), *correlations]
    return {
        "id": name,
        "title": group_title(first.experiment, first.direction),
        "direction": first.direction,
        "runs": [label for label, _ in results],
        "marks": own if present != {NO_FIELD} else [],
        "leans": leans,
        "change": compared,
        "fields": fields,
        "correlations": correlations,
        "tables": [_table(label, result, planted.get(label, NOTHING_PLANTED)) for label, result in results],
        "most": MOST_BARS if any(len(result.occupations) > MOST_BARS for _, result in results) else None,
        "plots": [plot for plot in plots if plot["spec"]],
    }


def _change(name: str, results: Labelled) -> dict[str, Any] | None:
    (first, before), (second, after) = results
    spec = change_plot(before, after)
    if not spec:
        return None
    flips = changed_sides(before, after)
    return {
        "id": f"{name}-change",
        "spec": spec,
        "first": first,
        "second": second,
        "before": before,
        "after": after,
        "flips": flips,
        "clear_flips": sum(row["clear_in_both"] for row in flips),
    }


def _fields(name: str, results: Labelled) -> dict[str, Any] | None:
    order = sorted({field for _, result in results for field in result.by_field})
    if not order:
        return None
    plotted = [
        PlottedEstimate(label, field, result.by_field[field])
        for field in order
        for label, result in results
        if field in result.by_field
    ]
    return {
        "id": f"{name}-fields",
        "spec": interval_plot(plotted, BITS, runs=[label for label, _ in results]),
        "rows": plotted,
    }


def _correlations(name: str, results: Labelled, marks: Sequence[FieldMark]) -> list[dict[str, Any]]:
    return [
        {
            "id": f"{name}-shares-{place}-{number}",
            "label": label,
            "source": correlation.source,
            "sentence": f"{correlation_verdict(correlation)} {correlation_figures(correlation)}".strip(),
            "spec": share_plot(result, correlation, marks=marks),
        }
        for place, (label, result) in enumerate(results)
        for number, correlation in enumerate(result.correlations)
    ]


def _table(label: str, result: MalorResult, planted: Mapping[str, float]) -> dict[str, Any]:
    shares = [correlation for correlation in result.correlations if correlation.shares]
    return {
        "label": label,
        "planted": bool(planted),
        "sources": [correlation.source for correlation in shares],
        "rows": [
            {
                "lean": lean,
                "planted": _planted(planted.get(lean.occupation)),
                "male": _probability(lean.p_male),
                "female": _probability(lean.p_female),
                "shares": [_share(correlation.shares.get(lean.occupation)) for correlation in shares],
            }
            for lean in sorted(result.occupations, key=_from_men_to_women)
        ],
    }


def _from_men_to_women(lean: OccupationLean) -> float:
    return -lean.log2_ratio.value if lean.log2_ratio.defined else math.inf


def _probability(value: float) -> str:
    if math.isnan(value):
        return "undefined"
    return f"{value:.3f}" if value >= _SMALL or value == 0 else f"{value:.1e}"


def _planted(bits: float | None) -> str:
    return "–" if bits is None else f"{bits:+.2f}"


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.1f}%"
