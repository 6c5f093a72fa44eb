"""What all plots share: one colour and one shape per run, axes, and plots of values with their intervals.

Plots are Vega-Lite specifications, made with Altair. Colours are names that start with ``@``; the page replaces them
with those of its light or dark theme.
"""

from __future__ import annotations

import json
import math
import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import altair as alt
import polars as pl

from evenhand.core.estimates import Estimate
from evenhand.reporting.numbers import has_interval
from evenhand.store.run import Run

COLOURS = tuple(f"@series-{number}" for number in range(1, 9))
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")

SIGNED_LABEL = "datum.value > 0 ? '+' + datum.label : datum.label"
ROW_HEIGHT = 19
HOLLOW: Mapping[str, Any] = MappingProxyType(
    {"filled": False, "fill": "@panel", "strokeWidth": 2, "opacity": 1}
)
"""How a value without an interval is drawn."""

MOST_ROWS = 80
"""More occupations than these are not drawn one by one; those that lean most are."""

_LINE_BREAK = "\n"
_LONGEST_LINE = 20
_LINE_HEIGHT = 15


@dataclass(frozen=True, slots=True)
class Mark:
    """How a series is drawn: the numbers of its colour and of its shape. Colour is never all that tells them apart."""

    colour: int
    shape: int

    @classmethod
    def number(cls, place: int) -> Mark:
        """The mark of the series at this place; the first 48 differ from each other."""
        turn, colour = divmod(place, len(COLOURS))
        return cls(colour, (colour + turn) % len(SHAPES))


@dataclass(frozen=True, slots=True)
class ShownRun:
    """A run on a page: what it is called there, and how every plot draws it."""

    run: Run
    label: str
    mark: Mark


def shown_runs(runs: Sequence[Run]) -> tuple[ShownRun, ...]:
    """Runs with names that differ and marks that differ; the language is named where there are several."""
    one_language = len({run.record.language for run in runs}) == 1
    names = [run.name if one_language else run.label for run in runs]
    often, seen = Counter(names), Counter[str]()
    shown = []
    for place, (run, name) in enumerate(zip(runs, names, strict=True)):
        seen[name] += 1
        label = f"{name} ({seen[name]})" if often[name] > 1 else name
        shown.append(ShownRun(run, label, Mark.number(place)))
    return tuple(shown)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """A plot with what stands around it. Without a specification there is nothing to draw."""

    id: str
    spec: dict[str, Any]
    label: str
    """What it shows, for those who cannot see it."""
    caption: str = ""
    runs: tuple[ShownRun, ...] = ()
    """For the legend."""
    left_out: tuple[tuple[str, str], ...] = ()
    """Runs that are not in it, with the reason."""
    notes: tuple[str, ...] = field(default=())


@dataclass(frozen=True, slots=True)
class PlottedEstimate:
    """A value of a run, and the row that it stands in."""

    run: str
    row: str
    estimate: Estimate


@dataclass(frozen=True, slots=True)
class IntervalAxis:
    """What values are: their title, where they are neutral, and the steps and bounds of their axis."""

    title: str
    neutral: float | None
    step: float
    lowest: float = -math.inf
    highest: float = math.inf
    label: str = "datum.label"
    margin: float | None = None
    """The distance from neutral up to which values are called no difference; it is drawn as a band."""

    def domain(self, values: Iterable[float]) -> list[float]:
        """Whole steps around the values and what is neutral."""
        finite = [value for value in values if math.isfinite(value)]
        finite += [] if self.neutral is None else [self.neutral]
        finite = finite or [0.0]
        low = max(self.lowest, self.step * math.floor(round(min(finite) / self.step, 6)))
        high = min(self.highest, self.step * math.ceil(round(max(finite) / self.step, 6)))
        if low == high:
            low, high = max(self.lowest, low - self.step), min(self.highest, high + self.step)
        return [round(low, 6), round(high, 6)]


BITS = IntervalAxis("Bits", neutral=0.0, step=0.5, label=SIGNED_LABEL)
SCORE = IntervalAxis("Score; 50 is neutral", neutral=50.0, step=5.0, lowest=0.0, highest=100.0)
COSINE = IntervalAxis("Cosine; 1 is neutral", neutral=1.0, step=0.02, lowest=-1.0, highest=1.0)


