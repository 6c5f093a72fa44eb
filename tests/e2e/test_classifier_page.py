"""The page of a regard classifier in a real browser."""

from __future__ import annotations

from pathlib import Path

import pytest
from browsing import WIDTHS_AND_SCHEMES, Visit, assert_accessible_and_fitting, fills_in_both_schemes
from regard_training import NEEDS_REGARD

from evenhand.regard.classifier import RegardClassifier
from evenhand.reporting.regard.page import render_classifier_page

pytestmark = NEEDS_REGARD

HOSTILE = "<img src=x onerror=\"window.hacked = 'yes'\"></script><script>window.hacked = 'yes'</script>"


@pytest.fixture(scope="module")
def page_file(trained: RegardClassifier, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("pages") / "classifier.html"
    record = trained.record.model_copy(update={"name": HOSTILE, "warnings": (HOSTILE,)})
    place.write_text(render_classifier_page(record, trained.report, scheme=trained.scheme), encoding="utf-8")
    return place


def test_the_page_draws_itself_and_asks_for_nothing(visit: Visit, page_file: Path) -> None:
    page = visit.open(page_file)
    assert page.locator(".plot svg").count() == 2
    assert visit.problems == []
    assert visit.requests == [page_file.as_uri()]
    assert page.evaluate("window.hacked") is None
    assert page.locator("h1").inner_text() == HOSTILE


def test_the_figures_can_be_had_as_csv(visit: Visit, page_file: Path) -> None:
    page = visit.open(page_file)
    with page.expect_download() as download:
        page.locator('[data-csv="figures"]').click()
    lines = Path(str(download.value.path())).read_text(encoding="utf-8").splitlines()
    assert lines[0] == "part,figure,value,low,high,n"
    assert any(line.startswith("Test,Balanced accuracy,") for line in lines)


@WIDTHS_AND_SCHEMES
def test_the_page_is_accessible_and_fits(visit: Visit, page_file: Path) -> None:
    assert_accessible_and_fitting(visit.open(page_file))


def test_plots_follow_the_theme(visit: Visit, page_file: Path) -> None:
    light, dark = fills_in_both_schemes(visit.open(page_file), ".plot .mark-symbol path")
    assert light is not None
    assert dark not in (None, light)
