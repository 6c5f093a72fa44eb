"""Plots of how a mitigation was trained: learning curves, and the frontier of bias against quality."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import altair as alt
import polars as pl

from evenhand.report.association.plots import SERIES_COLOURS, specification
from evenhand.report.probes.plots import SHAPES
from evenhand.runs.certificates import CurvePoint, FrontierPoint


def curve_plot(curve: Sequence[CurvePoint], *, kept: int | None) -> dict[str, Any]:
    """MALoR of every experiment after each epoch, and the epoch that was kept."""
    rows: list[dict[str, Any]] = [
        {"epoch": point.epoch, "experiment": name, "bits": value}
        for point in curve
        for name, value in point.malor.items()
        if math.isfinite(value)
    ]
    if len({row["epoch"] for row in rows}) < 2:
        return {}
    names = list(dict.fromkeys(row["experiment"] for row in rows))
    return _lines(rows, names, y_title="MALoR, bits", field="bits", kept=kept)


def perplexity_plot(curve: Sequence[CurvePoint], *, kept: int | None) -> dict[str, Any]:
    """Held-out perplexity after each epoch, in percent of the original's."""
    known = [point for point in curve if math.isfinite(point.perplexity)]
    if len(known) < 2:
        return {}
    rows = [
        {
            "epoch": point.epoch,
            "experiment": "perplexity",
            "percent": 100 * (point.perplexity / known[0].perplexity - 1),
        }
        for point in known
    ]
    return _lines(rows, ["perplexity"], y_title="Perplexity, change in %", field="percent", kept=kept)


def frontier_plot(points: Sequence[FrontierPoint]) -> dict[str, Any]:
    """Bias against quality for every setting that was tried; the chosen one stands out."""
    rows = [
        {
            "weight": point.weight,
            "bits": sum(known) / len(known),
            "percent": point.perplexity_change,
            "kind": "chosen" if point.chosen else "tried",
        }
        for point in points
        if (known := [value for value in point.malor.values() if math.isfinite(value)])
        and math.isfinite(point.perplexity_change)
    ]
    if len(rows) < 2:
        return {}
    kinds = ["tried", "chosen"]
    x = alt.X("percent:Q", title="Perplexity, change in %", scale=alt.Scale(zero=True, nice=True))
    y = alt.Y("bits:Q", title="MALoR, bits (mean over experiments)", scale=alt.Scale(zero=True, nice=True))
    colour = alt.Color("kind:N", scale=alt.Scale(domain=kinds, range=["@muted", "@series-2"]), legend=None)
    shape = alt.Shape("kind:N", scale=alt.Scale(domain=kinds, range=["circle", "diamond"]), legend=None)
    size = alt.Size("kind:N", scale=alt.Scale(domain=kinds, range=[70, 190]), legend=None)
    tips = [
        alt.Tooltip("weight:Q", title="Balance", format="~g"),
        alt.Tooltip("bits:Q", title="MALoR", format=".3f"),
        alt.Tooltip("percent:Q", title="Perplexity, %", format="+.2f"),
        alt.Tooltip("kind:N", title="Setting"),
    ]
    base = alt.Chart(pl.DataFrame(rows))
    line = base.mark_line(color="@grid-strong", strokeWidth=1.5).encode(x, y, alt.Order("weight:Q"))
    dots = base.mark_point(filled=True, opacity=1).encode(x, y, colour, shape, size, tooltip=tips)
    names = base.mark_text(color="@muted", fontSize=11, dx=9, align="left").encode(
        x, y, alt.Text("weight:Q", format="~g")
    )
    return specification(alt.layer(line, dots, names), height=300)


def _lines(
    rows: list[dict[str, Any]], names: Sequence[str], *, y_title: str, field: str, kept: int | None
) -> dict[str, Any]:
    x = alt.X(
        "epoch:Q",
        title="Epoch",
        scale=alt.Scale(nice=False),
        axis=alt.Axis(tickMinStep=1, tickCount=6, format="d"),
    )
    y = alt.Y(f"{field}:Q", title=y_title, scale=alt.Scale(zero=True, nice=True))
    colours = [SERIES_COLOURS[place % len(SERIES_COLOURS)] for place in range(len(names))]
    shapes = [SHAPES[place % len(SHAPES)] for place in range(len(names))]
    colour = alt.Color("experiment:N", scale=alt.Scale(domain=list(names), range=colours), legend=None)
    shape = alt.Shape("experiment:N", scale=alt.Scale(domain=list(names), range=shapes), legend=None)
    tips = [
        alt.Tooltip("epoch:Q", title="Epoch"),
        alt.Tooltip("experiment:N", title="Of"),
        alt.Tooltip(f"{field}:Q", title=y_title, format=".3f"),
    ]
    base = alt.Chart(pl.DataFrame(rows))
    layers = [
        base.mark_line(strokeWidth=2).encode(x, y, colour),
        base.mark_point(filled=True, size=45, opacity=1).encode(x, y, colour, shape, tooltip=tips),
    ]
    if kept is not None:
        mark = alt.Chart(pl.DataFrame({"kept": [float(kept)]})).mark_rule(
            color="@ink", strokeDash=[3, 3], strokeWidth=1.4
        )
        layers.insert(0, mark.encode(alt.X("kept:Q")))
    return specification(alt.layer(*layers), height=240)
