"""Shares of clusters: intervals without jumps, and a likelihood and a mixing distribution computed slowly."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import optimize, stats

from evenhand.instruments.association.measures import MEASURES, ClusterTotals
from evenhand.stats.cluster_shares import (
    ALWAYS,
    GRID,
    NEVER,
    dispersion_test,
    folding_bias,
    largest_folded_share,
    mixing_distribution,
    profile_interval,
    share_interval,
)
from evenhand.stats.intervals import Interval
from evenhand.stats.resampling import Floats, Resampling


def totals(stereotype: Floats, items: Floats) -> ClusterTotals:
    return ClusterTotals(
        names=tuple(f"term {number:02}" for number in range(len(items))),
        items=items,
        stereotype=stereotype,
        meaningful=items,
        log_ratio=np.zeros(len(items)),
    )


def with_misses(misses: int, *, terms: int, items: int) -> tuple[Floats, Floats]:
    """So many misses, each on an item drawn by lot; the first of them are the same whatever their number."""
    sizes = np.full(terms, float(items))
    missed = np.random.default_rng(4).permutation(terms * items)[:misses] % terms
    return sizes - np.bincount(missed, minlength=terms), sizes


@pytest.mark.parametrize(("terms", "items"), [(16, 12), (24, 8), (40, 6)])
def test_one_item_more_or_less_does_not_make_the_interval_of_ss_jump(terms: int, items: int) -> None:
    """A bound for "all of so many terms" went from 79.4 at 192 of 192 items to 98.4 at 191 of 192."""
    found = [
        MEASURES["SS"].interval(
            totals(*with_misses(misses, terms=terms, items=items)), resampling=Resampling(resamples=1_000)
        )
        for misses in range(60)
    ]

    lows, highs = (np.array([getattr(interval, end) for interval in found]) for end in ("low", "high"))
    # A second miss in one term says that terms differ, which moves an end by a few points.
    assert np.abs(np.diff(lows)).max() < 5
    assert np.abs(np.diff(highs)).max() < 2
    assert lows[0] == lows[1]
    assert highs[0] == 100


@pytest.mark.parametrize(("terms", "items"), [(8, 26), (24, 8), (40, 6), (79, 26)])
def test_misses_spread_over_terms_never_raise_the_lower_end(terms: int, items: int) -> None:
    """The second miss raised it from 94.2 to 95.3 with 24 terms of 8 items, and from 82.3 to 91.5 with 8 of 26."""
    sizes, counts = np.full(terms, float(items)), np.full(terms, float(items))
    lows = []
    for misses in range(terms * items // 10):
        counts[misses * 7 % terms] -= misses > 0
        found = profile_interval(counts, sizes, confidence=0.95)
        lows.append(found.low)
        mirrored = profile_interval(sizes - counts, sizes, confidence=0.95)
        assert (mirrored.low, mirrored.high) == pytest.approx((1 - found.high, 1 - found.low))

    assert np.diff(lows).max() <= 1e-9
    assert np.diff(lows).min() > -0.02


def slow_profile(share: float, counts: Floats, sizes: Floats) -> float:
    def loss(logit: float) -> float:
        total = 1 / (1 / (1 + math.exp(-logit))) - 1
        terms = stats.betabinom.logpmf(counts, sizes, share * total, (1 - share) * total)
        return -float(np.sum(terms))

    return -min(
        float(optimize.minimize_scalar(loss, bounds=(-9, 0), method="bounded").fun), loss(-9), loss(0)
    )


def test_the_ends_are_where_a_slow_profile_likelihood_has_fallen_by_half_a_squared_t() -> None:
    counts, sizes = np.array([8.0, 7, 8, 8, 5, 8, 8, 8, 6, 8]), np.full(10, 8.0)

    found = profile_interval(counts, sizes, confidence=0.95)

    most = max(slow_profile(share, counts, sizes) for share in np.linspace(0.6, 0.99, 200))
    fall = float(stats.t.ppf(0.975, 9)) ** 2 / 2
    for end in (found.low, found.high):
        # Correlations are tried on a grid, which costs a little of the likelihood.
        assert most - slow_profile(end, counts, sizes) == pytest.approx(fall, abs=0.05)


def test_few_terms_that_are_all_right_have_the_exact_bound() -> None:
    """Seeing three of three happens in 2.5% of cases if the share is the cube root of 0.025."""
    found = profile_interval(np.ones(3), np.ones(3), confidence=0.95)
    assert found.low == pytest.approx(0.025 ** (1 / 3))
    assert found.high == 1


def test_both_outcomes_are_treated_alike() -> None:
    counts, sizes = np.array([0.0, 1, 0, 3, 0, 0, 1, 0]), np.full(8, 10.0)
    few = profile_interval(counts, sizes, confidence=0.95)
    many = profile_interval(sizes - counts, sizes, confidence=0.95)
    assert (few.low, few.high) == pytest.approx((1 - many.high, 1 - many.low), abs=1e-4)


def test_where_neither_outcome_is_rare_the_other_interval_stands() -> None:
    other = Interval(0.4, 0.6, "other")
    counts, sizes = np.full(10, 5.0), np.full(10, 10.0)
    assert share_interval(counts, sizes, confidence=0.95, otherwise=lambda: other) is other


def test_between_the_two_the_ends_are_a_blend() -> None:
    sizes = np.full(10, 20.0)
    counts = sizes * (1 - (ALWAYS + NEVER) / 2)
    other = Interval(0.2, 0.9, "other")
    profile = profile_interval(counts, sizes, confidence=0.95)
    found = share_interval(counts, sizes, confidence=0.95, otherwise=lambda: other)
    assert found.low == pytest.approx((0.2 + profile.low) / 2)
    assert found.high == pytest.approx((0.9 + profile.high) / 2)


@pytest.mark.parametrize("size", [1, 2, 5, 26])
def test_the_bias_of_folding_is_that_of_all_outcomes_one_by_one(size: int) -> None:
    for place in (0, 13, 20, 39):
        share = GRID[place]
        read = sum(
            math.comb(size, count)
            * share**count
            * (1 - share) ** (size - count)
            * min(count, size - count)
            / size
            for count in range(size + 1)
        )
        assert folding_bias(size)[place] == pytest.approx(min(share, 1 - share) - read)


def test_a_mixing_distribution_finds_two_groups_of_terms() -> None:
    generator = np.random.default_rng(1)
    sizes = np.full(400, 40.0)
    counts = generator.binomial(40, generator.choice([0.2, 0.7], 400)).astype(np.float64)

    mixing = mixing_distribution(counts, sizes, np.ones((1, 400)))[0]

    assert mixing.sum() == pytest.approx(1)
    assert mixing[GRID < 0.45].sum() == pytest.approx(np.mean(counts < 18), abs=0.02)
    assert mixing[(GRID > 0.1) & (GRID < 0.3)].sum() + mixing[(GRID > 0.6) & (GRID < 0.8)].sum() > 0.95


def test_a_weight_counts_a_term_as_often_as_it_says() -> None:
    counts, sizes = np.array([3.0, 9, 5]), np.full(3, 10.0)
    weighted = mixing_distribution(counts, sizes, np.array([[2.0, 0, 1]]))
    repeated = mixing_distribution(counts[[0, 0, 2]], sizes, np.ones((1, 3)))
    assert weighted == pytest.approx(repeated)


def slow_largest_folded_share(counts: list[int], size: int, *, confidence: float) -> float:
    """By a general optimiser, over all distributions on the grid that lose no more likelihood than allowed."""
    chances = np.array([stats.binom.pmf(count, size, GRID) for count in counts])
    folded = np.where(np.isclose(np.abs(GRID - 0.5), 0.0125), 0.5, np.minimum(GRID, 1 - GRID))
    whole = optimize.LinearConstraint(np.ones((1, len(GRID))), 1, 1)
    bounds = [(0.0, 1.0)] * len(GRID)
    start: Floats = np.full(len(GRID), 1 / len(GRID))

    def likelihood(mixing: Floats) -> Floats:
        return np.array([np.log(np.maximum(1e-300, chances @ mixing)).sum()])

    def unlikelihood(mixing: Floats) -> float:
        return -float(likelihood(mixing)[0])

    def minus_mean(mixing: Floats) -> float:
        return -float(mixing @ folded)

    likeliest = optimize.minimize(unlikelihood, start, method="SLSQP", bounds=bounds, constraints=[whole])
    lost = stats.t.ppf((1 + confidence) / 2, len(counts) - 1) ** 2 / 2
    likely = optimize.NonlinearConstraint(likelihood, -likeliest.fun - lost, np.inf)
    found = optimize.minimize(
        minus_mean, likeliest.x, method="SLSQP", bounds=bounds, constraints=[whole, likely]
    )
    return -float(found.fun)


@pytest.mark.parametrize("confidence", [0.8, 0.95])
@pytest.mark.parametrize("counts", [[4, 5, 8, 7, 3, 8, 8, 4, 1, 8], [0, 1, 8, 8, 0, 7, 8, 0, 2, 8, 8, 7]])
def test_the_largest_folded_share_is_that_of_a_general_optimiser(
    counts: list[int], confidence: float
) -> None:
    found = largest_folded_share(
        np.array(counts, dtype=np.float64), np.full(len(counts), 8.0), confidence=confidence
    )
    # The EM algorithm is stopped while distributions are still smooth, so a little is left between the two.
    assert found == pytest.approx(slow_largest_folded_share(counts, 8, confidence=confidence), abs=0.02)


def test_clusters_that_are_all_even_may_all_have_a_share_of_one_half() -> None:
    assert largest_folded_share(np.full(20, 4.0), np.full(20, 8.0), confidence=0.95) == pytest.approx(
        0.5, abs=0.005
    )


def test_dispersion_is_the_chi_squared_test_of_a_table() -> None:
    counts, sizes = np.array([3.0, 9, 5, 7]), np.full(4, 10.0)
    expected = stats.chi2_contingency(np.stack([counts, sizes - counts]), correction=False).pvalue
    assert dispersion_test(counts, sizes) == pytest.approx(expected)
