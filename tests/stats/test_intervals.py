"""Intervals against textbook formulas and a slow bootstrap, and where none can be given."""

from __future__ import annotations

import math
import statistics

import numpy as np
import pytest
from scipy import stats

from evenhand.instruments.association.measures import MEASURES, ClusterTotals
from evenhand.stats.intervals import BOOTSTRAP, EXACT_EXTREME, JACKKNIFE, cluster_interval
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
