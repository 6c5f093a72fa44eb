"""Plots of occupations: where each leans, how that changed, and how it goes with the world as it is."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import altair as alt
import polars as pl

from evenhand.core.estimates import Estimate
from evenhand.instruments.probe_results import Correlation, MalorResult, OccupationLean
from evenhand.report.association.plots import SERIES_COLOURS, specification, without_nan

SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")
"""A shape a field, so that colour is not all that tells them apart; the page draws the same in its legend."""

NO_FIELD = "no field"
MOST_BARS = 80
"""More occupations than these are not drawn one by one; the strongest leans are."""

AXIS_TITLE = "← women · bits · men →"
SIGNED = "datum.value > 0 ? '+' + datum.label : datum.label"
ROW_HEIGHT = 19
_ABOVE_AND_BELOW = 12

NOTHING_PLANTED: Mapping[str, float] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class FieldMark:
    """How a field is drawn: numbers of its colour and of its shape."""

    name: str
    colour: int
    shape: int


def field_marks(results: Sequence[MalorResult]) -> list[FieldMark]:
    """The fields of all occupations, each with a colour and a shape that no other has together."""
    found = {lean.field or NO_FIELD for result in results for lean in result.occupations}
    names = [*sorted(found - {NO_FIELD}), *sorted(found & {NO_FIELD})]
    colours = len(SERIES_COLOURS)
    return [
        FieldMark(name, colour=(place + place // len(SHAPES)) % colours, shape=place % len(SHAPES))
        for place, name in enumerate(names)
    ]


def drawn_leans(leans: Sequence[OccupationLean]) -> list[OccupationLean]:
    """The occupations that are drawn, from the farthest towards men to the farthest towards women."""
    known = [lean for lean in leans if lean.log2_ratio.defined]
    strongest = sorted(known, key=lambda lean: -abs(lean.log2_ratio.value))[:MOST_BARS]
    return sorted(strongest, key=lambda lean: -lean.log2_ratio.value)


def lean_plot(
    result: MalorResult, marks: Sequence[FieldMark], *, planted: Mapping[str, float] = NOTHING_PLANTED
) -> dict[str, Any]:
    """A bar an occupation, to the right where the model expects a man, with its interval, and what was planted."""
    leans = drawn_leans(result.occupations)
    if not leans:
        return {}
    frame = without_nan([_lean_row(lean) for lean in leans])
    known = {lean.occupation: planted[lean.occupation] for lean in leans if lean.occupation in planted}
    ends = [*known.values(), *(end for lean in leans for end in _ends(lean.log2_ratio))]
    scale = alt.Scale(domain=_domain(ends), nice=False)
    x = alt.X("bits:Q", title=AXIS_TITLE, scale=scale, axis=signed_axis())
    y = _occupation_axis([lean.occupation for lean in leans])
    colour, shape = _field_scales(marks)
    tips = [
        alt.Tooltip("occupation:N", title="Occupation"),
        alt.Tooltip("field:N", title="Field"),
        *[alt.Tooltip(f"{name}:Q", format="+.2f") for name in ("bits", "low", "high")],
        alt.Tooltip("n:Q", title="Sentences"),
    ]
    base = alt.Chart(frame)
    bars = base.mark_bar(opacity=0.4, height=11).encode(x, y, colour, tooltip=tips)
    whiskers = base.mark_rule(color="@ink", strokeWidth=1.2).encode(
        alt.X("low:Q", scale=scale), alt.X2("high:Q"), y
    )
    dots = base.mark_point(filled=True, size=62, opacity=1).encode(x, y, colour, shape, tooltip=tips)
    return specification(
        alt.layer(bars, whiskers, dots, *_planted_ticks(known, y, scale), neutral_rule(0.0, scale=scale)),
        height=_ABOVE_AND_BELOW + ROW_HEIGHT * len(leans),
    )


def _planted_ticks(planted: Mapping[str, float], y: alt.Y, scale: alt.Scale) -> list[alt.Chart]:
    """An upright stroke where each occupation should be."""
    if not planted:
        return []
    rows = [{"occupation": name, "planted": bits} for name, bits in planted.items()]
    tips = [
        alt.Tooltip("occupation:N", title="Occupation"),
        alt.Tooltip("planted:Q", title="Planted", format="+.2f"),
    ]
    ticks = alt.Chart(pl.DataFrame(rows)).mark_tick(color="@ink", thickness=2.5, height=15)
    return [ticks.encode(alt.X("planted:Q", scale=scale), y, tooltip=tips)]


def change_plot(before: MalorResult, after: MalorResult) -> dict[str, Any]:
    """Where each occupation was and where it is, joined by a line."""
    later = {lean.occupation: lean for lean in after.occupations if lean.log2_ratio.defined}
    leans = [
        lean
        for lean in drawn_leans([lean for lean in before.occupations if lean.occupation in later])
        if lean.occupation in later
    ]
    if not leans:
        return {}
    pairs = [
        {
            "occupation": lean.occupation,
            "before": lean.log2_ratio.value,
            "after": later[lean.occupation].log2_ratio.value,
        }
        for lean in leans
    ]
    both = [own.log2_ratio.value for lean in leans for own in (lean, later[lean.occupation])]
    scale = alt.Scale(domain=_domain(both), nice=False)
    y = _occupation_axis([lean.occupation for lean in leans])
    tips = [
        alt.Tooltip("occupation:N", title="Occupation"),
        alt.Tooltip("before:Q", title="First", format="+.2f"),
        alt.Tooltip("after:Q", title="Second", format="+.2f"),
    ]
    base = alt.Chart(pl.DataFrame(pairs))
    x = alt.X("before:Q", scale=scale, title=AXIS_TITLE, axis=signed_axis())
    joined = base.mark_rule(color="@grid-strong", strokeWidth=2.5).encode(x, alt.X2("after:Q"), y)
    first = base.mark_point(shape="circle", color="@series-1", size=60, strokeWidth=2, fill="@panel").encode(
        x, y, tooltip=tips
    )
    second = base.mark_point(shape="square", filled=True, color="@series-2", size=60, opacity=1).encode(
        alt.X("after:Q", scale=scale), y, tooltip=tips
    )
    return specification(
        alt.layer(neutral_rule(0.0, scale=scale), joined, first, second),
        height=_ABOVE_AND_BELOW + ROW_HEIGHT * len(leans),
    )


def share_plot(
    result: MalorResult, correlation: Correlation, *, marks: Sequence[FieldMark]
) -> dict[str, Any]:
    """Each occupation's lean against the real share of women in it."""
    rows = [
        {**_lean_row(lean), "share": correlation.shares[lean.occupation]}
        for lean in result.occupations
        if lean.log2_ratio.defined and lean.occupation in correlation.shares
    ]
    if not rows:
        return {}
    x = alt.X(
        "share:Q",
        title="Women in the occupation, in percent",
        scale=alt.Scale(domain=[0, 100], nice=False),
        axis=alt.Axis(tickCount=5),
    )
    scale = alt.Scale(domain=_domain([float(row["bits"]) for row in rows]), nice=False)
    y = alt.Y(
        "bits:Q",
        title="Bits towards men",
        scale=scale,
        axis=alt.Axis(format="~f", labelExpr=SIGNED, tickCount=6),
    )
    colour, shape = _field_scales(marks)
    tips = [
        alt.Tooltip("occupation:N", title="Occupation"),
        alt.Tooltip("field:N", title="Field"),
        alt.Tooltip("share:Q", title="Women, percent", format=".1f"),
        alt.Tooltip("bits:Q", title="Bits", format="+.2f"),
    ]
    dots = (
        alt.Chart(without_nan(rows))
        .mark_point(filled=True, size=70, opacity=0.9)
        .encode(x, y, colour, shape, tooltip=tips)
    )
    neutral = (
        alt.Chart(pl.DataFrame({"neutral": [0.0]}))
        .mark_rule(color="@ink", strokeDash=[5, 4], strokeWidth=1.4)
        .encode(alt.Y("neutral:Q", scale=scale))
    )
    return specification(alt.layer(neutral, dots), height=300)


