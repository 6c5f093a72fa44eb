"""The page in a real browser: what it shows, how it behaves, and that it keeps to itself."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from browsing import WIDTHS_AND_SCHEMES, Visit, assert_accessible_and_fitting, wait_for_another_fill

import evenhand as eh
from evenhand.data.predictions import read_predictions

if TYPE_CHECKING:
    from playwright.sync_api import Page

HOSTILE = "<img src=x onerror=\"window.hacked = 'yes'\"></script><script>window.hacked = 'yes'</script>"


def evaluated(name: str, *, language: str = "en", title: str | None = None) -> eh.Run:
    return eh.evaluate(
        eh.example_scores(name),
        "starter",
        language=language,
        name=title,
        resampling=eh.Resampling(resamples=200),
    )


@pytest.fixture(scope="module")
def single_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return eh.write_page(evaluated("leaning"), tmp_path_factory.mktemp("pages") / "single.html")


@pytest.fixture(scope="module")
def several_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    runs = [evaluated("neutral"), evaluated("leaning"), evaluated("leaning", language="tr")]
    comparisons = [eh.compare(runs[0], run, resampling=eh.Resampling(resamples=200)) for run in runs[1:]]
    return eh.write_page(runs, tmp_path_factory.mktemp("pages") / "several.html", comparisons=comparisons)


@pytest.fixture(scope="module")
def mixed_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs, the first of which alone has probabilities beside its scores."""
    runs = [with_probabilities(), evaluated("neutral")]
    comparisons = [eh.compare(*runs, resampling=eh.Resampling(resamples=200))]
    return eh.write_page(runs, tmp_path_factory.mktemp("pages") / "mixed.html", comparisons=comparisons)


@cache
def with_probabilities() -> eh.Run:
    given = read_predictions(eh.example_scores("leaning"))
    scores = {
        candidate: replace(score, log2_probability=math.log2(score.value))
        for candidate, score in given.scores.items()
    }
    plan = eh.Resampling(resamples=200)
    return eh.evaluate(replace(given, scores=scores), "starter", language="en", resampling=plan)


def open_items(page: Page) -> None:
    page.click("#items-show")
    page.wait_for_selector(".item")


def test_page_draws_itself_without_errors_and_asks_for_nothing(visit: Visit, single_page: Path) -> None:
    visit.open(single_page)
    assert visit.problems == []
    assert visit.requests == [single_page.as_uri()]


def test_headline_shows_score_interval_and_neutral(visit: Visit, single_page: Path) -> None:
    page = visit.open(single_page)
    run = evaluated("leaning")
    score = run.result.tasks["overall"].SS
    reading = page.inner_text("#reading")
    assert f"{score.value:.1f}" in reading
    assert f"{score.low:.1f} to {score.high:.1f}" in reading
    assert "neutral is 50" in reading


def test_items_stay_hidden_until_the_notice_is_accepted(visit: Visit, single_page: Path) -> None:
    page = visit.open(single_page)
    context = eh.load_dataset("starter", language="en").items[0].context.split("BLANK")[0].strip()
    assert page.locator(".item").count() == 0
    assert context not in page.inner_text("body")
    open_items(page)
    page.fill("#item-search", "starter-intra-001")
    assert context in page.inner_text("#item-list")


def test_items_can_be_searched_filtered_and_ordered(visit: Visit, single_page: Path) -> None:
    page = visit.open(single_page)
    open_items(page)
    assert page.inner_text("#item-status") == "96 items"
    page.select_option("#task-select", "intersentence")
    assert page.inner_text("#item-status") == "48 items"
    page.select_option("#item-bias", "religion")
    assert page.inner_text("#item-status") == "8 items"
    page.select_option("#item-kind", "stereotype")
    preferred = page.locator(".item .chip").all_inner_texts()
    assert preferred
    assert all(re.fullmatch(r"towards stereotype: score [\d.,]+ times as high", text) for text in preferred)
    # Scores from a file have no probabilities, so nothing is in bits.
    assert "bits" not in page.inner_text("#item-list")
    page.fill("#item-search", "no such words anywhere")
    assert page.inner_text("#item-status") == "No item fits these choices."


def test_strongest_item_comes_first(visit: Visit, single_page: Path) -> None:
    page = visit.open(single_page)
    open_items(page)
    items = evaluated("leaning").items()
    ratios = items["stereotype"] / items["anti-stereotype"]
    strongest = items["item"][int(ratios.arg_max() or 0)]
    assert strongest in page.locator(".item-foot").first.inner_text()


