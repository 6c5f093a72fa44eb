"""Wilson's interval of a share: the textbook's numbers, its coverage, and its ends."""

from __future__ import annotations

import math

import numpy as np
import pytest
from statsmodels.stats.proportion import proportion_confint

from evenhand.stats.intervals import WILSON, wilson_interval


@pytest.mark.parametrize(("wins", "n"), [(0, 1), (0, 20), (1, 3), (7, 10), (754, 1508), (20, 20)])
@pytest.mark.parametrize("confidence", [0.8, 0.95])
def test_it_is_the_textbooks_interval(wins: int, n: int, confidence: float) -> None:
    low, high = proportion_confint(wins, n, alpha=1 - confidence, method="wilson")

    found = wilson_interval(wins / n, n, confidence=confidence)

    assert (found.low, found.high) == pytest.approx((low, high), abs=1e-12)
    assert found.method == WILSON


@pytest.mark.parametrize("n", [1, 7, 49, 1000])
def test_the_share_lies_in_its_interval_also_at_the_ends(n: int) -> None:
    for wins in {0, 1, n // 2, n}:
        found = wilson_interval(wins / n, n, confidence=0.95)
        assert 0 <= found.low <= wins / n <= found.high <= 1


def test_nothing_has_no_interval() -> None:
    found = wilson_interval(0.5, 0, confidence=0.95)

    assert math.isnan(found.low)
    assert found.reason


@pytest.mark.parametrize("truth", [0.5, 0.65])
@pytest.mark.parametrize("ties", [0.0, 0.1])
def test_it_covers_the_truth_as_often_as_it_says(truth: float, ties: float) -> None:
    """Ties that count half make it a little too wide, and never too narrow."""
    generator = np.random.default_rng(3)
    n, runs = 120, 3000
    tied = generator.random((runs, n)) < ties
    wins = np.where(tied, 0.5, generator.random((runs, n)) < truth)
    expected = ties * 0.5 + (1 - ties) * truth
    intervals = [wilson_interval(float(share), n, confidence=0.95) for share in wins.mean(axis=1)]

    covered = np.mean([interval.low <= expected <= interval.high for interval in intervals])

    assert 0.935 < covered < (0.965 if ties == 0 else 0.985)
