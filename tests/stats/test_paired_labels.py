"""Tests of paired labels against other computations, and how often they reject where nothing differs."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as stn

from evenhand.stats.paired_labels import (
    contingency,
    equivalence,
    mean_gap,
    pearson_chi_squared,
    sign_flip_p_value,
    stuart_maxwell,
)
from evenhand.stats.resampling import Floats, Resampling

DRAWS = 1_000
TABLES = stn.arrays(np.float64, (3, 3), elements=st.integers(1, 30).map(float))


@given(TABLES)
def test_stuart_maxwell_is_what_statsmodels_gives(table: Floats) -> None:
    tables = pytest.importorskip("statsmodels.stats.contingency_tables")
    expected = tables.SquareTable(table, shift_zeros=False).homogeneity(method="stuart_maxwell")
    found = stuart_maxwell(table)
    assert (found.statistic, found.p_value) == pytest.approx((expected.statistic, expected.pvalue))
    assert found.freedom == expected.df


@given(TABLES)
def test_chi_squared_is_what_scipy_gives(table: Floats) -> None:
    from scipy.stats import chi2_contingency

    expected = chi2_contingency([table.sum(axis=1), table.sum(axis=0)])
    found = pearson_chi_squared(table)
    assert (found.statistic, found.p_value) == pytest.approx((expected.statistic, expected.pvalue))
    assert found.freedom == expected.dof


def test_labels_that_no_pair_changes_have_no_part_in_stuart_maxwell() -> None:
    """With two labels that change it is McNemar's test, whatever else there is."""
    table = np.diag([50.0, 20.0, 30.0])
    table[0, 1], table[1, 0] = 12, 4
    found = stuart_maxwell(table)
    assert found.statistic == pytest.approx((12 - 4) ** 2 / 16)
    assert found.freedom == 1
    unchanged = stuart_maxwell(np.diag([5.0, 5.0]))
    assert (unchanged.statistic, unchanged.freedom, unchanged.p_value) == (0.0, 0, 1.0)


def test_one_label_alone_has_no_chi_squared() -> None:
    assert math.isnan(pearson_chi_squared(np.diag([9.0, 0.0])).p_value)


@given(st.lists(st.sampled_from([-2.0, -1.0, 0.0, 1.0, 2.0]), min_size=1, max_size=9))
def test_sign_flips_of_few_pairs_go_through_all_patterns(differences: list[float]) -> None:
    sums = [
        abs(sum(sign * difference for sign, difference in zip(signs, differences, strict=True)))
        for signs in product((1, -1), repeat=len(differences))
    ]
    exact = sum(total >= abs(sum(differences)) - 1e-9 for total in sums) / len(sums)
    assert sign_flip_p_value(np.array(differences), resampling=Resampling()) == pytest.approx(exact)


def test_sign_flips_of_many_pairs_are_close_to_all_patterns() -> None:
    differences = np.array([1.0] * 9 + [-1.0] * 5 + [2.0] * 3 + [0.0] * 50)
    drawn = sign_flip_p_value(differences, resampling=Resampling(resamples=20_000))
    signs = 1 - 2 * ((np.arange(2**17)[:, None] >> np.arange(17)) & 1).astype(np.int8)
    sums = signs @ differences[:17].astype(np.int8)
    assert drawn == pytest.approx(float((np.abs(sums) >= abs(differences.sum())).mean()), abs=0.006)


def simulated(
    generator: np.random.Generator, *, pairs: int = 300, shift: float = 0.0
) -> tuple[Floats, Floats]:
    """Pairs that mostly agree; a share of them moves one label up on the first side."""
    text = generator.choice(3, size=pairs, p=[0.3, 0.5, 0.2])
    sides = [
        np.where(generator.random(pairs) < 0.12, generator.integers(0, 3, pairs), text) for _ in range(2)
    ]
    moved = np.minimum(2, sides[0] + (generator.random(pairs) < shift))
    return contingency(moved, sides[1], 3), (moved - sides[1]).astype(np.float64)


def test_tests_for_pairs_reject_as_often_as_they_say_and_chi_squared_hardly_ever() -> None:
    generator = np.random.default_rng(11)
    rejected = np.zeros(3)
    for _ in range(DRAWS):
        table, differences = simulated(generator)
        p_values = (
            stuart_maxwell(table).p_value,
            sign_flip_p_value(differences, resampling=Resampling(resamples=500)),
            pearson_chi_squared(table).p_value,
        )
        rejected += np.array(p_values) < 0.05
    maxwell, flips, pearson = rejected / DRAWS
    assert 0.03 <= maxwell <= 0.07
    assert 0.03 <= flips <= 0.07
    assert pearson <= 0.01


def test_tests_for_pairs_find_what_chi_squared_misses() -> None:
    generator = np.random.default_rng(12)
    rejected = np.zeros(2)
    for _ in range(200):
        table, _ = simulated(generator, shift=0.12)
        rejected += np.array([stuart_maxwell(table).p_value, pearson_chi_squared(table).p_value]) < 0.05
    assert rejected[0] / 200 > 0.6
    assert rejected[1] < rejected[0] / 2


def test_the_gap_holds_the_truth_and_knows_how_many_pairs_there_are() -> None:
    generator = np.random.default_rng(13)
    held = 0
    for _ in range(DRAWS):
        _, differences = simulated(generator)
        gap = mean_gap(differences, scale=(-1.0, 0.0, 1.0), confidence=0.95)
        held += gap.low <= 0 <= gap.high
    assert 0.94 <= held / DRAWS <= 0.99
    few, many = (mean_gap(np.zeros(pairs), scale=(-1.0, 0.0, 1.0), confidence=0.95) for pairs in (20, 2_000))
    assert few.high > 0.1
    assert 0 < many.high < 0.01


def test_equivalence_is_seldom_shown_of_a_gap_as_large_as_the_margin() -> None:
    generator = np.random.default_rng(14)
    at_margin = inside = 0
    for _ in range(DRAWS):
        changed = generator.random(600)
        at_margin += equivalence(
            np.where(changed < 0.05, 1.0, 0.0), scale=(-1.0, 0.0, 1.0), margin=0.05
        ).holds
        inside += equivalence(np.where(changed < 0.01, 1.0, 0.0), scale=(-1.0, 0.0, 1.0), margin=0.05).holds
    assert at_margin / DRAWS <= 0.06
    assert inside / DRAWS > 0.9
