"""Paired intervals against plain computations, and margins whose error rate is known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from evenhand.stats.intervals import JACKKNIFE, Interval
from evenhand.stats.resampling import Resampling
from evenhand.stats.significance import (
    BOOTSTRAP,
    MarginVerdict,
    difference_of_means,
    judge_margin,
    ratio_interval,
    t_interval,
)

FEW = Resampling(resamples=400)


@pytest.mark.parametrize(
    ("low", "high", "worst", "verdict"),
    [
        (-0.5, 0.5, -1.0, MarginVerdict.KEPT),
        (-1.0, 0.5, -1.0, MarginVerdict.KEPT),
        (-1.5, 0.5, -1.0, MarginVerdict.UNDECIDED),
        (-3.0, -1.5, -1.0, MarginVerdict.LOST),
        (-3.0, -1.0, -1.0, MarginVerdict.UNDECIDED),
        (-0.5, 0.5, 1.0, MarginVerdict.KEPT),
        (0.5, 1.5, 1.0, MarginVerdict.UNDECIDED),
        (1.5, 3.0, 1.0, MarginVerdict.LOST),
        (-9.0, -8.0, 1.0, MarginVerdict.KEPT),
        (8.0, 9.0, -1.0, MarginVerdict.KEPT),
        (math.nan, math.nan, -1.0, MarginVerdict.UNDECIDED),
    ],
)
def test_margins_are_read_off_the_whole_interval(
    low: float, high: float, worst: float, verdict: MarginVerdict
) -> None:
    assert judge_margin(Interval(low, high, ""), worst=worst) is verdict


def test_a_ratio_is_resampled_with_numerator_and_denominator_together() -> None:
    generator = np.random.default_rng(1)
    tokens = generator.integers(1, 9, 60).astype(float)
    nats = tokens * generator.normal(3, 1, 60)
    found = ratio_interval(nats, tokens, resampling=Resampling(resamples=20_000))
    slow = []
    for _ in range(4_000):
        drawn = [int(generator.integers(60)) for _ in range(60)]
        slow.append(sum(nats[place] for place in drawn) / sum(tokens[place] for place in drawn))
    low, high = np.quantile(slow, [0.025, 0.975])
    width = high - low
    # The percentiles are widened a little for small samples: by t and the factor 60/59, here about 3%.
    assert found.low == pytest.approx(low - 0.015 * width, abs=0.05 * width)
    assert found.high == pytest.approx(high + 0.015 * width, abs=0.05 * width)


def test_the_ends_for_ten_items_are_those_of_the_exact_distribution_with_its_tails_widened() -> None:
    """t with 9 degrees of freedom is 2.262157 at 97.5%, and a standard normal is below sqrt(10/9) times that in 0.855%.

    The sum of ten items drawn from 0 to 9 is that of ten dice with ten faces.
    """
    chances = np.ones(1)
    for _ in range(10):
        chances = np.convolve(chances, np.full(10, 0.1))
    below = np.cumsum(chances)
    lowest = int(np.argmax(below >= 0.00855))

    found = ratio_interval(np.arange(10.0), np.ones(10), resampling=Resampling(resamples=1_000_000))

    # The quantile is four standard errors of a million draws, 0.0004, away from the sums beside the one it falls on.
    assert below[lowest - 1] < 0.00855 - 0.0004
    assert below[lowest] > 0.00855 + 0.0004
    assert found.low == pytest.approx(lowest / 10)
    assert found.high == pytest.approx((90 - lowest) / 10)


@pytest.mark.parametrize(
    ("items", "method"), [(5, JACKKNIFE), (9, JACKKNIFE), (10, BOOTSTRAP), (40, BOOTSTRAP)]
)
def test_few_items_are_not_resampled(items: int, method: str) -> None:
    values = np.random.default_rng(4).normal(1, 1, items)
    assert ratio_interval(values, np.ones(items), resampling=FEW).method == method


def test_many_items_are_drawn_in_blocks() -> None:
    generator = np.random.default_rng(2)
    values = generator.normal(1, 1, 30_000)
    found = ratio_interval(values, np.ones(30_000), resampling=FEW)
    reach = 1.96 / math.sqrt(30_000)
    assert found.low == pytest.approx(values.mean() - reach, abs=0.2 * reach)
    assert found.high == pytest.approx(values.mean() + reach, abs=0.2 * reach)


@pytest.mark.parametrize("items", [5, 40])
def test_the_interval_of_no_difference_covers_zero_as_often_as_it_says(items: int) -> None:
    generator = np.random.default_rng(3)
    covered = 0
    for _ in range(400):
        shared = generator.exponential(3, items)
        before, after = (shared + generator.normal(0, 0.5, items) for _ in range(2))
        _, interval = difference_of_means(before, after, weights=np.ones(items), resampling=FEW)
        covered += interval.low <= 0 <= interval.high
    assert 0.92 <= covered / 400 <= 0.98


def test_where_no_item_differs_the_difference_is_surely_nothing() -> None:
    values = np.array([1.0, 2.0, 5.0])
    value, interval = difference_of_means(values, values, weights=np.ones(3), resampling=FEW)
    assert (value, interval.low, interval.high) == (0, 0, 0)


def test_one_item_has_no_interval() -> None:
    assert math.isnan(ratio_interval(np.ones(1), np.ones(1), resampling=FEW).low)


def test_the_t_interval_and_p_value_are_those_of_the_paired_t_test() -> None:
    before, after = np.array([91.0, 92.5, 90.0, 91.5, 93.0]), np.array([90.0, 92.7, 89.0, 92.0, 92.0])
    interval, p_value = t_interval(after - before, confidence=0.9)
    expected = stats.ttest_rel(after, before)
    ends = expected.confidence_interval(0.9)
    assert (interval.low, interval.high) == pytest.approx((ends.low, ends.high))
    assert p_value == pytest.approx(expected.pvalue)


def test_seeds_that_agree_exactly() -> None:
    """Four equal differences say nothing about the fifth, not even if they are 0."""
    for differences in (np.full(4, -1.5), np.zeros(4), np.array([1.0])):
        interval, p_value = t_interval(differences, confidence=0.95)
        assert math.isnan(interval.low)
        assert interval.reason
        assert math.isnan(p_value)


@pytest.mark.parametrize(("truth", "wrong"), [(-1.0, MarginVerdict.KEPT), (-1.0, MarginVerdict.LOST)])
def test_at_the_margin_either_claim_is_wrong_in_one_case_of_forty(truth: float, wrong: MarginVerdict) -> None:
    """Non-inferiority over five seeds: the mean lies on the margin, so neither side may be claimed often."""
    generator = np.random.default_rng(5)
    cases = 4_000
    claimed = sum(
        judge_margin(t_interval(generator.normal(truth, 0.7, 5), confidence=0.95)[0], worst=-1.0) is wrong
        for _ in range(cases)
    )
    assert claimed / cases == pytest.approx(0.025, abs=0.009)


def test_a_model_that_is_as_good_is_mostly_found_to_be() -> None:
    generator = np.random.default_rng(6)
    kept = sum(
        judge_margin(t_interval(generator.normal(0, 0.4, 5), confidence=0.95)[0], worst=-1.0)
        is MarginVerdict.KEPT
        for _ in range(500)
    )
    assert kept > 450
