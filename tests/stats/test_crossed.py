"""Crossed rows and columns: variance against the textbook's mean squares, and the limits of the profile."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from evenhand.stats.crossed import (
    SMALLEST_P,
    CrossedVariance,
    absolute_deviation_interval,
    absolute_difference_interval,
    crossed_mean_interval,
    deviation_difference_interval,
    p_value_of,
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


def test_a_shift_of_all_rows_does_not_move_their_deviation() -> None:
    found, shifted = (absolute_deviation_interval(table(mean), confidence=0.95) for mean in (0.0, 3.0))
    assert (found.low, found.high) == pytest.approx((shifted.low, shifted.high))


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
        absolute_deviation_interval(cells, confidence=0.95),
        absolute_difference_interval(cells, cells, confidence=0.95),
        deviation_difference_interval(cells, cells, confidence=0.95),
    )
    for found in intervals:
        assert math.isnan(found.low)
        assert found.reason == "an interval needs at least two occupations and two structures"


def test_the_difference_of_deviations_has_the_error_of_the_jackknife() -> None:
    """Where there is no noise, by leaving out rows one by one."""
    before, after = (np.repeat(table(0.0, seed=seed).mean(axis=1)[:, None], 4, axis=1) for seed in (1, 2))

    def deviation(row_means: Floats) -> float:
        count = len(row_means)
        distances = [abs(mean - sum(row_means) / count) for mean in row_means]
        return math.sqrt(count / (count - 1)) * float(np.mean(distances))

    leans = before[:, 0], after[:, 0]
    value = deviation(leans[1]) - deviation(leans[0])
    replicates = [
        deviation(np.delete(leans[1], row)) - deviation(np.delete(leans[0], row)) for row in range(12)
    ]
    centre = sum(replicates) / 12
    error = math.sqrt(11 / 12 * sum((replicate - centre) ** 2 for replicate in replicates))
    reach = stats.t.ppf(0.975, 11) * error

    found = deviation_difference_interval(before, after, confidence=0.95)

    assert (found.low, found.high) == pytest.approx((value - reach, value + reach))


def test_what_structures_do_to_all_rows_leaves_the_difference_of_deviations() -> None:
    before, after = table(0.0), table(0.0, seed=2)
    shifts = np.random.default_rng(4).normal(size=(1, 9))
    found, shifted = (
        deviation_difference_interval(before, own, confidence=0.95) for own in (after, after + shifts)
    )
    assert (found.low, found.high) == pytest.approx((shifted.low, shifted.high))


def test_two_rows_have_no_interval_of_their_deviations() -> None:
    found = deviation_difference_interval(np.eye(2), np.ones((2, 2)), confidence=0.95)
    assert found.reason == "an interval of how occupations differ needs at least three of them"


def test_the_p_value_is_the_level_at_which_the_interval_reaches_zero() -> None:
    """Where structures have no effect of their own, that of the one-sample t test."""
    rows = np.random.default_rng(3).normal(0.4, 1, 15)
    cells = np.repeat(rows[:, None], 6, axis=1)
    found = p_value_of(lambda confidence: crossed_mean_interval(cells, confidence=confidence))
    assert found == pytest.approx(stats.ttest_1samp(rows, 0).pvalue, rel=1e-3)


def test_a_p_value_has_ends() -> None:
    def p_value(mean: float) -> float:
        cells = table(0.0)
        centred = cells - cells.mean() + mean
        return p_value_of(lambda confidence: crossed_mean_interval(centred, confidence=confidence))

    assert p_value(100.0) == SMALLEST_P
    assert p_value(0.0) == pytest.approx(1, abs=1e-6)
    assert math.isnan(p_value_of(lambda _: crossed_mean_interval(np.ones((1, 3)), confidence=0.9)))
