"""The page of a calibration: what it says, and that it keeps to itself."""

from __future__ import annotations

import html
import re

import calibrations
import pytest

from evenhand.core.planted_bias import ProbePart
from evenhand.reporting.calibration.page import render_calibration_page

HOSTILE = "<img src=x onerror=alert(1)></script><script>alert(2)</script>"


@pytest.fixture(scope="module")
def passing() -> str:
    return render_calibration_page(calibrations.plausible())


@pytest.fixture(scope="module")
def failing() -> str:
    return render_calibration_page(calibrations.failing())


def section(page: str, name: str) -> str:
    """The text of a section, without markup."""
    found = page[page.index(f'<section id="{name}"') :].split("</section>", maxsplit=1)[0]
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", found)).split())


def test_the_verdict_says_what_was_built_and_that_all_checks_passed(passing: str) -> None:
    text = section(passing, "verdict")
    assert "All 4 measures do what they should" in text
    assert (
        "105 models were built: 3 families (masked models, decoders and encoder-decoders), 7 strengths of planted "
        "bias from −3 to +3 bits, 5 seeds each." in text
    )
    assert "the same 384 English items (192 intra-sentence and 192 inter-sentence)" in text
    assert "All 36 checks passed." in text
    assert "Evenhand 0.1.0, Python 3.12.1, Linux x86_64; numpy 2.1.0, scipy 1.14.0" in section(
        passing, "method"
    )


def test_seeds_that_some_models_lack_are_said_so() -> None:
    whole = calibrations.plausible()
    first = whole.measures[0].model_copy(update={"points": whole.measures[0].points[1:]})
    others = [entry.model_copy(update={"points": ()}) for entry in whole.measures[1:]]
    page = render_calibration_page(whole.model_copy(update={"measures": (first, *others)}))
    assert "up to 5 seeds each." in section(page, "verdict")


def test_failed_checks_are_shown_with_what_was_found_and_wanted(failing: str) -> None:
    text = section(failing, "verdict")
    assert "1 of 4 measures did not pass every check" in text
    assert "2 of 37 checks failed:" in text
    assert "SS, masked models, inter-sentence: Spearman correlation 0.912, wanted at least 0.99." in text
    assert "SS, masked models, inter-sentence: false positives 0.145, wanted at most 0.1." in text
    assert "8 of 10 checks passed" in text


def test_pass_and_failure_are_told_apart_by_a_word_and_a_mark(passing: str, failing: str) -> None:
    assert section(passing, "figures").count("✓ passed") == 4 * 3 * 3
    assert "✗" not in passing
    assert section(failing, "figures").count("✗ failed") == 1
    assert section(failing, "figures").count("✓ passed") == 4 * 3 * 3 - 1


def test_every_measure_family_and_task_has_a_row(passing: str) -> None:
    text = section(passing, "figures")
    assert "SS Masked models Both tasks together 0.998 22.40 points −0.02 – 3.5% of 200 ✓ passed" in text
    assert "LMS Masked models Both tasks together – −0.02 points – – – ✓ passed" in text
    assert "ICAT Decoders Inter-sentence 0.998 41.60 points – – – ✓ passed" in text


def test_bits_are_explained_in_words(passing: str) -> None:
    text = section(passing, "how")
    assert "the stereotype is twice as likely" in text
    assert "both are equally likely: neutral" in text


def test_every_plot_has_a_table(passing: str) -> None:
    plots = passing.count("data-plot=")
    assert plots == 3 * 3 + 2
    assert section(passing, "doses").count("as a table") == 3
    assert section(passing, "finds").count("as a table") == 2


def test_a_table_gives_the_mean_over_seeds_with_its_range() -> None:
    entry = calibrations.entry("SS", values={0.0: [49.0, 50.0, 54.0], 3.0: [90.0]})
    text = section(render_calibration_page(calibrations.calibration_of(entry)), "doses")
    assert "0 51.0 (49.0 to 54.0)" in text
    assert "+3 90.0 (90.0 to 90.0)" in text


def test_what_is_found_stands_by_number_of_items(passing: str) -> None:
    text = section(passing, "finds")
    assert "24 1.22 bits (reads 77.8) 1.63 bits (reads 84.6) not found" in text
    assert "3,072 0.11 bits (reads 52.7)" in text


def test_a_family_without_both_tasks_together_is_shown_with_the_task_that_it_has() -> None:
    entries = [
        calibrations.entry("SS", "masked", task="intrasentence"),
        calibrations.entry("SS", "decoder", task="intrasentence"),
        calibrations.entry("SS", "decoder"),
    ]
    page = render_calibration_page(calibrations.calibration_of(*entries))
    captions = re.findall(r"<figcaption>(.*?)</figcaption>", page)
    assert captions == ["Masked models, intra-sentence", "Decoders"]


def test_the_error_of_every_model_is_shown_beside_the_largest() -> None:
    values = {0.0: [49.0, 50.0, 54.0], 3.0: [90.0, 91.5, 88.0]}
    entry = calibrations.entry("SS", values=values, targets={0.0: 50.0, 3.0: 91.5})
    text = section(render_calibration_page(calibrations.calibration_of(entry)), "errors")
    assert "SS Masked models Both tasks together taught 4.0 −1.0, 0.0, +4.0 −1.5, 0.0, −3.5" in text


def test_bits_are_off_by_thousandths_and_held_out_parts_have_rows_of_their_own() -> None:
    entries = [
        calibrations.entry(
            "log_ratio", values={2.0: [2.078, 1.99]}, targets={2.0: 2.0}, error=0.03, part=part
        )
        for part in (ProbePart.TAUGHT, ProbePart.OCCUPATIONS)
    ]
    page = render_calibration_page(calibrations.calibration_of(*entries))
    assert "Both tasks together taught 0.078 +0.078, −0.010" in section(page, "errors")
    assert "Both tasks together held-out occupations 0.078 +0.078, −0.010" in section(page, "errors")
    assert "held-out" not in section(page, "figures")
