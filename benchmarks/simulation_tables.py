"""Tables of simulated studies: printed row by row, and put between markers of a page."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from pathlib import Path


def print_simulation(
    table: Callable[[int, int], Iterator[str]], *, description: str | None, marker: str, studies: int
) -> None:
    """Read the options of a script, and print its table or put it into a page too.

    Args:
        table: The rows as Markdown, for a number of studies and a seed.
        description: Of the script.
        marker: The name of the section of a page that the table replaces.
        studies: How many there are if none are asked for.
    """
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--studies", type=int, default=studies)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--page", type=Path, help="Markdown file whose table is replaced.")
    chosen = parser.parse_args()
    rows = []
    for row in table(chosen.studies, chosen.seed):
        print(row, flush=True)
        rows.append(row)
    if chosen.page is not None:
        begin, end = f"<!-- begin {marker} -->", f"<!-- end {marker} -->"
        before, _, rest = chosen.page.read_text(encoding="utf-8").partition(begin)
        _, _, after = rest.partition(end)
        chosen.page.write_text("\n".join([before + begin, *rows, end + after]), encoding="utf-8")
