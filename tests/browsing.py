"""Pages in a real browser, with what they asked for and what went wrong."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ConsoleMessage, Page

EVERY_PLOT_IS_DRAWN = "[...document.querySelectorAll('.plot')].every((plot) => plot.querySelector('svg'))"

OVERFULL_BUTTONS = """[...document.querySelectorAll('button, .button')]
    .filter((button) => button.offsetParent && button.scrollWidth > button.clientWidth + 1)
    .map((button) => button.innerText)"""
"""The words of buttons that run out of them."""

WIDTHS_AND_SCHEMES = pytest.mark.parametrize(
    "visit",
    [{"width": 380, "scheme": "light"}, {"width": 1600, "scheme": "dark"}],
    indirect=True,
    ids=["narrow-light", "wide-dark"],
)
"""Each width and each scheme once: what fits does not depend on colours, nor contrast on the width."""


SLOW_PAGE = 180
"""Seconds that a page may take on a machine with much else to do, before a test fails."""


class Visit:
    """A page in the browser, with what it asked for and what went wrong."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.problems: list[str] = []
        self.requests: list[str] = []
        page.on("pageerror", lambda error: self.problems.append(str(error)))
        page.on("console", self._listen)
        page.on("request", lambda request: self.requests.append(request.url))

    def _listen(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.problems.append(message.text)

    def open(self, path: Path) -> Page:
        self.page.goto(path.as_uri())
        self.page.wait_for_function(EVERY_PLOT_IS_DRAWN)
        return self.page


@pytest.fixture
def visit(browser: Browser, request: pytest.FixtureRequest) -> Iterator[Visit]:
    """A new page, of the width and the colour scheme that a test asks for."""
    settings: dict[str, Any] = getattr(request, "param", {})
    context = browser.new_context(
        viewport={"width": settings.get("width", 1200), "height": 900},
        color_scheme=settings.get("scheme", "light"),
    )
    context.set_default_timeout(1000 * SLOW_PAGE)
    yield Visit(context.new_page())
    context.close()


def fills_in_both_schemes(page: Page, selector: str) -> tuple[str | None, str | None]:
    """The colour of what is drawn there on a light page, and after a reader has turned it dark."""
    light = page.get_attribute(selector, "fill")
    page.emulate_media(color_scheme="dark")
    page.wait_for_function(
        "([selector, fill]) => ![null, fill].includes("
        "document.querySelector(selector)?.getAttribute('fill') ?? null)",
        arg=[selector, light],
    )
    return light, page.get_attribute(selector, "fill")


def assert_accessible_and_fitting(page: Page) -> None:
    """With every part unfolded, axe finds nothing and nothing is wider than the window."""
    from axe_playwright_python.sync_playwright import Axe

    page.evaluate("for (const part of document.querySelectorAll('details')) part.open = true")
    violations = Axe().run(page).response["violations"]
    assert [f"{found['id']}: {found['nodes'][0]['html']}" for found in violations] == []
    widths = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert widths[0] <= widths[1]
    assert page.evaluate(OVERFULL_BUTTONS) == []
