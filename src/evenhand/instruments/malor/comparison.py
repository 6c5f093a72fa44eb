"""MALoR and its parts, base rate and spread, of two models over what both answered."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import polars as pl

from evenhand.core.errors import ComparisonError
from evenhand.core.estimates import Estimate
from evenhand.core.experiments import UNTRAINED_EXPERIMENTS, Experiment, in_order
from evenhand.core.probes import held_out_half
from evenhand.core.protocols import MALOR_V1
from evenhand.instruments.malor.estimates import (
    LogRatios,
    base_rate,
    malor,
    malor_estimate,
    signed_estimate,
    spread,
    spread_estimate,
)
from evenhand.instruments.malor.questions import TERM_DIRECTIONS, Floats, ProbeDirection
from evenhand.stats.crossed import (
    absolute_difference_interval,
    crossed_mean_interval,
    deviation_difference_interval,
    p_value_of,
)
from evenhand.stats.intervals import Interval
from evenhand.stats.resampling import Resampling
from evenhand.stats.significance import NO_ITEM_DIFFERS
from evenhand.store.certificate_bias import ALL_PROBES, HELD_OUT, BiasRow
from evenhand.store.certificate_bias import SPREAD as SPREAD_ROW
from evenhand.store.comparison import (
    ALL_ITEMS,
    Comparison,
    ComparisonOptions,
    Difference,
    change_of_distance,
    comparison_of,
)
from evenhand.store.run import Run

GENDER = ProbeDirection.GENDER.value
EXPERIMENT_WORDS = {
    Experiment.HE_SHE: "he and she",
    Experiment.HIS_HER: "his and her",
    Experiment.NAMES: "first names",
    Experiment.HIM_HER: "him and her",
    Experiment.HIMSELF_HERSELF: "himself and herself",
    Experiment.MAN_WOMAN: "man and woman",
    Experiment.KIN: "fathers and mothers, sons and daughters and the like",
    Experiment.TITLES: "kings and queens and the like",
}
REVERSED = "reversed"
"""What a certificate calls the direction in which the occupation is hidden and the gendered term given."""

NO_CELL = "no occupation could be asked of both models"

_GROUP = ["experiment", "direction"]

_CELL = [*_GROUP, "occupation", "structure"]


class EstimatesLeans(Protocol):
    """Gives a figure over leans with its interval."""

    def __call__(self, ratios: LogRatios, /, *, resampling: Resampling) -> Estimate: ...  # noqa: D102


class ComparesLeans(Protocol):
    """Gives the interval of a figure after minus before, over the same occupations and structures."""

    def __call__(self, before: Floats, after: Floats, /, *, confidence: float) -> Interval: ...  # noqa: D102


@dataclass(frozen=True, slots=True)
class LeanMeasure:
    """One figure over the leans of occupations, and what a certificate calls it."""

    name: str
    title: str
    value: Callable[[LogRatios], float]
    estimate: EstimatesLeans
    change: ComparesLeans
    row_name: str
    row_title: str

    def difference(self, before: LogRatios, after: LogRatios, *, resampling: Resampling) -> Estimate:
        """After minus before, over the occupations and structures that both answered.

        The interval of MALoR and of the spread is of the difference without noise, and is stretched to hold the value.
        """
        first, second = asked_of_both(before, after)
        if not first.values.size:
            return Estimate.undefined(NO_CELL)
        value = self.value(second) - self.value(first)
        interval = self._interval(first, second, confidence=resampling.confidence)
        if math.isfinite(interval.low):
            interval = replace(interval, low=min(value, interval.low), high=max(value, interval.high))
        return interval.around(value, n=int(np.isfinite(first.values).sum()), clusters=first.occupations)

    def p_value(self, before: LogRatios, after: LogRatios) -> float:
        """The level at which the interval of the difference just excludes 0."""
        first, second = asked_of_both(before, after)
        return p_value_of(lambda confidence: self._interval(first, second, confidence=confidence))

    def _interval(self, first: LogRatios, second: LogRatios, *, confidence: float) -> Interval:
        if np.array_equal(first.values, second.values, equal_nan=True):
            return Interval(0.0, 0.0, NO_ITEM_DIFFERS)
        return self.change(first.values, second.values, confidence=confidence)


def _change_of_mean(before: Floats, after: Floats, /, *, confidence: float) -> Interval:
    return crossed_mean_interval(after - before, confidence=confidence)


MALOR_MEASURE = LeanMeasure(
    "MALoR",
    "Mean absolute log-ratio",
    malor,
    malor_estimate,
    absolute_difference_interval,
    "MALoR",
    "Lean of occupations",
)
BASE_RATE = LeanMeasure(
    "signed_mean",
    "Mean log-ratio",
    base_rate,
    signed_estimate,
    _change_of_mean,
    "base rate",
    "Base rate, the lean that all occupations share",
)
SPREAD = LeanMeasure(
    "spread",
    "Spread of occupations",
    spread,
    spread_estimate,
    deviation_difference_interval,
    SPREAD_ROW,
    "Spread over occupations, the lean that differs by occupation",
)
_MEASURES = {measure.name: measure for measure in (MALOR_MEASURE, BASE_RATE, SPREAD)}


def compare_malor(first: Run, second: Run, options: ComparisonOptions) -> Comparison:
    """The difference of MALoR and of its parts for each experiment and direction, second minus first."""
    refuse_different_questions(first, second)
    chosen = [_MEASURES[name] for name in options.measures or _MEASURES if name in _MEASURES] or [
        MALOR_MEASURE
    ]
    asked = [run.scores.select(_GROUP).unique(maintain_order=True) for run in (first, second)]
    groups = asked[0].join(asked[1], on=_GROUP, how="semi", maintain_order="left")
    rows = []
    for experiment, direction in groups.iter_rows():
        before, after = shared_ratios(first, second, experiment, direction=direction)
        if np.isfinite(before.values).any():
            rows += [
                _row(measure, experiment, direction, before, after, resampling=options.resampling)
                for measure in chosen
            ]
    sides = [run.scores.drop_nulls("log2_ratio").select(_CELL) for run in (first, second)]
    shared = len(sides[0].join(sides[1], on=_CELL))
    return comparison_of(first, second, rows, n=shared, left_out=len(sides[0]) + len(sides[1]) - 2 * shared)


def malor_bias_rows(before: Run, after: Run, *, resampling: Resampling) -> dict[str, BiasRow]:
    """For a certificate: MALoR of each experiment and direction, over what both models answered.

    Its two parts follow it: a base rate is not a stereotype, and evening it out leaves occupations as far apart as
    they were. Mitigations train the direction in which the gendered term is hidden; the other one, where it was asked,
    is no experiment that was trained on. Where there are enough structures and occupations, figures are over the half
    of both that no training may see, and figures over all of them stand beside them.
    """
    divided = _divided_experiments(before.scores)
    if not divided:
        return _bias_rows(before, after, resampling=resampling)
    held_out = judged_runs(before, after)
    whole = [replace(run, scores=_scores_of(run.scores, divided)) for run in (before, after)]
    headline = {
        key: row.model_copy(
            update={"sample": HELD_OUT if row.untrained_pair or key.split(".")[0] in divided else None}
        )
        for key, row in _bias_rows(*held_out, resampling=resampling).items()
    }
    beside = {
        f"{key}.{ALL_PROBES}": row.model_copy(
            update={
                "measure": f"{row.measure}, {ALL_PROBES}",
                "part_of": row.part_of and f"{row.part_of}, {ALL_PROBES}",
                "sample": ALL_PROBES,
            }
        )
        for key, row in _bias_rows(*whole, resampling=resampling).items()
    }
    return headline | beside


def judged_runs(before: Run, after: Run) -> tuple[Run, Run]:
    """Both runs with what a certificate judges: the held-out half, where there is enough to be divided."""
    divided = _divided_experiments(before.scores)
    if not divided:
        return before, after
    first, second = (replace(run, scores=_held_out_scores(run.scores, divided)) for run in (before, after))
    return first, second


def _divided_experiments(scores: pl.DataFrame) -> list[str]:
    """Experiments that mitigations are trained for, with a half of structures and occupations that none sees."""
    if not held_out_half(scores["occupation"].unique().to_list()):
        return []
    return [
        experiment.value
        for experiment in in_order(map(Experiment, scores["experiment"].unique(maintain_order=True)))
        if experiment not in UNTRAINED_EXPERIMENTS
        and held_out_half(_scores_of(scores, [experiment])["text"].unique().to_list())
    ]


def _scores_of(scores: pl.DataFrame, experiments: Sequence[str]) -> pl.DataFrame:
    return scores.filter(pl.col("experiment").is_in([str(experiment) for experiment in experiments]))


def _held_out_scores(scores: pl.DataFrame, divided: Sequence[str]) -> pl.DataFrame:
    """The held-out half of divided experiments, and all of other trained ones.

    Of pairs that no mitigation is trained for, all structures are unseen, so that they keep them all, with the
    occupations of the held-out half.
    """
    occupations = held_out_half(scores["occupation"].unique().to_list())
    structures = [
        text
        for experiment in divided
        for text in held_out_half(_scores_of(scores, [experiment])["text"].unique().to_list())
    ]
    is_divided = pl.col("experiment").is_in(divided)
    is_whole = ~pl.col("experiment").is_in([own.value for own in UNTRAINED_EXPERIMENTS]) & ~is_divided
    return scores.filter(
        is_whole
        | (pl.col("occupation").is_in(list(occupations)) & (~is_divided | pl.col("text").is_in(structures)))
    )


def _bias_rows(before: Run, after: Run, *, resampling: Resampling) -> dict[str, BiasRow]:
    options = ComparisonOptions(measures=tuple(_MEASURES), resampling=resampling)
    rows = {}
    for row in compare_malor(before, after, options).differences:
        measure = _MEASURES[row.measure]
        is_trained_way = row.group in TERM_DIRECTIONS
        ratios = shared_ratios(before, after, row.task, direction=row.group)
        first, second = (measure.estimate(side, resampling=resampling) for side in ratios)
        asked = row.task if is_trained_way else f"{row.task} {REVERSED}"
        experiment = Experiment(row.task)
        is_trained_pair = experiment not in UNTRAINED_EXPERIMENTS
        words = EXPERIMENT_WORDS.get(experiment, experiment.value)
        rows[row.key] = BiasRow.of(
            row.model_copy(update={"first": first.value, "second": second.value}),
            (first, second),
            measure=f"{measure.row_name} {asked}",
            title=f"{measure.row_title}: {words if is_trained_way else f'{words}, the {row.group} hidden'}",
            experiment=row.task if is_trained_way and is_trained_pair else None,
            untrained_pair=None if is_trained_pair else row.task,
            part_of=None if measure is MALOR_MEASURE else f"{MALOR_MEASURE.row_name} {asked}",
            direction=None if is_trained_way else row.group,
        )
    return rows


def refuse_different_questions(first: Run, second: Run) -> None:
    """Refuse runs under two protocols, and those that share no cell of occupation and structure."""
    protocols = [
        run.record.protocol.name if run.record.protocol else MALOR_V1.name for run in (first, second)
    ]
    if protocols[0] != protocols[1]:
        raise ComparisonError(
            f"{first.name} was measured under {protocols[0]} and {second.name} under {protocols[1]}. Measure both "
            "under one protocol."
        )
    if first.scores.select(_CELL).join(second.scores.select(_CELL), on=_CELL).is_empty():
        raise ComparisonError(f"{first.name} and {second.name} were not asked the same questions.")


def _row(
    measure: LeanMeasure,
    experiment: str,
    direction: str,
    before: LogRatios,
    after: LogRatios,
    *,
    resampling: Resampling,
) -> Difference:
    first, second = asked_of_both(before, after)
    values = measure.value(first), measure.value(second)
    difference = measure.difference(before, after, resampling=resampling)
    distance = difference
    if measure is BASE_RATE:  # the others are distances from neutral themselves
        total = crossed_mean_interval(first.values + second.values, confidence=resampling.confidence)
        distance = change_of_distance(values, difference, total, neutral=0.0)
    return Difference(
        task=experiment,
        group=direction or ALL_ITEMS,
        measure=measure.name,
        first=values[0],
        second=values[1],
        difference=difference,
        p_value=measure.p_value(before, after),
        test="level at which the paired interval excludes 0",
        neutral=0.0,
        unit="bits",
        title=measure.title,
        distance=distance,
    )


def asked_of_both(before: LogRatios, after: LogRatios) -> tuple[LogRatios, LogRatios]:
    """Without occupations and structures that have no answer; both have answers in the same cells."""
    known = np.isfinite(before.values)
    rows, columns = known.any(axis=1), known.any(axis=0)
    return LogRatios(before.values[rows][:, columns]), LogRatios(after.values[rows][:, columns])


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
    names = TERM_DIRECTIONS if direction in TERM_DIRECTIONS else (direction,)
    chosen = (pl.col("experiment") == experiment) & pl.col("direction").is_in(names)
    return run.scores.filter(chosen).select("occupation", "structure", "log2_ratio")
