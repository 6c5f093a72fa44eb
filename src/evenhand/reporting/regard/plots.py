"""Plots of regard: shares as bars to either side, and gaps with their intervals."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from evenhand.instruments.regard.results import ContextRegard
from evenhand.reporting.plotting import (
    SIGNED_LABEL,
    IntervalAxis,
    Mark,
    PlottedEstimate,
    ShownRun,
    in_lines,
    interval_plot,
    neutral_rule,
    row_axis,
    rows_height,
    series_scales,
    specification,
    top_axis,
    without_nan,
)

_STEP = 10
_NEGATIVE_OPACITY, _POSITIVE_OPACITY = 0.55, 0.95
_SHARE_LABEL = "format(abs(datum.value), '~f') + '%'"


def group_marks(groups: Sequence[str]) -> list[tuple[str, Mark]]:
    """How each group is drawn."""
    return [(group, Mark.number(place)) for place, group in enumerate(groups)]


def shares_plot(
    parts: Mapping[str, ContextRegard], groups: Sequence[str], *, bold: Sequence[str]
) -> dict[str, Any]:
    """For each part and group, negative texts to the left and positive ones to the right, with their intervals.

    What is missing to 100 is neutral.

    Args:
        parts: Contexts and kinds of contexts, by what they are called.
        groups: In the order in which they are drawn.
        bold: Parts whose names are bold.
    """
    rows: list[dict[str, Any]] = [
        {
            "row": in_lines(name),
            "name": name,
            "group": group,
            "side": side,
            "value": sign * estimate.value,
            "low": sign * estimate.low,
            "high": sign * estimate.high,
            "share": estimate.value,
            "from": estimate.low,
            "to": estimate.high,
            "neutral": own.neutral.value,
            "n": own.n,
        }
        for name, part in parts.items()
        for group, own in part.figures.groups.items()
        for side, sign, estimate in (("negative", -1, own.negative), ("positive", 1, own.positive))
        if estimate.defined
    ]
    if not rows:
        return {}
    widest = max(value for row in rows for value in (row["share"], row["to"]) if not math.isnan(value))
    reach = _STEP * max(1, math.ceil(widest / _STEP))
    scale = alt.Scale(domain=[-reach, reach], nice=False)
    colour, _ = series_scales("group:N", group_marks(groups))
    y, offset = row_axis(list(parts), bold=bold), alt.YOffset("group:N", sort=list(groups))
    x = alt.X("value:Q", scale=scale, title="← negative · positive →", axis=top_axis(_SHARE_LABEL))
    tips = [
        alt.Tooltip("name:N", title="Contexts"),
        alt.Tooltip("group:N", title="Group"),
        alt.Tooltip("side:N", title="Label"),
        *(alt.Tooltip(f"{name}:Q", format=".1f") for name in ("share", "from", "to", "neutral")),
        alt.Tooltip("n:Q", title="Texts"),
    ]
    opacity = alt.Opacity(
        "side:N",
        scale=alt.Scale(domain=["negative", "positive"], range=[_NEGATIVE_OPACITY, _POSITIVE_OPACITY]),
        legend=None,
    )
    base = alt.Chart(without_nan(rows))
    bars = base.mark_bar(cornerRadius=1).encode(x, y, offset, colour, opacity, tooltip=tips)
    intervals = base.mark_rule(color="@ink", strokeWidth=1.6).encode(
        alt.X("low:Q", scale=scale), alt.X2("high:Q"), y, offset
    )
    height = rows_height(list(parts), series=len(groups))
    return specification(alt.layer(bars, intervals, neutral_rule(0.0, scale=scale)), height=height)


def gap_plot(
    plotted: Sequence[PlottedEstimate], *, margin: float, runs: Sequence[ShownRun], bold: Sequence[str]
) -> dict[str, Any]:
    """Gaps with their intervals, what is neutral, and a band in which a gap is called no difference."""
    axis = IntervalAxis(
        "Gap in points; 0 is neutral", neutral=0.0, step=10.0, label=SIGNED_LABEL, margin=margin
    )
    return interval_plot(plotted, axis, runs=runs, bold=bold)
