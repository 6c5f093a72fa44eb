"""Printing: results to standard output, everything else to standard error."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from evenhand.core.estimates import Estimate

Entry = TypeVar("Entry")

PIPED_WIDTH = 160


def console(*, error: bool = False) -> Console:
    """A console for standard output or standard error; wide where nobody looks at a screen."""
    from rich.console import Console

    stream = sys.stderr if error else sys.stdout
    width = None if stream.isatty() else PIPED_WIDTH
    return Console(stderr=error, highlight=False, markup=False, emoji=False, width=width)


def say(message: str) -> None:
    """A message beside the result."""
    console(error=True).print(message, soft_wrap=True)


def warn(message: str) -> None:
    """A warning beside the result."""
    console(error=True).print(f"Warning: {message}", style="yellow", soft_wrap=True)


def print_text(text: str) -> None:
    """Text for machines, as it is."""
    sys.stdout.write(text if text.endswith("\n") else text + "\n")


def print_json(value: Any) -> None:
    """One JSON value, indented."""
    import json

    print_text(json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False))


def plain_table(*columns: str, right: Sequence[str] = (), title: str | None = None) -> Table:
    """An empty table in the house style."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        title=Text(title, style="bold") if title else None,
        title_justify="left",
    )
    for column in columns:
        table.add_column(column, justify="right" if column in right else "left", overflow="fold")
    return table


def strip(estimate: Estimate, *, width: int = 25) -> str:
    """An interval drawn on a scale from 0 to 100, with a mark at 50."""
    if not estimate.defined or estimate.low != estimate.low:
        return ""
    places = [round(value / 100 * (width - 1)) for value in (estimate.low, estimate.value, estimate.high)]
    cells = ["·"] * width
    for place in range(places[0], places[2] + 1):
        cells[place] = "━"
    cells[width // 2] = "┿" if places[0] <= width // 2 <= places[2] else "┊"
    cells[places[1]] = "●"
    return "".join(cells)


def progress(entries: Sequence[Entry], description: str) -> Iterator[Entry]:
    """The entries, with a progress bar on standard error where somebody can see it."""
    if not sys.stderr.isatty() or len(entries) < 2:
        return iter(entries)
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    def advancing() -> Iterator[Entry]:
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with Progress(*columns, console=console(error=True), transient=True) as bar:
            yield from bar.track(entries, description=description)

    return advancing()
