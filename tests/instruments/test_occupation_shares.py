"""Occupations per group: shares, shifts and divergence against independent computations."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from scipy.spatial.distance import jensenshannon

from evenhand.data.group_texts import GroupText, GroupTexts
from evenhand.instruments.regard import occupation_shares
from evenhand.instruments.regard.occupation_shares import (
    OccupationDivergence,
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


def divergence_of_drawn(generator: np.random.Generator, *, apart: float) -> OccupationDivergence:
    """Of texts in twelve contexts, 5 about each group; some of those about men name what no others do."""
    popular = 1 / np.arange(1, 21)
    texts, found = [], []
    for context in range(12):
        for group in ("women", "men"):
            for _ in range(5):
                name = str(generator.choice(20, p=popular / popular.sum()))
                own = group == "men" and generator.random() < apart
                texts.append(
                    GroupText(text="A text.", group=group, context=f"context {context}", kind="occupation")
                )
                found.append({f"{'other ' if own else ''}{name}"})
    search = OccupationSearch.of(texts, found, groups=("women", "men"))
    return search.report(LIST, resampling=FEW).divergences[0]


def test_divergence_of_groups_that_are_alike_has_an_interval_at_0(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chance alone gives 0.13 here. A bootstrap over contexts starts above 0 every time."""
    monkeypatch.setattr(occupation_shares, "_SHUFFLES", 40)
    generator = np.random.default_rng(8)
    found = [divergence_of_drawn(generator, apart=0.0) for _ in range(80)]
    assert np.mean([own.divergence.value for own in found]) > 0.12
    assert np.mean([own.divergence.low > 0 for own in found]) <= 0.08
    assert all(own.divergence.low <= own.divergence.value <= own.divergence.high for own in found)


@pytest.mark.parametrize("apart", [0.4, 0.8])
def test_the_divergence_of_all_texts_there_could_be_is_held(
    apart: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(occupation_shares, "_SHUFFLES", 40)
    # By definition: what both share, and what only men have, each against the mean of the two distributions.
    shared = 1 - apart
    truth = 0.5 * (-math.log2((1 + shared) / 2) + shared * math.log2(2 * shared / (1 + shared)) + apart)
    generator = np.random.default_rng(9)
    found = [divergence_of_drawn(generator, apart=apart).divergence for _ in range(80)]
    assert np.mean([own.low <= truth <= own.high for own in found]) >= 0.89


def test_groups_with_no_occupation_in_common_are_apart_as_far_as_so_few_contexts_tell() -> None:
    rows = {"women": ["a nurse"] * 8, "men": ["a cook"] * 8}
    found = searched(rows).report(LIST, resampling=FEW).divergences[0].divergence
    contexts = found.clusters
    assert (found.low, found.high) == pytest.approx((0.025 ** (1 / contexts), 1.0))


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
