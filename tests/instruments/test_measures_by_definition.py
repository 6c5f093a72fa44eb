"""Every measure equals a slow computation from its definition, on random scores."""

from __future__ import annotations

import math
from dataclasses import replace

import definitions
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenhand.core.protocols import Ties
from evenhand.instruments.association.measures import MEASURES, ClusterTotals, Preferences

TIE_CREDIT = {Ties.HALF: 0.5, Ties.AGAINST: 0.0}

# Few distinct scores make ties frequent; the others are any finite number.
SCORES = st.one_of(st.sampled_from([-1.0, 0.0, 0.25, 1.0]), st.floats(allow_nan=False, allow_infinity=False))
PROBABILITIES = st.floats(1e-30, 1.0)
ITEMS = st.lists(
    st.builds(
        definitions.Item,
        term=st.sampled_from(["baker", "pilot", "tailor"]),
        s=SCORES,
        a=SCORES,
        u=SCORES,
        p_s=PROBABILITIES,
        p_a=PROBABILITIES,
    ),
    min_size=1,
    max_size=30,
)


def totals_of(items: list[definitions.Item], ties: Ties) -> ClusterTotals:
    s, a, u = (np.array([getattr(item, name) for item in items]) for name in ("s", "a", "u"))
    p_s, p_a = (np.array([getattr(item, name) for item in items]) for name in ("p_s", "p_a"))
    preferences = Preferences.from_scores(s, a, u, ties=ties, log_ratio=np.log2(p_s) - np.log2(p_a))
    return ClusterTotals.from_preferences(np.array([item.term for item in items]), preferences)


COUNTED = {name: measure for name, measure in MEASURES.items() if name != "macro_ICAT_corrected"}


@pytest.mark.parametrize("ties", list(Ties))
def test_macro_icat_corrected_equals_its_definition(ties: Ties) -> None:
    generator = np.random.default_rng(1)
    items = [
        definitions.Item(term, s=s, a=a, u=u, p_s=0.5, p_a=0.5)
        for term, size in (("baker", 3), ("pilot", 6), ("nurse", 6), ("chef", 1))
        for s, a, u in generator.integers(0, 5, (size, 3)).astype(float).tolist()
    ]
    found = MEASURES["macro_ICAT_corrected"].value(totals_of(items, ties))
    assert found == pytest.approx(definitions.corrected_macro_icat(items, TIE_CREDIT[ties]), abs=1e-9)


@pytest.mark.parametrize("ties", list(Ties))
@given(items=ITEMS)
def test_every_measure_equals_its_definition(ties: Ties, items: list[definitions.Item]) -> None:
    expected = definitions.all_measures(items, TIE_CREDIT[ties])
    totals = totals_of(items, ties)

    computed = {name: measure.value(totals) for name, measure in COUNTED.items()}

    assert computed == pytest.approx(expected, abs=1e-9)


@given(items=ITEMS, drawn=st.data())
def test_weights_count_target_terms_as_often_as_they_say(
    items: list[definitions.Item], drawn: st.DataObject
) -> None:
    totals = totals_of(items, Ties.HALF)
    weights = drawn.draw(
        st.lists(st.integers(1, 3), min_size=len(totals), max_size=len(totals)), label="weights"
    )
    copies = [
        replace(item, term=f"{item.term} {copy}")
        for name, weight in zip(totals.names, weights, strict=True)
        for copy in range(weight)
        for item in items
        if item.term == name
    ]
    expected = definitions.all_measures(copies, 0.5)

    computed = {
        name: float(measure.compute(totals, np.array([weights], dtype=np.float64))[0])
        for name, measure in COUNTED.items()
    }

    assert computed == pytest.approx(expected, abs=1e-9)


def test_totals_list_target_terms_in_sorted_order_with_their_sums() -> None:
    items = [
        definitions.Item("tailor", 2, 1, 0, p_s=0.5, p_a=0.125),
        definitions.Item("baker", 1, 2, 3, p_s=0.25, p_a=0.5),
        definitions.Item("tailor", 1, 2, 1.5, p_s=0.5, p_a=0.25),
    ]
    totals = totals_of(items, Ties.HALF)

    assert totals.names == ("baker", "tailor")
    assert totals.items.tolist() == [1, 2]
    assert totals.stereotype.tolist() == [0, 1]
    assert totals.meaningful.tolist() == [0, 1.5]
    assert totals.log_ratio.tolist() == [-1, 3]


def test_the_log_ratio_of_a_term_is_unknown_when_that_of_one_of_its_items_is() -> None:
    items = [
        definitions.Item("baker", 2, 1, 0, p_s=0.5, p_a=0.25),
        definitions.Item("baker", 2, 1, 0),
        definitions.Item("pilot", 2, 1, 0, p_s=0.5, p_a=0.25),
    ]
    totals = totals_of(items, Ties.HALF)

    assert np.isnan(totals.log_ratio).tolist() == [True, False]
    assert math.isnan(MEASURES["log_ratio"].value(totals))
    assert MEASURES["SS"].value(totals) == 100


def test_scores_alone_say_nothing_about_the_log_ratio() -> None:
    scores = np.array([0.5, 0.25])

    preferences = Preferences.from_scores(scores, scores, scores, ties=Ties.HALF)

    assert np.isnan(preferences.log_ratio).all()


def test_beside_puts_the_second_runs_terms_after_the_first_runs() -> None:
    first = totals_of([definitions.Item("baker", 2, 1, 0, p_s=0.5, p_a=0.125)], Ties.HALF)
    second = totals_of([definitions.Item("baker", 1, 2, 3, p_s=0.25, p_a=0.5)], Ties.HALF)
    both = first.beside(second)
    choose = np.array([[1.0, 0.0], [0.0, 1.0]])

    assert MEASURES["SS"].compute(both, choose).tolist() == [100, 0]
    assert MEASURES["LMS"].compute(both, choose).tolist() == [100, 0]
    assert MEASURES["log_ratio"].compute(both, choose).tolist() == [2, -1]
