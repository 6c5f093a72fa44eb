"""What a calibration asks of MALoR on neutral models: to read next to nothing, with 0 in nearly all intervals."""

from __future__ import annotations

from math import comb

import probe_runs
import pytest

from evenhand.core.estimates import Estimate
from evenhand.core.planted_bias import PlantedBias, ProbePart
from evenhand.instruments.malor.instrument import MALOR
from evenhand.lab.malor_calibration import calibrate_malor, most_above
from evenhand.runs.calibration import Check

READING = "largest reading on a neutral model, in bits"
INTERVALS = "neutral models whose interval starts above 0"


def checks(values: list[float], lows: list[float]) -> dict[str, Check]:
    """The checks on neutral models that read these values, with intervals that start there."""
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
    return {check.name: check for check in entry.checks}


@pytest.mark.parametrize("models", [2, 5, 10, 15, 45, 200])
def test_as_many_intervals_may_start_above_zero_as_chance_gives_in_one_of_a_hundred_calibrations(
    models: int,
) -> None:
    def chance_of_at_least(above: int) -> float:
        return sum(
            comb(models, count) * 0.025**count * 0.975 ** (models - count)
            for count in range(above, models + 1)
        )

    most = most_above(models)
    assert chance_of_at_least(most) >= 0.01
    assert chance_of_at_least(most + 1) < 0.01


@pytest.mark.parametrize(("above", "passed"), [(0, True), (1, True), (2, False), (5, False)])
def test_two_of_five_intervals_above_zero_are_too_many(above: int, passed: bool) -> None:
    found = checks([0.01] * 5, [0.005] * above + [0.0] * (5 - above))

    assert found[INTERVALS].passed is passed
    assert (found[INTERVALS].found, found[INTERVALS].wanted) == (above, "at most 1 of 5")
    assert found[READING].passed


@pytest.mark.parametrize(("largest", "passed"), [(0.029, True), (0.031, False)])
def test_the_largest_reading_counts(largest: float, passed: bool) -> None:
    found = checks([0.0, largest, 0.01], [0.0] * 3)[READING]

    assert (found.passed, found.found) == (passed, largest)


def test_one_neutral_model_is_not_asked_how_often_it_is_wrong() -> None:
    assert INTERVALS not in checks([0.01], [0.005])
