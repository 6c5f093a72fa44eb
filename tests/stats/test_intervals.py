"""Intervals against textbook formulas and a slow bootstrap, and where none can be given."""

from __future__ import annotations

import math
import statistics

import numpy as np
import pytest
from scipy import stats

from evenhand.instruments.association.measures import MEASURES, ClusterTotals
from evenhand.stats.intervals import (
    BOOTSTRAP,
    EXACT_EXTREME,
    JACKKNIFE,
    SKEWED_JACKKNIFE,
    Interval,
    cluster_interval,
    skewed_interval,
    skewness_of_values,
    unseen_share,
)
from evenhand.stats.resampling import Floats, Resampling, Statistic


def mean_of(values: list[float]) -> Statistic:
    """The mean over clusters with one value each."""

    def statistic(weights: Floats) -> Floats:
        result: Floats = weights @ np.array(values) / weights.sum(axis=1)
        return result

    return statistic


def slow_bootstrap(
    stereotype: dict[str, int], items: dict[str, int], *, resamples: int, confidence: float
) -> tuple[float, float, float]:
    """SS resampled by drawing names of clusters: the expanded percentile interval, and the spread."""
    generator = np.random.default_rng(5)
    names = sorted(items)
    replicates = []
    for _ in range(resamples):
        drawn = generator.choice(names, size=len(names), replace=True)
        replicates.append(100 * sum(stereotype[n] for n in drawn) / sum(items[n] for n in drawn))
    replicates.sort()
    count = len(names)
    t = float(stats.t.ppf((1 + confidence) / 2, count - 1))
    tail = statistics.NormalDist().cdf(-math.sqrt(count / (count - 1)) * t)
    cut = round(tail * resamples)
    return replicates[cut], replicates[-1 - cut], statistics.stdev(replicates)


@pytest.mark.parametrize("confidence", [0.95, 0.8])
@pytest.mark.parametrize("clusters", [10, 30])
def test_the_bootstrap_interval_agrees_with_a_slow_bootstrap(clusters: int, confidence: float) -> None:
    generator = np.random.default_rng(3)
    items = {f"term {i}": int(generator.integers(5, 40)) for i in range(clusters)}
    stereotype = {name: int(generator.binomial(n, 0.6)) for name, n in items.items()}
    totals = ClusterTotals(
        names=tuple(items),
        items=np.array(list(items.values()), dtype=np.float64),
        stereotype=np.array(list(stereotype.values()), dtype=np.float64),
        meaningful=np.zeros(clusters),
        log_ratio=np.zeros(clusters),
    )

    interval = cluster_interval(
        lambda weights: MEASURES["SS"].compute(totals, weights),
        clusters,
        resampling=Resampling(confidence=confidence),
    )

    low, high, spread = slow_bootstrap(stereotype, items, resamples=4_000, confidence=confidence)
    # Four standard errors of a 2% quantile of 4,000 draws are below a fifth of the spread.
    assert interval.low == pytest.approx(low, abs=0.2 * spread)
    assert interval.high == pytest.approx(high, abs=0.2 * spread)
    assert interval.method == BOOTSTRAP


def test_the_expanded_percentiles_of_ten_clusters_are_those_of_the_literature() -> None:
    # t with 9 degrees of freedom is 2.262157 at 97.5%; times sqrt(10/9) that is 2.384523, and the
    # standard normal has 0.855% below -2.384523.
    values = [float(value) for value in range(10)]
    resampling = Resampling(resamples=10_000)
    replicates = np.sort(resampling.bootstrap(mean_of(values), 10))

    interval = cluster_interval(mean_of(values), 10, resampling=resampling)

    below = np.count_nonzero(replicates < interval.low) / len(replicates)
    at_or_below = np.count_nonzero(replicates <= interval.low) / len(replicates)
    assert below <= 0.00855 <= at_or_below


@pytest.mark.parametrize("clusters", [2, 3, 9])
def test_with_few_clusters_the_interval_of_a_mean_is_the_t_interval(clusters: int) -> None:
    values = [40.0, 47.0, 55.0, 41.0, 62.0, 58.0, 49.0, 51.0, 46.0][:clusters]
    reach = stats.t.ppf(0.975, clusters - 1) * statistics.stdev(values) / math.sqrt(clusters)

    interval = cluster_interval(mean_of(values), clusters, resampling=Resampling())

    assert interval.low == pytest.approx(statistics.mean(values) - reach)
    assert interval.high == pytest.approx(statistics.mean(values) + reach)
    assert interval.method == JACKKNIFE


