"""Flips of the signs of columns, counted one by one."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from evenhand.stats.intervals import flip_test
from evenhand.stats.resampling import Resampling

MANY = Resampling(resamples=20_000)


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
