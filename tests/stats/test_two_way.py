"""Two crossed factors: the interval against a slow bootstrap, and flips of signs counted one by one."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from evenhand.stats.intervals import Value, flip_test, two_way_interval
from evenhand.stats.resampling import Floats, Resampling

MANY = Resampling(resamples=20_000)


def mean_of(table: Floats) -> Value:
    """The mean over rows and columns."""

    def value(rows: Floats, columns: Floats) -> Floats:
        mean: Floats = ((rows @ table) * columns).sum(axis=1) / (rows.sum(axis=1) * columns.sum(axis=1))
        return mean

    return value


def test_the_interval_has_the_replicates_of_a_slow_bootstrap_reflected_at_the_value() -> None:
    generator = np.random.default_rng(1)
    table = generator.exponential(1, (12, 9)) + generator.normal(0, 1, (12, 1))
    slow = [
        float(np.mean([[table[row, column] for column in columns] for row in rows]))
        for rows, columns in zip(
            generator.integers(0, 12, (3_000, 12)), generator.integers(0, 9, (3_000, 9)), strict=True
        )
    ]
    low, high = np.quantile(slow, [0.025, 0.975])

    found = two_way_interval(mean_of(table), rows=12, columns=9, resampling=MANY)

    # Four standard errors of a 2.5% quantile of 3,000 draws are about a fifth of the spread.
    near = 0.2 * float(np.std(slow))
    assert found.low == pytest.approx(2 * table.mean() - high, abs=near)
    assert found.high == pytest.approx(2 * table.mean() - low, abs=near)


@pytest.mark.parametrize("sign", [1, -1], ids=["lowest", "highest"])
def test_the_interval_holds_the_value_where_every_replicate_lies_to_one_side_of_it(sign: int) -> None:
    """The table's mean is 0, so its absolute value can only rise when it is resampled."""
    table = np.random.default_rng(2).normal(0, 1, (15, 11))
    table -= table.mean()
    mean = mean_of(table)

    def value(rows: Floats, columns: Floats) -> Floats:
        found: Floats = sign * np.abs(mean(rows, columns))
        return found

    found = two_way_interval(value, rows=15, columns=11, resampling=MANY)

    assert (found.high if sign > 0 else found.low) == pytest.approx(0, abs=1e-12)
    assert found.high - found.low > 0.1


def test_no_end_lies_below_the_lowest_value_there_is() -> None:
    table = np.random.default_rng(3).exponential(1, (6, 5))

    free, bounded = (
        two_way_interval(mean_of(table), rows=6, columns=5, resampling=MANY, lowest=lowest)
        for lowest in (-np.inf, 0.9 * float(table.mean()))
    )

    assert free.low < bounded.low == pytest.approx(0.9 * table.mean())
    assert free.high == bounded.high


@pytest.mark.parametrize(("rows", "columns"), [(1, 5), (5, 1)])
def test_a_single_row_or_column_has_no_interval(rows: int, columns: int) -> None:
    found = two_way_interval(mean_of(np.ones((rows, columns))), rows=rows, columns=columns, resampling=MANY)
    assert np.isnan([found.low, found.high]).all()
    assert found.reason == "an interval needs at least two occupations and two structures"


@pytest.mark.parametrize("tenths", [[10, 20, -5], [10] * 7, [1, 2, 3, -3, 1]])
def test_few_columns_are_flipped_in_every_way(tenths: list[int]) -> None:
    """Whole tenths are counted, so that sums which are equal are so, whatever they lose in floating point."""
    sums = [
        abs(sum(sign * lean for sign, lean in zip(signs, tenths, strict=True)))
        for signs in product((1, -1), repeat=len(tenths))
    ]
    leans = np.array(tenths) / 10

    found = flip_test(lambda signs: np.abs(signs @ leans), len(leans), resampling=MANY)

    assert found == pytest.approx(sum(total >= abs(sum(tenths)) for total in sums) / len(sums))


def test_no_p_value_from_random_flips_is_zero() -> None:
    """None of 500 patterns is all of one sign; the observed one counts among them."""
    found = flip_test(lambda signs: np.abs(signs.sum(axis=1)), 60, resampling=Resampling(resamples=500))
    assert found == pytest.approx(1 / 501)