def test_the_jackknife_interval_stays_within_the_measures_range() -> None:
    interval = cluster_interval(mean_of([90.0, 100.0]), 2, resampling=Resampling(), lowest=0, highest=100)

    assert interval.high == 100
    assert interval.low < 90


def test_a_higher_confidence_gives_a_wider_interval() -> None:
    values = [float(value % 7) for value in range(20)]
    narrow, wide = (
        cluster_interval(mean_of(values), 20, resampling=Resampling(confidence=confidence))
        for confidence in (0.8, 0.99)
    )

    assert wide.low < narrow.low < narrow.high < wide.high


@pytest.mark.parametrize("clusters", [2, 24])
def test_all_clusters_at_the_upper_limit_give_the_exact_bound(clusters: int) -> None:
    interval = cluster_interval(
        mean_of([100.0] * clusters), clusters, resampling=Resampling(), lowest=0, highest=100
    )

    # The smallest share of which "all of them" would still happen 2.5% of the time.
    assert (interval.low / 100) ** clusters == pytest.approx(0.025)
    assert interval.high == 100
    assert interval.method == EXACT_EXTREME


def test_all_clusters_at_the_lower_limit_give_the_mirrored_bound() -> None:
    interval = cluster_interval(mean_of([0.0] * 24), 24, resampling=Resampling(), lowest=0, highest=100)

    assert interval.low == 0
    assert ((100 - interval.high) / 100) ** 24 == pytest.approx(0.025)


@pytest.mark.parametrize("clusters", [2, 9, 24])
def test_clusters_that_are_all_the_same_give_no_interval_and_a_reason(clusters: int) -> None:
    interval = cluster_interval(
        mean_of([60.0] * clusters), clusters, resampling=Resampling(), lowest=0, highest=100
    )

    assert math.isnan(interval.low)
    assert math.isnan(interval.high)
    assert interval.reason == "all target terms have the same value, so its spread is unknown"


@pytest.mark.parametrize("clusters", [0, 1])
def test_fewer_than_two_clusters_give_no_interval_and_a_reason(clusters: int) -> None:
    interval = cluster_interval(mean_of([60.0] * clusters), clusters, resampling=Resampling())

    assert math.isnan(interval.low)
    assert interval.reason == "an interval needs at least two target terms"


