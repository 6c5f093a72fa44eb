"""Tables in which people mended items: CSV files with one row per item, or with one row per text.

One row per item: ``id``, and any of ``target``, ``context``, ``c1_word`` to ``c3_word`` with the mended texts; an empty
cell leaves a text as it is. Where a table has ``context_correct``, ``context + BLANK`` or ``c1_correct`` as well, those
are the mended texts, and the others show what was there before. A context that begins with *problematic* says why the
item is beyond repair; so does ``beyond_repair``. Other columns are not read.

One row per text: ``item``, ``field`` and ``after``, as in a table of changes, with ``by`` for the person.

For a translated table, one row per row of it: ``id``, and the columns that hold texts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from evenhand.core.errors import DatasetError
from evenhand.core.items import BLANK, Task
from evenhand.data.csv_files import CsvRow, CsvTable, read_table
from evenhand.translation.documents import BEYOND_REPAIR, CONTEXT, TARGET, WORD, Document, ItemTexts
from evenhand.translation.table_documents import RowTexts, TableDocument

_PROBLEMATIC = "problematic"
_MENDED_CONTEXTS = ("context_correct", "context + blank")
_CANDIDATES = (1, 2, 3)


@dataclass(frozen=True, slots=True)
class PersonRow:
    """What a person made of an item: mended texts by field, with ``word/1`` for the first candidate's word."""

    item: str
    person: str
    place: str
    mended: Mapping[str, str]

    def texts(self, item: ItemTexts | RowTexts) -> dict[str, str]:
        """The mended texts by the item's own fields; the mark alone where the item is beyond repair."""
        if BEYOND_REPAIR in self.mended:
            return {BEYOND_REPAIR: self.mended[BEYOND_REPAIR]}
        if isinstance(item, RowTexts):
            return dict(self.mended)
        numbered = {
            f"{WORD}/{number}": f"{WORD}/{candidate}"
            for number, candidate in enumerate(item.candidate_ids(), start=1)
        }
        return {numbered.get(name, name): text for name, text in self.mended.items()}


def read_people_tables(folder: Path, document: Document | TableDocument) -> tuple[PersonRow, ...]:
    """The rows of all CSV and TSV files of a folder, by file name.

    Raises:
        DatasetError: If there is no table, a row is about an item that the document does not have, a context has lost
            its blank, or two tables mend the same text differently.
    """
    paths = sorted(path for path in _entries(folder) if path.suffix.lower() in (".csv", ".tsv"))
    if not paths:
        raise DatasetError(f"{folder} has no CSV or TSV file. People's tables are needed there.")
    columns = document.text_columns if isinstance(document, TableDocument) else None
    rows = tuple(row for path in paths for row in _rows(path, columns))
    for row in rows:
        if row.item not in document.items:
            raise DatasetError(
                f"{row.place}: the file has no item {row.item!r}. Check the id, or take the row out."
            )
        _refuse_lost_blank(row, document.items[row.item])
    _refuse_disagreement(rows, document)
    return rows


def _refuse_lost_blank(row: PersonRow, item: ItemTexts | RowTexts) -> None:
    context = row.mended.get(CONTEXT)
    if isinstance(item, RowTexts):
        return
    if item.task is Task.INTRASENTENCE and context and BLANK not in context:
        raise DatasetError(
            f"{row.place}: the context of the item {item.id} has no {BLANK}. Write {BLANK} where the candidates' words "
            f"go, or begin it with {_PROBLEMATIC!r} and the reason if the item is beyond repair."
        )


def _entries(folder: Path) -> list[Path]:
    if not folder.is_dir():
        raise DatasetError(f"{folder} is not a folder. Give the folder with people's tables.")
    return list(folder.iterdir())


def _rows(path: Path, columns: Sequence[str] | None) -> list[PersonRow]:
    """The rows of a file; ``columns`` are the texts of a translated table, None for association items."""
    found = read_table(path, needed=()).columns
    if {"item", "field", "after"} <= set(found):
        return [_row_of_text(row, path) for row in read_table(path, needed=("item", "field", "after")).rows]
    table = read_table(path, needed=("id",))
    if columns is not None:
        mended = [{name: row[name] for name in (*columns, BEYOND_REPAIR) if row[name]} for row in table.rows]
        return [
            PersonRow(row["id"], row["person"] or path.name, row.place, texts)
            for row, texts in zip(table.rows, mended, strict=True)
            if texts
        ]
    return [row for row in (_row_of_item(row, table, path) for row in table.rows) if row.mended]


def _row_of_text(row: CsvRow, path: Path) -> PersonRow:
    if not row["after"]:
        raise DatasetError(f"{row.place}: 'after' is empty; a text is needed.")
    return PersonRow(row["item"], row["by"] or path.name, row.place, {row["field"]: row["after"]})


def _row_of_item(row: CsvRow, table: CsvTable, path: Path) -> PersonRow:
    contexts = [column for column in _MENDED_CONTEXTS if column in table.columns] or [CONTEXT]
    cells = {TARGET: row[TARGET], CONTEXT: next(filter(None, (row[column] for column in contexts)), "")}
    for number in _CANDIDATES:
        mended = f"c{number}_correct"
        cells[f"{WORD}/{number}"] = row[mended if mended in table.columns else f"c{number}_word"]
    reason = row[BEYOND_REPAIR] or (cells[CONTEXT] if cells[CONTEXT].startswith(_PROBLEMATIC) else "")
    if reason:
        cells = {BEYOND_REPAIR: reason}
    mended_texts = {name: text for name, text in cells.items() if text}
    return PersonRow(row["id"], row["person"] or path.name, row.place, mended_texts)


def _refuse_disagreement(rows: tuple[PersonRow, ...], document: Document | TableDocument) -> None:
    first: dict[tuple[str, str], tuple[PersonRow, str]] = {}
    for row in rows:
        for name, text in row.texts(document.items[row.item]).items():
            other, before = first.setdefault((row.item, name), (row, text))
            if before != text:
                raise DatasetError(
                    f"{other.place} and {row.place} mend {name} of the item {row.item} differently: {before!r} and "
                    f"{text!r}. Keep one of them."
                )
