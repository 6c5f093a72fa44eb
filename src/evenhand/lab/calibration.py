"""Calibrate measures: compare what they read on the lab's models with what was planted there."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

import numpy as np
from scipy import stats

from evenhand.core.errors import EvenhandError, UnknownNameError
from evenhand.core.items import BLANK, OVERALL, Task
from evenhand.core.planted_bias import PlantedBias, ProbePart
from evenhand.instruments.association.measures import MEASURES, Measure
from evenhand.instruments.malor.instrument import MALOR
from evenhand.lab.items import lab_items
from evenhand.lab.malor_calibration import LEAST_SPEARMAN, MOST_ERROR, WEAK_DOSES, calibrate_malor
from evenhand.lab.power import NEUTRAL_SETS, Doses, ScoredRun, detectable, false_positives
from evenhand.lab.targets import association_targets, item_targets
from evenhand.lab.world import World
from evenhand.store.calibration import (
    Calibration,
    Check,
    DosePoint,
    Expectation,
    MeasureCalibration,
    Response,
)
from evenhand.store.records import EnvironmentRecord
from evenhand.store.run import Run

TASKS = (OVERALL, Task.INTRASENTENCE.value, Task.INTERSENTENCE.value)

LEAST_SPEARMAN_AWAY = 0.95
MOST_FALSE_POSITIVES = 0.1
FARTHEST_NEUTRAL = 0.25
LEAST_RECOVERED = 0.75


@dataclass(frozen=True, slots=True)
class _ItemReading:
    """One item on one model, in bits."""

    tilt: float
    """By how much more or less than the dose was planted in the item."""
    difference: float
    """Read minus planted."""
    candidate_first: bool


def calibrate(
    runs: Sequence[Run],
    probes: Mapping[ProbePart, Sequence[Run]] = MappingProxyType({}),
    *,
    measures: tuple[str, ...] | None = None,
) -> Calibration:
    """Compare runs of models with planted bias with what was planted.

    Args:
        runs: Audits of lab models on the lab's items, of any families, strengths and seeds.
        probes: Probes of lab models, by the part of the lab's structures, occupations and names that was asked.
        measures: Which measures; all that say how they must respond if not given.
    """
    expectations = chosen_expectations(measures)
    by_family: defaultdict[str, list[tuple[PlantedBias, Run]]] = defaultdict(list)
    for run in runs:
        planted = run.record.model.planted if run.record.model else None
        if planted is None:
            raise EvenhandError(f"{run.name} is not an audit of a model with planted bias.")
        by_family[planted.family].append((planted, run))
    if not by_family:
        raise EvenhandError("A calibration needs at least one run.")
    first = runs[0].record
    return Calibration(
        environment=EnvironmentRecord.current(),
        language=first.dataset.language,
        strengths=tuple(sorted({planted.strength for own in by_family.values() for planted, _ in own})),
        seeds=len({planted.seed for own in by_family.values() for planted, _ in own}),
        items=dict(first.scored),
        measures=tuple(
            _calibrated(MEASURES.get(name), expectation, family, task, own)
            for name, expectation in expectations.items()
            if name in MEASURES
            for family, own in by_family.items()
            for task in TASKS
            if all(task in run.result.tasks for _, run in own)
            and (not expectation.in_bits or _task_in_bits(family, task))
        )
        + (calibrate_malor(probes, expectations[MALOR.title]) if MALOR.title in expectations else ()),
    )


def chosen_expectations(names: Sequence[str] | None = None) -> dict[str, Expectation]:
    """How measures must respond to planted bias: these, or all that say so themselves.

    Raises:
        UnknownNameError: If there is no such measure, or it does not say how it must respond.
    """
    sources = {name: measure.expectation for name, measure in MEASURES.items()}
    sources[MALOR.title] = MALOR.expectation
    expectations = {name: expectation for name, expectation in sources.items() if expectation is not None}
    for name in names or ():
        if name not in expectations:
            raise UnknownNameError("measure", name, expectations)
    return {name: expectation for name, expectation in expectations.items() if not names or name in names}


def _task_in_bits(family: str, task: str) -> bool:
    """Where log-ratios are those of the planted attributes: a next-sentence head gives the odds of something else."""
    return family != "masked" or task == Task.INTRASENTENCE.value


def _calibrated(
    measure: Measure,
    expectation: Expectation,
    family: str,
    task: str,
    runs: Sequence[tuple[PlantedBias, Run]],
) -> MeasureCalibration:
    points = tuple(
        DosePoint(
            strength=planted.strength,
            seed=planted.seed,
            estimate=run.result.tasks[task].estimate(measure.name),
            target=_target(planted, task, measure.name),
        )
        for planted, run in runs
    )
    doses = _doses(runs, task)
    neutral = doses.get(0.0, ())
    items = sum(run.result.tasks[task].n for _, run in runs[:1])
    readings = _items_in_bits(runs, task) if expectation.in_bits else []
    calibrated = MeasureCalibration(
        measure=measure.name,
        family=family,
        task=task,
        part=ProbePart.TAUGHT,
        response=expectation.response,
        points=points,
        spearman=_spearman(points, expectation.response),
        slope=_slope(points, expectation.response),
        neutral_point=_neutral_point(points, measure.neutral),
        error=_item_error(readings) if expectation.in_bits else math.nan,
        false_positives=false_positives(measure, neutral, items=items),
        neutral_sets=NEUTRAL_SETS if neutral and measure.neutral is not None else 0,
        detectable=detectable(measure, doses),
        checks=(),
    )
    at_the_start = _recovered_at_the_start(readings) if expectation.in_bits else math.nan
    checks = _checks(calibrated, expectation, at_the_start=at_the_start)
    return calibrated.model_copy(update={"checks": tuple(checks)})


def _target(planted: PlantedBias, task: str, measure: str) -> float:
    """What a measure should read; NaN for measures of other packages, whose definitions the lab does not have."""
    return _targets_of(World(planted.language, planted.strength))[task].get(measure, math.nan)


_targets_of = cache(association_targets)


def _doses(runs: Sequence[tuple[PlantedBias, Run]], task: str) -> Doses:
    doses: defaultdict[float, list[ScoredRun]] = defaultdict(list)
    for planted, run in sorted(runs, key=lambda entry: (entry[0].strength, entry[0].seed)):
        doses[planted.strength].append(ScoredRun.of(run, task))
    return dict(doses)


def _spearman(points: Sequence[DosePoint], response: Response) -> float:
    """Mean over seeds of the rank correlation between what was planted and what was read."""
    if response is Response.STAYS:
        return math.nan
    by_seed: defaultdict[int, list[DosePoint]] = defaultdict(list)
    for point in points:
        by_seed[point.seed].append(point)
    correlations = []
    for own in by_seed.values():
        values = [point.estimate.value for point in own]
        if len(set(values)) < 2 or len({_dose(point, response) for point in own}) < 2:
            continue
        correlations.append(stats.spearmanr([_dose(point, response) for point in own], values).statistic)
    return float(np.mean(correlations)) if correlations else math.nan


def _dose(point: DosePoint, response: Response) -> float:
    """The axis on which a measure should rise: the strength, or its nearness to zero."""
    return -abs(point.strength) if response is Response.FALLS_AWAY else point.strength


def _slope(points: Sequence[DosePoint], response: Response) -> float:
    weak = [point for point in points if abs(point.strength) <= WEAK_DOSES + 1e-9]
    if len({_dose(point, response) for point in weak}) < 2:
        return math.nan
    return float(
        np.polyfit([_dose(point, response) for point in weak], [point.estimate.value for point in weak], 1)[0]
    )


def _neutral_point(points: Sequence[DosePoint], neutral: float | None) -> float:
    """Where the mean dose-response curve crosses the neutral value."""
    if neutral is None:
        return math.nan
    strengths = sorted({point.strength for point in points})
    if len(strengths) < 2:
        return math.nan
    means = [
        float(np.mean([point.estimate.value for point in points if point.strength == at])) for at in strengths
    ]
    segments = list(
        zip(zip(strengths, means, strict=True), list(zip(strengths, means, strict=True))[1:], strict=False)
    )
    crossing = [pair for pair in segments if (pair[0][1] - neutral) * (pair[1][1] - neutral) <= 0]
    (low, below), (high, above) = (crossing or sorted(segments, key=_distance_from_zero))[0]
    return math.nan if below == above else low + (neutral - below) / (above - below) * (high - low)


def _distance_from_zero(segment: tuple[tuple[float, float], tuple[float, float]]) -> float:
    (low, _), (high, _) = segment
    return abs(low + high)


def _items_in_bits(runs: Sequence[tuple[PlantedBias, Run]], task: str) -> list[_ItemReading]:
    """Planted and read bits of every item at doses up to 2 bits."""
    readings = []
    for planted, run in runs:
        if abs(planted.strength) > WEAK_DOSES + 1e-9:
            continue
        world = World(planted.language, planted.strength)
        targets = item_targets(world)
        contexts = {entry.item.id: entry.item.context for entry in lab_items(planted.language)}
        scored = ScoredRun.of(run, task)
        for item, read in zip(scored.items, scored.log_ratio, strict=True):
            readings.append(
                _ItemReading(
                    tilt=targets[item].bits - planted.strength,
                    difference=float(read) - targets[item].bits,
                    candidate_first=contexts[item].startswith(BLANK),
                )
            )
    return readings


def _item_error(readings: Sequence[_ItemReading]) -> float:
    """Mean absolute difference in bits between planted and read, item by item."""
    return float(np.mean([abs(reading.difference) for reading in readings])) if readings else math.nan


def _recovered_at_the_start(readings: Sequence[_ItemReading]) -> float:
    """Of what items differ by, the share that is read where the candidate is the first word.

    A score that drops a sentence's first token is right everywhere else, and reads none of it there.
    """
    first = [reading for reading in readings if reading.candidate_first]
    if len({reading.tilt for reading in first}) < 2:
        return math.nan
    slope = np.polyfit([reading.tilt for reading in first], [reading.difference for reading in first], 1)[0]
    return 1 + float(slope)


def _checks(calibrated: MeasureCalibration, expectation: Expectation, *, at_the_start: float) -> list[Check]:
    checks = []
    if expectation.at_least is not None:
        lowest = min(point.estimate.value for point in calibrated.points)
        checks.append(Check.at_least("lowest value at any dose", lowest, expectation.at_least))
    if expectation.response is Response.RISES:
        from_neutral = abs(calibrated.neutral_point)
        checks += [
            Check.at_least("Spearman correlation", calibrated.spearman, LEAST_SPEARMAN),
            Check.at_most("distance of the neutral point from 0, in bits", from_neutral, FARTHEST_NEUTRAL),
            Check.at_most("false positives", calibrated.false_positives, MOST_FALSE_POSITIVES),
        ]
    if expectation.response is Response.FALLS_AWAY:
        checks.append(
            Check.at_least(
                "Spearman correlation with nearness to 0", calibrated.spearman, LEAST_SPEARMAN_AWAY
            )
        )
    if expectation.in_bits:
        checks.append(Check.at_most("mean absolute error, in bits", calibrated.error, MOST_ERROR))
    if not math.isnan(at_the_start):
        checks.append(
            Check.at_least(
                "share of the items' differences read at a sentence's start", at_the_start, LEAST_RECOVERED
            )
        )
    return checks
