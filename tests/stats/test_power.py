"""Power that is worked out beforehand, against simulations with the very intervals that decide."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from evenhand.stats.power import MeanTest, ShareTest, needed_units, provable_margin
from evenhand.stats.score_intervals import crossed_interval, score_interval

DRAWS = 1_000
CLOSE = 0.07
"""The standard error of a share in so many draws is 1.6 points, and the formula is an approximation."""


@pytest.mark.parametrize(
    ("units", "changed", "margin"),
    [(165, 0.02, 0.03), (165, 0.05, 0.03), (480, 0.05, 0.03), (800, 0.05, 0.03), (700, 0.02, 0.02)],
)
def test_power_of_shares_is_how_often_score_intervals_stay_within_the_margin(
    units: int, changed: float, margin: float
) -> None:
    generator = np.random.default_rng(4)
    shares = (changed / 2, 1 - changed, changed / 2)
    kept = np.mean(
        [
            score_interval(generator.choice([-1.0, 0.0, 1.0], units, p=shares), confidence=0.95).low
            >= -margin
            for _ in range(DRAWS)
        ]
    )
    assert ShareTest(changed, 0.95).power(units, margin) == pytest.approx(kept, abs=CLOSE)


def test_power_counts_what_seeds_add() -> None:
    generator = np.random.default_rng(5)
    seeds, examples, deviation, margin = 5, 2_000, 0.003, 0.01
    test = ShareTest(0.02, 0.95, seeds, deviation)
    kept = 0
    for _ in range(DRAWS):
        items = generator.choice([-1.0, 0.0, 1.0], examples, p=(0.01, 0.98, 0.01))
        by_seed = generator.normal(0, deviation, (seeds, 1))
        kept += crossed_interval(items + by_seed, confidence=0.95).low >= -margin
    assert test.power(examples, margin) == pytest.approx(kept / DRAWS, abs=0.1)
    assert test.power(examples, margin) < ShareTest(0.02, 0.95).power(examples, margin)
    assert ShareTest(0.02, 0.95, 2, deviation).power(examples, margin) == 0


@pytest.mark.parametrize(("units", "deviation"), [(5, 0.01), (12, 0.01), (34, 0.02), (100, 0.05)])
def test_power_of_means_is_how_often_t_intervals_stay_within_the_margin(units: int, deviation: float) -> None:
    generator = np.random.default_rng(6)
    draws = generator.normal(0, deviation, (20 * DRAWS, units))
    ends = draws.mean(axis=1) + stats.t.ppf(0.975, units - 1) * draws.std(axis=1, ddof=1) / math.sqrt(units)
    assert MeanTest(deviation, 0.95).power(units, 0.01) == pytest.approx(np.mean(ends <= 0.01), abs=0.01)


def test_without_any_change_the_number_of_units_decides() -> None:
    test = ShareTest(0.0, 0.95)
    z = 1.959964
    reach = z * z / (165 + z * z)
    assert provable_margin(test, 165, highest=1.0) == pytest.approx(reach, abs=1e-4)
    assert test.power(165, 0.99 * reach) == 0
    assert test.power(165, 1.01 * reach) == 1


@pytest.mark.parametrize("test", [ShareTest(0.05, 0.95), MeanTest(0.02, 0.95)])
def test_what_is_needed_is_the_first_number_that_is_enough(test: ShareTest | MeanTest) -> None:
    needed = needed_units(test, 0.02)
    assert needed is not None
    assert test.power(needed, 0.02) >= 0.8 > test.power(needed - 1, 0.02)
    provable = provable_margin(test, needed, highest=1.0)
    assert provable <= 0.02
    assert test.power(needed, 0.98 * provable) < 0.8


def test_where_nothing_is_enough_that_is_said() -> None:
    assert needed_units(ShareTest(0.02, 0.95, 3, 0.02), 0.01) is None
    assert math.isnan(provable_margin(MeanTest(1.0, 0.95), 2, highest=1.0))
