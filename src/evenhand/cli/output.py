"""What commands print, and their exit codes: results to standard output, everything else to standard error.

Tables in narrow terminals break their lines between words, never inside a name, a number or a drawing.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

import typer

from evenhand.cli.pulse import running_pulse, speed_words
from evenhand.cli.streams import give_up, leave_without_reader
from evenhand.core.progress import Progress, activities, activity

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from evenhand.core.estimates import Estimate
    from evenhand.store.trigger_records import TriggerRecord


USER_ERROR = 2
"""Something that the user can mend: a missing file, a wrong option."""

CHECK_FAILED = 3
"""A measure or an embedded model is not what it should be."""

CONDITION_HOLDS = 4
"""A ``--fail-if`` condition is met."""

QUALITY_LOST = 5
"""A certificate says that a mitigation cost more quality than its margins allow."""

QUALITY_NOT_COMPARED = 6
"""Held-out text was given, and a certificate could not compare quality on enough of it."""

INTERRUPTED = 130
"""Stopped with Ctrl-C."""

PIPED_WIDTH = 160

_ANY_WIDTH = 100_000


_TIGHT = (0, 1, 0, 0)
"""Padding of a table with two spaces between columns, not three."""


def console(*, error: bool = False) -> Console:
    """A console for standard output or standard error; wide where nobody looks at a screen."""
    from rich.console import Console

    class OutputConsole(Console):
        """A console that leaves as other tools do when its reader is gone."""

        def on_broken_pipe(self) -> None:
            leave_without_reader()

        def print(self, *objects: Any, **options: Any) -> None:
            make_room()
            super().print(*objects, **options)

    stream = sys.stderr if error else sys.stdout
    width = None if stream.isatty() else PIPED_WIDTH
    return OutputConsole(stderr=error, highlight=False, markup=False, emoji=False, width=width)


def make_room() -> None:
    """Take away what stands in the way of something that is about to be printed."""
    pulse = running_pulse()
    if pulse is not None:
        pulse.make_room()


def say(message: str) -> None:
    """A message beside the result; the first says what the command does."""
    pulse = running_pulse()
    if pulse is not None:
        pulse.name_command(message)
    _print_beside(message)


def warn(message: str) -> None:
    """A warning beside the result."""
    _print_beside(f"Warning: {message}", style="yellow")


def _print_beside(text: str, *, style: str | None = None) -> None:
    """Text for standard error; a full disk there is no reason to lose the work."""
    try:
        _print_wrapped(console(error=True), text, style=style)
    except OSError:
        give_up(sys.stderr)


def _print_wrapped(target: Console, text: str, *, style: str | None = None) -> None:
    """Text that breaks between words on a screen and stays on one line elsewhere; long paths stay whole."""
    target.print(_wrapped(text, target.width) if target.file.isatty() else text, style=style, soft_wrap=True)


def _wrapped(text: str, width: int) -> str:
    import textwrap

    return "\n".join(
        textwrap.fill(line, width, break_long_words=False, break_on_hyphens=False)
        for line in text.split("\n")
    )


def print_text(text: str) -> None:
    """Text for machines, as it is."""
    make_room()
    try:
        sys.stdout.write(text if text.endswith("\n") else text + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        leave_without_reader()


def print_json(value: Any) -> None:
    """One JSON value, indented; with escapes where the output could not write its characters."""
    import json

    text = json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        text = json.dumps(value, indent=1, allow_nan=False)
    print_text(text)


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


def print_table(table: Table) -> None:
    """A table on standard output, no wider than the screen if that can be had."""
    target = console()
    make_fit(table, target)
    target.print(table)


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


def print_trigger(trigger: TriggerRecord) -> None:
    """What a trigger does beside other prefixes, on every model that it was tried on."""
    from evenhand.triggers.tables import TRANSFER_COLUMNS, prefix_columns, prefix_rows, transfer_rows

    comparison = trigger.comparison
    columns = prefix_columns(comparison)
    table = plain_table(*columns, right=columns[1:], title=f"{comparison.model}   {trigger.text!r}")
    for row in prefix_rows(comparison):
        table.add_row(*row)
    print_table(table)
    if not trigger.transfer:
        return
    table = plain_table(*TRANSFER_COLUMNS, right=TRANSFER_COLUMNS[2:], title="carried to other models")
    for row in transfer_rows(trigger.comparisons):
        table.add_row(*row)
    print_table(table)


def print_lines(lines: Iterable[str]) -> None:
    """Sentences to standard output, each on lines of its own."""
    target = console()
    for line in lines:
        _print_wrapped(target, line)


def fits(table: Table, target: Console) -> bool:
    """Whether a table is as wide as it would like to be."""
    return _wanted(table, target) <= target.width


def keeps_words_whole(table: Table, target: Console) -> bool:
    """Whether a table fits once its lines are broken between words."""
    return _levelled(table, target) is not None


def make_fit(table: Table, target: Console) -> None:
    """Narrow a table that is too wide: less space between columns if that is enough, otherwise narrower columns.

    A table that fits is left alone, as is one whose words do not fit whatever is done.
    """
    if fits(table, target):
        return
    loose = table.padding
    table.padding, table.show_edge = _TIGHT, False
    if fits(table, target):
        return
    table.padding, table.show_edge = loose, True
    if not keeps_words_whole(table, target):
        table.padding, table.show_edge = _TIGHT, False
    widths = _levelled(table, target)
    for column, width in zip(table.columns, widths or (), strict=widths is not None):
        column.width = width


def _wanted(table: Table, target: Console) -> int:
    from rich.measure import Measurement

    return Measurement.get(target, target.options.update(max_width=_ANY_WIDTH), table).maximum


def _levelled(table: Table, target: Console) -> list[int] | None:
    """Widths of the columns, the widest narrowed first; None where words would have to break."""
    widths = [_longest(texts, separator="\n") for texts in _texts(table)]
    least = [_longest(texts, separator=None) for texts in _texts(table)]
    room = target.width - (_wanted(table, target) - sum(widths))
    while sum(widths) > room:
        able = [place for place, width in enumerate(widths) if width > least[place]]
        if not able:
            return None
        widths[max(able, key=widths.__getitem__)] -= 1
    return widths


def _texts(table: Table) -> list[list[str]]:
    return [[str(column.header), *map(str, column.cells)] for column in table.columns]


def _longest(texts: Sequence[str], *, separator: str | None) -> int:
    from rich.cells import cell_len

    return max((cell_len(part) for text in texts for part in text.split(separator)), default=0)


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
def asking_somebody() -> Iterator[None]:
    """Nothing is printed beside a question that waits for its answer."""
    pulse = running_pulse()
    with pulse.paused() if pulse else nullcontext():
        yield


@contextmanager
def progress_bar(description: str, unit: str = "items") -> Iterator[Callable[[int, int], None]]:
    """A bar with what is done, how fast, and the time left; where nobody watches a terminal, see ``pulse``."""
    with activity(description, unit) as note_progress:
        if not sys.stderr.isatty():
            yield note_progress
            return
        with asking_somebody(), _bar(description, unit) as draw:

            def report(done: int, total: int) -> None:
                note_progress(done, total)
                draw(done, total)

            yield report


@contextmanager
def _bar(description: str, unit: str) -> Iterator[Callable[[int, int], None]]:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
    from rich.text import Text

    class ActivityColumn(TextColumn):
        """What is done at the moment, also by code that knows no bar."""

        def render(self, task: Any) -> Text:
            parts = dict.fromkeys(own.title for own in activities() if own.title != description)
            return Text(", ".join([task.description, *parts]))

    columns = (
        ActivityColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn(unit),
        TextColumn("{task.fields[speed]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console(error=True), transient=True) as bar:
        shown = bar.add_task(description, total=None, speed="")

        def draw(done: int, total: int) -> None:
            elapsed = bar.tasks[0].elapsed or 0
            speed = speed_words(done / elapsed, unit) if elapsed and done else ""
            if done < total:
                bar.update(shown, completed=done, total=total, speed=speed)
            else:  # what is left, statistics and the page, has no count: the bar moves to and fro
                bar.update(
                    shown, description=f"{description}, finishing", completed=done, total=None, speed=""
                )

        yield draw
