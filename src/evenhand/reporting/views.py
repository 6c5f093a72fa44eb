"""Views: what a page shows of the runs of one instrument.

An instrument has a view of its own if one is registered under its name, here or by another package (entry point
``evenhand.views``). Any other instrument is shown through its figures.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl
from markupsafe import Markup

from evenhand.core.estimates import Estimate
from evenhand.core.registry import Registry
from evenhand.reporting.numbers import decimals, measure_words
from evenhand.reporting.plotting import (
    Plot,
    PlottedEstimate,
    ShownRun,
    axis_for,
    bounds,
    interval_plot,
    left_out,
)
from evenhand.reporting.rendering import render
from evenhand.reporting.words import Interpretation, headline_figures, interpret_figures
from evenhand.store.calibration import Calibration
from evenhand.store.comparison import ALL_ITEMS
from evenhand.store.figures import Figure

_WHOLE = 100.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A part of a page with a title, a link, and its figures as CSV."""

    id: str
    title: str
    html: Markup
    csv: str = ""
    """Nothing where there is nothing to download."""
    has_csv_script: bool = False
    """Whether a script of the view makes the CSV, from data that the page has anyway."""
    is_interactive: bool = False
    """Whether it follows the controls for task and run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """Values of many terms in several runs: one row per term, one column per run."""

    id: str
    title: str
    term: str
    """What a row is: a target term, an occupation."""
    neutral: float
    reach: float
    """The distance from neutral at which a cell has its full colour."""
    digits: int
    rows: tuple[tuple[str, tuple[Estimate | None, ...]], ...]
    lede: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """What a page shows of the runs of one instrument."""

    interpretations: tuple[tuple[Interpretation, ...], ...]
    """What each run says, in the order of the runs."""
    sections: tuple[Section, ...] = ()
    plots: tuple[Plot, ...] = ()
    matrices: tuple[Matrix, ...] = ()
    notices: tuple[str, ...] = ()
    """What must be known before anything is read."""
    planted: tuple[tuple[str, str], ...] = ()
    """For runs of models whose bias is known: the run, and what that leads to expect."""
    quality: Markup = Markup("")  # noqa: RUF009 # immutable
    """What is known of the data, and what was skipped."""
    lab: Markup = Markup("")  # noqa: RUF009
    """What the lab found out about the measures."""
    explanations: Mapping[str, str] = field(default_factory=dict)
    """What a measure is, in a sentence or two, by measure."""
    measured: tuple[str, ...] = ()
    """How it was measured; a paragraph each."""
    certainty: tuple[str, ...] = ()
    """Where intervals come from; a paragraph each."""
    limits: tuple[str, ...] = ()
    """What cannot be shown."""
    data: Mapping[str, Any] = field(default_factory=dict)
    """For the scripts."""
    scripts: tuple[str, ...] = ()
    judges_texts: bool = False
    """Whether it is about texts that were written, not about probabilities and preferences."""


VIEWS: Registry[Callable[..., View]] = Registry(
    "view",
    "evenhand.views",
    order=("association", "malor", "crows-pairs", "cosine", "direct-bias", "knowledge", "regard"),
    check=lambda entry: None if callable(entry) else "it cannot be called",
)
"""What makes the view of an instrument: called with its ``ShownRun`` objects and ``calibration``."""


def view_of(runs: Sequence[ShownRun], *, calibration: Calibration | None) -> View:
    """What a page shows of runs of one instrument."""
    name = runs[0].run.record.instrument
    maker = VIEWS.get(name) if name in VIEWS else figures_view
    return maker(runs, calibration=calibration)


@dataclass(frozen=True, slots=True)
class Column:
    """One figure that several runs have, and the scale on which all of them are drawn."""

    measure: str
    title: str
    about: str
    neutral: float | None
    digits: int
    low: float
    high: float
    figures: tuple[Figure | None, ...]
    """One per run."""

    def place(self, value: float) -> float:
        """Where a value lies between the ends of the scale, in percent."""
        return _WHOLE * min(1.0, max(0.0, (value - self.low) / (self.high - self.low)))


def main_figures(runs: Sequence[ShownRun]) -> list[Column]:
    """The few figures that a run is known by, a column each: those of the whole, or one of each experiment."""
    own = [headline_figures(shown.run) for shown in runs]
    keys = dict.fromkeys(key for figures in own for key in figures)
    return [_column([figures.get(key) for figures in own]) for key in keys]


def figure_name(figure: Figure) -> str:
    """What a figure is of, without the words that every figure has."""
    return ", ".join((*_about(figure), measure_words(figure.measure)))


def figures_csv(runs: Sequence[ShownRun]) -> str:
    """Every figure of every run, one row each."""
    return rows_csv(
        [
            {
                "run": shown.label,
                "instrument": shown.run.record.instrument,
                "group": ".".join(figure.group),
                "measure": figure.measure,
                "unit": figure.unit,
                "neutral": figure.neutral,
                **estimate_columns(figure.estimate),
            }
            for shown in runs
            for figure in shown.run.figures
        ]
    )


def estimate_columns(estimate: Estimate) -> dict[str, Any]:
    """An estimate as columns of a table."""
    return {
        "value": estimate.value,
        "low": estimate.low,
        "high": estimate.high,
        "n": estimate.n,
        "reason": estimate.reason,
    }


def rows_csv(rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows as CSV; what is undefined is empty."""
    if not rows:
        return ""
    frame = pl.DataFrame(list(rows), infer_schema_length=None)
    return frame.with_columns(pl.selectors.float().fill_nan(None)).write_csv()


