"""Figures about regard are held against what was planted, and a figure that is wrong fails its check."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from evenhand.api import calibrate as workflow
from evenhand.core.estimates import Estimate
from evenhand.lab import regard_calibration
from evenhand.lab.doses import DosePlan
from evenhand.lab.regard import PlantedClassifier
from evenhand.lab.regard_calibration import calibrate_regard, implied_agreement
from evenhand.reporting.calibration.page import render_calibration_page
from evenhand.stats.agreement import Alpha, krippendorff_alpha
from evenhand.store.calibration import RegardReading

STUDIES = 20


@pytest.fixture(scope="module")
def readings() -> tuple[RegardReading, ...]:
    return calibrate_regard(STUDIES)


def test_every_part_is_calibrated(readings: tuple[RegardReading, ...]) -> None:
    assert {reading.part for reading in readings} == {"agreement", "training", "check", "correction"}
    for reading in readings:
        if reading.checks and reading.part != "training":
            noise = 0.0 if np.isnan(reading.spread) else reading.spread / STUDIES**0.5
            assert abs(reading.mean - reading.target) <= max(0.1, 4 * noise), reading


def test_annotators_without_errors_agree_and_those_who_guess_do_not() -> None:
    assert implied_agreement(0.0) == pytest.approx(dict.fromkeys(implied_agreement(0.0), 1.0))
    assert implied_agreement(2 / 3) == pytest.approx(dict.fromkeys(implied_agreement(0.0), 0.0), abs=1e-9)


def test_the_gap_that_a_check_should_read_is_that_of_the_planted_classifier(
    readings: tuple[RegardReading, ...],
) -> None:
    targets = [reading.target for reading in readings if (reading.part, reading.figure) == ("check", "gap")]
    expected = [
        PlantedClassifier(error=0.2, bias=bias).expected_gap(np.arange(399) % 3, (-1.0, 0.0, 1.0))
        for bias in (0.0, 0.05, 0.1, 0.2)
    ]
    assert targets == pytest.approx(expected)


def test_labels_that_are_not_corrected_shrink_a_gap_and_nothing_is_asked_of_them(
    readings: tuple[RegardReading, ...],
) -> None:
    plain = next(
        reading for reading in readings if (reading.figure, reading.checks) == ("gap, as labelled", ())
    )
    assert plain.mean < plain.target - 1


def test_an_alpha_that_is_too_high_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    def too_high(*given: object, **options: object) -> Alpha:
        right = krippendorff_alpha(*given, **options)  # type: ignore[arg-type]
        wrong = right.nominal.model_copy(update={"value": right.nominal.value + 0.1})
        return replace(right, nominal=Estimate.model_validate(wrong.model_dump() | {"high": 1.0}))

    monkeypatch.setattr(regard_calibration, "krippendorff_alpha", too_high)
    found = list(regard_calibration._agreement(studies=5, seed=0))
    assert {reading.figure for reading in found if not reading.passed} >= {"alpha, nominal"}
    assert all(reading.passed for reading in found if reading.figure == "Cohen's kappa")


def test_regard_alone_builds_no_model_and_has_a_page(
    readings: tuple[RegardReading, ...], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def refuse(*_: object, **__: object) -> Iterator[None]:
        raise AssertionError

    monkeypatch.setattr(workflow, "measure_doses", refuse)
    monkeypatch.setattr(workflow, "calibrate_regard", lambda: readings)
    found = workflow.calibrate(DosePlan((), 3, 1, "en"), out=tmp_path, measures=["regard"])
    assert found.regard == readings
    page = render_calibration_page(found)
    assert 'id="regard"' in page
    assert 'id="doses"' not in page
    assert "gap, prediction-powered" in page
