"""Tables and JSON of probes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from evenhand.core.estimates import Estimate
from evenhand.instruments.probe_results import (
    CosineResult,
    CrowsPairsResult,
    DirectBiasResult,
    MalorResult,
    ProbeResult,
    Skipped,
)
from evenhand.report.association.tables import TableFormat, latex_table, markdown_table, show
from evenhand.runs.run import Run

PROBE_COLUMNS = ("Run", "Test", "Experiment", "Direction", "Value", "Signed mean", "Skipped")

NOT_THERE = "–"

_TEXT_COLUMNS = 4

_SCHEMA = {
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
    "skipped": pl.Int64(),
}


@dataclass(frozen=True, slots=True)
class MainFigure:
    """What a result comes to, and the value at which nothing is stereotypical, where there is one."""

    measure: str
    estimate: Estimate
    digits: int
    neutral: float | None


def main_figure(result: ProbeResult) -> MainFigure:
    """The figure that a result is reported by."""
    match result:
        case MalorResult():
            return MainFigure("MALoR", result.MALoR, 2, 0.0)
        case CrowsPairsResult():
            return MainFigure("score", result.all.score, 2, 50.0)
        case CosineResult():
            return MainFigure("cosine", result.mean, 3, 1.0)
        case DirectBiasResult():
            return MainFigure("direct bias", result.direct_bias, 3, None)


def count_skipped(skipped: Sequence[Skipped]) -> int:
    """How much was skipped, for all reasons together."""
    return sum(row.count for row in skipped)


def probe_frame(runs: Sequence[Run]) -> pl.DataFrame:
    """A row a result, with every figure in full."""
    rows: list[dict[str, object]] = []
    for run, result in _results(runs):
        figure = main_figure(result)
        row: dict[str, object] = {
            "run": run.name,
            "language": run.record.language,
            "test": run.record.instrument,
            "measure": figure.measure,
            "value": figure.estimate.value,
            "low": figure.estimate.low,
            "high": figure.estimate.high,
            "skipped": count_skipped(result.skipped),
        }
        if isinstance(result, MalorResult):
            row |= {
                "experiment": result.experiment,
                "direction": result.direction,
                "signed_mean": result.signed_mean.value,
                "signed_mean_low": result.signed_mean.low,
                "signed_mean_high": result.signed_mean.high,
            }
        rows.append(row)
    return pl.DataFrame(rows, schema=_SCHEMA).with_columns(pl.selectors.float().fill_nan(None))


def probe_rows(runs: Sequence[Run]) -> list[list[str]]:
    """A row a result under ``PROBE_COLUMNS``, as people read it."""
    return [_row(run, result) for run, result in _results(runs)]


def format_probe_table(runs: Sequence[Run] | Run, form: TableFormat | str = TableFormat.MARKDOWN) -> str:
    """The results of probes as CSV (every figure), Markdown or LaTeX (as people read them)."""
    listed = [runs] if isinstance(runs, Run) else list(runs)
    match TableFormat(form):
        case TableFormat.CSV:
            return probe_frame(listed).write_csv()
        case TableFormat.MARKDOWN:
            return markdown_table(PROBE_COLUMNS, probe_rows(listed))
        case TableFormat.LATEX:
            return latex_table(PROBE_COLUMNS, probe_rows(listed), text_columns=_TEXT_COLUMNS)


def probe_json(runs: Sequence[Run]) -> dict[str, Any]:
    """The results of probes as plain values; what is undefined is None."""
    return {"runs": [_entry(run, result) for run, result in _results(runs)]}


def _results(runs: Sequence[Run]) -> list[tuple[Run, ProbeResult]]:
    return [(run, result) for run in runs for result in run.results]


def _row(run: Run, result: ProbeResult) -> list[str]:
    figure = main_figure(result)
    told = [NOT_THERE, NOT_THERE]
    signed = NOT_THERE
    if isinstance(result, MalorResult):
        told = [result.experiment, result.direction]
        signed = show(result.signed_mean, signed=True)
    return [
        run.name,
        run.record.instrument,
        *told,
        show(figure.estimate, digits=figure.digits),
        signed,
        f"{count_skipped(result.skipped):,}",
    ]


def _entry(run: Run, result: ProbeResult) -> dict[str, Any]:
    known = {"name": run.name, "test": run.record.instrument}
    if not isinstance(result, MalorResult):
        return {**known, **result.model_dump(mode="json")}
    estimate = result.MALoR
    return {
        **known,
        "experiment": result.experiment,
        "direction": result.direction,
        "MALoR": {bound: _or_null(estimate.bound(bound)) for bound in ("value", "low", "high")},
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
        "skipped": count_skipped(result.skipped),
    }


def _or_null(value: float) -> float | None:
    return value if math.isfinite(value) else None
