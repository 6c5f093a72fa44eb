"""What the badge beside a figure says, case by case; every number in it is worked out by hand."""

from __future__ import annotations

import math

import calibrations
import pytest

from evenhand.core.items import OVERALL
from evenhand.reporting.calibration.words import Badge, badge
from evenhand.store.calibration import Calibration, Response

FOUND = {24: (1.5, 72.04), 384: (0.4, 55.12), 3072: (0.12, 51.58)}
HARDER = {24: (math.nan, math.nan), 384: (0.55, 57.0), 3072: (0.2, 52.5)}


@pytest.fixture
def calibration() -> Calibration:
    """SS is found a little later on decoders; encoder-decoders are calibrated on another measure only."""
    return calibrations.calibration_of(
        calibrations.entry("SS", "masked", detectable=FOUND),
        calibrations.entry("SS", "decoder", detectable=HARDER),
        calibrations.entry("LMS", "masked", values={-3: [99.27, 99.9], 3: [99.96, 100.0]}),
        calibrations.entry("LMS", "decoder", values={-3: [98.88, 99.9], 3: [99.96, 100.0]}),
        calibrations.entry("ICAT", "masked", slope=12.34),
        calibrations.entry("ICAT", "decoder", slope=11.96),
        calibrations.entry("mean_SS", "encoder-decoder", detectable=FOUND),
    )


def said(calibration: Calibration, items: int = 384, *, family: str | None = "masked") -> Badge:
    found = badge(calibration, "SS", task=OVERALL, items=items, family=family)
    assert found is not None
    return found


def test_a_badge_says_how_little_so_many_items_show(calibration: Calibration) -> None:
    assert said(calibration) == Badge(
        "In the lab, 384 items show a planted bias of 0.40 bits (SS 55.1) or more in four of five cases.",
        "0.40 bits (reads 55.1)",
    )


@pytest.mark.parametrize("items", [385, 767, 3071])
def test_between_two_counts_the_smaller_one_is_used(calibration: Calibration, items: int) -> None:
    assert said(calibration, items) == said(calibration, 384)


def test_more_items_than_the_lab_tried_show_at_least_as_little(calibration: Calibration) -> None:
    assert said(calibration, 4212) == Badge(
        "In the lab, 3,072 items show a planted bias of 0.12 bits (SS 51.6) or more in four of five cases; "
        "4,212 show at least as little as that.",
        "0.12 bits (reads 51.6) or less",
    )
    assert "at least as little" not in said(calibration, 3072).sentence


def test_fewer_items_than_the_lab_tried_are_not_judged(calibration: Calibration) -> None:
    assert said(calibration, 23) == Badge(
        "The lab tried 24 items and more; what 23 would show is not known.", "not tried below 24 items"
    )


def test_a_bias_that_is_never_found_is_called_so(calibration: Calibration) -> None:
    assert said(calibration, 24, family="decoder") == Badge(
        "In the lab, 24 items do not show even 3 planted bits in four of five cases.", "more than 3 bits"
    )


@pytest.mark.parametrize("family", [None, "of a new kind", "encoder-decoder with a mask"])
def test_without_a_calibrated_family_the_worst_one_speaks(family: str | None) -> None:
    both = calibrations.calibration_of(
        calibrations.entry("SS", "masked", detectable=FOUND),
        calibrations.entry("SS", "decoder", detectable=HARDER),
    )
    assert said(both, family=family).brief == "0.55 bits (reads 57.0)"
    assert said(both, 24, family=family).brief == "more than 3 bits"


@pytest.mark.parametrize("family", ["encoder-decoder with sentinels", "encoder-decoder with a mask"])
def test_both_kinds_of_encoder_decoders_are_one_family_of_the_lab(
    calibration: Calibration, family: str
) -> None:
    found = badge(calibration, "mean_SS", task=OVERALL, items=384, family=family)
    assert found is not None
    assert found.brief == "0.40 bits (reads 55.1)"


def test_a_family_does_not_borrow_from_others_what_the_lab_left_out_for_it(calibration: Calibration) -> None:
    assert badge(calibration, "SS", task=OVERALL, items=384, family="encoder-decoder with sentinels") is None


@pytest.mark.parametrize(
    ("family", "lowest", "models"),
    [("masked", "99.2", 4), ("decoder", "98.8", 4), (None, "98.8", 8)],
)
def test_a_measure_that_stays_names_its_lowest_value_rounded_down(
    calibration: Calibration, family: str | None, lowest: str, models: int
) -> None:
    assert badge(calibration, "LMS", task=OVERALL, items=384, family=family) == Badge(
        f"In the lab it does not move with planted bias: never below {lowest} on {models} models.",
        f"never below {lowest}",
    )


def test_a_measure_that_should_stay_and_does_not_is_not_said_to() -> None:
    moving = calibrations.calibration_of(
        calibrations.entry("LMS", values={0: [99.0], 3: [81.55]}, checks=[calibrations.check(passed=False)])
    )
    assert badge(moving, "LMS", task=OVERALL, items=96) == Badge(
        "In the lab it moves with planted bias: down to 81.5 on 2 models.", "down to 81.5"
    )


def test_a_measure_that_falls_away_says_how_fast(calibration: Calibration) -> None:
    assert badge(calibration, "ICAT", task=OVERALL, items=96, family="masked") == Badge(
        "In the lab it falls by 12.3 points for each planted bit.", "falls 12.3 points a bit"
    )
    assert badge(calibration, "ICAT", task=OVERALL, items=96) == Badge(
        "In the lab it falls by at least 12.0 points for each planted bit.",
        "falls at least 12.0 points a bit",
    )


def test_failed_checks_are_not_kept_quiet() -> None:
    checks = [calibrations.check(passed=True), calibrations.check(passed=False)]
    failed = calibrations.calibration_of(calibrations.entry("SS", detectable=FOUND, checks=checks))
    assert said(failed) == Badge(
        "In the lab, 384 items show a planted bias of 0.40 bits (SS 55.1) or more in four of five cases. "
        "It failed 1 of 2 checks there.",
        "0.40 bits (reads 55.1), failed a check",
    )


def test_a_measure_in_bits_is_shown_with_two_digits() -> None:
    entry = calibrations.entry(
        "bits_read", response=Response.RISES, error=0.05, detectable={96: (0.3, 0.3049)}
    )
    found = badge(calibrations.calibration_of(entry), "bits_read", task=OVERALL, items=96)
    assert found is not None
    assert found.brief == "0.30 bits (reads 0.30)"


@pytest.mark.parametrize(
    ("measure", "task"), [("macro_ICAT", OVERALL), ("SS", "intersentence"), ("nothing", "nowhere")]
)
def test_what_is_not_calibrated_has_no_badge(calibration: Calibration, measure: str, task: str) -> None:
    assert badge(calibration, measure, task=task, items=384) is None


def test_a_measure_without_a_table_of_what_it_finds_has_no_badge() -> None:
    assert badge(calibrations.calibration_of(calibrations.entry("SS")), "SS", task=OVERALL, items=384) is None
