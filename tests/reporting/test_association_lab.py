"""What a page says about the lab: a badge beside each figure, and what was planted in the model."""

from __future__ import annotations

from dataclasses import replace

import builders
import calibrations
import pytest

from evenhand.api.measure import evaluate
from evenhand.core.estimates import Estimate
from evenhand.reporting import page as page_module
from evenhand.reporting.association.words import expected_of
from evenhand.reporting.calibration.words import run_badges
from evenhand.reporting.page import render_page
from evenhand.stats.resampling import Resampling
from evenhand.store.calibration import Calibration
from evenhand.store.run import Run

HOSTILE = "<script>alert(1)</script>"
FOUND = {2: (1.5, 72.0), 30: (0.4, 55.1)}


@pytest.fixture
def run(quick: Resampling) -> Run:
    """Thirty items of one task, most of which the stereotype wins."""
    items = [builders.intra(number, cluster=f"term {number % 10}") for number in range(30)]
    triples = {item.id: (2.0, 1.0, 0.5) if place % 4 else (1.0, 2.0, 0.5) for place, item in enumerate(items)}
    return evaluate(builders.scores(triples), builders.benchmark(*items), resampling=quick)


@pytest.fixture
def calibration() -> Calibration:
    return calibrations.calibration_of(
        calibrations.entry("SS", "masked", task="intrasentence", detectable=FOUND),
        calibrations.entry("SS", "decoder", task="intrasentence", detectable={30: (0.7, 60.0)}),
        calibrations.entry("LMS", "masked", task="intrasentence", values={0: [99.2, 99.4]}),
    )


def test_every_task_has_the_badges_of_its_number_of_items_and_family(
    run: Run, calibration: Calibration
) -> None:
    badges = run_badges(calibrations.audited(run, "masked"), calibration)
    assert set(badges) == {"intrasentence"}
    assert set(badges["intrasentence"]) == {"SS", "LMS"}
    assert badges["intrasentence"]["SS"].brief == "0.40 bits (reads 55.1)"


def test_scores_from_elsewhere_get_the_badge_of_the_worst_family(run: Run, calibration: Calibration) -> None:
    assert run_badges(run, calibration)["intrasentence"]["SS"].brief == "0.70 bits (reads 60.0)"


def test_an_undefined_figure_has_no_badge(run: Run, calibration: Calibration) -> None:
    task = run.result.tasks["intrasentence"].model_copy(
        update={"SS": Estimate.undefined("no item was scored")}
    )
    result = run.result.model_copy(update={"tasks": {"intrasentence": task}})
    assert set(run_badges(replace(run, results=(result,)), calibration)["intrasentence"]) == {"LMS"}


def test_the_page_of_a_run_says_under_method_what_the_lab_knows_of_each_figure(
    run: Run, calibration: Calibration
) -> None:
    page = render_page([calibrations.audited(run)], calibration=calibration)
    sentence = (
        "In the lab, 30 items show a planted bias of 0.40 bits (SS 55.1) or more in four of five cases."
    )
    assert page.index('id="method"') < page.index('id="lab"') < page.index(sentence)
    assert "never below 99.2 on 2 models" in page


def test_the_page_marks_the_binomial_p_as_assuming_independent_items(run: Run) -> None:
    page = render_page([run])
    assert page.count("p, binomial") == page.count("p, binomial (assumes independent items)") == 1


def test_the_page_of_several_runs_has_a_row_for_each(run: Run, calibration: Calibration) -> None:
    runs = [calibrations.audited(run, "masked"), calibrations.audited(run, "decoder")]
    page = render_page(runs, calibration=calibration)
    table = page[page.index("Smallest bias these runs would find") :].split("</table>", maxsplit=1)[0]
    assert "0.40 bits (reads 55.1)" in table
    assert "0.70 bits (reads 60.0)" in table


def test_a_page_without_a_calibration_says_nothing_of_the_lab(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page_module, "shipped_calibration", lambda: None)
    page = render_page([run])
    assert 'id="lab"' not in page


def test_the_calibration_of_the_package_is_used_if_no_other_is_given(
    run: Run, calibration: Calibration, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page_module, "shipped_calibration", lambda: calibration)
    assert render_page([run]) == render_page([run], calibration=calibration)


def test_what_was_planted_stands_before_the_reading_and_in_the_record(run: Run) -> None:
    page = render_page([calibrations.audited(run, planted=calibrations.planted(2.0))])
    notice = page.index("The bias of this model is known.")
    assert notice < page.index('id="reading"')
    assert "2 bits were planted in favour of stereotypes" in page[notice : page.index('id="reading"')]
    record = page[page.index("<dt>Planted</dt>") :]
    assert "Family masked, strength +2 bits, English, seed 3." in record


def test_with_several_runs_the_notice_names_those_with_planted_bias(run: Run) -> None:
    page = render_page([calibrations.audited(run, planted=calibrations.planted(-1.0)), run])
    assert page.count('<div class="planted"') == 1
    notice = page[page.index('<div class="planted"') : page.index('id="reading"')]
    assert notice.count("<strong>") == 1
    assert "1 bit was planted in favour of anti-stereotypes" in notice


def test_a_model_without_planted_bias_has_no_notice(run: Run) -> None:
    page = render_page([calibrations.audited(run)])
    assert '<div class="planted"' not in page
    assert "<dt>Planted</dt>" not in page


def test_nothing_that_a_folder_claims_to_be_planted_becomes_markup(run: Run) -> None:
    page = render_page([calibrations.audited(run, planted=calibrations.planted(1.0, family=HOSTILE))])
    assert HOSTILE not in page
    assert "&lt;script&gt;alert(1)" in page


@pytest.mark.parametrize(
    ("strength", "sentence"),
    [
        (
            2.0,
            "On average the stereotype is 4 times as likely as the anti-stereotype, so SS should be above 50.",
        ),
        (
            -2.5,
            "On average the anti-stereotype is 5.7 times as likely as the stereotype, so SS should be below 50.",
        ),
        (0.0, "SS should be 50 but for chance."),
    ],
)
def test_what_was_planted_says_what_should_be_read(strength: float, sentence: str) -> None:
    assert expected_of(calibrations.planted(strength)) == sentence
