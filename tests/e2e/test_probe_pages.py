"""The page of probes in a real browser."""

from __future__ import annotations

from pathlib import Path

import probe_runs
import pytest
from browsing import (
    EVERY_PLOT_IS_DRAWN,
    WIDTHS_AND_SCHEMES,
    Visit,
    assert_accessible_and_fitting,
    fills_in_both_schemes,
)

from evenhand.core.planted_bias import PlantedBias
from evenhand.reporting.page import write_page

HOSTILE = "<img src=x onerror=\"window.hacked = 'yes'\"></script><script>window.hacked = 'yes'</script>"


@pytest.fixture(scope="module")
def one_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = probe_runs.probe_run(
        probe_runs.plausible_malor(),
        probe_runs.plausible_malor(4, experiment="names"),
        planted=PlantedBias(family="masked", strength=2.0, language="en", seed=3),
        warnings=["Structures 3 and 7 are the same."],
    )
    return write_page(run, tmp_path_factory.mktemp("pages") / "one.html")


@pytest.fixture(scope="module")
def two_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    runs = [
        probe_runs.probe_run(probe_runs.plausible_malor(seed), name=f"a_rather_long_name_of_a_run_{seed}")
        for seed in (3, 4)
    ]
    return write_page(runs, tmp_path_factory.mktemp("pages") / "two.html", comparisons=())


@pytest.fixture(scope="module")
def other_tests(tmp_path_factory: pytest.TempPathFactory) -> Path:
    runs = [
        probe_runs.probe_run(probe_runs.crows_pairs(), name="pairs"),
        probe_runs.probe_run(probe_runs.crows_pairs(52), name="more pairs"),
        probe_runs.probe_run(probe_runs.cosine(), name="cosines"),
        probe_runs.probe_run(probe_runs.direct_bias(), name="direct"),
    ]
    return write_page(runs, tmp_path_factory.mktemp("pages") / "other.html", comparisons=())


def test_the_page_draws_itself_without_errors_and_asks_for_nothing(visit: Visit, one_run: Path) -> None:
    page = visit.open(one_run)
    assert page.locator(".plot svg").count() == 2 * 5
    assert visit.problems == []
    assert visit.requests == [one_run.as_uri()]


@WIDTHS_AND_SCHEMES
@pytest.mark.parametrize("name", ["one_run", "two_runs", "other_tests"])
def test_the_page_is_accessible_and_fits(visit: Visit, name: str, request: pytest.FixtureRequest) -> None:
    page = visit.open(request.getfixturevalue(name))
    assert_accessible_and_fitting(page)
    page.wait_for_function(EVERY_PLOT_IS_DRAWN)
    unfit = page.evaluate(
        "[...document.querySelectorAll('.plot svg')].filter((drawn) => {"
        " const [own, place] = [drawn, drawn.closest('.plot')].map((part) => part.getBoundingClientRect().width);"
        " return own > place + 1 || own < place / 2; }).length"
    )
    assert unfit == 0
    assert visit.problems == []


def test_a_folded_experiment_is_drawn_in_full_once_it_is_unfolded(visit: Visit, one_run: Path) -> None:
    page = visit.open(one_run)
    page.click(".group summary >> text=First names")
    drawn = (
        "document.querySelector('[data-plot=\"group-1-leans-0\"] svg')?.getBoundingClientRect().width ?? 0"
    )
    page.wait_for_function(f"({drawn}) > 600")
    assert page.evaluate(drawn) > 600
    assert visit.problems == []


def test_plots_follow_the_theme(visit: Visit, one_run: Path) -> None:
    page = visit.open(one_run)
    light, dark = fills_in_both_schemes(page, ".plot .mark-symbol path")
    assert light is not None
    assert dark not in (None, light)


def test_what_was_planted_is_the_first_thing_on_the_page(visit: Visit, one_run: Path) -> None:
    first = visit.open(one_run).locator("main > *").first
    assert "2 bits were planted in favour of stereotypes" in first.inner_text()


def test_nothing_in_a_probe_becomes_markup(visit: Visit, tmp_path: Path) -> None:
    result = probe_runs.malor(
        [probe_runs.lean(HOSTILE, 1.0, field=HOSTILE)], experiment=HOSTILE, shares={HOSTILE: 40.0}
    )
    run = probe_runs.probe_run(result, name=HOSTILE, model=HOSTILE, warnings=[HOSTILE])
    page = visit.open(write_page(run, tmp_path / "page.html"))
    page.hover(".plot .mark-symbol path")
    page.wait_for_timeout(200)
    assert page.evaluate("window.hacked") is None
    assert page.locator("img").count() == 0
    assert visit.problems == []
    assert HOSTILE in page.inner_text("#data")
