"""Take the screenshots that the README shows.

    python docs/screenshots.py /usr/bin/chromium

Needs a Chromium browser; the page is that of an embedded model.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

import evenhand as eh

IMAGES = Path(__file__).parent / "images"
WIDTH, HEIGHT = 1280, 980


def main(browser_path: str) -> None:
    """Render the example page in light and dark."""
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        run = eh.audit("lab:masked")
        page_file = eh.write_page(run, Path(folder) / "page.html")
        browser = playwright.chromium.launch(executable_path=browser_path, args=["--no-sandbox"])
        for scheme in ("light", "dark"):
            context = browser.new_context(
                viewport={"width": WIDTH, "height": HEIGHT},
                color_scheme="dark" if scheme == "dark" else "light",
            )
            page = context.new_page()
            page.goto(page_file.as_uri())
            page.wait_for_selector("[data-plot=plane] svg")
            page.screenshot(path=IMAGES / f"page-{scheme}.png")
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1])
