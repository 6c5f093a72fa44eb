"""Plots of a certificate: before and after, differences of quality against margins, and how training went."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import altair as alt
import polars as pl

from evenhand.core.recipes import Plateau
from evenhand.reporting.plotting import (
    BITS,
    HOLLOW,
    MOST_ROWS,
    ROW_HEIGHT,
    IntervalAxis,
    Mark,
    name_axis,
    neutral_rule,
    series_scales,
    signed_axis,
    specification,
    top_axis,
    without_nan,
)
from evenhand.store.certificate_bias import BiasRow
from evenhand.store.certificate_quality import QualityRow, QualityVerdict
from evenhand.store.certificates import LeanChange, OverCorrection
from evenhand.store.mitigation_summaries import CurvePoint, FrontierPoint

FLAT = Plateau()
"""When a learning curve counts as flat."""

SIDES = ("before", "after")
_SIDE_COLOURS = ("@muted", "@series-1")
_FLIP_COLOUR = "@towards"
_ROW = 52


def bias_plot(rows: Sequence[BiasRow], axis: IntervalAxis) -> dict[str, Any]:
    """A dot before and a dot after for each measure, with intervals and the neutral line."""
    known = [row for row in rows if math.isfinite(row.before) and math.isfinite(row.after)]
    if not known:
        return {}
    dots: list[dict[str, Any]] = [
        {
            "measure": row.measure,
            "side": side,
            "value": value,
            "low": interval.low,
            "high": interval.high,
            "reason": interval.reason if math.isnan(interval.low) else None,
        }
        for row in known
        for side, value, interval in zip(
            SIDES, (row.before, row.after), (row.before_interval, row.after_interval), strict=True
        )
    ]
    values = [value for dot in dots for value in (dot["value"], dot["low"], dot["high"])]
    scale = alt.Scale(domain=axis.domain(values), nice=False)
    y = alt.Y(
        "measure:N",
        sort=[row.measure for row in known],
        title=None,
        axis=alt.Axis(labelLimit=175, labelPadding=6, ticks=False),
    )
    offset = alt.YOffset("side:N", sort=list(SIDES))
    colour, shape = _side_scales()
    x = alt.X("value:Q", scale=scale, title=axis.title, axis=top_axis(axis.label))
    tips = [
        alt.Tooltip("measure:N", title="Measure"),
        alt.Tooltip("side:N", title="Model"),
        *[alt.Tooltip(f"{name}:Q", format=".3f") for name in ("value", "low", "high")],
    ]
    frame = without_nan(dots)
    layers = [] if axis.neutral is None else [neutral_rule(axis.neutral, scale=scale)]
    layers.append(
        alt.Chart(frame)
        .mark_rule(strokeWidth=4, opacity=0.45)
        .encode(alt.X("low:Q", scale=scale), alt.X2("high:Q"), y, offset, colour)
    )
    sure, unsure = frame.drop_nulls("low"), frame.filter(pl.col("low").is_null())
    if not sure.is_empty():
        points = alt.Chart(sure).mark_point(filled=True, size=110, opacity=1)
        layers.append(points.encode(x, y, offset, colour, shape, tooltip=tips))
    if not unsure.is_empty():
        why = alt.Tooltip("reason:N", title="No interval")
        hollow = alt.Chart(unsure).mark_point(size=110, **HOLLOW)
        layers.append(hollow.encode(x, y, offset, colour, shape, tooltip=[*tips, why]))
    return specification(alt.layer(*layers), height=16 + _ROW * len(known))


def difference_plot(rows: Sequence[QualityRow]) -> dict[str, Any]:
    """Differences of quality in units of their margin: everything right of the line at -1 is within it."""
    known = [row for row in rows if row.verdict is not QualityVerdict.NOT_MEASURED and row.difference.defined]
    if not known:
        return {}
    dots: list[dict[str, Any]] = [
        {
            "measure": row.measure,
            "verdict": row.verdict.value,
            "shown": f"{row.difference.value:+.2f}{'%' if row.unit == '%' else ' ' + row.unit}",
            **dict(zip(("value", "low", "high"), _in_margins(row), strict=True)),
        }
        for row in known
    ]
    ends = [end for dot in dots for end in (dot["value"], dot["low"], dot["high"]) if math.isfinite(end)]
    reach = min(6.0, max(2.0, 0.5 * math.ceil(2 * max(map(abs, ends)))))
    scale = alt.Scale(domain=[-reach, reach], nice=False, clamp=True)
    y = alt.Y(
        "measure:N",
        sort=[row.measure for row in known],
        title=None,
        axis=alt.Axis(labelLimit=120, labelPadding=6, ticks=False),
    )
    verdicts = [QualityVerdict.KEPT.value, QualityVerdict.UNDECIDED.value, QualityVerdict.LOST.value]
    colour = alt.Color(
        "verdict:N", scale=alt.Scale(domain=verdicts, range=["@good", "@open", "@towards"]), legend=None
    )
    shape = alt.Shape(
        "verdict:N", scale=alt.Scale(domain=verdicts, range=["circle", "diamond", "square"]), legend=None
    )
    tips = [
        alt.Tooltip("measure:N", title="Measure"),
        alt.Tooltip("shown:N", title="Difference"),
        alt.Tooltip("verdict:N", title="Verdict"),
    ]
    base = alt.Chart(without_nan(dots))
    x = alt.X(
        "value:Q",
        scale=scale,
        title="← worse · difference in margins · better →",
        axis=alt.Axis(
            orient="top",
            values=[-1, 0, 1],
            labelExpr="{'-1': 'margin', '0': 'no change', '1': ''}[datum.value]",
        ),
    )
    bars = base.mark_rule(strokeWidth=4, opacity=0.45).encode(
        alt.X("low:Q", scale=scale), alt.X2("high:Q"), y, colour
    )
    points = base.mark_point(filled=True, size=120, opacity=1).encode(x, y, colour, shape, tooltip=tips)
    beyond = (
        alt.Chart(pl.DataFrame({"from": [-reach], "to": [-1.0]}))
        .mark_rect(color="@towards", opacity=0.1)
        .encode(alt.X("from:Q", scale=scale), alt.X2("to:Q"))
    )
    limit = (
        alt.Chart(pl.DataFrame({"limit": [-1.0]}))
        .mark_rule(color="@towards", strokeWidth=2)
        .encode(alt.X("limit:Q", scale=scale))
    )
    return specification(
        alt.layer(beyond, limit, neutral_rule(0.0, scale=scale), bars, points), height=20 + 44 * len(known)
    )


def occupation_plot(
    changes: Sequence[LeanChange], flipped: Sequence[OverCorrection], *, axis: str
) -> dict[str, Any]:
    """Where each occupation of an experiment was and where it is; those pushed to the other side stand out."""
    drawn = sorted(changes, key=lambda change: -abs(change.before.value))[:MOST_ROWS]
    drawn.sort(key=lambda change: -change.before.value)
    if not drawn:
        return {}
    turned = {row.occupation for row in flipped}
    rows = [
        {
            "occupation": change.occupation,
            "before": change.before.value,
            "after": change.after.value,
            "low": change.after.low,
            "high": change.after.high,
            "kind": "pushed to the other side" if change.occupation in turned else "after",
        }
        for change in drawn
    ]
    ends = [end for row in rows for end in (row["before"], row["after"], row["low"], row["high"])]
    scale = alt.Scale(domain=BITS.domain([float(end) for end in ends]), nice=False)
    y = name_axis("occupation:N", [change.occupation for change in drawn])
    kinds = ["after", "pushed to the other side"]
    colour = alt.Color(
        "kind:N", scale=alt.Scale(domain=kinds, range=["@series-1", _FLIP_COLOUR]), legend=None
    )
    shape = alt.Shape("kind:N", scale=alt.Scale(domain=kinds, range=["square", "triangle-up"]), legend=None)
    tips = [
        alt.Tooltip("occupation:N", title="Occupation"),
        *[alt.Tooltip(f"{side}:Q", title=side.capitalize(), format="+.2f") for side in SIDES],
        alt.Tooltip("kind:N", title="Drawn as"),
    ]
    base = alt.Chart(without_nan(rows))
    x = alt.X("before:Q", scale=scale, title=axis, axis=signed_axis())
    path = base.mark_rule(color="@grid-strong", strokeWidth=2.5).encode(x, alt.X2("after:Q"), y)
    whiskers = base.mark_rule(strokeWidth=1.2).encode(
        alt.X("low:Q", scale=scale), alt.X2("high:Q"), y, colour
    )
    first = base.mark_point(shape="circle", color="@muted", size=55, strokeWidth=2, fill="@panel").encode(
        x, y, tooltip=tips
    )
    second = base.mark_point(filled=True, size=65, opacity=1).encode(
        alt.X("after:Q", scale=scale), y, colour, shape, tooltip=tips
    )
    return specification(
        alt.layer(neutral_rule(0.0, scale=scale), path, whiskers, first, second),
        height=12 + ROW_HEIGHT * len(drawn),
    )


def _in_margins(row: QualityRow) -> tuple[float, float, float]:
    """Value and ends of a difference, better to the right, in margins."""
    size = -row.margin
    value, low, high = (
        end / abs(size) for end in (row.difference.value, row.difference.low, row.difference.high)
    )
    return (value, low, high) if row.margin < 0 else (-value, -high, -low)


def _side_scales() -> tuple[alt.Color, alt.Shape]:
    return (
        alt.Color("side:N", scale=alt.Scale(domain=list(SIDES), range=list(_SIDE_COLOURS)), legend=None),
        alt.Shape("side:N", scale=alt.Scale(domain=list(SIDES), range=["circle", "square"]), legend=None),
    )


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


def convergence_plot(curve: Sequence[CurvePoint], *, kept: int | None) -> dict[str, Any]:
    """How much MALoR differed within the last epochs, after each epoch, and the share below which a curve is flat."""
    trained = [point for point in curve if point.epoch > 0]
    rows: list[dict[str, Any]] = []
    for end in range(FLAT.epochs, len(trained) + 1):
        last = trained[end - FLAT.epochs : end]
        for name in last[-1].malor:
            values = [point.malor.get(name, math.nan) for point in last]
            if all(map(math.isfinite, values)) and sum(values) > 0:
                share = (max(values) - min(values)) / (sum(values) / len(values))
                rows.append({"epoch": last[-1].epoch, "experiment": name, "percent": 100 * share})
    if len({row["epoch"] for row in rows}) < 2:
        return {}
    names = list(dict.fromkeys(name for point in curve for name in point.malor))
    title = f"Range of MALoR over {FLAT.epochs} epochs, % of their mean"
    return _lines(rows, names, y_title=title, field="percent", kept=kept, level=100 * FLAT.within)


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
    rows: list[dict[str, Any]],
    names: Sequence[str],
    *,
    y_title: str,
    field: str,
    kept: int | None,
    level: float | None = None,
) -> dict[str, Any]:
    """One line per name over epochs; an upright line at the epoch that was kept, a level one where there is a level."""
    x = alt.X(
        "epoch:Q",
        title="Epoch",
        scale=alt.Scale(nice=False),
        axis=alt.Axis(tickMinStep=1, tickCount=6, format="d"),
    )
    y = alt.Y(f"{field}:Q", title=y_title, scale=alt.Scale(zero=True, nice=True))
    colour, shape = series_scales(
        "experiment:N", [(name, Mark.number(place)) for place, name in enumerate(names)]
    )
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
    if level is not None:
        flat = alt.Chart(pl.DataFrame({"level": [level]})).mark_rule(color="@muted", strokeWidth=1.4)
        layers.insert(0, flat.encode(alt.Y("level:Q")))
    return specification(alt.layer(*layers), height=240)
