"""Plots as Vega-Lite specifications, made with Altair.

Colours are names that start with ``@``; the page replaces them with those of its light or dark theme.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import altair as alt
import numpy as np
import polars as pl

from evenhand.runs.run import Run

SERIES_COLOURS = ("@series-1", "@series-2", "@series-3", "@series-4", "@series-5", "@series-6")
_EXPOSE_EMBED = "window.vegaEmbed = vegaEmbed;"
ISO_ICAT = (20, 30, 40, 50, 60, 70, 80, 90)


@lru_cache(maxsize=1)
def plotting_javascript() -> str:
    """The libraries that draw the plots, for use without a network."""
    import vl_convert

    return str(vl_convert.javascript_bundle(_EXPOSE_EMBED))


def icat_plane(runs: Sequence[Run], task: str) -> dict[str, Any]:
    """LMS against SS, with lines of equal ICAT and the neutral line."""
    points = without_nan(
        [
            {
                "run": run.label,
                "SS": result.SS.value,
                "SS_low": result.SS.low,
                "SS_high": result.SS.high,
                "LMS": result.LMS.value,
                "LMS_low": result.LMS.low,
                "LMS_high": result.LMS.high,
                "ICAT": result.ICAT.value,
            }
            for run in runs
            if (result := run.result.tasks.get(task)) is not None and result.SS.defined
        ]
    )
    if points.is_empty():
        return {}
    left, right, bottom = _plane_limits(points)
    x = alt.Scale(domain=[left, right], nice=False)
    y = alt.Scale(domain=[bottom, 100], nice=False)
    lines, labels = _iso_lines(left, right, bottom)
    iso = (
        alt.Chart(lines)
        .mark_line(color="@grid-strong", strokeWidth=1, clip=True)
        .encode(alt.X("SS:Q", scale=x), alt.Y("LMS:Q", scale=y), alt.Detail("ICAT:N"), alt.Order("order:Q"))
    )
    iso_text = (
        alt.Chart(labels)
        .mark_text(color="@muted", fontSize=11, dx=6, dy=-7, align="left", clip=True)
        .encode(alt.X("SS:Q", scale=x), alt.Y("LMS:Q", scale=y), alt.Text("text:N"))
    )
    neutral = (
        alt.Chart(pl.DataFrame({"x": [50.0]}))
        .mark_rule(color="@ink", strokeDash=[5, 4], strokeWidth=1.4)
        .encode(alt.X("x:Q", scale=x))
    )
    base = alt.Chart(points)
    colour = _run_colour(points["run"].to_list())
    tips = [
        alt.Tooltip("run:N", title="Run"),
        *[alt.Tooltip(f"{name}:Q", format=".1f") for name in ("SS", "LMS", "ICAT")],
    ]
    across = base.mark_rule(strokeWidth=2, clip=True).encode(
        alt.X("SS_low:Q", scale=x, title="Stereotype score (SS); 50 is neutral"), alt.X2("SS_high:Q"),
        alt.Y("LMS:Q", scale=y, title="Language modelling score (LMS)"), colour,
    )  # fmt: skip
    upright = base.mark_rule(strokeWidth=2, clip=True).encode(
        alt.X("SS:Q", scale=x), alt.Y("LMS_low:Q", scale=y), alt.Y2("LMS_high:Q"), colour
    )
    dots = base.mark_point(filled=True, size=110, opacity=1).encode(
        alt.X("SS:Q", scale=x), alt.Y("LMS:Q", scale=y), colour, tooltip=tips
    )
    return specification(alt.layer(iso, iso_text, neutral, across, upright, dots), height=360)


def bias_type_plot(runs: Sequence[Run], task: str) -> dict[str, Any]:
    """SS by bias type, with intervals and the neutral line."""
    rows: list[dict[str, Any]] = [
        {
            "run": run.label,
            "group": "all items" if group == "" else group,
            "SS": part.SS.value,
            "low": part.SS.low,
            "high": part.SS.high,
            "n": part.n,
            "terms": part.clusters,
        }
        for run in runs
        if (result := run.result.tasks.get(task)) is not None
        for group, part in {"": result, **result.by_bias_type}.items()
        if part.SS.defined
    ]
    if not rows:
        return {}
    frame = without_nan(rows)
    order = ["all items", *sorted(set(frame["group"].to_list()) - {"all items"})]
    bounds = [
        value for row in rows for value in (row["low"], row["high"], row["SS"]) if not math.isnan(value)
    ]
    domain = [
        max(0, 5 * math.floor(min([45.0, *bounds]) / 5)),
        min(100, 5 * math.ceil(max([55.0, *bounds]) / 5)),
    ]
    scale = alt.Scale(domain=domain, nice=False)
    y = alt.Y("group:N", sort=order, title=None, axis=alt.Axis(labelLimit=110))
    offset = alt.YOffset("run:N", sort=[run.label for run in runs])
    colour = _run_colour([run.label for run in runs])
    tips = [
        alt.Tooltip("run:N", title="Run"),
        alt.Tooltip("group:N", title="Bias type"),
        *[alt.Tooltip(f"{name}:Q", format=".1f") for name in ("SS", "low", "high")],
        alt.Tooltip("n:Q", title="Items"),
        alt.Tooltip("terms:Q", title="Target terms"),
    ]
    neutral = (
        alt.Chart(pl.DataFrame({"x": [50.0]}))
        .mark_rule(color="@ink", strokeDash=[5, 4], strokeWidth=1.4)
        .encode(alt.X("x:Q", scale=scale))
    )
    base = alt.Chart(frame)
    bars = base.mark_rule(strokeWidth=3, opacity=0.55).encode(
        alt.X("low:Q", scale=scale, title="Stereotype score (SS); 50 is neutral"), alt.X2("high:Q"), y, offset,
        colour, tooltip=tips,
    )  # fmt: skip
    dots = base.mark_point(filled=True, size=90, opacity=1).encode(
        alt.X("SS:Q", scale=scale), y, offset, colour, tooltip=tips
    )
    height = 30 + len(order) * max(34, 15 * len(runs))
    return specification(alt.layer(neutral, bars, dots), height=height)


def _plane_limits(points: pl.DataFrame) -> tuple[float, float, float]:
    """A window around the points that always shows the neutral line and the top."""
    reach = max(
        10.0,
        *(abs(value - 50) for name in ("SS", "SS_low", "SS_high") for value in _defined(points[name])),
    )
    reach = min(50, 5 * math.ceil((reach + 2) / 5))
    lowest = min([60.0, *_defined(points["LMS"]), *_defined(points["LMS_low"])])
    return 50 - reach, 50 + reach, max(0, 10 * math.floor((lowest - 4) / 10))


def without_nan(rows: list[dict[str, Any]]) -> pl.DataFrame:
    """A frame in which what is undefined is null, because plots are JSON and JSON has no NaN."""
    return pl.DataFrame(rows).with_columns(pl.selectors.float().fill_nan(None))


def _defined(series: pl.Series) -> list[float]:
    return series.drop_nulls().to_list()


def _iso_lines(left: float, right: float, bottom: float) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Lines of equal ICAT, LMS = 50 ICAT / min(SS, 100 - SS), and a label where each crosses SS = 50."""
    scores = np.unique(np.concatenate([np.linspace(max(left, 0.5), min(right, 99.5), 121), [50.0]]))
    rows = []
    labels = []
    for icat in ISO_ICAT:
        for order, score in enumerate(scores.tolist()):
            lms = 50 * icat / min(score, 100 - score)
            if lms <= 110:
                rows.append({"ICAT": icat, "order": order, "SS": score, "LMS": lms})
        if icat > bottom:
            labels.append({"SS": 50.0, "LMS": float(icat), "text": f"ICAT {icat}"})
    return pl.DataFrame(rows), pl.DataFrame(
        labels, schema={"SS": pl.Float64, "LMS": pl.Float64, "text": pl.String}
    )