@pytest.mark.parametrize("clusters", [2, 8, 12])
def test_terms_that_lean_to_opposite_sides_are_not_taken_for_terms_that_are_the_same(clusters: int) -> None:
    """Leaving out any one term moves SS equally far from 50, so ICAT falls by the same amount each time."""
    totals = ClusterTotals(
        names=tuple(f"term {number}" for number in range(clusters)),
        items=np.full(clusters, 10.0),
        stereotype=np.array([4.0, 6.0] * (clusters // 2)),
        meaningful=np.full(clusters, 10.0),
        log_ratio=np.zeros(clusters),
    )

    interval = cluster_interval(
        lambda weights: MEASURES["ICAT"].compute(totals, weights),
        clusters,
        resampling=Resampling(),
        lowest=0,
        highest=100,
    )

    assert interval.method in (BOOTSTRAP, JACKKNIFE)
    assert interval.low < 100


@pytest.mark.parametrize("neutral_is_best", [True, False])
def test_the_interval_holds_a_value_that_every_resample_moves_to_the_same_side(neutral_is_best: bool) -> None:
    """SS is exactly 50 and in hardly any resample, so ICAT is 100 and falls, and the distance to 100 rises."""
    leans = np.array([137.0, -211.0, 84.0, 19.0, -158.0, 203.0, -46.0, 71.0, -99.0, 152.0, -13.0, -139.0])
    totals = ClusterTotals(
        names=tuple(f"term {number}" for number in range(12)),
        items=np.full(12, 1_000.0),
        stereotype=500 + leans,
        meaningful=np.full(12, 1_000.0),
        log_ratio=np.zeros(12),
    )

    def statistic(weights: Floats) -> Floats:
        icat = MEASURES["ICAT"].compute(totals, weights)
        return icat if neutral_is_best else 100 - icat

    interval = cluster_interval(statistic, 12, resampling=Resampling(), lowest=0, highest=100)

    assert leans.sum() == 0
    assert interval.method == BOOTSTRAP
    assert (interval.high if neutral_is_best else interval.low) == (100 if neutral_is_best else 0)
    assert interval.high - interval.low > 1


def skewed_mean(values: Floats, confidence: float = 0.95) -> Interval:
    """The interval of a plain mean."""
    left_out = (values.sum() - values) / (len(values) - 1)
    return skewed_interval(float(values.mean()), left_out, confidence=confidence)


def hall_reach(reach: float, skewness: float) -> float:
    """Where Hall's cubic transformation of a studentised mean is as large as a t quantile, by bisection."""

    def transformed(x: float) -> float:
        return x + skewness * x**2 / 3 + skewness**2 * x**3 / 27 + skewness / 6

    low, high = 0.0, 100.0
    for _ in range(200):
        middle = (low + high) / 2
        # The far end is at minus the quantile: the statistic is low where the sample has none of the long tail.
        low, high = (middle, high) if -transformed(-middle) < reach else (low, middle)
    return low


def test_values_that_are_not_skewed_have_a_t_interval() -> None:
    values = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    found = skewed_mean(values)
    reach = stats.t.ppf(0.975, 4) * math.sqrt(2.5 / 5)
    assert (found.low, found.high) == pytest.approx((3 - reach, 3 + reach))
    assert found.method == SKEWED_JACKKNIFE


@pytest.mark.parametrize("side", [1, -1])
def test_the_end_on_the_side_of_the_skew_is_halls_and_the_other_one_that_of_t(side: int) -> None:
    values = np.concatenate([np.zeros(20), np.arange(12.0)])
    found = skewed_mean(side * values)
    ends = (found.low, found.high) if side > 0 else (-found.high, -found.low)
    count, mean, error = 32, values.mean(), values.std(ddof=1) / math.sqrt(32)
    reach = float(stats.t.ppf(0.975, count - 1))
    skewness = float(stats.skew(values, bias=False)) * (1 + 5 / count) / math.sqrt(count)
    assert ends[0] == pytest.approx(mean - reach * error)
    assert ends[1] == pytest.approx(mean + hall_reach(reach, skewness) * error, rel=1e-6)
    assert ends[1] > mean + 1.2 * reach * error


def test_an_end_never_comes_back_as_values_become_more_skewed_and_stays_of_use() -> None:
    """Hall's transformation alone would bring it back: one far value among six would have a shorter interval."""
    reach, reaches = float(stats.t.ppf(0.975, 5)), []
    for far in (0.5, 0.6, 0.7, 1.0, 2.0, 4.0, 10.0, 1000.0):
        values = np.array([0.0, 0.1, 0.2, 0.3, 0.4, far])
        found = skewed_mean(values)
        reaches.append((found.high - values.mean()) / (values.std(ddof=1) / math.sqrt(6)))
    assert reaches[0] == pytest.approx(reach)
    assert min(np.diff(reaches)) > -1e-12
    assert reaches[-1] == pytest.approx(2.5 * reach)


def test_two_values_and_values_that_are_alike_have_no_skewness() -> None:
    assert skewness_of_values(np.array([1.0, 5.0])) == 0
    assert skewness_of_values(np.full(9, 0.1) + np.arange(9) * 1e-17) == 0
    assert skewness_of_values(np.array([0.0, 0.0, 0.0, 8.0])) == pytest.approx(2 * (1 + 5 / 4))


def test_the_unseen_share_is_that_of_which_a_sample_has_none_in_one_of_twenty() -> None:
    assert (1 - unseen_share(12)) ** 12 == pytest.approx(0.05)
    assert unseen_share(59) < 0.05 < unseen_share(58)


@pytest.mark.parametrize(("count", "most"), [(12, 0.05), (30, 0.045), (60, 0.04)])
def test_a_mean_of_skewed_values_is_held_on_the_side_of_the_long_tail(count: int, most: float) -> None:
    """A t interval ends below the mean of exponential values in 9% with twelve of them and in 5.5% with sixty."""
    generator = np.random.default_rng(6)
    below = below_t = above = 0
    for _ in range(4_000):
        values = generator.exponential(size=count)
        found = skewed_mean(values)
        below, above = below + (found.high < 1), above + (found.low > 1)
        reach = stats.t.ppf(0.975, count - 1) * values.std(ddof=1) / math.sqrt(count)
        below_t += values.mean() + reach < 1
    assert below / 4_000 <= most
    assert below_t / 4_000 > 0.05
    assert above / 4_000 <= 0.025


@pytest.mark.parametrize("count", [3, 8, 20])
def test_a_mean_of_normal_values_is_held_as_often_as_it_should_be(count: int) -> None:
    generator = np.random.default_rng(7)
    found = [skewed_mean(generator.normal(size=count)) for _ in range(2_000)]
    held = np.mean([own.low <= 0 <= own.high for own in found])
    assert 0.945 <= held <= 0.98
