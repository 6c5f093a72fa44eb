"""Every measure of the package says how it must respond to planted bias, and the lab calibrates it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from evenhand.core.errors import UnknownNameError
from evenhand.instruments.association.measures import MEASURES, Measure
from evenhand.lab.calibration import chosen_expectations
from evenhand.store.calibration import Response

OWN = [name for name in MEASURES if MEASURES.package_of(name) == "evenhand"]


def test_every_measure_of_the_package_is_calibrated() -> None:
    assert set(chosen_expectations()) >= {*OWN, "MALoR"}


def test_a_measure_with_a_neutral_value_is_expected_to_rise_with_bias() -> None:
    for name in OWN:
        rises = chosen_expectations()[name].response is Response.RISES
        assert (MEASURES[name].neutral is not None) == rises, name


def test_a_measure_without_movement_has_a_value_that_it_must_keep() -> None:
    for name, expectation in chosen_expectations().items():
        assert (expectation.at_least is not None) == (expectation.response is Response.STAYS), name


@pytest.fixture
def measure() -> Iterator[Measure]:
    made = replace(MEASURES["SS"], name="lean", version="lean.v1")
    yield MEASURES.register("lean", made)
    MEASURES.unregister("lean")


@pytest.mark.usefixtures("measure")
def test_a_measure_of_another_package_is_calibrated_if_it_says_how_it_must_respond() -> None:
    assert chosen_expectations(["lean"])["lean"].response is Response.RISES


def test_a_measure_of_another_package_without_an_expectation_is_not_calibrated(measure: Measure) -> None:
    MEASURES.unregister("lean")
    MEASURES.register("lean", replace(measure, expectation=None))
    assert "lean" not in chosen_expectations()
    with pytest.raises(UnknownNameError, match="lean"):
        chosen_expectations(["lean"])
