"""What the page shows of the tests beside MALoR."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from evenhand.instruments.probe_results import CosineResult, CrowsPairsResult, DirectBiasResult
from evenhand.report.interval_plots import (
    COSINE,
    SCORE,
    PlottedEstimate,
    interval_plot,
    profession_plot,
)
from evenhand.report.probes.plots import MOST_BARS
from evenhand.report.probes.words import PAIR_DIRECTION_TITLES

ALL_PAIRS = "all pairs"


def pairs_view(results: Sequence[tuple[str, CrowsPairsResult]]) -> list[dict[str, Any]]:
    """One plot and one table of pairs: all, by direction and by bias type."""
    if not results:
        return []
    rows: list[dict[str, Any]] = [
        {"label": label, "row": row, "group": group}
        for label, result in results
        for row, group in {
            ALL_PAIRS: result.all,
            **{PAIR_DIRECTION_TITLES.get(name, name): own for name, own in result.by_direction.items()},
            **result.by_bias_type,
        }.items()
    ]
    plotted = [PlottedEstimate(own["label"], own["row"], own["group"].score) for own in rows]
    labels = [label for label, _ in results]
    return [_view("pairs", labels, interval_plot(plotted, SCORE, runs=labels), rows=rows)]


def cosine_view(results: Sequence[tuple[str, CosineResult]]) -> list[dict[str, Any]]:
    """One plot and one table of occupations, those that the pronoun changes most first."""
    if not results:
        return []
    rows: list[dict[str, Any]] = [
        {"label": label, "row": row}
        for label, result in results
        for row in sorted(
            result.occupations, key=lambda own: own.cosine.value if own.cosine.defined else math.inf
        )
    ]
    drawn = list(dict.fromkeys(own["row"].occupation for own in rows if own["row"].cosine.defined))
    shown = set(drawn[:MOST_BARS])
    plotted = [
        PlottedEstimate(own["label"], own["row"].occupation, own["row"].cosine)
        for own in rows
        if own["row"].occupation in shown
    ]
    labels = [label for label, _ in results]
    most = MOST_BARS if len(drawn) > MOST_BARS else None
    return [_view("cosine", labels, interval_plot(plotted, COSINE, runs=labels), rows=rows, most=most)]


def direct_bias_views(results: Sequence[tuple[str, DirectBiasResult]]) -> list[dict[str, Any]]:
    """A plot and a table a run."""
    return [
        _view(
            f"direct-{place}",
            [label],
            profession_plot(result),
            result=result,
            rows=sorted(
                result.professions, key=lambda own: -own.cosine if math.isfinite(own.cosine) else math.inf
            ),
            most=MOST_BARS if len(result.professions) > MOST_BARS else None,
        )
        for place, (label, result) in enumerate(results)
    ]


def _view(name: str, labels: Sequence[str], spec: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "id": name,
        "runs": list(labels),
        "spec": spec,
        "plots": [{"id": name, "spec": spec}] if spec else [],
        **more,
    }
