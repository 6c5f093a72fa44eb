"""The page of a calibration, and what other pages say about the lab, in a real browser."""

from __future__ import annotations

import re
from pathlib import Path

import calibrations
import pytest
from browsing import WIDTHS_AND_SCHEMES, Visit, assert_accessible_and_fitting, fills_in_both_schemes

import evenhand as eh
from evenhand.reporting import render_page, write_calibration_page
from evenhand.store.calibration import Response

HOSTILE = "<img src=x onerror=\"window.hacked = 'yes'\"></script><script>window.hacked = 'yes'</script>"


@pytest.fixture(scope="module")
def passing_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("pages") / "passing.html"
    return write_calibration_page(calibrations.plausible((*calibrations.MEASURES, "log_ratio")), place)


@pytest.fixture(scope="module")
def failing_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_calibration_page(calibrations.failing(), tmp_path_factory.mktemp("pages") / "failing.html")


def evaluated(name: str, strength: float, family: str) -> eh.Run:
    plan = eh.Resampling(resamples=200)
    run = eh.evaluate(eh.example_scores(name), "starter", language="en", resampling=plan)
    return calibrations.audited(run, family, planted=calibrations.planted(strength))


@pytest.fixture(scope="module")
def run_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("pages") / "run.html"
    runs = [evaluated("leaning", 2.0, "masked")]
    place.write_text(render_page(runs, calibration=calibrations.plausible()), encoding="utf-8")
    return place


@pytest.fixture(scope="module")
def runs_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("pages") / "runs.html"
    runs = [
        evaluated("neutral", 0.0, "decoder"),
        evaluated("leaning", -1.0, "encoder-decoder with sentinels"),
    ]
    place.write_text(render_page(runs, calibration=calibrations.failing()), encoding="utf-8")
    return place


def test_the_page_draws_itself_without_errors_and_asks_for_nothing(visit: Visit, passing_page: Path) -> None:
    page = visit.open(passing_page)
    assert page.locator(".plot svg").count() == 4 * 3 + 3
    assert visit.problems == []
    assert visit.requests == [passing_page.as_uri()]


@WIDTHS_AND_SCHEMES
@pytest.mark.parametrize("name", ["passing_page", "failing_page", "run_page", "runs_page"])
def test_the_page_is_accessible_and_fits(visit: Visit, name: str, request: pytest.FixtureRequest) -> None:
    assert_accessible_and_fitting(visit.open(request.getfixturevalue(name)))
    assert visit.problems == []


@WIDTHS_AND_SCHEMES
def test_no_plot_is_wider_than_its_frame(visit: Visit, passing_page: Path) -> None:
    page = visit.open(passing_page)
    wider = page.evaluate(
        "[...document.querySelectorAll('.plot svg')].filter((drawn) => drawn.getBoundingClientRect().width"
        " > drawn.closest('.plot').getBoundingClientRect().width + 1).length"
    )
    assert wider == 0


def test_plots_follow_the_theme(visit: Visit, passing_page: Path) -> None:
    page = visit.open(passing_page)
    light, dark = fills_in_both_schemes(page, ".plot .mark-symbol path")
    assert light is not None
    assert dark not in (None, light)


def test_what_the_lab_says_of_a_measure_stands_under_method(visit: Visit, run_page: Path) -> None:
    page = visit.open(run_page)
    assert re.search(
        r"In the lab, 96 items show a planted bias of \d\.\d\d bits \(SS \d\d\.\d\) or more in four of five cases\.",
        page.inner_text("#method #lab"),
    )


def test_what_was_planted_is_the_first_thing_on_the_page(visit: Visit, run_page: Path) -> None:
    page = visit.open(run_page)
    first = page.locator("main > *").first
    assert "2 bits were planted in favour of stereotypes" in first.inner_text()
    assert "SS should be above 50" in first.inner_text()


def test_nothing_in_a_calibration_becomes_markup(visit: Visit, tmp_path: Path) -> None:
    entry = calibrations.entry(
        HOSTILE,
        HOSTILE,
        task=HOSTILE,
        response=Response.RISES,
        error=0.1,
        detectable={24: (1.0, 70.0), 48: (0.5, 60.0)},
        checks=[calibrations.check(passed=False, name=HOSTILE)],
    )
    page = visit.open(write_calibration_page(calibrations.calibration_of(entry), tmp_path / "page.html"))
    page.hover(".plot .mark-symbol path")
    page.wait_for_timeout(200)
    assert page.evaluate("window.hacked") is None
    assert page.locator("img").count() == 0
    assert visit.problems == []
    assert HOSTILE in page.inner_text("#verdict")
