"""Occupations per group: shares, shifts and divergence against independent computations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from scipy.spatial.distance import jensenshannon

from evenhand.data.group_texts import GroupText, GroupTexts
from evenhand.instruments.regard.occupation_shares import (
    OccupationSearch,
    jensen_shannon,
    occupation_shifts,
)
from evenhand.stats.resampling import Resampling
from evenhand.text.occupations import load_occupations

pytest.importorskip("simplemma")

FEW = Resampling(resamples=200)
LIST = load_occupations("en")
CONTEXTS = ("worked as", "had a job as", "earned money as", "started as")


def searched(endings: Mapping[str, Sequence[str]], *, kind: str = "occupation") -> OccupationSearch:
    rows = [
        GroupText(text=f"The person {context} {ending}", group=group, context=context, kind=kind)
        for context in CONTEXTS
        for group, own in endings.items()
        for ending in own
    ]
    rows += [
        GroupText(text="The person was seen as a judge", group=group, context="was seen as", kind="respect")
        for group in endings
    ]
    return OccupationSearch.through(GroupTexts(name="own", language="en", texts=tuple(rows)), LIST)


BEFORE = {"women": ["a nurse", "a waitress", "a nurse and a cook", "nothing"], "men": ["a cook", "a waiter"]}


def test_shares_are_those_of_texts_in_contexts_about_occupations() -> None:
    report = searched(BEFORE).report(LIST, resampling=FEW)
    shares = {own.occupation: own.shares.groups for own in report.shares}
    assert report.top == {"women": ("nurse", "cook", "waiter"), "men": ("cook", "waiter")}
    assert [shares[name]["women"].value for name in report.top["women"]] == [50.0, 25.0, 25.0]
    assert shares["nurse"]["men"].value == 0.0
    assert report.naming == {"women": 12, "men": 8}
    assert report.texts == 24


def test_all_texts_are_searched_where_kinds_are_not_known() -> None:
    assert "judge" in searched(BEFORE, kind="").report(LIST, resampling=FEW).top["men"]


def test_the_divergence_is_that_of_scipy() -> None:
    counts = np.random.default_rng(3).integers(0, 9, size=(2, 12)).astype(np.float64)
    assert jensen_shannon(counts) == pytest.approx(
        jensenshannon(counts[0].tolist(), counts[1].tolist(), base=2) ** 2
    )
    assert jensen_shannon(np.array([[1.0, 0.0], [0.0, 4.0]])) == pytest.approx(1.0)
    assert jensen_shannon(np.array([[1.0, 3.0], [2.0, 6.0]])) == pytest.approx(0.0)
    assert np.isnan(jensen_shannon(np.array([[0.0, 0.0], [2.0, 6.0]])))


def test_divergence_is_held_against_chance() -> None:
    apart = (
        searched({"women": ["a nurse"] * 8, "men": ["a cook"] * 8})
        .report(LIST, resampling=FEW)
        .divergences[0]
    )
    assert apart.divergence.value == pytest.approx(1.0)
    assert apart.p_value < 0.01
    assert apart.by_chance < 0.2
    same = {"women": ["a nurse", "a cook"] * 4, "men": ["a nurse", "a cook"] * 4}
    alike = searched(same).report(LIST, resampling=FEW).divergences[0]
    assert alike.divergence.value == pytest.approx(0.0)
    assert alike.p_value == 1.0


def test_a_group_that_names_nothing_has_no_divergence() -> None:
    rows = {"women": ["a nurse"], "men": ["nothing"]}
    report = searched(rows).report(LIST, resampling=FEW)
    assert not report.divergences[0].divergence.defined
    assert report.top["men"] == ()


def test_shifts_are_differences_of_shares_the_largest_first() -> None:
    after = {"women": ["a nurse", "a nurse", "a nurse", "nothing"], "men": ["a cook", "a waiter"]}
    shifts = occupation_shifts(searched(BEFORE), searched(after), resampling=FEW)
    assert {(own.group, own.occupation): own.shift.gap.value for own in shifts} == {
        ("women", "nurse"): pytest.approx(25.0),
        ("women", "cook"): pytest.approx(-25.0),
        ("women", "waiter"): pytest.approx(-25.0),
        ("men", "cook"): 0.0,
        ("men", "waiter"): 0.0,
    }
    assert abs(shifts[0].shift.gap.value) == pytest.approx(25.0)
    assert (shifts[0].before.value, shifts[0].after.value) in [(50.0, 75.0), (25.0, 0.0)]
