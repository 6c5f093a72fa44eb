"""Figures of classifiers: against scikit-learn, and intervals that hold the truth."""

from __future__ import annotations

import math

import numpy as np
import pytest

from evenhand.stats.classification import (
    accuracy,
    balanced_accuracy,
    calibration_error,
    confusion_totals,
    estimate_measure,
    estimate_over_seeds,
    f1_scores,
    independent_clusters,
    macro_f1,
    precisions,
    recalls,
    reliability_curve,
)
from evenhand.stats.resampling import Resampling

FEW = Resampling(resamples=400)


def _labels(seed: int, rows: int = 200) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    truth = generator.integers(3, size=rows)
    predicted = np.where(generator.random(rows) < 0.7, truth, generator.integers(3, size=rows))
    return truth, predicted, generator.integers(15, size=rows)


def test_figures_are_those_of_scikit_learn() -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    truth, predicted, clusters = _labels(0)
    confusion = confusion_totals(truth, predicted, classes=3, clusters=clusters).sum(axis=0)
    assert confusion.astype(int).tolist() == metrics.confusion_matrix(truth, predicted).tolist()
    assert accuracy(confusion) == pytest.approx(metrics.accuracy_score(truth, predicted))
    assert balanced_accuracy(confusion) == pytest.approx(metrics.balanced_accuracy_score(truth, predicted))
    assert macro_f1(confusion) == pytest.approx(metrics.f1_score(truth, predicted, average="macro"))
    assert recalls(confusion) == pytest.approx(metrics.recall_score(truth, predicted, average=None))
    assert precisions(confusion) == pytest.approx(metrics.precision_score(truth, predicted, average=None))
    assert f1_scores(confusion) == pytest.approx(metrics.f1_score(truth, predicted, average=None))


def test_a_class_that_does_not_occur_has_no_figures_and_does_not_count() -> None:
    confusion = np.array([[8.0, 2.0, 0.0], [1.0, 9.0, 0.0], [0.0, 0.0, 0.0]])
    assert math.isnan(recalls(confusion)[2])
    assert balanced_accuracy(confusion) == pytest.approx(0.85)
    estimate = estimate_measure(lambda own: recalls(own)[..., 2], confusion[None], resampling=FEW)
    assert estimate.reason == "the class does not occur"


def test_intervals_over_authors_hold_the_truth() -> None:
    """Authors differ in how hard they are, and texts of one author are alike."""
    truth_held = 0
    generator = np.random.default_rng(3)
    for _ in range(100):
        skill = generator.beta(14, 6, size=25)
        clusters = np.repeat(np.arange(25), 8)
        truth = generator.integers(3, size=200)
        right = generator.random(200) < skill[clusters]
        predicted = np.where(right, truth, (truth + 1) % 3)
        totals = confusion_totals(truth, predicted, classes=3, clusters=clusters)
        estimate = estimate_measure(accuracy, totals, resampling=FEW)
        truth_held += estimate.low <= 0.7 <= estimate.high
    assert truth_held >= 89


def test_an_interval_says_why_it_is_missing() -> None:
    totals = confusion_totals(np.array([0, 1]), np.array([0, 0]), classes=2, clusters=np.array([0, 0]))
    estimate = estimate_measure(accuracy, totals, resampling=FEW)
    assert (estimate.value, estimate.reason) == (0.5, "it needs texts of at least two authors")


def test_the_reliability_curve_is_the_share_that_is_right_in_each_bin() -> None:
    generator = np.random.default_rng(1)
    probabilities = generator.dirichlet(np.ones(3), size=500)
    truth, clusters = generator.integers(3, size=500), independent_clusters(500)
    curve = reliability_curve(probabilities, truth, clusters=clusters, resampling=FEW)
    error = 0.0
    for own in curve:
        inside = [row for row in range(500) if own.low <= probabilities[row].max() < own.high]
        right = [probabilities[row].argmax() == truth[row] for row in inside]
        assert own.accuracy.n == len(inside)
        assert own.accuracy.value == pytest.approx(np.mean(right))
        assert 0 <= own.accuracy.low <= own.accuracy.high <= 1
        error += abs(np.sum([probabilities[row].max() for row in inside]) - np.sum(right)) / 500
    found = calibration_error(probabilities, truth, clusters=clusters, resampling=FEW)
    assert found.value == pytest.approx(error)


def test_seeds_widen_the_interval_of_their_mean() -> None:
    truth, predicted, clusters = _labels(5)
    same = np.stack([confusion_totals(truth, predicted, classes=3, clusters=clusters)] * 5)
    shaken = []
    for seed in range(5):
        flipped = np.where(np.random.default_rng(seed).random(200) < seed / 10, truth, predicted)
        shaken.append(confusion_totals(truth, flipped, classes=3, clusters=clusters))
    narrow, _ = estimate_over_seeds(balanced_accuracy, same, resampling=FEW)
    wide, by_seed = estimate_over_seeds(balanced_accuracy, np.stack(shaken), resampling=FEW)
    assert wide.value == pytest.approx(np.mean(by_seed))
    assert wide.high - wide.low > narrow.high - narrow.low
    assert len(by_seed) == 5


def test_rows_without_authors_are_dealt_into_few_clusters() -> None:
    clusters = independent_clusters(1_250)
    assert len(np.unique(clusters)) == 500
    assert np.bincount(clusters).max() == 3