def axis_for(title: str, neutral: float | None, estimates: Sequence[Estimate]) -> IntervalAxis:
    """An axis for values of any size."""
    values = [bound for own in estimates for bound in bounds(own) if math.isfinite(bound)]
    values += [] if neutral is None else [neutral]
    reach = max(values, default=1.0) - min(values, default=0.0)
    step = 10.0 ** math.floor(math.log10(reach)) / 2 if reach > 0 else 1.0
    says = title if neutral is None else f"{title}; {neutral:g} is neutral"
    return IntervalAxis(says, neutral=neutral, step=step)


def interval_plot(
    plotted: Sequence[PlottedEstimate],
    axis: IntervalAxis,
    *,
    runs: Sequence[ShownRun],
    bold: Sequence[str] = (),
) -> dict[str, Any]:
    """One mark and one bar per value; a value without an interval is hollow. Rows stand in the order of their coming.

    Args:
        plotted: The values.
        axis: What they are.
        runs: Those whose values there are, in order.
        bold: Rows whose names are bold.
    """
    defined = [own for own in plotted if own.estimate.defined]
    if not defined:
        return {}
    rows = [
        {"run": own.run, "row": in_lines(own.row), "name": own.row, **plotted_fields(own.estimate)}
        for own in defined
    ]
    scale = alt.Scale(
        domain=axis.domain(bound for own in defined for bound in bounds(own.estimate)), nice=False
    )
    present = [shown for shown in runs if any(own.run == shown.label for own in defined)]
    layers = interval_layers(
        rows,
        scale=scale,
        x=alt.X("value:Q", scale=scale, title=axis.title, axis=top_axis(axis.label)),
        y=row_axis([own.row for own in defined], bold=bold),
        offset=alt.YOffset("run:N", sort=[shown.label for shown in present]),
        runs=present,
        tips=[alt.Tooltip("run:N", title="Run"), alt.Tooltip("name:N", title="Of")],
    )
    neutral = [] if axis.neutral is None else [neutral_rule(axis.neutral, scale=scale)]
    margin = [] if axis.margin is None else [margin_band(axis, scale=scale)]
    height = rows_height([own.row for own in defined], series=len(present))
    return specification(alt.layer(*margin, *neutral, *layers), height=height)


def row_axis(names: Sequence[str], *, bold: Sequence[str] = ()) -> alt.Y:
    """One row per name of the field ``row``, in the order of their coming; long names stand in lines.

    Args:
        names: Of the rows.
        bold: Those among them that stand out.
    """
    order = list(dict.fromkeys(map(in_lines, names)))
    several_lines = f"length(split(datum.label, {_LINE_BREAK!r})) > 1"
    labels = alt.Axis(
        labelLimit=150,
        ticks=False,
        labelExpr=f"split(datum.label, {_LINE_BREAK!r})",
        labelLineHeight=_LINE_HEIGHT,
        # The middle of a row is between the first two lines of a name, or in the middle of its only line.
        labelBaseline={"condition": {"test": several_lines, "value": "bottom"}, "value": "middle"},
        **_bold_labels(bold),
    )
    return alt.Y("row:N", sort=order, title=None, axis=labels)


def _bold_labels(names: Sequence[str]) -> dict[str, Any]:
    if not names:
        return {}
    test = f"indexof({json.dumps([in_lines(name) for name in names])}, datum.value) >= 0"
    return {"labelFontWeight": {"condition": {"test": test, "value": "bold"}, "value": "normal"}}


def rows_height(names: Sequence[str], *, series: int) -> int:
    """The height of a plot with so many series in each row."""
    order = list(dict.fromkeys(map(in_lines, names)))
    most = max(row.count(_LINE_BREAK) + 1 for row in order)
    return 16 + len(order) * max(ROW_HEIGHT, 13 * series + 8, _LINE_HEIGHT * most + 8)


def margin_band(axis: IntervalAxis, *, scale: alt.Scale) -> alt.Chart:
    """A band around what is neutral, in which values are called no difference; no wider than the plot."""
    low, high = scale.domain
    centre, margin = axis.neutral or 0.0, axis.margin or 0.0
    ends = {"low": [max(low, centre - margin)], "high": [min(high, centre + margin)]}
    band: alt.Chart = alt.Chart(pl.DataFrame(ends)).mark_rect(color="@open-soft")
    drawn: alt.Chart = band.encode(alt.X("low:Q", scale=scale), alt.X2("high:Q"))
    return drawn