def neutral_rule(value: float, *, scale: alt.Scale) -> alt.Chart:
    """An upright line where nothing leans."""
    line: alt.Chart = alt.Chart(pl.DataFrame({"neutral": [value]})).mark_rule(
        color="@ink", strokeDash=[5, 4], strokeWidth=1.4
    )
    drawn: alt.Chart = line.encode(alt.X("neutral:Q", scale=scale))
    return drawn


def top_axis(label: str = "datum.label") -> alt.Axis:
    """An axis above the plot with few numbers, because a plot can be narrow."""
    return alt.Axis(orient="top", format="~f", labelExpr=label, tickCount=5, labelSeparation=6)


def signed_axis() -> alt.Axis:
    """An axis above the plot, whose numbers have their sign."""
    return top_axis(SIGNED)


def _lean_row(lean: OccupationLean) -> dict[str, Any]:
    return {
        "occupation": lean.occupation,
        "field": lean.field or NO_FIELD,
        "bits": lean.log2_ratio.value,
        "low": lean.log2_ratio.low,
        "high": lean.log2_ratio.high,
        "n": lean.n,
    }


def _ends(estimate: Estimate) -> tuple[float, float, float]:
    return estimate.value, estimate.low, estimate.high


def _occupation_axis(names: Sequence[str]) -> alt.Y:
    return alt.Y("occupation:N", sort=list(names), title=None, axis=alt.Axis(labelLimit=110, ticks=False))


def _domain(values: Sequence[float]) -> list[float]:
    """Half bits around the values and 0."""
    finite = [0.0, *(value for value in values if math.isfinite(value))]
    low, high = math.floor(min(finite) * 2) / 2, math.ceil(max(finite) * 2) / 2
    return [low, high] if low < high else [-0.5, 0.5]


def _field_scales(marks: Sequence[FieldMark]) -> tuple[alt.Color, alt.Shape]:
    names = [mark.name for mark in marks]
    colours = [SERIES_COLOURS[mark.colour] for mark in marks]
    shapes = [SHAPES[mark.shape] for mark in marks]
    return (
        alt.Color("field:N", scale=alt.Scale(domain=names, range=colours), legend=None),
        alt.Shape("field:N", scale=alt.Scale(domain=names, range=shapes), legend=None),
    )
