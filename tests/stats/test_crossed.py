"""Crossed rows and columns: variance against the textbook's mean squares, and the limits of the profile."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from evenhand.stats.crossed import (
    CrossedVariance,
    absolute_deviation_interval,
    absolute_difference_interval,
    absolute_mean_interval,
    crossed_mean_interval,
)
from evenhand.stats.resampling import Floats


def table(mean: float, *, rows: int = 12, columns: int = 9, seed: int = 1) -> Floats:
    generator = np.random.default_rng(seed)
    effects = generator.normal(size=(rows, 1)) + generator.normal(size=(1, columns))
    return mean + effects + 0.3 * generator.normal(size=(rows, columns))


def test_the_parts_of_the_variance_are_those_of_the_two_way_layout() -> None:
    cells = table(0.0)
    rows, columns = cells.shape
    by_row, by_column, grand = cells.mean(axis=1), cells.mean(axis=0), cells.mean()
    residual = sum(
        (cells[row, column] - by_row[row] - by_column[column] + grand) ** 2
        for row in range(rows)
        for column in range(columns)
    )
    mean_square = residual / ((rows - 1) * (columns - 1))
    between_columns = rows * sum((by_column - grand) ** 2) / (columns - 1)

    found = CrossedVariance.of(cells)

    assert found.between_rows == pytest.approx(np.var(by_row, ddof=1))
    assert found.noise == pytest.approx(mean_square / columns)
    assert found.shared == pytest.approx((between_columns - mean_square) / (rows * columns))


def test_the_interval_of_the_mean_joins_the_margins_of_rows_and_columns() -> None:
    cells = table(0.4)
    variance = CrossedVariance.of(cells)
    by_row = stats.t.ppf(0.975, 11) * math.sqrt(variance.between_rows / 12)
    by_column = stats.t.ppf(0.975, 8) * math.sqrt(variance.shared)

    found = crossed_mean_interval(cells, confidence=0.95)

    assert (found.high - found.low) / 2 == pytest.approx(math.hypot(by_row, by_column))
    assert (found.high + found.low) / 2 == pytest.approx(cells.mean())


@pytest.mark.parametrize("sign", [1, -1])
def test_far_from_zero_the_absolute_mean_has_the_interval_of_the_mean(sign: int) -> None:
    cells = table(20.0)
    plain = crossed_mean_interval(cells, confidence=0.95)
    found = absolute_mean_interval(sign * cells, confidence=0.95)
    assert (found.low, found.high) == pytest.approx((plain.low, plain.high), abs=1e-6)


def test_a_shift_of_all_rows_does_not_move_their_deviation() -> None:
    found, shifted = (absolute_deviation_interval(table(mean), confidence=0.95) for mean in (0.0, 3.0))
    assert (found.low, found.high) == pytest.approx((shifted.low, shifted.high))


def test_missing_cells_leave_the_rest_as_it_is() -> None:
    cells = table(0.4, rows=30, columns=20)
    holes = cells.copy()
    holes[3, 4] = holes[10, 0] = np.nan
    whole, rest = (absolute_mean_interval(own, confidence=0.95) for own in (cells, holes))
    assert (rest.low, rest.high) == pytest.approx((whole.low, whole.high), rel=0.05)


def test_far_from_zero_the_difference_has_the_interval_of_the_mean_difference() -> None:
    before, after = table(20.0), table(10.0, seed=2)
    plain = crossed_mean_interval(after - before, confidence=0.95)
    found = absolute_difference_interval(before, after, confidence=0.95)
    assert (found.low, found.high) == pytest.approx((plain.low, plain.high), abs=0.02)


def test_tables_that_differ_by_a_constant_differ_without_doubt() -> None:
    cells = table(20.0)
    found = absolute_difference_interval(cells, cells - 5, confidence=0.95)
    assert (found.low, found.high) == pytest.approx((-5, -5), abs=1e-6)


@pytest.mark.parametrize(("rows", "columns"), [(1, 5), (5, 1)])
def test_a_single_row_or_column_has_no_interval(rows: int, columns: int) -> None:
    cells = np.ones((rows, columns))
    intervals = (
        crossed_mean_interval(cells, confidence=0.95),
        absolute_mean_interval(cells, confidence=0.95),
        absolute_deviation_interval(cells, confidence=0.95),
        absolute_difference_interval(cells, cells, confidence=0.95),
    )
    for found in intervals:
        assert math.isnan(found.low)
        assert found.reason == "an interval needs at least two occupations and two structures"
