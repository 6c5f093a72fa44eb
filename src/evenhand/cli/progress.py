"""Bars for long work, where somebody can see them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from evenhand.cli.output import console


@contextmanager
def progress_bar(description: str, unit: str = "items") -> Iterator[Callable[[int, int], None]]:
    """A bar with what is done, how fast, and the time left."""
    if not sys.stderr.isatty():
        yield lambda _done, _total: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn(unit),
        TextColumn("{task.fields[speed]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console(error=True), transient=True) as bar:
        shown = bar.add_task(description, total=None, speed="")

        def report(done: int, total: int) -> None:
            elapsed = bar.tasks[0].elapsed or 0
            speed = f"{done / elapsed:,.0f} {unit}/s" if elapsed and done / elapsed >= 1 else ""
            bar.update(shown, completed=done, total=total, speed=speed)

        yield report