def _run_colour(runs: Sequence[str]) -> alt.Color:
    names = list(dict.fromkeys(runs))
    colours = [SERIES_COLOURS[index % len(SERIES_COLOURS)] for index in range(len(names))]
    legend = (
        alt.Legend(orient="top", title=None, columns=1, labelLimit=300, direction="vertical")
        if len(names) > 1
        else None
    )
    return alt.Color("run:N", scale=alt.Scale(domain=names, range=colours), legend=legend, sort=names)


def specification(chart: Any, *, height: int) -> dict[str, Any]:
    """A chart as a plain specification that fills its container."""
    styled = chart.properties(width="container", height=height, background="transparent")
    spec: dict[str, Any] = json.loads(styled.to_json())
    spec["config"] = {
        "aria": False,
        "font": "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif",
        "view": {"stroke": None},
        "axis": {
            "labelColor": "@muted", "titleColor": "@muted", "gridColor": "@grid", "domainColor": "@grid-strong",
            "tickColor": "@grid-strong", "labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": 500,
            "titlePadding": 10, "tickCount": 8,
        },
        "legend": {"labelColor": "@ink", "labelFontSize": 12, "symbolType": "circle", "symbolOpacity": 1},
    }  # fmt: skip
    spec["autosize"] = {"type": "fit-x", "contains": "padding"}
    return spec
