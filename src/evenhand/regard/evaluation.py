"""How well a classifier does: figures with intervals, the human ceiling, and training on fewer texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evenhand.core.estimates import Estimate
from evenhand.core.progress import Progress
from evenhand.regard.fitting import ClassifierPlan, LabelledRows, prepare_fit
from evenhand.regard.texts import RegardTexts
from evenhand.stats.classification import (
    Integers,
    accuracy,
    balanced_accuracy,
    calibration_error,
    confusion_totals,
    estimate_measure,
    estimate_over_seeds,
    f1_scores,
    macro_f1,
    precisions,
    recalls,
    reliability_curve,
)
from evenhand.stats.resampling import Floats, Resampling
from evenhand.stats.vote_aggregation import TieRule, aggregate_votes
from evenhand.store.classifier_records import (
    ClassFigures,
    ClassifierEvaluation,
    HumanCeiling,
    ReliabilityBin,
    TrainingSizePoint,
)

SIZE_SHARES = (0.1, 0.2, 0.4, 0.6, 0.8, 1.0)
"""Shares of the training texts that are trained on to see what more of them would bring."""


@dataclass(frozen=True, slots=True, eq=False)
class HeldOutPredictions:
    """Probabilities of texts that were not trained on, their labels, and what belongs together."""

    places: Integers
    probabilities: Floats
    labels: Integers
    clusters: Integers

    @classmethod
    def of(cls, texts: RegardTexts, places: Integers, probabilities: Floats) -> HeldOutPredictions:
        """Of the texts at places, without those that have no label."""
        known = texts.labels[places] >= 0
        kept = places[known]
        return cls(kept, probabilities[known], texts.labels[kept], texts.clusters[kept])

    @property
    def predicted(self) -> Integers:
        """The likeliest class of each text."""
        likeliest: Integers = self.probabilities.argmax(axis=1)
        return likeliest

    def where(self, chosen: np.ndarray[Any, np.dtype[np.bool_]]) -> HeldOutPredictions:
        """Some of them."""
        return HeldOutPredictions(
            self.places[chosen], self.probabilities[chosen], self.labels[chosen], self.clusters[chosen]
        )

    def __len__(self) -> int:
        return len(self.places)


def evaluate_predictions(
    predictions: HeldOutPredictions, classes: Sequence[str], *, resampling: Resampling
) -> ClassifierEvaluation:
    """All figures of some predictions."""
    count = len(classes)
    totals = confusion_totals(
        predictions.labels, predictions.predicted, classes=count, clusters=predictions.clusters
    )
    whole = totals.sum(axis=0).astype(int)

    def estimate(measure: Any) -> Estimate:
        return estimate_measure(measure, totals, resampling=resampling)

    figures = [
        ClassFigures(
            label=label,
            rows=int(whole[number].sum()),
            precision=estimate(lambda confusion, own=number: precisions(confusion)[..., own]),
            recall=estimate(lambda confusion, own=number: recalls(confusion)[..., own]),
            f1=estimate(lambda confusion, own=number: f1_scores(confusion)[..., own]),
        )
        for number, label in enumerate(classes)
    ]
    curve = reliability_curve(
        predictions.probabilities,
        predictions.labels,
        clusters=predictions.clusters,
        resampling=resampling,
    )
    return ClassifierEvaluation(
        rows=len(predictions),
        clusters=len(totals),
        accuracy=estimate(accuracy),
        balanced_accuracy=estimate(balanced_accuracy),
        macro_f1=estimate(macro_f1),
        calibration_error=calibration_error(
            predictions.probabilities,
            predictions.labels,
            clusters=predictions.clusters,
            resampling=resampling,
        ),
        classes=tuple(figures),
        confusion=tuple(tuple(row) for row in whole.tolist()),
        reliability=tuple(
            ReliabilityBin(low=own.low, high=own.high, confidence=own.confidence, accuracy=own.accuracy)
            for own in curve
        ),
    )


def human_ceiling(texts: RegardTexts, places: Integers, *, resampling: Resampling) -> HumanCeiling:
    """How well each annotator agrees with the mode of the others, over all annotators.

    Where the others tie there is nothing to agree with, whatever rule labels have for ties.
    """
    votes = texts.votes[places]
    annotators = votes.shape[1]
    if annotators < 3:
        nobody = Estimate.undefined("it takes at least three annotators", n=len(places))
        return HumanCeiling(accuracy=nobody, balanced_accuracy=nobody)
    count = len(texts.classes)
    numbers = np.unique(texts.clusters[places], return_inverse=True)[1]
    totals = np.zeros((int(numbers.max()) + 1, count, count))
    for annotator in range(annotators):
        others = np.delete(votes, annotator, axis=1)
        mode = aggregate_votes(others, texts.scheme.values, ties=TieRule.DROP).mode
        own = votes[:, annotator]
        both = (own >= 0) & (mode >= 0)
        np.add.at(totals, (numbers[both], mode[both], own[both]), 1.0)
    return HumanCeiling(
        accuracy=estimate_measure(accuracy, totals, resampling=resampling),
        balanced_accuracy=estimate_measure(balanced_accuracy, totals, resampling=resampling),
    )


def training_sizes(
    plan: ClassifierPlan,
    labelled: LabelledRows,
    texts: RegardTexts,
    *,
    test: Integers,
    settings: Any,
    seeds: int,
    resampling: Resampling,
    progress: Progress,
) -> tuple[TrainingSizePoint, ...]:
    """What training on fewer texts gives on the test rows, each size from several seeds.

    Args:
        plan: What is fitted.
        labelled: All training rows.
        texts: All texts.
        test: Places of the test rows.
        settings: Of the head.
        seeds: How many draws of each size.
        resampling: For the intervals.
        progress: Told how many classifiers are fitted.
    """
    sizes = sorted({max(len(texts.classes) * 5, round(share * len(labelled.rows))) for share in SIZE_SHARES})
    sizes = [size for size in sizes if size <= len(labelled.rows)]
    points = []
    for number, size in enumerate(sizes if seeds else ()):
        totals = []
        for seed in range(seeds):
            progress(number * seeds + seed, len(sizes) * seeds)
            generator = np.random.default_rng([plan.seed, size, seed])
            drawn = labelled.take(_drawn(labelled, size, generator))
            fitted = prepare_fit(plan, drawn, seed=plan.seed + seed).fit(settings, seed=plan.seed + seed)
            judged = HeldOutPredictions.of(texts, test, fitted.probabilities(texts.rows.take(test)))
            totals.append(
                confusion_totals(
                    judged.labels, judged.predicted, classes=len(texts.classes), clusters=judged.clusters
                )
            )
        estimate, by_seed = estimate_over_seeds(balanced_accuracy, np.stack(totals), resampling=resampling)
        points.append(TrainingSizePoint(rows=size, by_seed=by_seed, balanced_accuracy=estimate))
    return tuple(points)


def _drawn(labelled: LabelledRows, size: int, generator: np.random.Generator) -> Integers:
    """Texts drawn at random, of every class about as many as it has."""
    order = generator.permutation(len(labelled.rows))
    classes = labelled.targets.argmax(axis=1)[order]
    # Sorting by rank within the class takes all classes in turn by their share.
    ranks = np.zeros(len(order))
    for own in np.unique(classes):
        members = np.flatnonzero(classes == own)
        ranks[members] = (np.arange(len(members)) + generator.random()) / len(members)
    return order[np.argsort(ranks, kind="stable")[:size]]
