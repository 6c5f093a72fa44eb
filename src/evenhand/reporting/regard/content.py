"""What texts are about, on the page of regard: lexicons, flags, and occupations as slopes between groups or runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import polars as pl

from evenhand.core.errors import ComparisonError
from evenhand.core.estimates import Estimate
from evenhand.instruments.regard.content import shifts_between
from evenhand.instruments.regard.flag_rates import FlagRates
from evenhand.instruments.regard.mentions import MentionShares
from evenhand.instruments.regard.occupation_shares import OccupationReport, OccupationShift
from evenhand.reporting.plotting import (
    IntervalAxis,
    Plot,
    PlottedEstimate,
    ShownRun,
    interval_plot,
    specification,
)
from evenhand.reporting.regard.words import mention_contradictions
from evenhand.reporting.rendering import render
from evenhand.reporting.views import Section, estimate_columns, rows_csv

SHARE_OF_TEXTS = IntervalAxis("Texts in percent", neutral=None, step=5.0, lowest=0.0, highest=100.0)

MOST_SLOPES = 10
"""Occupations in a plot: those that differ most."""

_TEMPLATE = "regard_content.html.j2"
_SLOPES_HEIGHT = 340
_LABEL_ROWS = 22
"""Names that fit above each other."""
_LINE = "@series-1"


@dataclass(frozen=True, slots=True)
class ContentView:
    """The sections about what texts are about, and their plots; none for runs that were not searched."""

    sections: tuple[Section, ...]
    plots: tuple[Plot, ...]


def content_view(runs: Sequence[ShownRun]) -> ContentView:
    """Lexicons, flags and occupations of runs."""
    mentions = [own for own in (lexicon_section(runs), flag_section(runs)) if own is not None]
    occupations = occupation_section(runs)
    return ContentView(
        sections=(*(section for section, _ in mentions), *((occupations[0],) if occupations else ())),
        plots=(*(plot for _, plot in mentions), *(occupations[1] if occupations else ())),
    )


def lexicon_section(runs: Sequence[ShownRun]) -> tuple[Section, Plot] | None:
    """Shares of texts of each category, by group; None where no run has any."""
    rows = [
        row
        for shown in runs
        if shown.run.result.lexicons is not None
        for own in shown.run.result.lexicons.categories
        for row in _mention_rows(shown, own.category, own.shares, corrected=own.corrected)
    ]
    notes = [
        note
        for shown in runs
        if shown.run.result.lexicons is not None
        for own in shown.run.result.lexicons.categories
        for note in mention_contradictions(_named(shown, own.category, runs), own.shares)
    ]
    return _mention_section(
        runs,
        rows,
        name="lexicons",
        about="Shares of texts with words of each category, by group.",
        notes=notes,
    )


def flag_section(runs: Sequence[ShownRun]) -> tuple[Section, Plot] | None:
    """Shares of texts that have each flag, by group; None where no run has flags."""
    rows = [
        row
        for shown in runs
        for own in shown.run.result.flags
        for row in _mention_rows(shown, own.flag, own.shares)
    ]
    labels = [row for shown in runs for own in shown.run.result.flags for row in _label_rows(shown, own)]
    notes = [
        note
        for shown in runs
        for own in shown.run.result.flags
        for note in mention_contradictions(_named(shown, own.flag, runs), own.shares)
    ]
    return _mention_section(
        runs,
        rows,
        name="flags",
        about="Shares of texts that have each flag, by group.",
        notes=notes,
        labels=labels,
    )


def _named(shown: ShownRun, category: str, runs: Sequence[ShownRun]) -> str:
    """A category, with its run where there are several."""
    return f"{shown.label}, {category}" if len(runs) > 1 else category


def _label_rows(shown: ShownRun, rates: FlagRates) -> Iterator[dict[str, Any]]:
    """One row per group and label: how many texts have the flag, of all with it and of all with the label."""
    for group, own in rates.labels.items():
        for label, count in own.counts.items():
            yield {
                "run": shown.label,
                "category": rates.flag,
                "group": group,
                "label": label,
                "count": count,
                "of_flagged": own.of_flagged[label],
                "of_label": own.of_label[label],
            }


def _mention_section(
    runs: Sequence[ShownRun],
    rows: Sequence[Mapping[str, Any]],
    *,
    name: str,
    about: str,
    notes: Sequence[str],
    labels: Sequence[Mapping[str, Any]] = (),
) -> tuple[Section, Plot] | None:
    if not rows:
        return None
    plotted = [
        PlottedEstimate(row["run"], f"{row['category']}, {row['group']}", row["share"]) for row in rows
    ]
    plot = Plot(
        id=f"regard-{name}",
        spec=interval_plot(plotted, SHARE_OF_TEXTS, runs=runs),
        label=about,
        runs=tuple(runs),
    )
    reviewed = any(row["corrected"] is not None for row in rows)
    several = len(runs) > 1
    section = Section(
        id=f"regard-{name}",
        title=name.capitalize(),
        html=render(
            _TEMPLATE,
            "mentions",
            name=name,
            plot=plot,
            rows=rows,
            several=several,
            is_reviewed=reviewed,
            notes=notes,
            labels=labels,
        ),
        csv=rows_csv(
            [
                {
                    "run": row["run"],
                    "category": row["category"],
                    "group": row["group"],
                    **estimate_columns(row["share"]),
                    "after_review": None if row["corrected"] is None else row["corrected"].value,
                }
                for row in rows
            ]
        ),
    )
    return section, plot


def occupation_section(runs: Sequence[ShownRun]) -> tuple[Section, tuple[Plot, ...]] | None:
    """Occupations by group in each run, and what shifts from the first run to the others; None where there are none."""
    views = [
        _occupation_view(place, shown)
        for place, shown in enumerate(runs)
        if shown.run.result.occupations is not None
    ]
    if not views:
        return None
    shifts = [
        view for place, shown in enumerate(runs[1:], start=1) for view in _shifts(place, runs[0], shown)
    ]
    section = Section(
        id="regard-occupations",
        title="Occupations",
        html=render(_TEMPLATE, "occupations", views=views, shifts=shifts, several=len(runs) > 1),
        csv=rows_csv([row for shown in runs for row in _occupation_csv(shown)]),
    )
    plots = tuple(view["plot"] for view in (*views, *shifts))
    return section, tuple(plot for plot in plots if plot.spec)


def slope_plot(slopes: Mapping[str, Sequence[float]], places: Sequence[str]) -> dict[str, Any]:
    """One line per name from place to place, with its name at its higher end.

    Args:
        slopes: Values in percent by name, one for each place.
        places: What values are of: groups, or before and after.
    """
    if not slopes:
        return {}
    points: list[dict[str, Any]] = [
        {"name": name, "place": place, "value": value}
        for name, values in slopes.items()
        for place, value in zip(places, values, strict=True)
    ]
    highest = max(1.0, *(own["value"] for own in points))
    falling = {name: values[0] for name, values in slopes.items() if values[0] > values[-1]}
    rising = {name: values[-1] for name, values in slopes.items() if name not in falling}
    least = highest / _LABEL_ROWS
    names: list[tuple[dict[str, float], str, dict[str, Any]]] = [
        (_spread(falling, least), places[0], {"align": "right", "dx": -10}),
        (_spread(rising, least), places[-1], {"align": "left", "dx": 10}),
    ]
    top = max(highest, *(height for heights, _, _ in names for height in heights.values()))
    x = alt.X("place:N", sort=list(places), title=None, axis=alt.Axis(labelAngle=0, orient="top"))
    scale = alt.Scale(domain=[0, top], nice=True)
    lines = (
        alt.Chart(pl.DataFrame(points))
        .mark_line(color=_LINE, strokeWidth=2, point=alt.OverlayMarkDef(color=_LINE, size=50))
        .encode(
            x,
            alt.Y("value:Q", title="Texts in percent", scale=scale),
            alt.Detail("name:N"),
            tooltip=[
                alt.Tooltip("name:N", title="Occupation"),
                alt.Tooltip("place:N", title="Of"),
                alt.Tooltip("value:Q", title="Percent", format=".1f"),
            ],
        )
    )
    labels = [
        alt.Chart(
            pl.DataFrame(
                [{"name": name, "place": place, "height": height} for name, height in heights.items()]
            )
        )
        .mark_text(color="@ink", fontSize=11, **beside)
        .encode(x, alt.Y("height:Q", scale=scale), text="name:N")
        for heights, place, beside in names
        if heights
    ]
    return specification(alt.layer(lines, *labels), height=_SLOPES_HEIGHT)


def _spread(values: Mapping[str, float], least: float) -> dict[str, float]:
    """Values by name, moved up where they are closer together than names can stand."""
    heights: dict[str, float] = {}
    below = -least
    for name in sorted(values, key=lambda name: values[name]):
        below = heights[name] = max(values[name], below + least)
    return heights


def _mention_rows(
    shown: ShownRun, category: str, shares: MentionShares, *, corrected: Mapping[str, Estimate] | None = None
) -> Iterator[dict[str, Any]]:
    """One row per group: how often its texts mention something, and how it differs from the groups after it."""
    for group, share in shares.groups.items():
        yield {
            "run": shown.label,
            "category": category,
            "group": group,
            "share": share,
            "corrected": None if corrected is None else corrected[group],
            "gaps": [gap for gap in shares.gaps if gap.first == group],
        }


def _occupation_view(place: int, shown: ShownRun) -> dict[str, Any]:
    report: OccupationReport = shown.run.result.occupations
    shares = {own.occupation: own.shares.groups for own in report.shares}
    slopes = {name: [own.value for own in groups.values()] for name, groups in shares.items()}
    steepest = sorted(slopes, key=lambda name: min(slopes[name]) - max(slopes[name]))[:MOST_SLOPES]
    plot = Plot(
        id=f"regard-occupations-{place}",
        spec=slope_plot({name: slopes[name] for name in steepest}, list(report.top)),
        label=f"The occupations in which groups differ most, {shown.label}.",
    )
    return {"label": shown.label, "plot": plot, "report": report, "shares": shares}


def _shifts(place: int, first: ShownRun, second: ShownRun) -> Iterator[dict[str, Any]]:
    """For each group, what shifts from one run to another; nothing for runs that cannot be held against each other."""
    try:
        shifts = shifts_between(first.run, second.run)
    except ComparisonError:
        return
    by_group: dict[str, list[OccupationShift]] = {}
    for own in shifts:
        by_group.setdefault(own.group, []).append(own)
    for number, (group, rows) in enumerate(by_group.items()):
        slopes = {own.occupation: (own.before.value, own.after.value) for own in rows[:MOST_SLOPES]}
        yield {
            "title": f"{group}: from {first.label} to {second.label}",
            "rows": rows,
            "plot": Plot(
                id=f"regard-shifts-{place}-{number}",
                spec=slope_plot(slopes, (first.label, second.label)),
                label=f"The occupations of {group} that shift most from {first.label} to {second.label}.",
            ),
        }


def _occupation_csv(shown: ShownRun) -> Iterator[dict[str, Any]]:
    report: OccupationReport | None = shown.run.result.occupations
    for own in () if report is None else report.shares:
        for group, share in own.shares.groups.items():
            yield {
                "run": shown.label,
                "occupation": own.occupation,
                "group": group,
                **estimate_columns(share),
            }
