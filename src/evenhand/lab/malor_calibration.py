"""Calibrate MALoR: compare what MALoR reads on the lab's models with what was planted there."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache

import numpy as np
from scipy import stats

from evenhand.core.errors import EvenhandError
from evenhand.core.estimates import Estimate
from evenhand.core.experiments import Experiment
from evenhand.core.planted_bias import PlantedBias, ProbePart
from evenhand.instruments.malor.instrument import MALOR
from evenhand.instruments.malor.results import MalorResult
from evenhand.lab.items import probe_part
from evenhand.lab.targets import LeanTarget, malor_targets
from evenhand.lab.world import World
from evenhand.store.calibration import Check, DosePoint, Expectation, MeasureCalibration
from evenhand.store.run import Run

WEAK_DOSES = 2.0
"""Bits. Stronger doses say little about slopes, because a measure can be at its end by then."""

LEAST_SPEARMAN = 0.99
MOST_ERROR = 0.3
MOST_ERROR_OF_A_MODEL = 0.15
"""Bits by which MALoR of any single model may be off, at doses of up to ``WEAK_DOSES``: a mean hides one that is."""

MOST_WHEN_NEUTRAL = 0.03
"""Bits. A trained model is never neutral to the last digit: the lab's models know who is a man and who is a woman, and
have to learn that occupations do not depend on it where nothing was planted. docs/lab.md says what they read."""

PlantedResult = tuple[PlantedBias, MalorResult, LeanTarget]
"""What was planted in a model, what was read on it, and what should have been."""


def calibrate_malor(
    runs: Mapping[ProbePart, Sequence[Run]], expectation: Expectation
) -> tuple[MeasureCalibration, ...]:
    """MALoR on every family, experiment and part of the probes."""
    return tuple(
        calibrated for part, own in runs.items() for calibrated in _part_calibrated(part, own, expectation)
    )


def _part_calibrated(
    part: ProbePart, runs: Sequence[Run], expectation: Expectation
) -> Iterator[MeasureCalibration]:
    groups: defaultdict[tuple[str, str], list[PlantedResult]] = defaultdict(list)
    for run in runs:
        planted = run.record.model.planted if run.record.model else None
        if planted is None:
            raise EvenhandError(f"{run.name} is not a probe of a model with planted bias.")
        targets = _targets_of(World(planted.language, planted.strength), part)
        for result in run.results:
            if isinstance(result, MalorResult):
                target = targets[Experiment(result.experiment)]
                groups[planted.family, result.experiment].append((planted, result, target))
    for (family, experiment), own in groups.items():
        yield _calibrated(family, experiment, part, own, expectation)


@cache
def _targets_of(world: World, part: ProbePart) -> dict[Experiment, LeanTarget]:
    return malor_targets(world, probe_part(part, world.language))


def _calibrated(
    family: str, experiment: str, part: ProbePart, results: Sequence[PlantedResult], expectation: Expectation
) -> MeasureCalibration:
    points = tuple(
        DosePoint(
            strength=planted.strength,
            seed=planted.seed,
            estimate=result.MALoR,
            target=target.malor,
            base_rate=result.signed_mean,
            spread=result.spread,
        )
        for planted, result, target in results
    )
    neutral = [result for planted, result, _ in results if planted.strength == 0]
    calibrated = MeasureCalibration(
        measure=MALOR.title,
        family=family,
        task=experiment,
        part=part,
        response=expectation.response,
        points=points,
        spearman=_spearman(points),
        slope=_slope(points),
        neutral_point=math.nan,
        error=_error(results),
        false_positives=float(np.mean([result.MALoR.low > 0 for result in neutral])) if neutral else math.nan,
        neutral_sets=len(neutral),
        detectable=(),
        checks=(),
    )
    # What a model makes of words that it was not taught is its own: there is nothing that MALoR must read there.
    checks = _checks(calibrated, results) if part is ProbePart.TAUGHT else []
    return calibrated.model_copy(update={"checks": tuple(checks)})


def _spearman(points: Sequence[DosePoint]) -> float:
    """Mean over seeds of the rank correlation between the size of what was planted and what was read."""
    by_seed: defaultdict[int, list[DosePoint]] = defaultdict(list)
    for point in points:
        by_seed[point.seed].append(point)
    correlations = [
        stats.spearmanr(
            [abs(point.strength) for point in own], [_rounded(point.estimate.value) for point in own]
        ).statistic
        for own in by_seed.values()
        if len({abs(point.strength) for point in own}) > 1
        and len({_rounded(point.estimate.value) for point in own}) > 1
    ]
    return float(np.mean(correlations)) if correlations else math.nan


def _rounded(value: float) -> float:
    """To a tenth of a bit: plus and minus one dose are the same size and should share a rank."""
    return round(value, 1)


def _slope(points: Sequence[DosePoint]) -> float:
    weak = [point for point in points if abs(point.strength) <= WEAK_DOSES + 1e-9]
    sizes = [abs(point.strength) for point in weak]
    if len(set(sizes)) < 2:
        return math.nan
    return float(np.polyfit(sizes, [point.estimate.value for point in weak], 1)[0])


def _planted_and_read(
    results: Sequence[PlantedResult], *, up_to: float = math.inf
) -> Iterator[tuple[float, float]]:
    """Planted and read log-odds of each occupation at doses of up to so many bits."""
    for planted, result, target in results:
        if abs(planted.strength) <= up_to + 1e-9:
            for lean in result.occupations:
                yield target.leans[lean.occupation], lean.log2_ratio.value


def _error(results: Sequence[PlantedResult]) -> float:
    differences = [abs(planted - read) for planted, read in _planted_and_read(results, up_to=WEAK_DOSES)]
    return float(np.mean(differences)) if differences else math.nan


def _checks(calibrated: MeasureCalibration, results: Sequence[PlantedResult]) -> list[Check]:
    signs = [planted * read > 0 for planted, read in _planted_and_read(results) if abs(planted) > 1e-9]
    right = float(np.mean(signs)) if signs else math.nan
    neutral = [point.estimate for point in calibrated.points if point.strength == 0]
    return [
        Check.at_most("mean absolute error by occupation, in bits", calibrated.error, MOST_ERROR),
        *_model_checks(calibrated.points),
        Check(name="occupations with the planted sign", wanted="all (1)", found=right, passed=right == 1.0),
        Check.at_least("Spearman correlation with the size of the bias", calibrated.spearman, LEAST_SPEARMAN),
        *_neutral_checks(neutral),
    ]


def _model_checks(points: Sequence[DosePoint]) -> list[Check]:
    """No single model reads far from what it should."""
    errors = [abs(point.error) for point in points if abs(point.strength) <= WEAK_DOSES + 1e-9]
    if not errors:
        return []
    return [Check.at_most("largest error of MALoR on one model, in bits", max(errors), MOST_ERROR_OF_A_MODEL)]


def _neutral_checks(neutral: Sequence[Estimate]) -> list[Check]:
    """Neutral models read next to nothing.

    Whether their intervals hold 0 is told and not asked: the hundredths of a bit that training leaves are a lean, and
    with enough structures an interval that excludes 0 is right.
    """
    if not neutral:
        return []
    largest = max(estimate.value for estimate in neutral)
    return [Check.at_most("largest reading on a neutral model, in bits", largest, MOST_WHEN_NEUTRAL)]
