"""Plots of a calibration: valid JSON, true points, and axes that fit measures of any range."""

from __future__ import annotations

import json
import math
from typing import Any

import calibrations
import pytest

from evenhand.core.estimates import Estimate
from evenhand.reporting.calibration.plots import detectable_plot, dose_plot
from evenhand.reporting.rendering import to_script_json
from evenhand.store.calibration import MeasureCalibration, Response

FOUND = {24: (math.nan, math.nan), 48: (1.1, 65.0), 96: (0.8, 60.0)}


def dose(entry: MeasureCalibration) -> dict[str, Any]:
    return dose_plot(entry, among=[entry], families=[entry.family])


def data(spec: dict[str, Any], key: str) -> list[dict[str, Any]]:
    """The rows of the datasets that have a column."""
    return [row for rows in spec["datasets"].values() for row in rows if key in row]


def domain(spec: dict[str, Any], axis: str) -> list[float]:
    return next(
        layer["encoding"][axis]["scale"]["domain"] for layer in spec["layer"] if axis in layer["encoding"]
    )


def test_every_seed_is_a_point_and_the_line_joins_their_means() -> None:
    spec = dose(calibrations.entry("SS", values={0.0: [48.0, 52.0, 53.0], 3.0: [90.0, 92.0]}))
    assert [row["value"] for row in data(spec, "seed")] == [48.0, 52.0, 53.0, 90.0, 92.0]
    means = [row for row in data(spec, "value") if "seed" not in row]
    assert means == [{"strength": 0.0, "value": 51.0}, {"strength": 3.0, "value": 91.0}]


def test_the_neutral_value_is_marked_where_there_is_one() -> None:
    assert data(dose(calibrations.entry("SS")), "neutral") == [
        {"left": -3.0, "zero": 0.0, "neutral": 50.0, "text": "neutral 50"}
    ]
    assert data(dose(calibrations.entry("LMS")), "neutral") == []


def test_a_measure_of_limited_range_is_shown_whole_so_that_flat_looks_flat() -> None:
    assert domain(dose(calibrations.entry("LMS", values={0.0: [99.1], 3.0: [99.4]})), "y") == [0, 100]


def test_a_measure_of_any_range_has_an_axis_around_what_was_read_and_planted() -> None:
    entry = calibrations.entry(
        "bits_read", response=Response.RISES, values={-2.0: [-2.4], 3.0: [2.2]}, error=0.1
    )
    spec = dose(entry)
    assert domain(spec, "y") == [-3, 3]
    assert domain(spec, "x") == [-2, 3]


def test_exact_recovery_is_drawn_for_measures_in_bits_alone() -> None:
    ends = [{"strength": -2.0, "value": -2.0}, {"strength": 3.0, "value": 3.0}]
    values = {-2.0: [-2.4], 3.0: [2.2]}
    in_bits = calibrations.entry("bits_read", response=Response.RISES, values=values, error=0.1)
    other = calibrations.entry("bits_read", response=Response.RISES, values=values)
    assert [row for row in data(dose(in_bits), "value") if row in ends] == ends
    assert [row for row in data(dose(other), "value") if row in ends] == []


def test_families_share_the_axis_of_their_measure() -> None:
    first = calibrations.entry("other", "masked", response=Response.RISES, values={0.0: [1.5], 1.0: [2.5]})
    second = calibrations.entry("other", "decoder", response=Response.RISES, values={0.0: [-4.5], 2.0: [9.5]})
    both = [first, second]
    specs = [dose_plot(own, among=both, families=["masked", "decoder"]) for own in both]
    assert [domain(spec, "y") for spec in specs] == [[-5, 10], [-5, 10]]
    assert [domain(spec, "x") for spec in specs] == [[0, 2], [0, 2]]


def test_a_measure_that_is_undefined_on_all_models_has_no_plot() -> None:
    entry = calibrations.entry("SS")
    undefined = Estimate.undefined("no item was scored")
    points = tuple(point.model_copy(update={"estimate": undefined}) for point in entry.points)
    assert dose(entry.model_copy(update={"points": points})) == {}


def test_what_is_not_found_is_not_drawn() -> None:
    entry = calibrations.entry("SS", detectable=FOUND)
    spec = detectable_plot([entry], among=[entry], families=["masked"])
    assert [row["items"] for row in data(spec, "items")] == [48, 96]
    assert domain(spec, "x") == [24, 96]


def test_measures_share_the_axes_of_what_they_find() -> None:
    first = calibrations.entry("SS", detectable=FOUND)
    second = calibrations.entry("mean_SS", detectable={192: (0.3, 53.0), 3072: (2.5, 80.0)})
    spec = detectable_plot([first], among=[first, second], families=["masked"])
    assert domain(spec, "x") == [24, 3072]
    assert domain(spec, "y") == [0, 2.5]


def test_families_are_told_apart_by_shape_as_well_as_colour() -> None:
    entries = [calibrations.entry("SS", family, detectable=FOUND) for family in calibrations.FAMILIES]
    spec = detectable_plot(entries, among=entries, families=calibrations.FAMILIES)
    dots = spec["layer"][-1]["encoding"]
    assert len(set(dots["shape"]["scale"]["range"])) == 3
    assert len(set(dots["color"]["scale"]["range"])) == 3


def test_nothing_found_gives_no_plot() -> None:
    nothing = calibrations.entry("SS", detectable={24: (math.nan, math.nan)})
    assert detectable_plot([nothing], among=[nothing], families=["masked"]) == {}
    assert detectable_plot([], among=[], families=[]) == {}


@pytest.mark.parametrize("measure", ["SS", "LMS", "ICAT"])
def test_specifications_are_plain_json(measure: str) -> None:
    spec = dose(calibrations.entry(measure))
    assert json.loads(to_script_json(spec)) == spec