def figures_view(runs: Sequence[ShownRun], *, calibration: Calibration | None = None) -> View:  # noqa: ARG001
    """The view of an instrument that has none of its own: its figures drawn, in a table and in words."""
    instrument = runs[0].run.instrument
    name = f"figures-{runs[0].run.record.instrument}"
    plots = _figure_plots(name, runs)
    summary = getattr(instrument, "summary", "")
    rows = [(shown, figure_name(figure), figure) for shown in runs for figure in shown.run.figures]
    digits = decimals([figure.estimate for _, _, figure in rows])
    section = Section(
        id=name,
        title=instrument.title,
        html=render(
            "figures.html.j2",
            "figures",
            title=instrument.title,
            summary=summary,
            plots=plots,
            rows=rows,
            digits=digits,
            several=len(runs) > 1,
        ),
        csv=figures_csv(runs),
    )
    return View(
        interpretations=tuple(interpret_figures(shown.run) for shown in runs),
        sections=(section,),
        plots=plots,
        measured=(f"{instrument.title}: {summary}",) if summary else (),
    )


def _figure_plots(name: str, runs: Sequence[ShownRun]) -> tuple[Plot, ...]:
    """One plot for each unit and neutral value, since only such figures share an axis."""
    scales = dict.fromkeys((own.unit, own.neutral) for shown in runs for own in shown.run.figures)
    plots = []
    for place, (unit, neutral) in enumerate(scales):
        plotted = [
            PlottedEstimate(shown.label, figure_name(figure), figure.estimate)
            for shown in runs
            for figure in shown.run.figures
            if (figure.unit, figure.neutral) == (unit, neutral)
        ]
        axis = axis_for(unit or "Value", neutral, [own.estimate for own in plotted])
        drawn = [own.run for own in plotted if own.estimate.defined]
        plots.append(
            Plot(
                id=f"{name}-{place}",
                spec=interval_plot(plotted, axis, runs=runs),
                label="Figures with their intervals.",
                runs=tuple(shown for shown in runs if shown.label in drawn),
                left_out=left_out(runs, drawn, reason="none of these figures is defined"),
            )
        )
    return tuple(plot for plot in plots if plot.spec)


def _column(figures: Sequence[Figure | None]) -> Column:
    present = [figure for figure in figures if figure is not None]
    first = present[0]
    estimates = [figure.estimate for figure in present]
    low, high = _scale(first, estimates)
    return Column(
        measure=measure_words(first.measure),
        title=first.title,
        about=", ".join(_about(first)) if len({figure.group for figure in present}) == 1 else "",
        neutral=first.neutral,
        digits=decimals(estimates),
        low=low,
        high=high,
        figures=tuple(figures),
    )


def _scale(figure: Figure, estimates: Sequence[Estimate]) -> tuple[float, float]:
    """A window around the values and what is neutral, in whole steps; the whole of it for the points of one run.

    Points whose neutral value is 0 have a sign, so they have no whole.
    """
    is_share = figure.unit == "points" and figure.neutral != 0
    if is_share and len(estimates) == 1:
        return 0.0, _WHOLE
    axis = axis_for("", figure.neutral, estimates)
    low, high = axis.domain(bound for own in estimates for bound in bounds(own))
    if low == high:
        return low - 1, high + 1
    if is_share:
        return max(0.0, low), min(_WHOLE, high)
    return low, high


def _about(figure: Figure) -> tuple[str, ...]:
    return tuple(part for part in figure.group if part not in (ALL_ITEMS, "overall"))
