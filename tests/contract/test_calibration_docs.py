"""The documentation of a calibration says what the calibration says."""

from __future__ import annotations

import sys
from pathlib import Path

import calibrations
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "docs"))

import generate
from generators.calibration_docs import calibration_page

from evenhand.data.datasets import bundled_calibration


@pytest.fixture(scope="module")
def page() -> str:
    return calibration_page(calibrations.plausible())


def test_the_page_says_what_was_verified_on_what_and_how_to_repeat_it(page: str) -> None:
    assert "**All 4 measures do what they should.** 105 models were built" in page
    assert "`evenhand lab calibrate --seeds 5 --out runs/calibration`" in page
    assert "Evenhand 0.1.0, Python 3.12.1, Linux x86_64; numpy 2.1.0, scipy 1.14.0." in page


def test_the_headline_table_has_a_row_for_each_measure_and_family(page: str) -> None:
    assert "| SS | Masked models | 0.998 | 22.40 points | −0.02 | – | 3.5% of 200 | passed |" in page
    assert "| LMS | Decoders | – | 0.28 points | – | – | – | passed |" in page
    assert page.count("| passed |") == 4 * 3


def test_what_is_found_stands_by_number_of_items(page: str) -> None:
    assert "### Stereotype score\n\n| items | Masked models | Decoders | Encoder-decoders |" in page
    assert "| 24 | 1.22 bits (reads 77.8) | 1.63 bits (reads 84.6) | not found |" in page


def test_the_error_of_every_model_stands_by_dose() -> None:
    entry = calibrations.entry("SS", values={0.0: [49.0, 54.0], 3.0: [90.0]}, targets={0.0: 50.0, 3.0: 91.5})
    page = calibration_page(calibrations.calibration_of(entry))
    assert "| measure | family | task | asked about | largest | 0 bits | +3 bits |" in page
    assert "| SS | Masked models | Both tasks together | taught | 4.0 | −1.0, +4.0 | −1.5 |" in page


def test_the_page_says_what_a_calibration_validates_and_what_not(page: str) -> None:
    assert "## What this validates, and what it does not" in page
    assert "of the association items nothing is held out" in page


def test_failed_checks_are_listed() -> None:
    page = calibration_page(calibrations.failing())
    assert "2 of 37 checks failed:\n\n- SS, masked models, inter-sentence: Spearman correlation 0.912" in page


def test_the_page_is_left_alone_without_a_calibration(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(generate, "bundled_calibration_path", lambda: tmp_path / "calibration.json")
    assert generate.CALIBRATION not in generate.makers()
    (tmp_path / "calibration.json").touch()
    assert generate.CALIBRATION in generate.makers()


def test_how_often_intervals_of_regard_hold_is_said_from_the_rows() -> None:
    calibration = bundled_calibration()
    held = [own.coverage for own in calibration.regard if own.checks and own.coverage == own.coverage]

    said = calibration_page(calibration)

    assert f"those of the figures that are checked held it in {min(held):.1%} to {max(held):.1%}." in said
    assert "about 95 of 100" not in said
