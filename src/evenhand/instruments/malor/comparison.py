"""MALoR of two models over the occupations and structures that both answered."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import polars as pl

from evenhand.core.errors import ComparisonError
from evenhand.core.estimates import Estimate
from evenhand.instruments.malor.estimates import LogRatios, malor, malor_estimate
from evenhand.instruments.malor.questions import Floats, ProbeDirection
from evenhand.runs.certificates import BiasRow
from evenhand.runs.comparison import ALL_ITEMS, Comparison, ComparisonOptions, Difference, comparison_of
from evenhand.runs.run import Run
from evenhand.stats.crossed import absolute_difference_interval
from evenhand.stats.intervals import Interval
from evenhand.stats.resampling import Resampling
from evenhand.stats.significance import NO_ITEM_DIFFERS, clustered_sign_flip

GENDER = ProbeDirection.GENDER.value
EXPERIMENT_WORDS = {"he-she": "he and she", "his-her": "his and her", "names": "first names"}
NO_CELL = "no occupation could be asked of both models"

_CELL = ["experiment", "direction", "occupation", "structure"]


def compare_malor(first: Run, second: Run, options: ComparisonOptions) -> Comparison:
    """The difference of MALoR for each experiment and direction, second minus first."""
    refuse_different_questions(first, second)
    groups = first.scores.select("experiment", "direction").unique(maintain_order=True)
    rows = []
    for experiment, direction in groups.iter_rows():
        before, after = shared_ratios(first, second, experiment, direction=direction)
        if np.isfinite(before.values).any():
            rows.append(_row(experiment, direction, before, after, resampling=options.resampling))
    sides = [run.scores.drop_nulls("log2_ratio").select(_CELL) for run in (first, second)]
    shared = len(sides[0].join(sides[1], on=_CELL))
    return comparison_of(first, second, rows, n=shared, left_out=len(sides[0]) + len(sides[1]) - 2 * shared)


def malor_bias_rows(before: Run, after: Run, *, resampling: Resampling) -> dict[str, BiasRow]:
    """For a certificate: MALoR of each experiment where the gendered term is hidden, over what both models answered."""
    comparison = compare_malor(before, after, ComparisonOptions(resampling=resampling))
    rows = {}
    for row in comparison.differences:
        if row.group != GENDER:
            continue
        first, second = (
            malor_estimate(ratios, resampling=resampling) for ratios in shared_ratios(before, after, row.task)
        )
        rows[row.key] = BiasRow.of(
            row.model_copy(update={"first": first.value, "second": second.value}),
            (first, second),
            measure=f"{row.measure} {row.task}",
            title=f"Lean of occupations: {EXPERIMENT_WORDS.get(row.task, row.task)}",
            experiment=row.task,
        )
    return rows


def refuse_different_questions(first: Run, second: Run) -> None:
    """Refuse runs that share no cell of occupation and structure."""
    if first.scores.select(_CELL).join(second.scores.select(_CELL), on=_CELL).is_empty():
        raise ComparisonError(f"{first.name} and {second.name} were not asked the same questions.")


def _row(
    experiment: str, direction: str, before: LogRatios, after: LogRatios, *, resampling: Resampling
) -> Difference:
    return Difference(
        task=experiment,
        group=direction or ALL_ITEMS,
        measure="MALoR",
        first=malor(before),
        second=malor(after),
        difference=malor_difference(before, after, resampling=resampling),
        p_value=clustered_sign_flip(_absolute_leans(after) - _absolute_leans(before), resampling=resampling),
        neutral=0.0,
        unit="bits",
        title="Mean absolute log-ratio",
    )


def _absolute_leans(ratios: LogRatios) -> Floats:
    """How far each occupation leans to either side."""
    known = np.isfinite(ratios.values).any(axis=1)
    leans: Floats = np.abs(np.nanmean(ratios.values[known], axis=1))
    return leans


def malor_difference(before: LogRatios, after: LogRatios, *, resampling: Resampling) -> Estimate:
    """MALoR after minus before, over the same occupations and structures.

    The interval is of the difference without noise, and is stretched to hold the value.
    """
    known = np.isfinite(before.values)
    rows, columns = known.any(axis=1), known.any(axis=0)
    first, second = (LogRatios(ratios.values[rows][:, columns]) for ratios in (before, after))
    if not first.values.size:
        return Estimate.undefined(NO_CELL)
    value = malor(second) - malor(first)
    if np.array_equal(first.values, second.values, equal_nan=True):
        interval = Interval(0.0, 0.0, NO_ITEM_DIFFERS)
    else:
        interval = absolute_difference_interval(first.values, second.values, confidence=resampling.confidence)
    if math.isfinite(interval.low):
        interval = replace(interval, low=min(value, interval.low), high=max(value, interval.high))
    return interval.around(value, n=int(np.isfinite(first.values).sum()), clusters=first.occupations)


def shared_ratios(
    before: Run, after: Run, experiment: str, *, direction: str = GENDER
) -> tuple[LogRatios, LogRatios]:
    """Log-ratios of both models, one row per occupation and one column per structure; NaN where either has none."""
    sides = [_cells(run, experiment, direction) for run in (before, after)]
    cells = sides[0].join(sides[1], on=["occupation", "structure"], how="inner", suffix="_after")
    if cells.is_empty():
        raise ComparisonError(
            f"{before.name} and {after.name} were not asked the same questions of the experiment {experiment}."
        )
    occupations = list(dict.fromkeys(sides[0]["occupation"].to_list()))
    structures = list(dict.fromkeys(sides[0]["structure"].to_list()))
    tables = [np.full((len(occupations), len(structures)), np.nan) for _ in sides]
    row_of = {name: row for row, name in enumerate(occupations)}
    column_of = {number: column for column, number in enumerate(structures)}
    for occupation, structure, first, second in cells.iter_rows():
        if first is not None and second is not None:
            place = row_of[occupation], column_of[structure]
            tables[0][place], tables[1][place] = first, second
    return LogRatios(tables[0]), LogRatios(tables[1])


def _cells(run: Run, experiment: str, direction: str) -> pl.DataFrame:
    chosen = (pl.col("experiment") == experiment) & (pl.col("direction") == direction)
    return run.scores.filter(chosen).select("occupation", "structure", "log2_ratio")