def test_target_terms_sort_by_the_chosen_column(visit: Visit, single_page: Path) -> None:
    page = visit.open(single_page)

    def terms() -> list[str]:
        return page.locator("#target-table tbody th").all_inner_texts()

    assert len(terms()) == 24
    page.click("#target-table button[data-column='0']")
    assert terms() == sorted(terms(), key=str.casefold)
    assert page.get_attribute("#target-table th:first-child", "aria-sort") == "ascending"
    page.click("#target-table button[data-column='0']")
    assert terms() == sorted(terms(), key=str.casefold, reverse=True)
    page.fill("#target-search", "nurse")
    assert terms() == ["nurse"]


def test_pulls_of_all_terms_add_up_to_the_distance_from_neutral(visit: Visit, single_page: Path) -> None:
    page = visit.open(single_page)
    pulls = page.locator("#target-table tbody td:nth-child(4)").all_inner_texts()
    total = sum(float(pull.replace("−", "-")) for pull in pulls)
    assert total == pytest.approx(
        evaluated("leaning").result.tasks["overall"].SS.value - 50, abs=0.01 * len(pulls)
    )


def test_log_ratio_stands_in_bits_in_the_table_of_all_measures(visit: Visit, mixed_page: Path) -> None:
    page = visit.open(mixed_page)
    page.click("#scores summary")
    table = page.locator("#scores details table")
    column = table.locator("thead th").all_inner_texts().index("log ratio, bits")
    cells = [row.locator("th, td").nth(column).inner_text() for row in table.locator("tbody tr").all()]
    tasks = with_probabilities().result.tasks
    expected = [tasks[task].log_ratio for task in ("overall", "intrasentence", "intersentence")]
    assert cells[:3] == [f"{shown.value:.2f} [{shown.low:.2f}, {shown.high:.2f}]" for shown in expected]
    assert cells[3:] == ["undefined"] * 3
    assert table.locator(".track").count() == 0
    assert visit.problems == []


def test_several_runs_stand_side_by_side(visit: Visit, several_page: Path) -> None:
    page = visit.open(several_page)
    assert visit.problems == []
    assert page.locator(".readings > li").count() == 3
    assert "German" not in page.inner_text(".facts")
    assert "Turkish" in page.inner_text(".facts")
    assert "compared with" in page.inner_text("#differences")
    open_items(page)
    before = page.inner_text("#item-list")
    page.select_option("#run-select", "2")
    assert page.inner_text("#item-list") != before


def test_plots_follow_the_theme(visit: Visit, single_page: Path) -> None:
    page = visit.open(single_page)
    dot = "#plot-plane .mark-symbol path"
    light = page.get_attribute(dot, "fill")
    page.emulate_media(color_scheme="dark")
    wait_for_another_fill(page, dot, light)


@WIDTHS_AND_SCHEMES
@pytest.mark.parametrize("name", ["single_page", "several_page", "mixed_page"])
def test_page_is_accessible_and_fits(visit: Visit, name: str, request: pytest.FixtureRequest) -> None:
    page = visit.open(request.getfixturevalue(name))
    open_items(page)
    assert_accessible_and_fitting(page)


def test_page_works_by_keyboard_alone(visit: Visit, single_page: Path) -> None:
    page = visit.open(single_page)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the results"
    page.focus("#items-show")
    page.keyboard.press("Enter")
    page.wait_for_selector(".item")
    assert page.evaluate("document.activeElement.id") == "item-search"


def test_nothing_in_the_data_becomes_markup(visit: Visit, tmp_path: Path) -> None:
    from evenhand.data.stereoset import STARTER

    document = json.loads(STARTER.file("en").read_text(encoding="utf-8"))
    document["licence"] = HOSTILE
    for item in document["data"]["intrasentence"] + document["data"]["intersentence"]:
        item["target"] = item["target_original"] = item["target_original"] + HOSTILE
        item["bias_type"] += HOSTILE
        item["context"] = HOSTILE + item["context"]
        for sentence in item["sentences"]:
            sentence["sentence"] = HOSTILE + sentence["sentence"]
    data = tmp_path / "hostile.json"
    data.write_text(json.dumps(document), encoding="utf-8")
    name = HOSTILE.replace("/", "")
    scores = tmp_path / f"{name}.json"
    scores.write_bytes(eh.example_scores("leaning").read_bytes())
    runs = [
        eh.evaluate(scores, data, resampling=eh.Resampling(resamples=200)),
        eh.evaluate(scores, data, name=f"second {name}", resampling=eh.Resampling(resamples=200)),
    ]
    comparisons = [eh.compare(*runs, resampling=eh.Resampling(resamples=200))]
    page = visit.open(eh.write_page(runs, tmp_path / "page.html", comparisons=comparisons))
    open_items(page)
    page.wait_for_timeout(200)
    assert page.evaluate("window.hacked") is None
    assert page.locator("img").count() == 0
    assert visit.problems == []
    assert HOSTILE in page.inner_text("#item-list")
