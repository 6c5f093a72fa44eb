"""Kappa and alpha against slow computations and another package, and how often the intervals hold."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as stn

from evenhand.core.labels import NO_ANSWER, NOT_ASKED, UNSURE
from evenhand.stats.agreement import (
    AgreementBand,
    cohen_kappa,
    krippendorff_alpha,
    mean_kappa,
    pairwise_kappa,
)
from evenhand.stats.resampling import Resampling
from evenhand.stats.vote_aggregation import Votes

QUICK = Resampling(resamples=200)
SCALE = (-1.0, 0.0, 1.0)
ANY_VOTES = stn.arrays(
    np.int64, st.tuples(st.integers(2, 12), st.integers(2, 4)), elements=st.integers(-3, 2)
)


def slow_kappa(first: list[int], second: list[int]) -> float:
    """From the definition, with every empty answer a category of its own."""
    asked = [pair for pair in zip(first, second, strict=True) if NOT_ASKED not in pair]
    if not asked:
        return math.nan
    named = [
        tuple((side, text) if vote == NO_ANSWER else vote for side, vote in enumerate(pair))
        for text, pair in enumerate(asked)
    ]
    left, right = Counter(a for a, _ in named), Counter(b for _, b in named)
    chance = sum(left[answer] * right[answer] for answer in left) / len(asked) ** 2
    observed = sum(a == b for a, b in named) / len(asked)
    return math.nan if chance == 1 else (observed - chance) / (1 - chance)


def by_the_package(votes: Votes, level: str) -> float:
    krippendorff = pytest.importorskip("krippendorff")
    table = np.where(votes < 0, np.nan, votes).T
    return float(krippendorff.alpha(table, value_domain=[0, 1, 2], level_of_measurement=level))


@given(ANY_VOTES)
def test_kappa_is_what_its_definition_says(votes: Votes) -> None:
    found = cohen_kappa(votes[:, 0], votes[:, 1])
    assert found == pytest.approx(slow_kappa(votes[:, 0].tolist(), votes[:, 1].tolist()), nan_ok=True)


@given(ANY_VOTES)
def test_alpha_is_what_the_krippendorff_package_gives(votes: Votes) -> None:
    found = krippendorff_alpha(votes, SCALE, resampling=QUICK)
    paired = votes[(votes >= 0).sum(axis=1) > 1]
    if len(np.unique(paired[paired >= 0])) < 2:
        assert not found.nominal.defined
        return
    assert found.nominal.value == pytest.approx(by_the_package(votes, "nominal"))
    assert found.ordinal.value == pytest.approx(by_the_package(votes, "ordinal"))


def test_two_who_are_unsure_agree_and_two_empty_answers_do_not() -> None:
    rest = np.array([0, 1, 2, 0, 1, 2])
    unsure, empty = (cohen_kappa(*2 * (np.append(rest, answer),)) for answer in (UNSURE, NO_ANSWER))
    assert unsure == pytest.approx(1)
    assert empty < 1


def test_the_mean_leaves_the_diagonal_out() -> None:
    votes = np.array([[0, 0, 1], [1, 1, 1], [2, 1, 2], [0, 2, 0]])
    kappas = pairwise_kappa(votes)
    pairs = [
        slow_kappa(votes[:, i].tolist(), votes[:, j].tolist()) for i, j in itertools.combinations(range(3), 2)
    ]
    assert np.isnan(np.diag(kappas)).all()
    np.testing.assert_allclose(kappas, kappas.T)
    assert mean_kappa(kappas) == pytest.approx(sum(pairs) / 3)


def test_agreement_of_one_class_alone_is_undefined() -> None:
    votes = np.zeros((30, 3), dtype=np.int64)
    assert math.isnan(mean_kappa(pairwise_kappa(votes)))
    alpha = krippendorff_alpha(votes, SCALE, resampling=QUICK)
    assert alpha.nominal.reason == "only one label was given, so chance agrees as much"


def test_labels_beside_the_scale_count_in_nominal_alpha_only() -> None:
    generator = np.random.default_rng(1)
    votes = generator.integers(0, 3, (40, 3))
    beside = np.where(generator.random(votes.shape) < 0.3, 3, votes)
    found = krippendorff_alpha(beside, (1.0, -1.0, 0.0, math.nan), resampling=QUICK)
    reordered = np.array([2, 0, 1, NOT_ASKED])[beside]
    assert found.ordinal == krippendorff_alpha(reordered, SCALE, resampling=QUICK).ordinal
    assert found.nominal.n == 40 > found.ordinal.n


def test_a_scheme_without_a_scale_has_no_ordinal_alpha() -> None:
    found = krippendorff_alpha(np.array([[0, 1], [1, 1], [0, 0]]), (math.nan, math.nan), resampling=QUICK)
    assert found.nominal.defined
    assert found.ordinal.reason == "fewer than two labels have a place on a scale"


def test_whole_agreement_claims_no_certainty() -> None:
    votes = np.repeat(np.arange(60)[:, None] % 3, 4, axis=1)
    found = krippendorff_alpha(votes, SCALE, resampling=QUICK).nominal
    assert (found.value, math.isnan(found.low)) == (1, True)


@pytest.mark.parametrize("level", ["nominal", "ordinal"])
def test_intervals_of_votes_by_chance_hold_zero(level: str) -> None:
    generator = np.random.default_rng(5)
    held = 0
    for _ in range(200):
        votes = generator.choice(3, size=(60, 4), p=[0.2, 0.5, 0.3])
        estimate = getattr(krippendorff_alpha(votes, SCALE, resampling=Resampling(resamples=400)), level)
        held += estimate.low <= 0 <= estimate.high
    assert 0.90 <= held / 200 <= 0.99


def test_the_interval_is_that_of_resampled_texts() -> None:
    generator = np.random.default_rng(2)
    truth = generator.integers(0, 3, 80)
    votes = np.where(generator.random((80, 3)) < 0.7, truth[:, None], generator.integers(0, 3, (80, 3)))
    found = krippendorff_alpha(votes, SCALE, resampling=Resampling(resamples=4000)).ordinal
    slow = [by_the_package(votes[generator.integers(0, 80, 80)], "ordinal") for _ in range(400)]
    assert found.low == pytest.approx(float(np.quantile(slow, 0.025)), abs=0.03)
    assert found.high == pytest.approx(float(np.quantile(slow, 0.975)), abs=0.03)


@pytest.mark.parametrize(
    ("kappa", "band"),
    [
        *((-0.1, "none"), (0.2, "none"), (0.21, "minimal"), (0.39, "minimal"), (0.4, "weak"), (0.59, "weak")),
        *((0.6, "moderate"), (0.79, "moderate"), (0.8, "strong"), (0.9, "strong"), (0.91, "almost perfect")),
    ],
)
def test_the_bands_are_those_of_mchugh(kappa: float, band: str) -> None:
    assert AgreementBand.of(kappa) == band
