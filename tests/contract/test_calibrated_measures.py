"""Every measure is calibrated in the lab."""

from __future__ import annotations

from evenhand.instruments.association.measures import MEASURES, PROBE_MEASURES
from evenhand.lab.registry import CALIBRATED
from evenhand.runs.calibration import Response


def test_every_measure_is_registered_for_calibration() -> None:
    assert set(CALIBRATED) == {*MEASURES, *PROBE_MEASURES}


def test_a_measure_with_a_neutral_value_is_expected_to_rise_with_bias() -> None:
    for name, measure in MEASURES.items():
        assert (measure.neutral is not None) == (CALIBRATED[name].response is Response.RISES), name


def test_a_measure_without_movement_has_a_value_that_it_must_keep() -> None:
    for name, expectation in CALIBRATED.items():
        assert (expectation.at_least is not None) == (expectation.response is Response.STAYS), name
