"""Pages of items in a real browser: unpacked from the file alone, searched, ordered and paged."""

from __future__ import annotations

from pathlib import Path

import pytest
from browsing import WIDTHS_AND_SCHEMES, Visit, assert_accessible_and_fitting

import evenhand as eh
from evenhand.reporting import page_files
from evenhand.reporting.association import item_pages as item_pages_module
from evenhand.reporting.association import items as page_items_module


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run of the starter set, with a page that is too small and two pages of items."""
    run = eh.evaluate(
        eh.example_scores("leaning"), "starter", language="en", resampling=eh.Resampling(resamples=200)
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(page_items_module, "MOST_BYTES", 8_000)
        patch.setattr(item_pages_module, "MOST_PACKED", 4_000)
        patch.setattr(item_pages_module, "_BATCH_CHARACTERS", 500)
        return run.save(tmp_path_factory.mktemp("runs") / "run", pages=page_files(run))


def test_items_are_reached_from_the_page_searched_ordered_and_paged(visit: Visit, folder: Path) -> None:
    pages = sorted(path.name for path in folder.glob("items-*.html"))
    assert len(pages) > 1
    page = visit.open(folder / "report.html")
    page.click("#items-show")
    assert "All are on the pages that are linked below." in page.inner_text("#item-status")
    page.click("#item-pages a >> nth=0")
    page.wait_for_selector("#items-show")
    assert visit.requests == [(folder / name).as_uri() for name in ("report.html", "items-1.html")]

    assert page.locator(".item").count() == 0
    page.click("#items-show")
    page.wait_for_selector(".item")
    items = eh.open_run(folder).items()
    here = int(page.inner_text("#item-status").split()[0])
    assert 20 < here < 96
    assert page.locator(".item").count() == 20
    seen = page.locator(".item-foot").all_inner_texts()
    while page.is_enabled("#item-next"):
        page.click("#item-next")
        seen += page.locator(".item-foot").all_inner_texts()
    assert {foot.split(" · ")[0] for foot in seen} == set(items["item"][:here].to_list())

    page.select_option("#item-order", "file")
    assert page.locator(".item-foot").first.inner_text().startswith(items["item"][0])
    page.fill("#item-search", items["item"][3])
    assert page.inner_text("#item-status") == "1 items"
    last = items["item"][-1]
    page.fill("#item-search", last)
    assert page.inner_text("#item-status") == "No item fits these choices."
    page.click("#item-pages a[data-item-page] >> nth=-1")
    page.wait_for_selector("#items-notice:not([hidden])")
    page.click("#items-show")
    page.wait_for_selector(".item")
    assert page.locator(".item-foot").all_inner_texts()[0].startswith(last)
    assert visit.problems == []


@WIDTHS_AND_SCHEMES
def test_a_page_of_items_is_accessible_and_fits(visit: Visit, folder: Path) -> None:
    page = visit.open(folder / "items-1.html")
    page.click("#items-show")
    page.wait_for_selector(".item")
    assert_accessible_and_fitting(page)


def test_a_browser_that_cannot_unpack_says_so(visit: Visit, folder: Path) -> None:
    visit.page.add_init_script("delete window.DecompressionStream")
    page = visit.open(folder / "items-1.html")
    page.click("#items-show")
    page.wait_for_selector("#item-unreadable:not([hidden])")
    assert page.is_hidden("#items-area")
    assert "cannot unpack the items" in page.inner_text("#item-unreadable")


def test_items_are_there_without_scripts(visit: Visit, folder: Path) -> None:
    context = visit.page.context.browser.new_context(java_script_enabled=False)  # type: ignore[union-attr]
    page = context.new_page()
    page.goto((folder / "items-1.html").as_uri())
    assert page.locator("noscript .item").first.is_hidden()
    page.click("noscript summary")
    assert page.locator("noscript .item").count() == 20
    assert page.locator("noscript .item").first.is_visible()
    assert page.is_hidden("#items-show")
    assert page.get_attribute("#item-pages a", "href") == "items-2.html"
    context.close()
