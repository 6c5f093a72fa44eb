"""The interval of a mean absolute row mean: what must not move it, and where it is known by other means."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from evenhand.stats.absolute_means import absolute_mean_interval
from evenhand.stats.crossed import crossed_mean_interval
from evenhand.stats.resampling import Floats


def table(mean: float, *, rows: int = 12, columns: int = 9, seed: int = 1) -> Floats:
    generator = np.random.default_rng(seed)
    effects = generator.normal(size=(rows, 1)) + generator.normal(size=(1, columns))
    return mean + effects + 0.3 * generator.normal(size=(rows, columns))


def ends(cells: Floats, *, confidence: float = 0.95) -> tuple[float, float]:
    found = absolute_mean_interval(cells, confidence=confidence)
    return found.low, found.high


@pytest.mark.parametrize("mean", [0.0, 0.4, 5.0])
def test_leans_to_the_other_side_have_the_same_interval(mean: float) -> None:
    assert ends(-table(mean)) == pytest.approx(ends(table(mean)))


@pytest.mark.parametrize("mean", [0.0, 0.4, 5.0])
def test_the_interval_scales_with_the_table(mean: float) -> None:
    low, high = ends(table(mean))
    assert ends(1_000 * table(mean)) == pytest.approx((1_000 * low, 1_000 * high), rel=1e-3)


@pytest.mark.parametrize("by_column", [0.0, 0.5, 3.0])
def test_far_from_zero_it_is_the_t_interval_of_the_mean(by_column: float) -> None:
    """Nothing is folded, and rows that are neither skewed nor heavy in their tails leave the t test."""
    rows = 20 + stats.norm.ppf((np.arange(12) + 0.5) / 12)
    cells = rows[:, None] + by_column * np.random.default_rng(2).normal(size=(1, 9))
    plain = crossed_mean_interval(cells, confidence=0.95)
    assert ends(cells) == pytest.approx((plain.low, plain.high), abs=0.02 * (plain.high - plain.low))


def test_rows_that_do_not_differ_have_the_folded_interval_of_their_mean() -> None:
    """What is left is one normal mean with seven degrees of freedom, of which the sign does not count."""
    generator = np.random.default_rng(3)
    by_column = generator.normal(0.0, 1.0, 8)
    by_column += 0.9 - by_column.mean()
    reach = stats.t.ppf(0.975, 7) * by_column.std(ddof=1) / math.sqrt(8)
    low, high = ends(np.repeat(by_column[None, :], 30, axis=0))
    assert low == pytest.approx(max(0.0, 0.9 - reach), abs=0.001 * reach)
    assert high == pytest.approx(0.9 + reach, abs=0.001 * reach)


def test_a_table_of_zeros_has_no_lean() -> None:
    assert ends(np.zeros((4, 5))) == (0.0, 0.0)


def test_one_answer_for_all_has_no_doubt() -> None:
    assert ends(np.full((4, 5), -0.7)) == pytest.approx((0.7, 0.7), abs=1e-4)


@pytest.mark.parametrize(("rows", "columns"), [(2, 2), (2, 9), (3, 2), (12, 2)])
def test_small_tables_have_intervals_that_hold_what_they_read_without_noise(rows: int, columns: int) -> None:
    for seed in range(10):
        low, high = ends(table(0.5, rows=rows, columns=columns, seed=seed))
        assert 0 <= low <= high < math.inf


def test_a_higher_confidence_gives_a_wider_interval() -> None:
    narrow, wide = (ends(table(1.0), confidence=confidence) for confidence in (0.8, 0.99))
    assert wide[0] < narrow[0] < narrow[1] < wide[1]


def test_missing_cells_leave_the_rest_as_it_is() -> None:
    cells = table(0.4, rows=30, columns=20)
    holes = cells.copy()
    holes[3, 4] = holes[10, 0] = np.nan
    assert ends(holes) == pytest.approx(ends(cells), rel=0.05)


def test_a_single_row_or_column_has_no_interval() -> None:
    for shape in ((1, 5), (5, 1)):
        found = absolute_mean_interval(np.ones(shape), confidence=0.95)
        assert math.isnan(found.low)
        assert found.reason == "an interval needs at least two occupations and two structures"
