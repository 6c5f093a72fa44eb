"""Plots of context association tests: the ICAT plane, and SS by bias type."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np
import polars as pl

from evenhand.reporting.plotting import (
    HOLLOW,
    IntervalAxis,
    PlottedEstimate,
    ShownRun,
    interval_plot,
    neutral_rule,
    run_scales,
    specification,
    without_nan,
)

ISO_ICAT = (20, 30, 40, 50, 60, 70, 80, 90)
ALL_ITEMS = "all items"

_SS = IntervalAxis("Stereotype score (SS); 50 is neutral", neutral=50.0, step=5.0, lowest=0.0, highest=100.0)


def icat_plane(runs: Sequence[ShownRun], task: str) -> dict[str, Any]:
    """LMS against SS, with lines of equal ICAT and the neutral line."""
    points = without_nan(
        [
            {
                "run": shown.label,
                "SS": result.SS.value,
                "SS_low": result.SS.low,
                "SS_high": result.SS.high,
                "LMS": result.LMS.value,
                "LMS_low": result.LMS.low,
                "LMS_high": result.LMS.high,
                "ICAT": result.ICAT.value,
                "reason": result.SS.reason,
            }
            for shown in runs
            if (result := shown.run.result.tasks.get(task)) is not None and result.SS.defined
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
    neutral = neutral_rule(50.0, scale=x)
    base = alt.Chart(points)
    drawn = set(points["run"].to_list())
    colour, shape = run_scales([shown for shown in runs if shown.label in drawn])
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
    sure, unsure = (
        base.transform_filter(condition) for condition in ("isValid(datum.SS_low)", "!isValid(datum.SS_low)")
    )
    place = (alt.X("SS:Q", scale=x), alt.Y("LMS:Q", scale=y))
    dots = sure.mark_point(filled=True, size=110, opacity=1).encode(*place, colour, shape, tooltip=tips)
    why = alt.Tooltip("reason:N", title="No interval")
    hollow = unsure.mark_point(size=110, **HOLLOW).encode(*place, colour, shape, tooltip=[*tips, why])
    return specification(alt.layer(iso, iso_text, neutral, across, upright, dots, hollow), height=360)


def bias_type_plot(runs: Sequence[ShownRun], task: str) -> dict[str, Any]:
    """SS by bias type, with intervals and the neutral line."""
    results = [(shown, result) for shown in runs if (result := shown.run.result.tasks.get(task)) is not None]
    types = sorted({name for _, result in results for name in result.by_bias_type})
    plotted = [
        PlottedEstimate(shown.label, name, part.SS)
        for name in (ALL_ITEMS, *types)
        for shown, result in results
        if (part := result if name == ALL_ITEMS else result.by_bias_type.get(name)) is not None
    ]
    return interval_plot(plotted, _SS, runs=runs)


def _plane_limits(points: pl.DataFrame) -> tuple[float, float, float]:
    """A window around the points that always shows the neutral line and the top."""
    reach = max(
        10.0,
        *(abs(value - 50) for name in ("SS", "SS_low", "SS_high") for value in _defined(points[name])),
    )
    reach = min(50, 5 * math.ceil((reach + 2) / 5))
    lowest = min([60.0, *_defined(points["LMS"]), *_defined(points["LMS_low"])])
    return 50 - reach, 50 + reach, max(0, 10 * math.floor((lowest - 4) / 10))


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
