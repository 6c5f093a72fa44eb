"""Plots of a calibration: what was read against what was planted, and how little is found."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import altair as alt
import polars as pl

from evenhand.instruments.association.measures import MEASURES
from evenhand.reporting.calibration.words import family_title, neutral_of, reads_bits, short_name
from evenhand.reporting.plotting import COLOURS, Mark, series_scales, specification, without_nan
from evenhand.store.calibration import MeasureCalibration

_PANEL_HEIGHT = 220


def dose_plot(
    entry: MeasureCalibration, *, among: Sequence[MeasureCalibration], families: Sequence[str]
) -> dict[str, Any]:
    """What a measure read on each model of a family against what was planted there.

    Args:
        entry: The measure on the family.
        among: The same measure on all families, which share an axis.
        families: All families of the page, whose order gives their colours.
    """
    points = [
        {"strength": point.strength, "value": point.estimate.value, "seed": point.seed}
        for point in entry.points
        if point.estimate.defined
    ]
    if not points:
        return {}
    strengths = sorted({point.strength for own in among for point in own.points})
    low, high = _axis_of(among)
    x_scale = alt.Scale(domain=[strengths[0], strengths[-1]], nice=False, padding=10)
    x = alt.X(
        "strength:Q",
        title="Planted bias, in bits",
        scale=x_scale,
        axis=alt.Axis(
            values=strengths,
            format="~g",
            labelExpr="datum.value > 0 ? '+' + datum.label : datum.label",
            grid=False,
        ),
    )
    y_scale = alt.Scale(domain=[low, high], nice=False)
    y = alt.Y("value:Q", title=_axis_title(entry), scale=y_scale, axis=alt.Axis(tickCount=5))
    colour = COLOURS[Mark.number(families.index(entry.family)).colour]
    means = pl.DataFrame(_means(entry))
    tips = [
        alt.Tooltip("strength:Q", title="Planted bits", format="+"),
        alt.Tooltip("value:Q", title=short_name(entry.measure), format=".2f"),
    ]
    line = alt.Chart(means).mark_line(color=colour, strokeWidth=2.5).encode(x, y)
    dots = (
        alt.Chart(pl.DataFrame(points))
        .mark_point(filled=True, color=colour, size=42, opacity=0.55)
        .encode(x, y, tooltip=[*tips, alt.Tooltip("seed:Q", title="Seed")])
    )
    neutral = _neutral_lines(entry, strengths[0], x_scale=x_scale, y_scale=y_scale)
    layers = [*neutral, line, dots, *_exact_recovery(entry, strengths, x=x, y=y)]
    return specification(alt.layer(*layers), height=_PANEL_HEIGHT)


def detectable_plot(
    entries: Sequence[MeasureCalibration], *, among: Sequence[MeasureCalibration], families: Sequence[str]
) -> dict[str, Any]:
    """The smallest planted bias that is found against the number of items, one line per family.

    Args:
        entries: A measure, once for each family.
        among: All measures that are plotted like this, which share an axis.
        families: All families of the page, whose order gives their colours and shapes.
    """
    rows = [
        {
            "family": family_title(entry.family),
            "items": row.items,
            "strength": row.strength,
            "reading": row.reading,
        }
        for entry in entries
        for row in entry.detectable
    ]
    frame = without_nan(rows).drop_nulls("strength") if rows else pl.DataFrame()
    if frame.is_empty():
        return {}
    counts = sorted({row.items for entry in among for row in entry.detectable})
    strongest = max(
        row.strength for entry in among for row in entry.detectable if not math.isnan(row.strength)
    )
    x = alt.X(
        "items:Q",
        title="Items (each step doubles them)",
        scale=alt.Scale(type="log", base=2, domain=[counts[0], counts[-1]], nice=False, padding=12),
        axis=alt.Axis(
            values=counts,
            format=",d",
            labelExpr=f"indexof({counts}, datum.value) % 2 ? '' : datum.label",
            grid=False,
        ),
    )
    y = alt.Y(
        "strength:Q",
        title="Smallest bias found, in bits",
        scale=alt.Scale(domain=[0, strongest], nice=True),
        axis=alt.Axis(tickCount=6),
    )
    names = [family_title(family) for family in families]
    colour, shape = series_scales(
        "family:N", [(name, Mark.number(place)) for place, name in enumerate(names)]
    )
    tips = [
        alt.Tooltip("family:N", title="Family"),
        alt.Tooltip("items:Q", title="Items", format=",d"),
        alt.Tooltip("strength:Q", title="Planted bits", format=".2f"),
        alt.Tooltip("reading:Q", title=short_name(entries[0].measure), format=".2f"),
    ]
    base = alt.Chart(frame)
    line = base.mark_line(strokeWidth=2).encode(x, y, colour)
    dots = base.mark_point(filled=True, size=70, opacity=1).encode(x, y, colour, shape, tooltip=tips)
    return specification(alt.layer(line, dots), height=280)


def _axis_of(entries: Sequence[MeasureCalibration]) -> tuple[float, float]:
    """The whole range of a measure that has one, else whole numbers around what was read and planted."""
    measure = MEASURES.get(entries[0].measure) if entries[0].measure in MEASURES else None
    if measure is not None and math.isfinite(measure.lowest) and math.isfinite(measure.highest):
        return measure.lowest, measure.highest
    values = [
        value
        for entry in entries
        for point in entry.points
        for value in ([point.estimate.value, point.strength] if reads_bits(entry) else [point.estimate.value])
        if math.isfinite(value)
    ]
    return math.floor(min(values)), math.ceil(max(values))


def _axis_title(entry: MeasureCalibration) -> str:
    return short_name(entry.measure) + (", in bits" if reads_bits(entry) else "")


def _means(entry: MeasureCalibration) -> list[dict[str, float]]:
    by_strength: defaultdict[float, list[float]] = defaultdict(list)
    for point in entry.points:
        if point.estimate.defined:
            by_strength[point.strength].append(point.estimate.value)
    return [
        {"strength": strength, "value": sum(values) / len(values)}
        for strength, values in sorted(by_strength.items())
    ]


def _neutral_lines(
    entry: MeasureCalibration, left: float, *, x_scale: alt.Scale, y_scale: alt.Scale
) -> list[alt.Chart]:
    """Where a measure should cross: the neutral value, at no planted bias."""
    neutral = neutral_of(entry.measure)
    if neutral is None:
        return []
    frame = pl.DataFrame(
        {"left": [left], "zero": [0.0], "neutral": [neutral], "text": [f"neutral {neutral:g}"]}
    )
    base = alt.Chart(frame)
    x, y = alt.X("left:Q", scale=x_scale), alt.Y("neutral:Q", scale=y_scale)
    return [
        base.mark_rule(color="@grid-strong", strokeWidth=1).encode(alt.X("zero:Q", scale=x_scale)),
        base.mark_rule(color="@ink", strokeDash=[5, 4], strokeWidth=1.4).encode(y),
        base.mark_text(color="@muted", fontSize=11, align="left", dy=-8).encode(x, y, alt.Text("text:N")),
    ]


def _exact_recovery(
    entry: MeasureCalibration, strengths: Sequence[float], *, x: alt.X, y: alt.Y
) -> list[alt.Chart]:
    """Where the points of a measure in bits would lie if it read exactly what was planted."""
    if not reads_bits(entry):
        return []
    ends = [strengths[0], strengths[-1]]
    line = alt.Chart(pl.DataFrame({"strength": ends, "value": ends}))
    return [line.mark_line(color="@ink", strokeDash=[1, 4], strokeWidth=1.6, strokeCap="round").encode(x, y)]
