"""Paired tests and intervals against enumeration, another library and sums on paper."""

from __future__ import annotations

import math
from functools import partial
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests

from evenhand.instruments.association.measures import MEASURES, ClusterTotals
from evenhand.stats.intervals import cluster_interval
from evenhand.stats.resampling import Floats, Resampling, Statistic
from evenhand.stats.significance import difference_interval, holm, mcnemar_test, swap_test


def totals(stereotype: list[int], items: int = 20) -> ClusterTotals:
    return ClusterTotals(
        names=tuple(f"term {number}" for number in range(len(stereotype))),
        items=np.full(len(stereotype), float(items)),
        stereotype=np.array(stereotype, dtype=np.float64),
        meaningful=np.array([items - count / 2 for count in stereotype]),
        log_ratio=np.zeros(len(stereotype)),
    )


def statistic(measure: str, first: list[int], second: list[int]) -> Statistic:
    return partial(MEASURES[measure].compute, totals(first).beside(totals(second)))


COUNTS = st.integers(1, 7).flatmap(
    lambda clusters: st.tuples(
        *[st.lists(st.integers(0, 20), min_size=clusters, max_size=clusters) for _ in range(2)]
    )
)


def icat_by_hand(stereotype: list[int]) -> float:
    ss = 100 * sum(stereotype) / (20 * len(stereotype))
    lms = 100 * sum(20 - count / 2 for count in stereotype) / (20 * len(stereotype))
    return lms * min(ss, 100 - ss) / 50


@given(counts=COUNTS)
def test_few_clusters_are_swapped_in_every_way(counts: tuple[list[int], list[int]]) -> None:
    first, second = counts
    observed = abs(icat_by_hand(second) - icat_by_hand(first))
    extreme = 0
    for pattern in product((False, True), repeat=len(first)):
        ours = [b if swap else a for a, b, swap in zip(first, second, pattern, strict=True)]
        theirs = [a if swap else b for a, b, swap in zip(first, second, pattern, strict=True)]
        extreme += abs(icat_by_hand(theirs) - icat_by_hand(ours)) >= observed - 1e-7

    p = swap_test(statistic("ICAT", first, second), len(first), resampling=Resampling(resamples=200))

    assert p == pytest.approx(extreme / 2 ** len(first))


def test_the_swap_test_agrees_with_another_permutation_test() -> None:
    first, second = [9, 11, 10, 8, 12, 10, 9, 13], [12, 11, 13, 10, 12, 14, 8, 15]

    def mean_difference(x: Floats, y: Floats, axis: int = -1) -> Floats:
        differences: Floats = y.mean(axis=axis) - x.mean(axis=axis)
        return differences

    other = stats.permutation_test(
        (np.array(first, dtype=np.float64), np.array(second, dtype=np.float64)),
        mean_difference,
        permutation_type="samples",
        n_resamples=10_000,
        vectorized=True,
    ).pvalue
    p = swap_test(statistic("mean_SS", first, second), 8, resampling=Resampling(resamples=1_000))

    assert p == pytest.approx(float(other))


def test_two_runs_that_are_the_same_have_p_1() -> None:
    same = [9, 11, 10, 8]

    assert swap_test(statistic("SS", same, same), 4, resampling=Resampling(resamples=100)) == 1


def test_without_clusters_there_is_no_p_value() -> None:
    assert math.isnan(swap_test(statistic("SS", [], []), 0, resampling=Resampling()))


@pytest.mark.parametrize("clusters", [5, 30])
def test_the_interval_of_a_difference_is_that_of_the_differences(clusters: int) -> None:
    """For clusters of one size, the difference of SS is the mean of the clusters' differences."""
    generator = np.random.default_rng(11)
    first, second = (generator.integers(0, 21, size=clusters).tolist() for _ in range(2))
    differences = np.array([100 * (b - a) / 20 for a, b in zip(first, second, strict=True)])

    interval = difference_interval(
        statistic("SS", first, second), clusters, resampling=Resampling(resamples=1_000)
    )
    expected = cluster_interval(
        lambda weights: _mean(weights, differences),
        clusters,
        resampling=Resampling(resamples=1_000),
    )

    assert (interval.low, interval.high) == pytest.approx((expected.low, expected.high))


def _mean(weights: Floats, values: Floats) -> Floats:
    means: Floats = weights @ values / weights.sum(axis=1)
    return means


def test_pairing_makes_the_interval_narrower_than_that_of_two_unrelated_runs() -> None:
    generator = np.random.default_rng(2)
    first = generator.integers(2, 16, size=40).tolist()
    second = [count + int(generator.integers(0, 3)) for count in first]

    paired = difference_interval(statistic("SS", first, second), 40, resampling=Resampling())
    alone = cluster_interval(partial(MEASURES["SS"].compute, totals(first)), 40, resampling=Resampling())

    assert paired.high - paired.low < (alone.high - alone.low) / 2
    assert paired.low <= 100 * (sum(second) - sum(first)) / (20 * 40) <= paired.high


def mcnemar_by_sums(only_first: int, only_second: int) -> float:
    n = only_first + only_second
    tail = sum(math.comb(n, k) for k in range(min(only_first, only_second) + 1))
    return min(1.0, 2 * tail / math.pow(2, n))


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=60))
def test_mcnemar_equals_sums_of_binomial_coefficients(decisions: list[tuple[bool, bool]]) -> None:
    only_first = sum(a and not b for a, b in decisions)
    only_second = sum(b and not a for a, b in decisions)
    first, second = (np.array(side) for side in zip(*decisions, strict=True))

    assert mcnemar_test(first, second) == pytest.approx(mcnemar_by_sums(only_first, only_second))


@given(st.tuples(*[st.integers(0, 400)] * 4).filter(any))
def test_mcnemar_equals_another_library(counts: tuple[int, int, int, int]) -> None:
    both, only_first, only_second, neither = counts
    first = np.repeat([True, True, False, False], [both, only_first, only_second, neither])
    second = np.repeat([True, False, True, False], [both, only_first, only_second, neither])
    expected = mcnemar([[both, only_first], [only_second, neither]], exact=True).pvalue

    assert mcnemar_test(first, second) == expected


def test_mcnemar_without_items_is_undefined() -> None:
    assert math.isnan(mcnemar_test(np.array([], dtype=np.bool_), np.array([], dtype=np.bool_)))


def test_holm_on_paper() -> None:
    # Sorted: .005 x 4 = .02, .01 x 3 = .03, .03 x 2 = .06, .04 x 1 = .04 which may not be below .06.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_holm_equals_another_library(p_values: list[float]) -> None:
    assert holm(p_values) == multipletests(p_values, method="holm")[1].tolist()


def test_holm_never_exceeds_1() -> None:
    assert holm([0.6, 0.9]) == pytest.approx([1.0, 1.0])


def test_holm_keeps_undefined_p_values_and_does_not_count_them() -> None:
    adjusted = holm([0.01, math.nan, 0.02])

    assert adjusted[0] == pytest.approx(0.02)
    assert math.isnan(adjusted[1])
    assert adjusted[2] == pytest.approx(0.02)


@pytest.mark.parametrize("p_values", [[], [math.nan]])
def test_holm_of_nothing_is_nothing(p_values: list[float]) -> None:
    adjusted = holm(p_values)

    assert len(adjusted) == len(p_values)
    assert all(math.isnan(p) for p in adjusted)
