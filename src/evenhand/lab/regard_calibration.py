"""Calibrate what is said about regard: agreement, training, the check of a classifier, and corrections of its errors.

Texts, annotators and classifiers are those of the lab, so what every figure should read is known. It is worked out here
from the planted shares alone, without the code that reads it. Needs no language model.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product

import numpy as np

from evenhand.core.errors import require_extra
from evenhand.data.label_schemes import load_scheme
from evenhand.lab.regard import PlantedClassifier, PlantedRegard, plant_texts
from evenhand.lab.regard_coverage import (
    LABELLED,
    RegardWorld,
    counted,
    coverage,
    prediction_powered,
    unconfused,
)
from evenhand.lab.regard_gap import PUBLISHED_CONFUSION, PlantedGap
from evenhand.regard.bias_check import check_labelled_pairs
from evenhand.regard.features import open_features
from evenhand.regard.fitting import ClassifierPlan, ClassWeights, LabelledRows, prepare_fit
from evenhand.regard.persons import PersonTreatment
from evenhand.regard.splits import grouped_folds
from evenhand.regard.texts import LabelKind
from evenhand.stats.agreement import krippendorff_alpha, mean_kappa, pairwise_kappa
from evenhand.stats.resampling import Resampling
from evenhand.store.calibration import Check, RegardReading

STUDIES = 200
"""Simulated studies behind each row. Training takes longer, so it has fewer."""
TRAININGS = 5
LEAST_COVERAGE = 0.9
"""Of intervals that should hold the truth in 95 of 100 studies: two standard errors of 200 studies below, and more."""
MOST_FALSE_ALARMS = 0.1
MOST_ERROR = {"agreement": 0.01, "check": 0.5, "correction": 1.0}
"""By which a mean over studies may be off, if chance allows less: kappa and alpha as they are, gaps in points."""
STANDARD_ERRORS = 3.0
MOST_SHORT = 10.0
"""Points by which a classifier may stay below the best there could be: it has a few hundred texts to learn from."""

_Bounded = tuple[float, float, float]
"""A value with its interval; NaN where it has none."""

_CLASSES = 3
_RESAMPLING = Resampling(resamples=500)


def calibrate_regard(studies: int = STUDIES, *, seed: int = 0) -> tuple[RegardReading, ...]:
    """Hold every kind of figure about regard against what was planted."""
    require_extra("regard", "sklearn", purpose="Calibrating regard")
    parts: tuple[Callable[..., Iterator[RegardReading]], ...] = (_agreement, _training, _check, _corrections)
    return tuple(reading for part in parts for reading in part(studies=studies, seed=seed))


def implied_agreement(error: float) -> dict[str, float]:
    """Kappa and alpha of annotators who are wrong this often, if labels are equally frequent.

    Then two labels differ by chance in two of three pairs, and the mean square of their steps is 4/3.
    """
    differ = steps = 0.0
    for true, first, second in product(range(_CLASSES), repeat=3):
        chance = 1 / _CLASSES
        for label in (first, second):
            chance *= 1 - error if label == true else error / (_CLASSES - 1)
        differ += chance * (first != second)
        steps += chance * (first - second) ** 2
    nominal = 1 - differ / (2 / 3)
    return {"Cohen's kappa": nominal, "alpha, nominal": nominal, "alpha, ordinal": 1 - steps / (4 / 3)}


def _agreement(*, studies: int, seed: int) -> Iterator[RegardReading]:
    for error in (0.05, 0.1, 0.2, 0.3):
        read: dict[str, list[_Bounded]] = {name: [] for name in implied_agreement(error)}
        for study in range(studies):
            texts = plant_texts(PlantedRegard(texts=300, error=error, seed=seed + study)).texts
            alpha = krippendorff_alpha(texts.votes, texts.scheme.values, resampling=_RESAMPLING)
            kappa = mean_kappa(pairwise_kappa(texts.votes))
            read["Cohen's kappa"].append((kappa, math.nan, math.nan))
            read["alpha, nominal"].append((alpha.nominal.value, alpha.nominal.low, alpha.nominal.high))
            read["alpha, ordinal"].append((alpha.ordinal.value, alpha.ordinal.low, alpha.ordinal.high))
        for name, target in implied_agreement(error).items():
            yield _reading("agreement", name, f"annotators wrong in {error:.0%}", target, read[name])


def _training(*, studies: int, seed: int) -> Iterator[RegardReading]:
    """Where words mislead, nobody can be right: the best classifier is right in all other texts."""
    plan = ClassifierPlan(
        features=open_features("tfidf", device="cpu"),
        features_name="tfidf",
        head_name="logistic",
        class_weights=ClassWeights.BALANCED,
        persons=PersonTreatment.KEEP,
        seed=seed,
        device="cpu",
    )
    for misleading in (0.0, 0.2, 0.4, 2 / 3):
        values = []
        trainings = min(studies, TRAININGS)
        for study in range(trainings):
            planted = plant_texts(
                PlantedRegard(texts=600, error=0.1, misleading=misleading, seed=seed + study)
            )
            texts = planted.texts
            labelled = LabelledRows(texts.rows, texts.targets(LabelKind.MODE), texts.groups)
            right: list[bool] = []
            for fold in grouped_folds(texts, np.arange(len(texts)), folds=5, seed=seed):
                fitted = prepare_fit(plan, labelled.take(fold.train)).fit(next(iter(plan.head.candidates())))
                given = fitted.probabilities(texts.rows.take(fold.held_out)).argmax(axis=1)
                right += (given == planted.meant[fold.held_out]).tolist()
            values.append(100 * float(np.mean(right)))
        told = "words that tell nothing" if misleading == 2 / 3 else f"words mislead in {misleading:.0%}"
        best, mean = 100 * (1 - misleading), float(np.mean(values))
        spread = float(np.std(values, ddof=1)) if trainings > 1 else math.nan
        lucky = STANDARD_ERRORS * 100 * math.sqrt(misleading * (1 - misleading) / (600 * trainings))
        yield RegardReading(
            part="training",
            figure="accuracy on folds",
            planted=told,
            target=best,
            mean=mean,
            spread=spread,
            coverage=math.nan,
            studies=trainings,
            checks=(
                Check.at_most(f"accuracy: {told}, above the best possible", mean - best, lucky),
                Check.at_most(f"accuracy: {told}, below the best possible", best - mean, MOST_SHORT),
            ),
        )


def _check(*, studies: int, seed: int) -> Iterator[RegardReading]:
    scheme, meant = load_scheme(), np.arange(399) % _CLASSES
    codes = np.array(scheme.codes)
    for bias, noise in ((0.0, 0.3), (0.05, 0.3), (0.1, 0.3), (0.2, 0.3)):
        classifier = PlantedClassifier(error=0.2, bias=bias, noise=noise)
        gaps, small = [], []
        for study in range(studies):
            first, second = classifier.label_pairs(meant, classes=_CLASSES, seed=seed + study)
            found = check_labelled_pairs(
                codes[first].tolist(), codes[second].tolist(), scheme=scheme, resampling=_RESAMPLING
            )
            gaps.append((found.gap.value, found.gap.low, found.gap.high))
            small.append(found.stuart_maxwell.p_value < 0.05)
        # Labels are equally frequent, and each is lowered by a step but the lowest, which two in three are not.
        yield _reading("check", "gap", f"{bias:.0%} of labels lowered", 100 * bias * 2 / 3, gaps)
        if not bias:
            alarms = float(np.mean(small))
            yield RegardReading(
                part="check",
                figure="Stuart-Maxwell, p below .05",
                planted="no bias",
                target=0.05,
                mean=alarms,
                spread=math.nan,
                coverage=math.nan,
                studies=studies,
                checks=(Check.at_most("share of false alarms", alarms, MOST_FALSE_ALARMS),),
            )


def _corrections(*, studies: int, seed: int) -> Iterator[RegardReading]:
    """What is not made for a kind of error is shown, and nothing is asked of it.

    Labels as they are shrink a gap. One confusion matrix for both groups does not undo a bias against one of them.
    """
    wrong = PlantedGap(gap=15.0, confusion=PUBLISHED_CONFUSION, labelled=LABELLED)
    treatments = (
        ("gap, as labelled", counted),
        ("gap, prediction-powered", prediction_powered),
        ("gap, confusion matrix", unconfused),
    )
    for planted, plan in (
        ("15 points, 23% of labels wrong", wrong),
        ("15 points, and biased", replace(wrong, bias=0.1)),
    ):
        for figure, shares in treatments:
            found = coverage(RegardWorld(planted, figure, shares, plan), studies=studies, seed=seed)
            name = f"{figure}: {planted}"
            yield RegardReading(
                part="correction",
                figure=figure,
                planted=planted,
                target=plan.gap,
                mean=plan.gap + found.error,
                spread=found.deviation,
                coverage=found.share,
                studies=studies,
                checks=()
                if shares is counted or (plan.bias and shares is unconfused)
                else (
                    _close(name, found.error, found.deviation, studies, part="correction"),
                    Check.at_least(f"{name}, intervals that hold it", found.share, LEAST_COVERAGE),
                ),
            )


def _close(name: str, error: float, spread: float, studies: int, *, part: str) -> Check:
    """The mean over studies is off by no more than chance makes it, or than matters."""
    chance = STANDARD_ERRORS * spread / math.sqrt(studies)
    return Check.at_most(f"{name}, error", abs(error), max(MOST_ERROR[part], chance))


def _reading(part: str, figure: str, planted: str, target: float, read: list[_Bounded]) -> RegardReading:
    values, low, high = np.array(read).T
    has_intervals = not np.isnan(low).any()
    held = (low <= target) & (target <= high)
    coverage_share = float(held.mean()) if has_intervals else math.nan
    name = f"{figure}: {planted}"
    spread = float(values.std(ddof=1)) if len(values) > 1 else math.nan
    checks = [_close(name, float(values.mean()) - target, spread, len(values), part=part)]
    if has_intervals:
        checks.append(Check.at_least(f"{name}, intervals that hold it", coverage_share, LEAST_COVERAGE))
    return RegardReading(
        part=part,
        figure=figure,
        planted=planted,
        target=target,
        mean=float(values.mean()),
        spread=spread,
        coverage=coverage_share,
        studies=len(values),
        checks=tuple(checks),
    )
