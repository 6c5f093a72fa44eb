"""The terminal as the monitor of a workflow: bars while somebody watches, lines for what is worth knowing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import typer

from evenhand.cli.exit_codes import INTERRUPTED
from evenhand.cli.output import say, warn
from evenhand.cli.progress import progress_bar
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
def interruption_told() -> Iterator[None]:
    """An interrupted workflow has kept what it did; the reader is told so, and the command ends."""
    try:
        yield
    except KeyboardInterrupt:
        say("Stopped. Give the same command again to go on from here.")
        raise typer.Exit(INTERRUPTED) from None
