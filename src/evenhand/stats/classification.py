"""Figures of a classifier from confusion counts per cluster.

Every figure is a function of a confusion matrix, and a confusion matrix is a weighted sum over clusters (authors). So a
value and its interval come from the same lines, and texts of one author are never taken for independent.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

from evenhand.core.estimates import Estimate
from evenhand.stats.intervals import Interval, cluster_interval
from evenhand.stats.resampling import Floats, Resampling, Statistic

Integers = npt.NDArray[np.int64]
ConfusionMeasure = Callable[[Floats], Floats]
"""From confusion matrices of shape (..., classes, classes), true classes in rows, to one value for each."""

MOST_CLUSTERS = 500
"""Rows without an author are dealt into so many clusters at most; more only cost memory."""

RELIABILITY_BINS = 10

SIZES_AND_SEEDS = "clusters and seeds, margins put together as squares"


def independent_clusters(rows: int) -> Integers:
    """The clusters of rows that do not depend on each other."""
    return np.arange(rows, dtype=np.int64) % MOST_CLUSTERS


def confusion_totals(
    truth: Integers, predicted: Integers, *, classes: int, clusters: npt.NDArray[np.int64]
) -> Floats:
    """Counts of true and predicted class for each cluster, of shape (clusters, classes, classes)."""
    numbers = np.unique(clusters, return_inverse=True)[1]
    totals = np.zeros((int(numbers.max(initial=-1)) + 1, classes, classes))
    np.add.at(totals, (numbers, truth, predicted), 1.0)
    return totals


def accuracy(confusion: Floats) -> Floats:
    """The share of all rows that are right."""
    return _ratio(_diagonal(confusion).sum(axis=-1), confusion.sum(axis=(-2, -1)))


def recalls(confusion: Floats) -> Floats:
    """For each class, the share of its rows that are found; NaN for a class that has none."""
    return _ratio(_diagonal(confusion), confusion.sum(axis=-1))


def precisions(confusion: Floats) -> Floats:
    """For each class, the share of the rows called so that belong to it; NaN where none is called so."""
    return _ratio(_diagonal(confusion), confusion.sum(axis=-2))


def f1_scores(confusion: Floats) -> Floats:
    """For each class, the harmonic mean of precision and recall; NaN for one that neither occurs nor is predicted."""
    return _ratio(2 * _diagonal(confusion), confusion.sum(axis=-1) + confusion.sum(axis=-2))


def balanced_accuracy(confusion: Floats) -> Floats:
    """The mean recall of the classes that occur."""
    return _mean_of_defined(recalls(confusion))


def macro_f1(confusion: Floats) -> Floats:
    """The mean F1 of the classes that occur or are predicted."""
    return _mean_of_defined(f1_scores(confusion))


def estimate_measure(measure: ConfusionMeasure, totals: Floats, *, resampling: Resampling) -> Estimate:
    """A figure with its interval over clusters."""
    n = int(totals.sum())
    value = float(measure(totals.sum(axis=0)))
    if math.isnan(value):
        return Estimate.undefined("the class does not occur", n=n, clusters=len(totals))

    def statistic(weights: Floats) -> Floats:
        values = measure(np.tensordot(weights, totals, axes=1))
        # A resample without the class says nothing about it.
        return np.where(np.isnan(values), value, values)

    return _share_interval(statistic, len(totals), resampling).around(value, n=n, clusters=len(totals))


@dataclass(frozen=True, slots=True)
class Reliability:
    """Rows whose likeliest class has a probability between two ends, and how often it is right."""

    low: float
    high: float
    confidence: float
    accuracy: Estimate


def reliability_curve(
    probabilities: Floats, truth: Integers, *, clusters: npt.NDArray[np.int64], resampling: Resampling
) -> list[Reliability]:
    """How often the likeliest class is right, by its probability; bins without a row are left out."""
    top, right = probabilities.max(axis=1), probabilities.argmax(axis=1) == truth
    bins = _bins(top)
    curve = []
    for number in np.unique(bins):
        inside = bins == number
        totals = confusion_totals(
            np.zeros(int(inside.sum()), dtype=np.int64),
            (~right[inside]).astype(np.int64),
            classes=2,
            clusters=clusters[inside],
        )
        curve.append(
            Reliability(
                low=float(number) / RELIABILITY_BINS,
                high=float(number + 1) / RELIABILITY_BINS,
                confidence=float(top[inside].mean()),
                accuracy=estimate_measure(accuracy, totals, resampling=resampling),
            )
        )
    return curve


def calibration_error(
    probabilities: Floats, truth: Integers, *, clusters: npt.NDArray[np.int64], resampling: Resampling
) -> Estimate:
    """The expected calibration error: mean distance of confidence and accuracy over bins, weighted by rows."""
    top, right = probabilities.max(axis=1), (probabilities.argmax(axis=1) == truth).astype(float)
    numbers = np.unique(clusters, return_inverse=True)[1]
    count = int(numbers.max()) + 1
    gaps, rows = np.zeros((count, RELIABILITY_BINS)), np.zeros(count)
    np.add.at(gaps, (numbers, _bins(top)), top - right)
    np.add.at(rows, numbers, 1.0)

    def statistic(weights: Floats) -> Floats:
        error: Floats = np.abs(weights @ gaps).sum(axis=1) / (weights @ rows)
        return error

    value = float(statistic(np.ones((1, count)))[0])
    interval = _share_interval(statistic, count, resampling)
    return interval.around(value, n=len(truth), clusters=count)


def estimate_over_seeds(
    measure: ConfusionMeasure, totals: Floats, *, resampling: Resampling
) -> tuple[Estimate, tuple[float, ...]]:
    """The mean of a figure over seeds, each of which gives its own totals, and the value of each seed.

    Seeds and clusters are both drawn from many. Their margins are put together as squares (Zou and Donner 2008).

    Args:
        measure: The figure.
        totals: Of shape (seeds, clusters, classes, classes).
        resampling: Resamples, seed and confidence level.
    """
    seeds, clusters = totals.shape[:2]
    by_seed = np.array([float(measure(own.sum(axis=0))) for own in totals])
    value, n = float(by_seed.mean()), int(totals[0].sum())

    def statistic(weights: Floats) -> Floats:
        values = np.stack([measure(np.tensordot(weights, own, axes=1)) for own in totals])
        means: Floats = np.where(np.isnan(values), by_seed[:, None], values).mean(axis=0)
        return means

    interval = _share_interval(statistic, clusters, resampling)
    if math.isnan(interval.low) or seeds < 2:
        return interval.around(value, n=n, clusters=clusters), tuple(by_seed.tolist())
    quantile = float(special.stdtrit(seeds - 1, (1 + resampling.confidence) / 2))
    reach = quantile * float(by_seed.std(ddof=1)) / math.sqrt(seeds)
    low, high = (
        value - math.hypot(value - interval.low, reach),
        value + math.hypot(interval.high - value, reach),
    )
    wider = Interval(max(0.0, low), min(1.0, high), SIZES_AND_SEEDS)
    return wider.around(value, n=n, clusters=clusters), tuple(by_seed.tolist())


def _share_interval(statistic: Statistic, clusters: int, resampling: Resampling) -> Interval:
    interval = cluster_interval(statistic, clusters, resampling=resampling, lowest=0.0, highest=1.0)
    if interval.reason is None:
        return interval
    return Interval.missing(
        "it needs texts of at least two authors" if clusters < 2 else "all authors have the same value"
    )


def _bins(top: Floats) -> Integers:
    return np.minimum((top * RELIABILITY_BINS).astype(np.int64), RELIABILITY_BINS - 1)


def _diagonal(confusion: Floats) -> Floats:
    diagonal: Floats = np.diagonal(confusion, axis1=-2, axis2=-1)
    return diagonal


def _ratio(numerator: Floats, denominator: Floats) -> Floats:
    undefined = np.full(np.shape(denominator), math.nan)
    ratio: Floats = np.divide(numerator, denominator, out=undefined, where=np.asarray(denominator) > 0)
    return ratio


def _mean_of_defined(values: Floats) -> Floats:
    defined = ~np.isnan(values)
    return _ratio(np.where(defined, values, 0.0).sum(axis=-1), defined.sum(axis=-1).astype(float))
