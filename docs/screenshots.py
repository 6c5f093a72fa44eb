"""Take the screenshots that the README and the pages show.

    python docs/screenshots.py /usr/bin/chromium

Needs a Chromium browser. The report is that of an embedded model, the server's pages are those of the demonstration.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from playwright.sync_api import sync_playwright

import evenhand as eh
from evenhand.studio.accounts import new_setup_token
from evenhand.studio.app import create_app, served_from_thread
from evenhand.studio.database import Database
from evenhand.studio.demo import PROJECT, SURVEY, fill_demo

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

IMAGES = Path(__file__).parent / "images"
WIDTH, HEIGHT = 1280, 980
PASSWORD = "a password for one screenshot"  # noqa: S105
Scheme = Literal["light", "dark"]


def main(browser_path: str) -> None:
    """Render the report and the server's pages."""
    IMAGES.mkdir(exist_ok=True)
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(executable_path=browser_path, args=["--no-sandbox"])
        report_pages(browser, Path(folder))
        server_pages(browser, Path(folder))
        browser.close()


def report_pages(browser: Browser, folder: Path) -> None:
    """The report of an embedded model, in light and dark."""
    page_file = eh.write_page(eh.audit("lab:masked"), folder / "page.html")
    schemes: tuple[Scheme, ...] = ("light", "dark")
    for scheme in schemes:
        page = new_page(browser, scheme, height=HEIGHT)
        page.goto(page_file.as_uri())
        page.wait_for_selector("[data-plot=plane] svg")
        page.screenshot(path=IMAGES / f"page-{scheme}.png")


def server_pages(browser: Browser, folder: Path) -> None:
    """An annotator's page, a dispute, the lead's page, a prompt of the survey, a match and an item under review."""
    database = Database(str(folder / "demo.db"))
    app = create_app(database)
    links = fill_demo(database)
    with served_from_thread(app) as address:
        annotate(new_page(browser, "light"), address + links["Annotate"])
        adjudicate(new_page(browser, "light", height=760), address + links["Settle disputes"])
        lead(new_page(browser, "dark", height=1000), address, f"/setup/{new_setup_token(database)}")
        take_part(new_page(browser, "light", height=860), f"{address}/s/{SURVEY}")
        match(new_page(browser, "light"), address + links["Review matches"])
        review(new_page(browser, "light", height=1000), address + links["Review a translation"])
    database.close()


def annotate(page: Page, link: str) -> None:
    """Label the training round, and show the first text of the main part."""
    page.goto(link)
    page.get_by_role("button", name="Begin").click()
    page.wait_for_selector(".text-card:focus")
    for _ in range(3):
        page.keyboard.press("2")
        page.get_by_text("so far").wait_for()
        page.keyboard.press("ArrowRight")
        page.get_by_text("so far").wait_for(state="detached")
    page.screenshot(path=IMAGES / "web-annotate.png")


def adjudicate(page: Page, link: str) -> None:
    """Choose a label for a text that people differ on, and show how they judged."""
    page.goto(link)
    page.locator(".label-button").first.click()
    page.get_by_role("heading", name="Votes").wait_for()
    page.screenshot(path=IMAGES / "web-adjudicate.png")


def lead(page: Page, address: str, setup: str) -> None:
    """Make the administrator, and show the live page of the project."""
    page.goto(address + setup)
    page.locator("#new").fill(PASSWORD)
    page.locator("#again").fill(PASSWORD)
    page.get_by_role("button", name="Save").click()
    page.goto(f"{address}/projects/{PROJECT}")
    page.screenshot(path=IMAGES / "web-lead.png")


def take_part(page: Page, survey: str) -> None:
    """Agree, and show the first prompt with an answer that is checked while it is written."""
    page.goto(survey)
    page.locator("input[name=agree]").check()
    page.get_by_role("button", name="Start").click()
    page.locator("[name=screening-age][value=yes]").check()
    page.locator("[name=screening-language][value=native]").check()
    for _ in range(2):
        page.get_by_role("button", name="Go on").click()
    page.wait_for_selector("#answer:focus")
    page.keyboard.type("somebody to ask at me@example.org")
    page.get_by_text("looks like an e-mail address").wait_for()
    page.screenshot(path=IMAGES / "web-survey.png")


def match(page: Page, link: str) -> None:
    """Show a text with two matches of a lexicon."""
    page.goto(link)
    page.get_by_role("button", name="Begin").click()
    page.wait_for_selector(".text-card:focus")
    while page.locator(".text-card mark").count() < 2:
        shown = page.locator(".text-card").inner_text()
        page.keyboard.press("2")
        page.wait_for_function("text => document.querySelector('.text-card').innerText !== text", arg=shown)
    page.screenshot(path=IMAGES / "web-matches.png")


def review(page: Page, link: str) -> None:
    """Show an item beside its source, with its texts open for editing."""
    page.goto(link)
    page.get_by_role("button", name="Begin").click()
    page.wait_for_selector("[data-focus]:focus")
    page.keyboard.press("e")
    page.screenshot(path=IMAGES / "web-review.png")


def new_page(browser: Browser, scheme: Scheme, *, height: int = 620) -> Page:
    """A page of the width that the pictures have."""
    return browser.new_context(
        viewport={"width": WIDTH, "height": height}, color_scheme=scheme, locale="en-GB"
    ).new_page()


if __name__ == "__main__":
    main(sys.argv[1])
