"""Tables in narrow terminals: lines break between words, never inside a name, a number or a drawing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

_ANY_WIDTH = 100_000
_TIGHT = (0, 1, 0, 0)
"""Padding of a table with two spaces between columns, not three."""


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
