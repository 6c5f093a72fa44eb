"""The page in a real browser: what it shows, how it behaves, and that it keeps to itself."""

from __future__ import annotations

import csv
import json
import math
import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from browsing import WIDTHS_AND_SCHEMES, Visit, assert_accessible_and_fitting, fills_in_both_schemes

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
    return eh.write_page(runs, tmp_path_factory.mktemp("pages") / "several.html")


@pytest.fixture(scope="module")
def mixed_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs, the first of which alone has probabilities beside its scores."""
    runs = [with_probabilities(), evaluated("neutral")]
    return eh.write_page(runs, tmp_path_factory.mktemp("pages") / "mixed.html")


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
    page.click("#scores .all-measures summary")
    table = page.locator("#scores .all-measures table")
    column = table.locator("thead th").all_inner_texts().index("log ratio, bits")
    cells = [row.locator("th, td").nth(column).inner_text() for row in table.locator("tbody tr").all()]
    tasks = with_probabilities().result.tasks
    expected = [tasks[task].log_ratio for task in ("overall", "intrasentence", "intersentence")]
    assert cells[:3] == [f"{shown.value:.2f} [{shown.low:.2f}, {shown.high:.2f}]" for shown in expected]
    assert cells[3:] == ["undefined"] * 3
    assert table.locator(".bar").count() == 0
    assert visit.problems == []


def test_several_runs_stand_side_by_side(visit: Visit, several_page: Path) -> None:
    page = visit.open(several_page)
    assert visit.problems == []
    assert page.locator(".readings > li").count() == 3
    assert "German" not in page.inner_text(".facts")
    assert "Turkish" in page.inner_text(".facts")
    assert "Compared with" in page.inner_text("#differences")
    open_items(page)
    before = page.inner_text("#item-list")
    page.select_option("#run-select", "2")
    assert page.inner_text("#item-list") != before


def test_runs_sort_by_any_column(visit: Visit, several_page: Path) -> None:
    page = visit.open(several_page)

    def scores() -> list[float]:
        cells = page.locator("#runs tbody tr td:nth-of-type(3) .value").all_inner_texts()
        return [float(text) for text in cells]

    head = page.locator("#runs thead th").nth(3)
    assert head.inner_text().startswith("SS")
    head.locator("button").click()
    assert scores() == sorted(scores(), reverse=True)
    head.locator("button").click()
    assert scores() == sorted(scores())
    assert head.get_attribute("aria-sort") == "ascending"


def test_the_reader_chooses_the_baseline(visit: Visit, several_page: Path) -> None:
    page = visit.open(several_page)
    neutral, leaning = "simulated-neutral (en)", "simulated-leaning (en)"
    assert f"{leaning} leans more towards the stereotypes than {neutral}" in page.inner_text("#differences")
    page.select_option("#differences select", label=leaning)
    assert f"{neutral} leans less towards the stereotypes than {leaning}" in page.inner_text("#differences")
    assert f"{leaning} leans more" not in page.inner_text("#differences")


def test_every_plot_draws_a_run_with_the_same_colour_and_shape(visit: Visit, several_page: Path) -> None:
    page = visit.open(several_page)
    legend = page.evaluate(
        "[...document.querySelectorAll('#plane .legend svg')].map((key) => getComputedStyle(key).color)"
    )
    assert len(set(legend)) == 3
    for name in ("plane", "bias-types"):
        drawn = page.evaluate(
            "(name) => [...document.querySelectorAll(`[data-plot='${name}'] .mark-symbol path`)]"
            ".map((mark) => getComputedStyle(mark).fill)",
            name,
        )
        assert set(drawn) == set(legend)


def test_sections_can_be_taken_away_as_csv_and_plots_as_png(visit: Visit, several_page: Path) -> None:
    page = visit.open(several_page)
    with page.expect_download() as download:
        page.click("[data-csv=runs]")
    rows = list(csv.DictReader(download.value.path().read_text(encoding="utf-8").splitlines()))
    assert {row["run"] for row in rows} == {
        "simulated-neutral (en)",
        "simulated-leaning (en)",
        "simulated-leaning (tr)",
    }
    assert float(next(row["value"] for row in rows if row["measure"] == "SS")) > 0
    with page.expect_download() as download:
        page.click("[data-csv=items]")
    assert len(download.value.path().read_text(encoding="utf-8").splitlines()) == 1 + 3 * 96
    with page.expect_download() as download:
        page.click("[data-png=plane]")
    assert download.value.path().read_bytes().startswith(b"\x89PNG")
    assert page.get_attribute("#plane [data-link]", "href") == "#plane"
    assert visit.problems == []


def test_paper_shows_everything_with_its_bars(visit: Visit, several_page: Path) -> None:
    page = visit.open(several_page)
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    assert page.locator("main details:not([open])").count() == 0
    bar = page.locator("#runs .bar-range").first
    assert bar.evaluate("(mark) => mark.getBoundingClientRect().width") > 5
    assert bar.evaluate("(mark) => getComputedStyle(mark).printColorAdjust") == "exact"
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert page.locator("#reading[open]").count() == 0


def test_twenty_runs_can_be_read(visit: Visit, tmp_path: Path) -> None:
    run = evaluated("leaning")
    runs = [
        replace(run, record=run.record.model_copy(update={"name": f"a-model-with-a-long-name-{number}"}))
        for number in range(20)
    ]
    comparisons = [eh.compare(runs[0], other, resampling=eh.Resampling(resamples=100)) for other in runs[1:]]
    page = visit.open(eh.write_page(runs, tmp_path / "twenty.html", comparisons=comparisons))
    assert page.evaluate("document.documentElement.scrollHeight") < 6000
    assert page.locator("#runs tbody tr").count() == 20
    assert visit.problems == []


def test_the_card_of_an_item_does_not_contradict_itself(visit: Visit, mixed_page: Path) -> None:
    page = visit.open(mixed_page)
    open_items(page)
    card = page.locator(".item").first
    assert "bits" not in card.inner_text()
    card.locator(".item-why summary").click()
    assert "Taken as a whole" in card.inner_text()
    assert "SS does not use it" in card.inner_text()


def test_plots_follow_the_theme(visit: Visit, single_page: Path) -> None:
    page = visit.open(single_page)
    light, dark = fills_in_both_schemes(page, "[data-plot=plane] .mark-symbol path")
    assert light is not None
    assert dark not in (None, light)


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
    page = visit.open(eh.write_page(runs, tmp_path / "page.html"))
    open_items(page)
    page.wait_for_timeout(200)
    assert page.evaluate("window.hacked") is None
    assert page.locator("img").count() == 0
    assert visit.problems == []
    assert HOSTILE in page.inner_text("#item-list")
