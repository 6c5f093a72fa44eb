"""Tests of SS against 50: exact sums, full enumeration, and another library."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import stats

from evenhand.stats.resampling import Floats, Resampling
from evenhand.stats.significance import clustered_sign_flip, exact_binomial


def binomial_by_sums(wins: int, losses: int) -> float:
    n = wins + losses
    tail = sum(math.comb(n, k) for k in range(min(wins, losses) + 1))
    return min(1.0, 2 * tail / math.pow(2, n))


@given(wins=st.integers(0, 60), losses=st.integers(0, 60))
def test_the_binomial_test_equals_sums_of_binomial_coefficients(wins: int, losses: int) -> None:
    if wins + losses == 0:
        assert math.isnan(exact_binomial(wins, losses))
    else:
        assert exact_binomial(wins, losses) == pytest.approx(binomial_by_sums(wins, losses))


def test_the_binomial_test_on_paper() -> None:
    # Six of six: (1 + 1) / 64.
    assert exact_binomial(6, 0) == pytest.approx(2 / 64)
    assert exact_binomial(3, 3) == pytest.approx(1)


def flips_enumerated(net: Sequence[int | Fraction]) -> float:
    exact = [Fraction(own) for own in net]
    observed = abs(sum(exact, Fraction()))
    sums = [
        abs(sum((sign * x for sign, x in zip(signs, exact, strict=True)), Fraction()))
        for signs in product((1, -1), repeat=len(exact))
    ]
    return sum(total >= observed for total in sums) / len(sums)


@given(net=st.lists(st.integers(-12, 12).filter(bool), min_size=1, max_size=8))
def test_few_clusters_are_flipped_in_every_way(net: list[int]) -> None:
    p = clustered_sign_flip(np.array(net, dtype=np.float64), resampling=Resampling(resamples=1_000))

    assert p == pytest.approx(flips_enumerated(net))


@given(tenths=st.lists(st.integers(-12, 12).filter(bool), min_size=1, max_size=8))
@example(tenths=[1, 2, 3, -3, 1])
def test_sums_that_are_equal_are_so_whatever_they_lose_in_floating_point(tenths: list[int]) -> None:
    p = clustered_sign_flip(np.array(tenths) / 10, resampling=Resampling(resamples=1_000))

    assert p == pytest.approx(flips_enumerated([Fraction(tenth, 10) for tenth in tenths]))


def test_clusters_without_a_lean_do_not_change_the_result() -> None:
    resampling = Resampling(resamples=1_000)
    net = np.array([3.0, -1.0, 4.0, 2.0])

    assert clustered_sign_flip(np.append(net, [0.0, 0.0]), resampling=resampling) == pytest.approx(
        flips_enumerated([3, -1, 4, 2])
    )


def test_many_clusters_agree_with_another_permutation_test() -> None:
    generator = np.random.default_rng(7)
    net = generator.integers(-6, 9, size=40).astype(np.float64)

    def total(sample: Floats, axis: int = -1) -> Floats:
        sums: Floats = sample.sum(axis=axis)
        return sums

    other = stats.permutation_test(
        (net,),
        total,
        permutation_type="samples",
        n_resamples=20_000,
        vectorized=True,
        rng=np.random.default_rng(1),
    ).pvalue
    p = clustered_sign_flip(net, resampling=Resampling(resamples=20_000))

    assert 0.001 < p < 0.5
    assert p == pytest.approx(float(other), abs=5 * math.sqrt(2 * p * (1 - p) / 20_000))


def test_no_p_value_from_random_flips_is_zero() -> None:
    p = clustered_sign_flip(np.full(60, 5.0), resampling=Resampling(resamples=1_000))

    assert p == pytest.approx(1 / 1_001)


@pytest.mark.parametrize("net", [[], [0.0, 0.0]])
def test_without_any_lean_there_is_no_p_value(net: list[float]) -> None:
    assert math.isnan(clustered_sign_flip(np.array(net), resampling=Resampling()))
