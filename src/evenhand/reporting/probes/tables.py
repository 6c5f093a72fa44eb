"""Tables of probes: as people read them, as CSV, and as plain values for JSON."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl
from pydantic import BaseModel

from evenhand.core.estimates import Estimate
from evenhand.core.probes import GENDERS
from evenhand.instruments.malor.results import MalorResult
from evenhand.instruments.runner import ItemsResult
from evenhand.reporting.numbers import NOT_THERE, show
from evenhand.reporting.probes.malor_words import spread_of
from evenhand.reporting.tables import TableFormat, latex_table, markdown_table
from evenhand.store.coverage import Coverage, coverage_of
from evenhand.store.figures import Figure
from evenhand.store.run import Run

PROBE_COLUMNS = (
    "Run",
    "Test",
    "Experiment",
    "Direction",
    "Value",
    "Base rate",
    "Spread",
    "Skipped",
    "Coverage",
)

_TEXT_COLUMNS = 4

_COLUMNS_OF_SOME = ("Experiment", "Direction", "Base rate", "Spread", "Coverage")
"""Which not every test fills in."""

_PROBE_SCHEMA = {
    "run": pl.String(),
    "language": pl.String(),
    "test": pl.String(),
    "experiment": pl.String(),
    "direction": pl.String(),
    "measure": pl.String(),
    "value": pl.Float64(),
    "low": pl.Float64(),
    "high": pl.Float64(),
    "signed_mean": pl.Float64(),
    "signed_mean_low": pl.Float64(),
    "signed_mean_high": pl.Float64(),
    "spread": pl.Float64(),
    "spread_low": pl.Float64(),
    "spread_high": pl.Float64(),
    "skipped": pl.Int64(),
    "coverage": pl.Float64(),
}


@dataclass(frozen=True, slots=True)
class MainFigure:
    """The figure that a result is reported by; an instrument that gives several has a row for each."""

    run: Run
    figure: Figure
    result: Any

    @property
    def malor(self) -> MalorResult | None:
        """The result, if it is of MALoR."""
        return self.result if isinstance(self.result, MalorResult) else None

    @property
    def experiment(self) -> str | None:
        """What the figure is about: an experiment or the groups of a gap; None if it is about everything."""
        if self.malor:
            return self.malor.experiment
        return self.figure.group[-1] if len(self.figure.group) > 1 else None

    @property
    def coverage(self) -> Coverage | None:
        """Of the items that the figure is about; None for a run of a model."""
        return coverage_of(self.run.coverage, self.figure.group) if self.run.coverage else None

    @property
    def skipped(self) -> int:
        """How much was skipped, for all reasons together."""
        return sum(row.count for row in getattr(self.result, "skipped", ()))


def main_figures_of(runs: Sequence[Run]) -> list[MainFigure]:
    """The headline figures of runs of any instrument, with the results that they come from."""
    rows = []
    for run in runs:
        headline = [figure for figure in run.figures if figure.is_headline]
        results = run.results if len(run.results) == len(headline) else [run.results[0]] * len(headline)
        rows += [MainFigure(run, figure, result) for figure, result in zip(headline, results, strict=True)]
    return rows


def probe_frame(runs: Sequence[Run]) -> pl.DataFrame:
    """One row per result, with every figure in full."""
    rows: list[dict[str, object]] = []
    for main in main_figures_of(runs):
        row: dict[str, object] = {
            "run": main.run.name,
            "language": main.run.record.language,
            "test": main.run.record.instrument,
            "measure": main.figure.measure.replace("_", " "),
            "value": main.figure.estimate.value,
            "low": main.figure.estimate.low,
            "high": main.figure.estimate.high,
            "skipped": main.skipped,
            "experiment": main.experiment,
            "coverage": main.coverage and main.coverage.percent,
        }
        if main.malor:
            spread = spread_of(main.malor)
            row |= {
                "direction": main.malor.direction,
                "signed_mean": main.malor.signed_mean.value,
                "signed_mean_low": main.malor.signed_mean.low,
                "signed_mean_high": main.malor.signed_mean.high,
                "spread": spread.value,
                "spread_low": spread.low,
                "spread_high": spread.high,
            }
        rows.append(row)
    return pl.DataFrame(rows, schema=_PROBE_SCHEMA).with_columns(pl.selectors.float().fill_nan(None))


def probe_table(runs: Sequence[Run]) -> tuple[list[str], list[list[str]]]:
    """A header, and one row per result as people read it; columns that none of the tests has are left out."""
    rows = probe_rows(runs)
    kept = [
        place
        for place, column in enumerate(PROBE_COLUMNS)
        if column not in _COLUMNS_OF_SOME or any(row[place] != NOT_THERE for row in rows)
    ]
    return [PROBE_COLUMNS[place] for place in kept], [[row[place] for place in kept] for row in rows]


def probe_rows(runs: Sequence[Run]) -> list[list[str]]:
    """One row per result under ``PROBE_COLUMNS``, as people read it."""
    return [
        [
            main.run.name,
            main.run.record.instrument,
            main.experiment or NOT_THERE,
            main.malor.direction if main.malor else NOT_THERE,
            show(main.figure.estimate, digits=2 if main.figure.unit else 3),
            show(main.malor.signed_mean, signed=True) if main.malor else NOT_THERE,
            show(spread_of(main.malor)) if main.malor else NOT_THERE,
            f"{main.skipped:,}",
            main.coverage.short if main.coverage else NOT_THERE,
        ]
        for main in main_figures_of(runs)
    ]


def format_probe_table(runs: Sequence[Run] | Run, form: TableFormat | str = TableFormat.MARKDOWN) -> str:
    """The results of probes as CSV (every figure), Markdown or LaTeX (as people read them)."""
    listed = [runs] if isinstance(runs, Run) else list(runs)
    if TableFormat(form) is TableFormat.CSV:
        return probe_frame(listed).write_csv()
    header, rows = probe_table(listed)
    titles = {run.name: run.title for run in listed}
    rows = [[titles[name], *cells] for name, *cells in rows]
    if TableFormat(form) is TableFormat.MARKDOWN:
        return markdown_table(header, rows)
    texts = sum(column in PROBE_COLUMNS[:_TEXT_COLUMNS] for column in header)
    return latex_table(header, rows, text_columns=texts)


def probe_json(runs: Sequence[Run]) -> dict[str, Any]:
    """The results of probes as plain values; what is undefined is None."""
    return {"runs": [_entry(run, result) for run in runs for result in run.results]}


def _entry(run: Run, result: BaseModel) -> dict[str, Any]:
    run_columns = {"name": run.name, "test": run.record.instrument}
    if isinstance(result, ItemsResult):
        figures = {figure.key: figure.estimate.model_dump(mode="json") for figure in run.figures}
        return {**run_columns, **result.model_dump(mode="json"), "figures": figures}
    if not isinstance(result, MalorResult):
        return {**run_columns, **result.model_dump(mode="json")}
    return {
        **run_columns,
        "experiment": result.experiment,
        "direction": result.direction,
        **({} if result.groups == GENDERS else {"groups": list(result.groups)}),
        "MALoR": _bounds(result.MALoR),
        "base_rate": _bounds(result.signed_mean),
        "spread": _bounds(spread_of(result)),
        "sense": _bounds(result.sense),
        **_reasons(result),
        "signed_mean": _or_null(result.signed_mean.value),
        "occupations": [
            {
                "occupation": lean.occupation,
                "log2_ratio": _or_null(lean.log2_ratio.value),
                "p_male": _or_null(lean.p_male),
                "p_female": _or_null(lean.p_female),
            }
            for lean in result.occupations
        ],
        "skipped": sum(row.count for row in result.skipped),
    }


def _reasons(result: MalorResult) -> dict[str, Any]:
    """Why there is no figure, and what it would be if the model knew the words."""
    if result.MALoR.defined:
        return {}
    ungated = {name: _bounds(own) for name, own in (result.ungated or {}).items()}
    return {"reason": result.MALoR.reason, **({"ungated": ungated} if ungated else {})}


def _bounds(estimate: Estimate) -> dict[str, float | None]:
    return {bound: _or_null(estimate.bound(bound)) for bound in ("value", "low", "high")}


def _or_null(value: float) -> float | None:
    return value if math.isfinite(value) else None
