"""Make the generated parts of the documentation, and of the README.

    python docs/generate.py            writes them
    python docs/generate.py --check    names the files that are stale, and exits with code 1 if there are any

File names after that limit it to those files. ``reproduction.md`` needs the published predictions
(see ``docs/reproduce.py``) and is left alone without them, as ``calibration.md`` is without the
bundled calibration.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path

from generators.blocks import refreshed
from generators.calibration_docs import calibration_page
from generators.command_line_page import command_line_page
from generators.measure_pages import measure_pages
from generators.reproduction_page import reproduction_page
from reproduce import data_folder

from evenhand.data.datasets import bundled_calibration, bundled_calibration_path

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent

REPRODUCTION = "docs/reproduction.md"
CALIBRATION = "docs/calibration.md"
MISSING = {
    REPRODUCTION: "the published predictions are not at hand",
    CALIBRATION: "there is no bundled calibration",
}
"""Why a page is left alone."""

BY_HAND = (
    "README.md",
    *(
        f"docs/{name}.md"
        for name in (
            "index",
            "quickstart",
            "concepts",
            "data",
            "translation",
            "agreement",
            "regard",
            "regard-analysis",
            "regard-audit",
            "python",
            "lab",
            "certificate",
            "generation",
            "extending",
        )
    ),
)
"""Files written by hand that may have blocks of real output."""


def makers() -> dict[str, Callable[[], str]]:
    """For each file with generated parts, by its path in the repository, what makes its text."""
    pages: dict[str, Callable[[], str]] = {name: partial(_by_hand, name) for name in BY_HAND}
    pages["docs/command-line.md"] = command_line_page
    for name in _measure_pages():
        pages[f"docs/{name}"] = partial(_measure_page, name)
    folder = data_folder()
    if folder is not None:
        pages[REPRODUCTION] = partial(reproduction_page, folder)
    if bundled_calibration_path().is_file():
        pages[CALIBRATION] = lambda: calibration_page(bundled_calibration())
    return pages


def _by_hand(name: str) -> str:
    return refreshed((ROOT / name).read_text(encoding="utf-8"))


@cache
def _measure_pages() -> dict[str, str]:
    return measure_pages()


def _measure_page(name: str) -> str:
    return _measure_pages()[name]


def is_stale(name: str, text: str) -> bool:
    """Whether the file does not hold this text."""
    path = ROOT / name
    return not path.is_file() or path.read_text(encoding="utf-8") != text


def main() -> None:
    """Write the files, or check them."""
    parser = argparse.ArgumentParser(description="Make the generated parts of the documentation.")
    parser.add_argument("files", nargs="*", help="Only these, such as docs/index.md.")
    parser.add_argument("--check", action="store_true", help="Write nothing; exit with 1 if a file is stale.")
    arguments = parser.parse_args()
    pages = makers()
    unknown = [name for name in arguments.files if name not in pages]
    if unknown:
        parser.error(f"Nothing is generated in {unknown[0]}. Files: {', '.join(pages)}")
    for name, reason in MISSING.items():
        if name not in pages:
            print(f"{name}: left alone, {reason}", file=sys.stderr)
    stale = []
    for name in arguments.files or pages:
        text = pages[name]()
        if is_stale(name, text):
            stale.append(name)
            if not arguments.check:
                (ROOT / name).parent.mkdir(parents=True, exist_ok=True)
                (ROOT / name).write_text(text, encoding="utf-8")
    for name in stale:
        print(f"{name}: {'stale' if arguments.check else 'written'}")
    if arguments.check and stale:
        sys.exit(1)


if __name__ == "__main__":
    main()
