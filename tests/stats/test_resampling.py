"""Resampling plans: what is drawn, how often, and from which seed."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from evenhand.core.errors import EvenhandError
from evenhand.stats.resampling import Resampling
from evenhand.stats.significance import clustered_sign_flip


def test_each_resample_draws_as_many_clusters_as_there_are() -> None:
    weights = Resampling(resamples=500).bootstrap_weights(13)

    assert weights.shape == (500, 13)
    assert (weights.sum(axis=1) == 13).all()
    assert (weights >= 0).all()
    assert (weights == np.round(weights)).all()


def test_every_cluster_is_drawn_equally_often_on_average() -> None:
    resamples, clusters = 20_000, 10
    means = Resampling(resamples=resamples).bootstrap_weights(clusters).mean(axis=0)
    standard_error = np.sqrt((1 - 1 / clusters) / resamples)

    assert means == pytest.approx(np.ones(clusters), abs=5 * standard_error)


def test_a_cluster_is_missing_from_a_resample_as_often_as_drawing_with_replacement_says() -> None:
    resamples, clusters = 20_000, 10
    weights = Resampling(resamples=resamples).bootstrap_weights(clusters)
    expected = (1 - 1 / clusters) ** clusters

    assert float((weights == 0).mean()) == pytest.approx(expected, abs=0.005)


def test_the_same_seed_draws_the_same_and_another_seed_something_else() -> None:
    weights = Resampling(resamples=200, seed=1).bootstrap_weights(12).copy()

    assert (Resampling(resamples=200, seed=1).bootstrap_weights(12) == weights).all()
    assert (Resampling(resamples=200, seed=2).bootstrap_weights(12) != weights).any()


def test_plans_cannot_be_changed_by_those_who_share_them() -> None:
    with pytest.raises(ValueError, match="read-only"):
        Resampling(resamples=200).bootstrap_weights(12)[0, 0] = 7


def test_few_clusters_are_swapped_in_every_possible_way_once() -> None:
    resampling = Resampling(resamples=100)

    patterns = resampling.swaps(6)

    assert resampling.swaps_are_exhaustive(6)
    assert sorted(map(tuple, patterns.tolist())) == sorted(product((0.0, 1.0), repeat=6))


def test_many_clusters_are_swapped_at_random_half_of_the_time() -> None:
    resampling = Resampling(resamples=10_000)
    swaps = resampling.swaps(40)

    assert not resampling.swaps_are_exhaustive(40)
    assert swaps.shape == (10_000, 40)
    assert set(np.unique(swaps)) == {0.0, 1.0}
    assert swaps.mean(axis=0) == pytest.approx(np.full(40, 0.5), abs=5 * 0.5 / np.sqrt(10_000))


@pytest.mark.parametrize("resamples", [-1, 0, 99, 1_000_001])
def test_too_few_or_too_many_resamples_are_refused(resamples: int) -> None:
    with pytest.raises(EvenhandError, match="100 to 1,000,000 are possible"):
        Resampling(resamples=resamples)


@pytest.mark.parametrize("confidence", [0.0, 0.49, 1.0, 95.0, float("nan")])
def test_a_confidence_level_outside_its_range_is_refused(confidence: float) -> None:
    with pytest.raises(EvenhandError, match=r"at least 0\.5 and below 1"):
        Resampling(confidence=confidence)


def test_a_negative_seed_is_refused() -> None:
    with pytest.raises(EvenhandError, match="must not be negative"):
        Resampling(seed=-1)


def test_many_clusters_make_no_number_that_is_too_large() -> None:
    resampling = Resampling(resamples=100)
    assert not resampling.swaps_are_exhaustive(5_000)
    assert resampling.swaps(5_000).shape == (100, 5_000)
    assert 0 < clustered_sign_flip(np.ones(1_500), resampling=resampling) < 0.05


@pytest.mark.parametrize("resamples", [100, 127, 128, 129, 1_000, 1_024])
def test_patterns_are_all_listed_where_they_are_no_more_than_resamples(resamples: int) -> None:
    for clusters in range(1, 15):
        wanted = 2**clusters <= resamples
        assert Resampling(resamples=resamples).swaps_are_exhaustive(clusters) is wanted
