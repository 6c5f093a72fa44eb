"""Planted regard: what is planted is what comes out, and the check of a classifier finds a planted bias alone."""

from __future__ import annotations

import sys
from itertools import product
from subprocess import run

import numpy as np
import pytest

from evenhand.core.errors import EvenhandError
from evenhand.data.label_schemes import load_scheme
from evenhand.lab.regard import (
    PlantedClassifier,
    PlantedRegard,
    erroneous_labels,
    plant_texts,
    uniform_confusion,
)
from evenhand.regard.bias_check import check_labelled_pairs
from evenhand.stats.agreement import alpha_values, mean_kappa, pairwise_kappa
from evenhand.stats.resampling import Resampling

FEW = Resampling(resamples=500)


def test_annotators_are_wrong_as_often_as_was_planted() -> None:
    planted = plant_texts(PlantedRegard(texts=3_000, error=0.15, seed=4))
    wrong = planted.texts.votes != planted.meant[:, None]
    assert wrong.mean() == pytest.approx(0.15, abs=0.01)
    assert (planted.texts.labels == planted.meant).mean() > 0.97


@pytest.mark.parametrize("error", [0.1, 0.3])
def test_alpha_and_kappa_are_what_the_planted_error_implies(error: float) -> None:
    """Labels are equally frequent, so the distance of ordinal labels is the square of their steps."""
    votes = plant_texts(PlantedRegard(texts=3_000, error=error, seed=7)).texts.votes
    observed = dict.fromkeys(("nominal", "ordinal"), 0.0)
    for true, first, second in product(range(3), repeat=3):
        chance = 1 / 3
        for label in (first, second):
            chance *= 1 - error if label == true else error / 2
        observed["nominal"] += chance * (first != second)
        observed["ordinal"] += chance * (first - second) ** 2
    nominal, ordinal = alpha_values(votes, (-1.0, 0.0, 1.0))
    assert nominal == pytest.approx(1 - observed["nominal"] / (2 / 3), abs=0.02)
    assert ordinal == pytest.approx(1 - observed["ordinal"] / (4 / 3), abs=0.02)
    assert mean_kappa(pairwise_kappa(votes)) == pytest.approx(1 - observed["nominal"] / (2 / 3), abs=0.02)


def test_the_same_plan_gives_the_same_texts() -> None:
    first, second = (plant_texts(PlantedRegard(texts=50, seed=1)) for _ in range(2))
    assert first.texts.digest == second.texts.digest
    assert first.texts.digest != plant_texts(PlantedRegard(texts=50, seed=2)).texts.digest


def test_mistaken_labels_follow_the_confusion_matrix() -> None:
    confusion = np.array([[0.7, 0.2, 0.1], [0.0, 1.0, 0.0], [0.5, 0.0, 0.5]])
    labels = np.repeat(np.arange(3), 20_000)
    given = erroneous_labels(labels, confusion, np.random.default_rng(0))
    shares = np.array([[np.mean(given[labels == true] == own) for own in range(3)] for true in range(3)])
    assert shares == pytest.approx(confusion, abs=0.012)
    assert uniform_confusion(0.3, 3).sum(axis=1) == pytest.approx(1)


def _check(bias: float, *, seed: int, texts: int = 399) -> tuple[float, float, float]:
    scheme = load_scheme()
    meant = np.arange(texts) % 3
    first, second = PlantedClassifier(bias=bias).label_pairs(meant, classes=3, seed=seed)
    codes = np.array(scheme.codes)
    check = check_labelled_pairs(codes[first].tolist(), codes[second].tolist(), scheme=scheme, resampling=FEW)
    return check.gap.value, check.gap.low, check.gap.high


def test_the_check_reads_the_planted_gap_within_its_interval() -> None:
    classifier = PlantedClassifier(bias=0.1)
    expected = classifier.expected_gap(np.arange(399) % 3, (-1.0, 0.0, 1.0))
    assert expected == pytest.approx(100 * 0.1 * 2 / 3, abs=0.01)
    intervals = [_check(0.1, seed=seed) for seed in range(60)]
    held = sum(low <= expected <= high for _, low, high in intervals)
    assert held >= 54
    assert np.mean([value for value, _, _ in intervals]) == pytest.approx(expected, abs=0.6)


def test_a_classifier_without_bias_of_its_own_has_no_gap() -> None:
    assert _check(0.0, seed=0)[0] == 0


def test_noise_alone_fails_a_classifier_no_more_often_than_tests_may() -> None:
    scheme, codes = load_scheme(), np.array(load_scheme().codes)
    classifier, meant = PlantedClassifier(error=0.4, noise=0.5), np.arange(150) % 3
    small = {"stuart_maxwell": 0, "sign_flip": 0, "gap": 0}
    for seed in range(300):
        first, second = (codes[own].tolist() for own in classifier.label_pairs(meant, classes=3, seed=seed))
        check = check_labelled_pairs(first, second, scheme=scheme, resampling=FEW)
        small["stuart_maxwell"] += check.stuart_maxwell.p_value < 0.05
        small["sign_flip"] += check.sign_flip_p < 0.05
        small["gap"] += not check.gap.low <= 0 <= check.gap.high
    assert all(count <= 26 for count in small.values()), small


def test_impossible_plans_are_refused() -> None:
    with pytest.raises(EvenhandError, match="at least one"):
        PlantedRegard(texts=0)
    with pytest.raises(EvenhandError, match="between 0 and 1"):
        PlantedRegard(error=1.5)


def test_the_lab_of_regard_needs_no_torch() -> None:
    code = "import sys, evenhand.lab.regard; sys.exit('torch' in sys.modules)"
    assert run([sys.executable, "-c", code], check=False).returncode == 0
