"""MALoR and CrowS-Pairs before and after: the same questions to both models, and paired intervals."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import polars as pl

from evenhand.core.errors import ComparisonError
from evenhand.core.estimates import Estimate
from evenhand.instruments.malor.estimates import malor_estimate
from evenhand.instruments.malor.measure import Floats, LogRatios, malor, mean_absolute_lean
from evenhand.runs.certificates import BiasRow, Ends
from evenhand.runs.probe_runs import ProbeRun
from evenhand.stats.differences import NO_ITEM_DIFFERS, difference_of_means
from evenhand.stats.intervals import Interval
from evenhand.stats.resampling import Resampling
from evenhand.stats.two_way import TWO_WAY, two_way_interval

EXPERIMENT_WORDS = {"he-she": "he and she", "his-her": "his and her", "names": "first names"}

NO_CELL = "no occupation could be asked of both models"


def malor_row(before: ProbeRun, after: ProbeRun, experiment: str, *, resampling: Resampling) -> BiasRow:
    """MALoR of an experiment in both models, over the occupations and structures that both answered."""
    first, second = shared_ratios(before, after, experiment)
    own = [malor_estimate(ratios, resampling=resampling) for ratios in (first, second)]
    return BiasRow(
        measure=f"MALoR {experiment}",
        title=f"Lean of occupations: {EXPERIMENT_WORDS.get(experiment, experiment)}",
        before=own[0].value,
        after=own[1].value,
        difference=malor_difference(first, second, resampling=resampling),
        before_interval=ends(own[0]),
        after_interval=ends(own[1]),
        neutral=0.0,
        unit="bits",
        experiment=experiment,
    )


def malor_difference(before: LogRatios, after: LogRatios, *, resampling: Resampling) -> Estimate:
    """MALoR after minus before; occupations and structures are resampled, the same ones for both models."""
    known = np.isfinite(before.values)
    rows, columns = known.any(axis=1), known.any(axis=0)
    first, second = (LogRatios(ratios.values[rows][:, columns]) for ratios in (before, after))
    if not first.values.size:
        return Estimate.undefined(NO_CELL)

    def difference(occupations: Floats, structures: Floats) -> Floats:
        return mean_absolute_lean(second.leans(structures), occupations) - mean_absolute_lean(
            first.leans(structures), occupations
        )

    if np.array_equal(first.values, second.values, equal_nan=True):
        interval = Interval(0.0, 0.0, NO_ITEM_DIFFERS)
    else:
        interval = two_way_interval(
            difference, rows=first.occupations, columns=first.structures, resampling=resampling
        )
    if interval.method == TWO_WAY:
        interval = replace(interval, method=f"paired {TWO_WAY}")
    return interval.around(
        malor(second) - malor(first), n=int(np.isfinite(first.values).sum()), clusters=first.occupations
    )


def shared_ratios(before: ProbeRun, after: ProbeRun, experiment: str) -> tuple[LogRatios, LogRatios]:
    """Log-ratios of both models, a row an occupation and a column a structure; NaN where either has none."""
    sides = [_cells(run, experiment) for run in (before, after)]
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


def _cells(run: ProbeRun, experiment: str) -> pl.DataFrame:
    chosen = (pl.col("experiment") == experiment) & (pl.col("direction") == "gender")
    return run.scores.filter(chosen).select("occupation", "structure", "log2_ratio")


def pairs_row(before: ProbeRun, after: ProbeRun, *, resampling: Resampling) -> BiasRow:
    """CrowS-Pairs in both models, over the pairs that both scored."""
    shared = (
        before.scores.select("pair", "preference")
        .join(after.scores.select("pair", "preference"), on="pair", suffix="_after")
        .drop_nulls()
    )
    if shared.is_empty():
        raise ComparisonError(f"{before.name} and {after.name} have no pair in common that both could score.")
    first, second = (100 * shared[name].to_numpy() for name in ("preference", "preference_after"))
    value, interval = difference_of_means(first, second, weights=np.ones(len(first)), resampling=resampling)
    scores = [_pairs_score(run) for run in (before, after)]
    return BiasRow(
        measure="CrowS-Pairs",
        title="CrowS-Pairs: the more stereotypical sentence is the likelier",
        before=float(first.mean()),
        after=float(second.mean()),
        difference=interval.around(value, n=len(first), clusters=len(first)),
        before_interval=ends(scores[0]),
        after_interval=ends(scores[1]),
        neutral=50.0,
        unit="points",
    )


def _pairs_score(run: ProbeRun) -> Estimate:
    (result,) = [result for result in run.results if result.kind == "crows-pairs"]
    return result.all.score


def ends(estimate: Estimate) -> Ends:
    """The interval of an estimate, or why it has none."""
    reason = estimate.reason if math.isnan(estimate.low) else None
    return Ends(low=estimate.low, high=estimate.high, reason=reason)
