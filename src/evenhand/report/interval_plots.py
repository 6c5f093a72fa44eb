"""Plots of values with their intervals, a row each: fields, kinds of pairs, cosines."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import polars as pl

from evenhand.core.estimates import Estimate
from evenhand.instruments.probe_results import DirectBiasResult, ProfessionCosine
from evenhand.report.association.plots import SERIES_COLOURS, specification, without_nan
from evenhand.report.probes.plots import (
    AXIS_TITLE,
    MOST_BARS,
    ROW_HEIGHT,
    SHAPES,
    SIGNED,
    neutral_rule,
    signed_axis,
    top_axis,
)


@dataclass(frozen=True, slots=True)
class PlottedEstimate:
    """A value of a run, and the row that it stands in."""

    run: str
    row: str
    estimate: Estimate


@dataclass(frozen=True, slots=True)
class IntervalAxis:
    """What the values are: their title, where they are neutral, and the steps and ends of their axis."""

    title: str
    neutral: float
    step: float
    lowest: float = -math.inf
    highest: float = math.inf
    label: str = "datum.label"

    def domain(self, values: Sequence[float]) -> list[float]:
        """Whole steps around the values and what is neutral."""
        finite = [self.neutral, *(value for value in values if math.isfinite(value))]
        low = max(self.lowest, self.step * math.floor(round(min(finite) / self.step, 6)))
        high = min(self.highest, self.step * math.ceil(round(max(finite) / self.step, 6)))
        if low == high:
            low, high = max(self.lowest, low - self.step), min(self.highest, high + self.step)
        return [round(low, 6), round(high, 6)]


_LINE_BREAK = "\n"
_LONGEST_LINE = 20
_LINE_HEIGHT = 15

BITS = IntervalAxis(AXIS_TITLE, neutral=0.0, step=0.5, label=SIGNED)
SCORE = IntervalAxis("Score; 50 is neutral", neutral=50.0, step=5.0, lowest=0.0, highest=100.0)
COSINE = IntervalAxis("Cosine; 1 is neutral", neutral=1.0, step=0.02, lowest=-1.0, highest=1.0)


def interval_plot(
    plotted: Sequence[PlottedEstimate], axis: IntervalAxis, *, runs: Sequence[str]
) -> dict[str, Any]:
    """A dot and a bar a value; rows stand in the order in which they come first."""
    known = [own for own in plotted if own.estimate.defined]
    if not known:
        return {}
    rows = [
        {
            "run": own.run,
            "row": _in_lines(own.row),
            "name": own.row,
            "value": own.estimate.value,
            "low": own.estimate.low,
            "high": own.estimate.high,
            "n": own.estimate.n,
        }
        for own in known
    ]
    ends = [end for own in known for end in (own.estimate.value, own.estimate.low, own.estimate.high)]
    scale = alt.Scale(domain=axis.domain(ends), nice=False)
    order = list(dict.fromkeys(_in_lines(own.row) for own in known))
    x = alt.X(
        "value:Q",
        scale=scale,
        title=axis.title,
        axis=top_axis(axis.label),
    )
    lines = [row.count(_LINE_BREAK) + 1 for row in order]
    labels = alt.Axis(
        labelLimit=150,
        ticks=False,
        labelExpr=f"split(datum.label, {_LINE_BREAK!r})",
        labelLineHeight=_LINE_HEIGHT,
        labelOffset=-_LINE_HEIGHT * (min(lines) - 1) / 2,
    )
    y = alt.Y("row:N", sort=order, title=None, axis=labels)
    offset = alt.YOffset("run:N", sort=list(runs))
    places = range(len(runs))
    colours = [SERIES_COLOURS[place % len(SERIES_COLOURS)] for place in places]
    shapes = [SHAPES[place % len(SHAPES)] for place in places]
    colour = alt.Color("run:N", scale=alt.Scale(domain=list(runs), range=colours), legend=None)
    shape = alt.Shape("run:N", scale=alt.Scale(domain=list(runs), range=shapes), legend=None)
    tips = [
        alt.Tooltip("run:N", title="Run"),
        alt.Tooltip("name:N", title="Of"),
        *[alt.Tooltip(f"{name}:Q", format=".3f") for name in ("value", "low", "high")],
        alt.Tooltip("n:Q", title="Counted"),
    ]
    base = alt.Chart(without_nan(rows))
    bars = base.mark_rule(strokeWidth=3, opacity=0.5).encode(
        alt.X("low:Q", scale=scale), alt.X2("high:Q"), y, offset, colour
    )
    dots = base.mark_point(filled=True, size=70, opacity=1).encode(x, y, offset, colour, shape, tooltip=tips)
    height = 16 + len(order) * max(ROW_HEIGHT, 13 * len(runs) + 8, _LINE_HEIGHT * max(lines) + 8)
    return specification(alt.layer(neutral_rule(axis.neutral, scale=scale), bars, dots), height=height)


def _in_lines(name: str) -> str:
    """A name in lines that fit beside a plot on a narrow screen."""
    return _LINE_BREAK.join(textwrap.wrap(name, _LONGEST_LINE, break_long_words=False)) or name


def drawn_professions(professions: Sequence[ProfessionCosine]) -> list[ProfessionCosine]:
    """The professions that are drawn, from the male side to the female one."""
    known = [row for row in professions if math.isfinite(row.cosine)]
    strongest = sorted(known, key=lambda row: -abs(row.cosine))[:MOST_BARS]
    return sorted(strongest, key=lambda row: -row.cosine)


def profession_plot(result: DirectBiasResult) -> dict[str, Any]:
    """A bar a profession, to the right on the male side; a band as wide as what random directions give."""
    drawn = drawn_professions(result.professions)
    if not drawn:
        return {}
    chance = result.baseline.value if result.baseline.defined else 0.0
    axis = IntervalAxis("", neutral=0.0, step=0.05, lowest=-1.0, highest=1.0)
    scale = alt.Scale(domain=axis.domain([chance, -chance, *(row.cosine for row in drawn)]), nice=False)
    frame = pl.DataFrame([{"profession": row.profession, "cosine": row.cosine, "n": row.n} for row in drawn])
    x = alt.X(
        "cosine:Q",
        scale=scale,
        title="← female · cosine · male →",
        axis=signed_axis(),
    )
    y = alt.Y(
        "profession:N",
        sort=[row.profession for row in drawn],
        title=None,
        axis=alt.Axis(labelLimit=110, ticks=False),
    )
    tips = [
        alt.Tooltip("profession:N", title="Profession"),
        alt.Tooltip("cosine:Q", title="Cosine", format="+.3f"),
        alt.Tooltip("n:Q", title="Sentences", format=",d"),
    ]
    bars = alt.Chart(frame).mark_bar(color="@series-1", opacity=0.75, height=11).encode(x, y, tooltip=tips)
    layers = [bars, neutral_rule(0.0, scale=scale)]
    if chance:
        band = alt.Chart(pl.DataFrame({"from": [-chance], "to": [chance]}))
        layers.insert(
            0,
            band.mark_rect(color="@grid-strong", opacity=0.35).encode(
                alt.X("from:Q", scale=scale), alt.X2("to:Q")
            ),
        )
    return specification(alt.layer(*layers), height=12 + ROW_HEIGHT * len(drawn))
