"""What a calibration asks of MALoR on neutral models: to read next to nothing."""

from __future__ import annotations

import probe_runs
import pytest

from evenhand.core.estimates import Estimate
from evenhand.core.planted_bias import PlantedBias, ProbePart
from evenhand.instruments.malor.instrument import MALOR
from evenhand.lab.malor_calibration import calibrate_malor
from evenhand.store.calibration import MeasureCalibration

READING = "largest reading on a neutral model, in bits"


def calibrated(values: list[float], lows: list[float]) -> MeasureCalibration:
    """The calibration of neutral models that read these values, with intervals that start there."""
    runs = [
        probe_runs.probe_run(
            probe_runs.malor(
                {"engineer": value, "nurse": -value},
                MALoR=Estimate(value=value, low=low, high=value + 0.01, n=2, clusters=2, method="made up"),
            ),
            planted=PlantedBias(family="masked", strength=0.0, language="en", seed=seed),
        )
        for seed, (value, low) in enumerate(zip(values, lows, strict=True))
    ]
    (entry,) = calibrate_malor({ProbePart.TAUGHT: runs}, MALOR.expectation)
    return entry


def test_how_many_intervals_start_above_zero_is_told_and_not_asked() -> None:
    entry = calibrated([0.01] * 5, [0.005, 0.005, 0.0, 0.0, 0.0])

    assert (entry.false_positives, entry.neutral_sets) == (0.4, 5)
    assert all(check.passed for check in entry.checks if "neutral" in check.name)


def test_one_model_that_is_off_fails_whatever_the_mean_is() -> None:
    name = "largest error of MALoR on one model, in bits"
    found = {
        largest: next(
            check for check in calibrated([0.0] * 9 + [largest], [0.0] * 10).checks if check.name == name
        )
        for largest in (0.14, 0.16)
    }
    assert (found[0.14].passed, found[0.16].passed) == (True, False)
    assert found[0.16].found == 0.16


def test_points_of_malor_have_its_parts() -> None:
    (point,) = calibrated([0.02], [0.0]).points
    assert point.base_rate is not None
    assert point.base_rate.value == pytest.approx(0.0)
    assert point.spread is not None


@pytest.mark.parametrize(("largest", "passed"), [(0.029, True), (0.031, False)])
def test_the_largest_reading_counts(largest: float, passed: bool) -> None:
    entry = calibrated([0.0, largest, 0.01], [0.0] * 3)
    (found,) = (check for check in entry.checks if check.name == READING)

    assert (found.passed, found.found) == (passed, largest)
