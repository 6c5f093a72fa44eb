"""Plots of occupations: where each leans, how that changed, and how it goes with the world as it is."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import altair as alt
import polars as pl

from evenhand.core.estimates import Estimate
from evenhand.instruments.direct_bias.instrument import DirectBiasResult, ProfessionCosine
from evenhand.instruments.malor.results import Correlation, MalorResult, OccupationLean
from evenhand.reporting.group_words import words_for
from evenhand.reporting.plotting import (
    COLOURS,
    HOLLOW,
    MOST_ROWS,
    ROW_HEIGHT,
    SHAPES,
    SIGNED_LABEL,
    IntervalAxis,
    Mark,
    bounds,
    half_bits,
    name_axis,
    neutral_rule,
    signed_axis,
    specification,
    without_nan,
)
from evenhand.reporting.probes.direct_bias_words import ends_of_direction
from evenhand.reporting.probes.malor_words import spread_of

NO_FIELD = "no field"
_ABOVE_AND_BELOW = 12

BAR_HEIGHT = 14
"""Pixels for the two bars of an occupation in one run."""

NOTHING_PLANTED: Mapping[str, float] = MappingProxyType({})


def drawn_leans(leans: Sequence[OccupationLean]) -> list[OccupationLean]:
    """The occupations that are drawn, from the farthest towards the first group to the farthest towards the second."""
    defined = [lean for lean in leans if lean.log2_ratio.defined]
    strongest = sorted(defined, key=lambda lean: -abs(lean.log2_ratio.value))[:MOST_ROWS]
    return sorted(strongest, key=lambda lean: -lean.log2_ratio.value)


def lean_plot(
    result: MalorResult, mark: Mark, *, planted: Mapping[str, float] = NOTHING_PLANTED
) -> dict[str, Any]:
    """One bar per occupation from the base rate that all share, with its interval, and what was planted.

    To the right is the first group. The solid line is the base rate, the band around it is the spread.
    """
    leans = drawn_leans(result.occupations)
    if not leans:
        return {}
    base_rate, spread = result.signed_mean, spread_of(result)
    middle = base_rate.value if base_rate.defined else 0.0
    own_planted = {lean.occupation: planted[lean.occupation] for lean in leans if lean.occupation in planted}
    ends = [*own_planted.values(), *(end for lean in leans for end in bounds(lean.log2_ratio))]
    scale = alt.Scale(domain=half_bits([middle - spread.value, middle + spread.value, *ends]), nice=False)
    x = alt.X("bits:Q", title=words_for(result.groups).axis, scale=scale, axis=signed_axis())
    y = name_axis("occupation:N", [lean.occupation for lean in leans])
    tips = [
        alt.Tooltip("occupation:N", title="Occupation"),
        alt.Tooltip("field:N", title="Field"),
        *[alt.Tooltip(f"{name}:Q", format="+.2f") for name in ("bits", "low", "high")],
        alt.Tooltip("apart:Q", title="From the base rate", format="+.2f"),
        alt.Tooltip("n:Q", title="Sentences"),
    ]
    colour, shape = COLOURS[mark.colour], SHAPES[mark.shape]
    rows = [
        {**_lean_row(lean), "base_rate": middle, "apart": lean.log2_ratio.value - middle} for lean in leans
    ]
    sure, unsure = ([row for row in rows if (row["reason"] is None) is kind] for kind in (True, False))
    layers = [*_base_rate_layers(base_rate, spread, scale=scale)]
    base = alt.Chart(without_nan(rows))
    layers.append(
        base.mark_rule(strokeWidth=9, opacity=0.3, color=colour).encode(
            x, alt.X2("base_rate:Q"), y, tooltip=tips
        )
    )
    if sure:
        own = alt.Chart(without_nan(sure))
        layers += [
            own.mark_rule(color="@ink", strokeWidth=1.2).encode(
                alt.X("low:Q", scale=scale), alt.X2("high:Q"), y
            ),
            own.mark_point(filled=True, size=62, opacity=1, color=colour, shape=shape).encode(
                x, y, tooltip=tips
            ),
        ]
    if unsure:
        layers.append(
            alt.Chart(without_nan(unsure))
            .mark_point(size=62, color=colour, shape=shape, **HOLLOW)
            .encode(x, y, tooltip=[*tips, alt.Tooltip("reason:N", title="No interval")])
        )
    layers += [*_planted_ticks(own_planted, y, scale), neutral_rule(0.0, scale=scale)]
    return specification(alt.layer(*layers), height=_ABOVE_AND_BELOW + ROW_HEIGHT * len(leans))


def _base_rate_layers(base_rate: Estimate, spread: Estimate, *, scale: alt.Scale) -> list[alt.Chart]:
    """A line where the occupations have their middle, and a band as wide as they differ from it on average."""
    if not base_rate.defined:
        return []
    frame = pl.DataFrame(
        {
            "base_rate": [base_rate.value],
            "from": [base_rate.value - spread.value],
            "to": [base_rate.value + spread.value],
        }
    )
    base = alt.Chart(frame)
    tips = [
        alt.Tooltip("base_rate:Q", title="Base rate", format="+.2f"),
        alt.Tooltip("from:Q", title="Band from", format="+.2f"),
        alt.Tooltip("to:Q", title="Band to", format="+.2f"),
    ]
    x = alt.X("from:Q", scale=scale)
    return [
        base.mark_rect(color="@grid-strong", opacity=0.28).encode(x, alt.X2("to:Q"), tooltip=tips),
        base.mark_rule(color="@muted", strokeWidth=2).encode(alt.X("base_rate:Q", scale=scale), tooltip=tips),
    ]


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


def change_plot(before: MalorResult, after: MalorResult, *, marks: tuple[Mark, Mark]) -> dict[str, Any]:
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
    scale = alt.Scale(domain=half_bits(both), nice=False)
    y = name_axis("occupation:N", [lean.occupation for lean in leans])
    tips = [
        alt.Tooltip("occupation:N", title="Occupation"),
        alt.Tooltip("before:Q", title="First", format="+.2f"),
        alt.Tooltip("after:Q", title="Second", format="+.2f"),
    ]
    base = alt.Chart(pl.DataFrame(pairs))
    x = alt.X("before:Q", scale=scale, title=words_for(before.groups).axis, axis=signed_axis())
    joined = base.mark_rule(color="@grid-strong", strokeWidth=2.5).encode(x, alt.X2("after:Q"), y)
    places = (x, alt.X("after:Q", scale=scale))
    points = [
        base.mark_point(
            shape=SHAPES[mark.shape], filled=True, color=COLOURS[mark.colour], size=60, opacity=1
        ).encode(place, y, tooltip=tips)
        for mark, place in zip(marks, places, strict=True)
    ]
    return specification(
        alt.layer(neutral_rule(0.0, scale=scale), joined, *points),
        height=_ABOVE_AND_BELOW + ROW_HEIGHT * len(leans),
    )


def probability_plot(results: Sequence[tuple[str, MalorResult]]) -> dict[str, Any]:
    """Bars of the probability of both sides for each occupation, of one run or of two: P(male), P(female).

    Where there are two runs the bars of the first are pale, and those of the second stand below them.
    """
    groups = results[0][1].groups
    drawn = [lean.occupation for lean in drawn_leans(results[0][1].occupations)]
    rows = [
        {
            "occupation": lean.occupation,
            "run": label,
            "side": f"P({side})",
            "bar": f"{place} {number}",
            "probability": value,
        }
        for place, (label, result) in enumerate(results)
        for lean in result.occupations
        for number, (side, value) in enumerate(zip(groups, (lean.p_male, lean.p_female), strict=True))
        if lean.occupation in drawn and math.isfinite(value)
    ]
    if not rows:
        return {}
    sides = [f"P({side})" for side in groups]
    labels = [label for label, _ in results]
    x = alt.X(
        "probability:Q", title="Probability, mean over structures", scale=alt.Scale(zero=True, nice=True)
    )
    y = name_axis("occupation:N", drawn)
    colour = alt.Color("side:N", scale=alt.Scale(domain=sides, range=list(COLOURS[:2])), legend=None)
    opacity = alt.Opacity(
        "run:N", scale=alt.Scale(domain=labels, range=[0.45, 1.0][-len(labels) :]), legend=None
    )
    tips = [
        alt.Tooltip("occupation:N", title="Occupation"),
        alt.Tooltip("run:N", title="Run"),
        alt.Tooltip("side:N", title="Side"),
        alt.Tooltip("probability:Q", title="Probability", format=".3g"),
    ]
    bars = alt.Chart(pl.DataFrame(rows)).mark_bar()
    chart = bars.encode(x, y, alt.YOffset("bar:N"), colour, opacity, tooltip=tips)
    return specification(alt.layer(chart), height=_ABOVE_AND_BELOW + BAR_HEIGHT * len(results) * len(drawn))


def share_plot(result: MalorResult, correlation: Correlation, *, mark: Mark) -> dict[str, Any]:
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
    scale = alt.Scale(domain=half_bits([float(row["bits"]) for row in rows]), nice=False)
    y = alt.Y(
        "bits:Q",
        title=f"Bits towards {words_for(result.groups).sides[0]}",
        scale=scale,
        axis=alt.Axis(format="~f", labelExpr=SIGNED_LABEL, tickCount=6),
    )
    tips = [
        alt.Tooltip("occupation:N", title="Occupation"),
        alt.Tooltip("field:N", title="Field"),
        alt.Tooltip("share:Q", title="Women, percent", format=".1f"),
        alt.Tooltip("bits:Q", title="Bits", format="+.2f"),
    ]
    dots = (
        alt.Chart(without_nan(rows))
        .mark_point(filled=True, size=70, opacity=0.9, color=COLOURS[mark.colour], shape=SHAPES[mark.shape])
        .encode(x, y, tooltip=tips)
    )
    neutral = (
        alt.Chart(pl.DataFrame({"neutral": [0.0]}))
        .mark_rule(color="@ink", strokeDash=[5, 4], strokeWidth=1.4)
        .encode(alt.Y("neutral:Q", scale=scale))
    )
    return specification(alt.layer(neutral, dots), height=300)


def _lean_row(lean: OccupationLean) -> dict[str, Any]:
    return {
        "occupation": lean.occupation,
        "field": lean.field or NO_FIELD,
        "bits": lean.log2_ratio.value,
        "low": lean.log2_ratio.low,
        "high": lean.log2_ratio.high,
        "reason": None if math.isfinite(lean.log2_ratio.low) else lean.log2_ratio.reason,
        "n": lean.n,
    }


def drawn_professions(professions: Sequence[ProfessionCosine]) -> list[ProfessionCosine]:
    """The professions that are drawn, from the male side to the female one."""
    measured = [row for row in professions if math.isfinite(row.cosine)]
    strongest = sorted(measured, key=lambda row: -abs(row.cosine))[:MOST_ROWS]
    return sorted(strongest, key=lambda row: -row.cosine)


def profession_plot(result: DirectBiasResult, mark: Mark) -> dict[str, Any]:
    """One bar per profession, to the right on the male side; a band as wide as what random directions give."""
    drawn = drawn_professions(result.professions)
    if not drawn:
        return {}
    chance = result.baseline.value if result.baseline.defined else 0.0
    first, second = ends_of_direction(result)
    axis = IntervalAxis("", neutral=0.0, step=0.05, lowest=-1.0, highest=1.0)
    scale = alt.Scale(domain=axis.domain([chance, -chance, *(row.cosine for row in drawn)]), nice=False)
    frame = pl.DataFrame([{"profession": row.profession, "cosine": row.cosine, "n": row.n} for row in drawn])
    x = alt.X(
        "cosine:Q",
        scale=scale,
        title=f"← {second} · cosine · {first} →",
        axis=signed_axis(),
    )
    y = name_axis("profession:N", [row.profession for row in drawn])
    tips = [
        alt.Tooltip("profession:N", title="Profession"),
        alt.Tooltip("cosine:Q", title="Cosine", format="+.3f"),
        alt.Tooltip("n:Q", title="Sentences", format=",d"),
    ]
    bars = (
        alt.Chart(frame)
        .mark_bar(color=COLOURS[mark.colour], opacity=0.75, height=11)
        .encode(x, y, tooltip=tips)
    )
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
