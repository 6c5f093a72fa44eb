"""The terminal as the monitor of a workflow: bars while somebody watches, lines for what is worth knowing."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import typer

from evenhand.cli.exit_codes import INTERRUPTED
from evenhand.cli.output import console, say, warn
from evenhand.core.progress import Progress


class TerminalMonitor:
    """Notes and warnings go to standard error, so that standard output holds results alone."""

    @contextmanager
    def stage(self, title: str, unit: str = "items") -> Iterator[Progress]:
        """A bar for a piece of work."""
        with progress_bar(title, unit) as progress:
            yield progress

    def note(self, message: str) -> None:
        """A line."""
        say(message)

    def warn(self, message: str) -> None:
        """A line that stands out."""
        warn(message)


@contextmanager
def exit_when_interrupted() -> Iterator[None]:
    """An interrupted workflow has kept what it did; the reader is told so, and the command ends."""
    try:
        yield
    except KeyboardInterrupt:
        say("Stopped. Give the same command again to go on from here.")
        raise typer.Exit(INTERRUPTED) from None


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