def plotted_fields(estimate: Estimate) -> dict[str, Any]:
    """What plots know of an estimate."""
    return {
        "value": estimate.value,
        "low": estimate.low,
        "high": estimate.high,
        "n": estimate.n,
        "reason": None if has_interval(estimate) else estimate.reason,
    }


def interval_layers(
    rows: Sequence[dict[str, Any]],
    *,
    scale: alt.Scale,
    x: alt.X,
    y: alt.Y,
    offset: alt.YOffset,
    runs: Sequence[ShownRun],
    tips: Sequence[alt.Tooltip],
) -> list[alt.Chart]:
    """Bars for intervals, filled marks for values that have one, hollow marks for those that have none."""
    colour, shape = run_scales(runs)
    figures = [alt.Tooltip(f"{name}:Q", format=".3f") for name in ("value", "low", "high")]
    counted = alt.Tooltip("n:Q", title="Counted")
    sure = [row for row in rows if row["reason"] is None]
    unsure = [row for row in rows if row["reason"] is not None]
    layers = []
    if sure:
        base = alt.Chart(without_nan(sure))
        low = alt.X("low:Q", scale=scale)
        layers += [
            base.mark_rule(strokeWidth=3, opacity=0.5).encode(low, alt.X2("high:Q"), y, offset, colour),
            base.mark_point(filled=True, size=70, opacity=1).encode(
                x, y, offset, colour, shape, tooltip=[*tips, *figures, counted]
            ),
        ]
    if unsure:
        why = alt.Tooltip("reason:N", title="No interval")
        layers.append(
            alt.Chart(without_nan(unsure))
            .mark_point(size=70, **HOLLOW)
            .encode(x, y, offset, colour, shape, tooltip=[*tips, figures[0], counted, why])
        )
    return layers


def left_out(runs: Sequence[ShownRun], drawn: Iterable[str], *, reason: str) -> tuple[tuple[str, str], ...]:
    """Runs that a plot does not show."""
    present = set(drawn)
    return tuple((shown.label, reason) for shown in runs if shown.label not in present)


def run_scales(runs: Sequence[ShownRun]) -> tuple[alt.Color, alt.Shape]:
    """The colour and the shape of each run; the legend stands beside the plot."""
    return series_scales("run:N", [(shown.label, shown.mark) for shown in runs])


def series_scales(name: str, marks: Sequence[tuple[str, Mark]]) -> tuple[alt.Color, alt.Shape]:
    """Colours and shapes of named series."""
    domain = [label for label, _ in marks]
    colours = [COLOURS[mark.colour] for _, mark in marks]
    shapes = [SHAPES[mark.shape] for _, mark in marks]
    return (
        alt.Color(name, scale=alt.Scale(domain=domain, range=colours), legend=None),
        alt.Shape(name, scale=alt.Scale(domain=domain, range=shapes), legend=None),
    )


def bounds(estimate: Estimate) -> tuple[float, float, float]:
    """Value and both ends of the interval."""
    return estimate.value, estimate.low, estimate.high


def half_bits(values: Sequence[float]) -> list[float]:
    """Half bits around the values and 0."""
    finite = [0.0, *(value for value in values if math.isfinite(value))]
    low, high = math.floor(min(finite) * 2) / 2, math.ceil(max(finite) * 2) / 2
    return [low, high] if low < high else [-0.5, 0.5]


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
    return top_axis(SIGNED_LABEL)


def name_axis(field_name: str, names: Sequence[str]) -> alt.Y:
    """One row per name, in this order."""
    return alt.Y(field_name, sort=list(names), title=None, axis=alt.Axis(labelLimit=110, ticks=False))


def without_nan(rows: Sequence[dict[str, Any]]) -> pl.DataFrame:
    """A frame in which what is undefined is null, because plots are JSON and JSON has no NaN."""
    return pl.DataFrame(list(rows)).with_columns(pl.selectors.float().fill_nan(None))


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


def in_lines(name: str) -> str:
    """A name in lines that fit beside a plot on a narrow screen."""
    return _LINE_BREAK.join(textwrap.wrap(name, _LONGEST_LINE, break_long_words=False)) or name
