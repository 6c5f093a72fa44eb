"""Tables as text: cells between commas, semicolons or tabs, whichever give the columns that are needed."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from evenhand.core.errors import DatasetError, are_missing
from evenhand.core.files import decode_utf8, read_bounded, sha256_of
from evenhand.core.items import repeated

TAB = "\t"

SEPARATORS = (",", ";", TAB)

_ENDS_WITHIN_QUOTES = "unexpected end of data"
"""What the standard library says of it."""

_LINE_END = re.compile(r"\r\n|\r|\n")
_QUOTED = re.compile(r'"(?:[^"]|"")*"')

FORMULA = re.compile(r"'*[=+\-@＝＋－＠\t\r\n]")
"""How a cell begins that a spreadsheet takes for a formula, or one with an apostrophe against that."""
_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?")


def spreadsheet_cell(text: str) -> str:
    """A text as a cell that no spreadsheet runs: with an apostrophe before a formula. Numbers stay as they are."""
    return f"'{text}" if FORMULA.match(text) and not _NUMBER.fullmatch(text) else text


def plain_cell(cell: str) -> str:
    """The text that ``spreadsheet_cell`` made a cell of."""
    return cell[1:] if cell.startswith("'") and spreadsheet_cell(cell[1:]) == cell else cell


@dataclass(frozen=True, slots=True)
class CsvRow:
    """The cells of a row by column, empty where there is none, and the place of the row for messages."""

    place: str
    cells: Mapping[str, str]

    def __getitem__(self, column: str) -> str:
        return self.cells.get(column, "")


@dataclass(frozen=True, slots=True)
class CsvTable:
    """The rows of a file that are not empty, and the digest of its content."""

    columns: tuple[str, ...]
    """In small letters, as cells are asked for."""
    rows: tuple[CsvRow, ...]
    sha256: str
    spelled: tuple[str, ...] = ()
    """The columns as the header has them."""
    empty_rows: int = 0
    """How many rows between others are empty; those at the end do not count."""


def read_table(path: Path, *, needed: Sequence[str], list_of: str | None = None) -> CsvTable:
    """Read a table with a header: CSV with commas or semicolons, or with tabs.

    The separator is the one that gives the columns that are needed; where none does, a file whose name ends in ``.tsv``
    is taken to have tabs and any other commas. In a file with tabs a quotation mark may occur anywhere, as in the files
    of GLUE; a cell that is quoted as in CSV is read as there.

    Rows are numbered as spreadsheets do: the header is row 1, and empty rows count.

    Args:
        path: The file.
        needed: Columns that the header must have; it may have others.
        list_of: The column that a file is taken to be which has only one column and no header.
    """
    content = read_bounded(path, error=DatasetError)
    text = decode_utf8(content, path, error=DatasetError)
    return table_from(text, path, needed=needed, list_of=list_of, sha256=sha256_of(content))


def table_from(
    text: str, path: Path, *, needed: Sequence[str], sha256: str, list_of: str | None = None
) -> CsvTable:
    """The table in a text, as ``read_table`` reads it from a file.

    Args:
        text: The content of the file.
        path: Where it comes from.
        needed: Columns that the header must have; it may have others.
        sha256: Of the content.
        list_of: The column that a file is taken to be which has only one column and no header.
    """
    separator = _separator(text, path, needed=needed)
    lines = _parsed(text, path, separator=separator)
    if not lines:
        raise DatasetError(f"{path} is empty.")
    spelled = tuple(lines[0][1])
    columns = tuple(cell.lower() for cell in spelled)
    if list_of and list_of not in columns and all(len(cells) == 1 for _, cells in lines):
        spelled = columns = (list_of,)
    else:
        lines = lines[1:]
    _refuse_columns(columns, path, needed=needed, separator=separator)
    rows = tuple(_row(cells, columns, place=f"{path}, row {number}") for number, cells in lines)
    if not rows:
        raise DatasetError(f"{path} has a header and no rows below it.")
    first, last = lines[0][0], lines[-1][0]
    return CsvTable(
        columns=columns,
        rows=rows,
        sha256=sha256,
        spelled=spelled,
        empty_rows=last - first + 1 - len(lines),
    )


def has_columns(path: Path, columns: Sequence[str]) -> bool:
    """Whether a file is a table with these columns."""
    try:
        read_table(path, needed=columns)
    except DatasetError:
        return False
    return True


def header_columns(text: str) -> tuple[tuple[str, ...], ...]:
    """The columns that the first row of a text names, for each separator that it has."""
    return tuple(columns for separator in SEPARATORS if len(columns := _header(text, separator)) > 1)


def _header(text: str, separator: str) -> tuple[str, ...]:
    """The columns that the first row names if this separates them; none if that cannot be."""
    try:
        rows = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
        first = next((row for row in rows if any(map(str.strip, row))), [])
    except csv.Error:
        return ()
    return tuple(cell.strip().lower() for cell in first)


def _separator(text: str, path: Path, *, needed: Sequence[str]) -> str:
    by_name = TAB if path.name.lower().removesuffix(".gz").endswith(".tsv") else ","
    fitting = [separator for separator in SEPARATORS if set(needed) <= set(_header(text, separator))]
    return by_name if by_name in fitting or not fitting else fitting[0]


def _parsed(text: str, path: Path, *, separator: str) -> list[tuple[int, list[str]]]:
    """The rows that are not empty, without the empty cells that spreadsheets leave at their end."""
    if separator == TAB and (plain := _split_at_tabs(text)) is not None:
        return plain
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    try:
        numbered = [(number, _trimmed(cells)) for number, cells in enumerate(reader, start=1)]
    except csv.Error as problem:
        if str(problem) == _ENDS_WITHIN_QUOTES:
            raise DatasetError(
                f"{path} ends in the middle of a cell (line {reader.line_num}). If the file was cut, copy it again; "
                "if not, a quotation mark is not closed."
            ) from None
        raise DatasetError(
            f"{path}, line {reader.line_num}: not valid CSV ({problem}). A cell with a separator or a "
            'quotation mark goes into double quotes, and a double quote in it is written twice ("").'
        ) from None
    return [(number, cells) for number, cells in numbered if cells]


def _split_at_tabs(text: str) -> list[tuple[int, list[str]]] | None:
    """The rows that are not empty, if all lines have the same number of cells, at least two.

    None otherwise: then a cell may have a tab or a line break in it, which only quotation marks can tell.
    """
    lines = [(number, line.split(TAB)) for number, line in enumerate(_LINE_END.split(text), start=1)]
    filled = [(number, cells) for number, cells in lines if any(map(str.strip, cells))]
    sizes = {len(cells) for _, cells in filled}
    if len(sizes) != 1 or sizes == {1}:
        return None
    rows = [(number, _trimmed([_unquoted(cell) for cell in cells])) for number, cells in filled]
    return [(number, cells) for number, cells in rows if cells]


def _unquoted(cell: str) -> str:
    """The content of a cell that is quoted as in CSV; any other cell as it is."""
    return cell[1:-1].replace('""', '"') if _QUOTED.fullmatch(cell) else cell


def _trimmed(cells: list[str]) -> list[str]:
    trimmed = [cell.strip() for cell in cells]
    while trimmed and not trimmed[-1]:
        trimmed.pop()
    return trimmed


def _refuse_columns(columns: tuple[str, ...], path: Path, *, needed: Sequence[str], separator: str) -> None:
    missing = [column for column in needed if column not in columns]
    if missing:
        raise DatasetError(
            f"{path} has the columns {', '.join(columns)}; {are_missing(missing)}. "
            f"The first row names the columns: {separator.join(needed)}."
        )
    twice = repeated(column for column in columns if column)
    if twice:
        raise DatasetError(f"{path} has the column {twice[0]} more than once. Keep one of them.")


def _row(cells: list[str], columns: tuple[str, ...], *, place: str) -> CsvRow:
    if len(cells) > len(columns):
        raise DatasetError(
            f"{place}: {len(cells)} cells, but the header has {len(columns)}. "
            "Put a text that has a separator into double quotes."
        )
    return CsvRow(place=place, cells=dict(zip(columns, cells, strict=False)))
