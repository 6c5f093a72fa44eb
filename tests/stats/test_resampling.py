"""Resampling plans: what is drawn, how often, and from which seed."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from itertools import product

import numpy as np
import pytest

from evenhand.core.errors import EvenhandError
from evenhand.stats.intervals import cluster_interval
from evenhand.stats.resampling import Floats, Resampling, left_out_clusters, single_clusters
from evenhand.stats.significance import clustered_sign_flip


def whole(blocks: Iterator[Floats]) -> Floats:
    return np.concatenate(list(blocks))


def weights_of(resampling: Resampling, clusters: int) -> Floats:
    (weights,) = resampling.bootstrap_weights(clusters)
    return weights


def test_each_resample_draws_as_many_clusters_as_there_are() -> None:
    weights = weights_of(Resampling(resamples=500), 13)

    assert weights.shape == (500, 13)
    assert (weights.sum(axis=1) == 13).all()
    assert (weights >= 0).all()
    assert (weights == np.round(weights)).all()


def test_every_cluster_is_drawn_equally_often_on_average() -> None:
    resamples, clusters = 20_000, 10
    means = weights_of(Resampling(resamples=resamples), clusters).mean(axis=0)
    standard_error = np.sqrt((1 - 1 / clusters) / resamples)

    assert means == pytest.approx(np.ones(clusters), abs=5 * standard_error)


def test_a_cluster_is_missing_from_a_resample_as_often_as_drawing_with_replacement_says() -> None:
    resamples, clusters = 20_000, 10
    weights = weights_of(Resampling(resamples=resamples), clusters)
    expected = (1 - 1 / clusters) ** clusters

    assert float((weights == 0).mean()) == pytest.approx(expected, abs=0.005)


def test_the_same_seed_draws_the_same_and_another_seed_something_else() -> None:
    weights = weights_of(Resampling(resamples=200, seed=1), 12).copy()

    assert (weights_of(Resampling(resamples=200, seed=1), 12) == weights).all()
    assert (weights_of(Resampling(resamples=200, seed=2), 12) != weights).any()


def test_plans_cannot_be_changed_by_those_who_share_them() -> None:
    with pytest.raises(ValueError, match="read-only"):
        weights_of(Resampling(resamples=200), 12)[0, 0] = 7


def test_few_clusters_are_swapped_in_every_possible_way_once() -> None:
    resampling = Resampling(resamples=100)

    patterns = whole(resampling.swaps(6))

    assert resampling.swaps_are_exhaustive(6)
    assert sorted(map(tuple, patterns.tolist())) == sorted(product((0.0, 1.0), repeat=6))


def test_many_clusters_are_swapped_at_random_half_of_the_time() -> None:
    resampling = Resampling(resamples=10_000)
    swaps = whole(resampling.swaps(40))

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
    assert whole(resampling.swaps(5_000)).shape == (100, 5_000)
    assert 0 < clustered_sign_flip(np.ones(1_500), resampling=resampling) < 0.05


@pytest.mark.parametrize("resamples", [100, 127, 128, 129, 1_000, 1_024])
def test_patterns_are_all_listed_where_they_are_no_more_than_resamples(resamples: int) -> None:
    for clusters in range(1, 15):
        wanted = 2**clusters <= resamples
        assert Resampling(resamples=resamples).swaps_are_exhaustive(clusters) is wanted


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plans of more than 1,000 cells come in blocks of at most 700."""
    monkeypatch.setattr("evenhand.stats.resampling.MOST_CELLS", 1_000)
    monkeypatch.setattr("evenhand.stats.resampling._BLOCK_CELLS", 700)


@pytest.mark.usefixtures("small_blocks")
def test_a_large_plan_comes_in_blocks_that_draw_with_replacement() -> None:
    resampling, clusters = Resampling(resamples=20_000), 10

    blocks = list(resampling.bootstrap_weights(clusters))

    assert {block.shape for block in blocks[:-1]} == {(70, clusters)}
    weights = np.concatenate(blocks)
    assert weights.shape == (20_000, clusters)
    assert (weights.sum(axis=1) == clusters).all()
    assert float((weights == 0).mean()) == pytest.approx((1 - 1 / clusters) ** clusters, abs=0.005)
    assert (whole(resampling.bootstrap_weights(clusters)) == weights).all()


@pytest.mark.usefixtures("small_blocks")
def test_swaps_in_blocks_are_those_that_are_drawn_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    resampling = Resampling(resamples=500)
    blocks = list(resampling.swaps(33))
    assert {block.shape for block in blocks[:-1]} == {(21, 33)}

    monkeypatch.setattr("evenhand.stats.resampling.MOST_CELLS", 500 * 33)

    assert (whole(resampling.swaps(33)) == np.concatenate(blocks)).all()


@pytest.mark.usefixtures("small_blocks")
def test_clusters_alone_and_left_out_are_the_rows_of_two_squares() -> None:
    assert (whole(single_clusters(50)) == np.eye(50)).all()
    assert (whole(left_out_clusters(50)) == np.ones((50, 50)) - np.eye(50)).all()


@pytest.mark.usefixtures("small_blocks")
def test_the_first_resamples_are_enough_where_fewer_are_wanted() -> None:
    resampling = Resampling(resamples=200)
    everything = resampling.bootstrap(lambda weights: weights[:, 0], 20)
    assert len(everything) == 200
    assert (resampling.bootstrap(lambda weights: weights[:, 0], 20, most=90) == everything[:90]).all()


def test_tens_of_thousands_of_clusters_need_no_square_of_them() -> None:
    clusters, resampling = 30_000, Resampling(resamples=200)
    values = np.random.default_rng(4).normal(size=clusters)
    tracemalloc.start()
    interval = cluster_interval(
        lambda weights: (weights @ values) / weights.sum(axis=1), clusters, resampling=resampling
    )
    p_value = clustered_sign_flip(values, resampling=resampling)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    error = values.std() / np.sqrt(clusters)
    assert interval.low == pytest.approx(values.mean() - 1.96 * error, abs=0.5 * error)
    assert interval.high == pytest.approx(values.mean() + 1.96 * error, abs=0.5 * error)
    assert 0 < p_value <= 1
    assert peak < 400 * 2**20  # the square of the clusters has 6.7 GiB
