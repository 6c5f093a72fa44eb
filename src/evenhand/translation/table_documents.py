"""Translated tables as texts that can change: pairs of sentences, structures of probes, prompts.

A text is named by its row and its column. Rows are named by the column ``id`` where it tells them apart, otherwise by
their number. Cells of other columns stay as they are.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from evenhand.core.errors import DatasetError
from evenhand.core.files import decode_utf8
from evenhand.data.text_case import in_case_of_source
from evenhand.translation.defects import is_odd_length
from evenhand.translation.documents import BEYOND_REPAIR
from evenhand.translation.table_files import TAG, TEXT_COLUMNS, table_bytes
from evenhand.translation.translating import differing_tags, keeps_tags
from evenhand.translation.untranslated import shares_words

LOST_TAGS = "tags-lost"
EQUAL_TEXTS = "equal-texts"


@dataclass(frozen=True, slots=True)
class RowTexts:
    """One row of a table; its texts can be read and set by column."""

    id: str
    cells: dict[str, str]
    columns: tuple[str, ...]
    """Those that hold texts."""

    @property
    def is_beyond_repair(self) -> bool:
        """Whether somebody marked it so."""
        return bool(self[BEYOND_REPAIR])

    def fields(self) -> list[str]:
        """The columns that hold texts."""
        return list(self.columns)

    def texts(self) -> dict[str, str]:
        """The texts by column."""
        return {column: self.cells[column] for column in self.columns}

    def __getitem__(self, field: str) -> str:
        self._refuse_unknown(field)
        return self.cells.get(field, "")

    def __setitem__(self, field: str, text: str) -> None:
        self._refuse_unknown(field)
        if field == BEYOND_REPAIR and not text:
            self.cells.pop(field, None)
        else:
            self.cells[field] = text

    def _refuse_unknown(self, field: str) -> None:
        if field not in (*self.columns, BEYOND_REPAIR):
            known = ", ".join([*self.columns, BEYOND_REPAIR])
            raise DatasetError(f"The row {self.id} has no text {field!r}. Its texts are {known}.")


class TableDocument:
    """A table whose texts can change. What it is written as depends on its cells alone."""

    def __init__(
        self, content: bytes, *, language: str, suffix: str, path: Path, columns: Sequence[str] = ()
    ) -> None:
        self.language = language
        self.suffix = suffix
        self._content = content
        text = decode_utf8(content, path, error=DatasetError)
        self._columns, rows = _cells_of(text, suffix=suffix, path=path)
        chosen = tuple(columns) or tuple(column for column in TEXT_COLUMNS if column in self._columns)
        self.text_columns = tuple(column for column in chosen if column in self._columns)
        named = [row.get("id", "") for row in rows]
        is_named = all(named) and len(set(named)) == len(named)
        ids = named if is_named else [str(number) for number in range(1, len(rows) + 1)]
        self.items = {
            identity: RowTexts(identity, row, self.text_columns)
            for identity, row in zip(ids, rows, strict=True)
        }
        self._untouched = self._dump()

    def __iter__(self) -> Iterator[RowTexts]:
        return iter(self.items.values())

    def __len__(self) -> int:
        return len(self.items)

    def own_item(self, identity: str) -> str:
        """A row as JSON; empty if there is none of this id."""
        row = self.items.get(identity)
        return json.dumps(row.cells, ensure_ascii=False) if row else ""

    def put_own_item(self, identity: str, text: str) -> None:
        """Add a row that people wrote for this language, or take it out again if the text is empty.

        Raises:
            DatasetError: If the text is no row of this table.
        """
        if not text:
            del self.items[identity]
            return
        try:
            cells = {str(column): str(cell) for column, cell in json.loads(text).items()}
        except (ValueError, AttributeError):
            cells = {}
        if identity in self.items or not set(self.text_columns) <= cells.keys():
            raise DatasetError(f"What is added as the row {identity} is no row of this table: {text[:80]!r}.")
        self.items[identity] = RowTexts(identity, cells, self.text_columns)

    def has_same_rest(self, other: TableDocument) -> bool:
        """Whether another table with the same texts is the same in everything else too."""
        return self._dump() == other._dump()

    def to_bytes(self) -> bytes:
        """The file: byte for byte what was read if no cell differs from it.

        Marks of rows are a column at the end. A text file with one text per line has no place for them; they are in
        the changes alone.
        """
        if self._dump() == self._untouched:
            return self._content
        is_marked = any(row.is_beyond_repair for row in self) and self.suffix != ".txt"
        columns = [column for column in self._columns if column != BEYOND_REPAIR]
        columns += [BEYOND_REPAIR] if is_marked else []
        rows = [[row.cells.get(column, "") for column in columns] for row in self]
        return table_bytes(columns, rows, suffix=self.suffix)

    def _dump(self) -> str:
        return json.dumps([row.cells for row in self], sort_keys=True)


def _cells_of(text: str, *, suffix: str, path: Path) -> tuple[list[str], list[dict[str, str]]]:
    if suffix == ".txt":
        return ["text"], [{"text": line} for line in text.splitlines() if line.strip()]
    try:
        header, *rows = csv.reader(
            io.StringIO(text, newline=""), delimiter="\t" if suffix == ".tsv" else ",", strict=True
        )
    except (csv.Error, ValueError) as problem:
        raise DatasetError(f"{path} is not a valid table ({problem}). Put it back as it was.") from None
    if any(len(row) != len(header) for row in rows):
        raise DatasetError(f"{path} has rows with more or fewer cells than columns. Put it back as it was.")
    cells = [dict(zip(header, row, strict=True)) for row in rows]
    for row in cells:
        if not row.get(BEYOND_REPAIR, "x"):
            del row[BEYOND_REPAIR]  # a mark that is empty is none
    return header, cells


def table_problems(document: TableDocument, source: TableDocument) -> dict[str, dict[str, str]]:
    """What is wrong with each row of a translated table, as far as its source shows it; rows without a problem lack.

    For each row the names of its problems, with a sentence about each.

    Args:
        document: The translation.
        source: What it was translated from; rows that it does not have are left alone.
    """
    pairs = {
        row.id: [(row[column], source.items[row.id][column]) for column in document.text_columns]
        for row in document
        if row.id in source.items
    }
    ratios = [len(text) / len(original) for own in pairs.values() for text, original in own if original]
    usual = median(ratios) if ratios else 1.0
    found = {
        identity: _problems_of(own, usual=usual, language=document.language)
        for identity, own in pairs.items()
    }
    return {identity: names for identity, names in found.items() if names}


def _problems_of(pairs: Sequence[tuple[str, str]], *, usual: float, language: str) -> dict[str, str]:
    texts, originals = zip(*pairs, strict=True) if pairs else ((), ())
    lost = [tag for text, original in pairs for tag in differing_tags(text, original, TAG)]
    checks = {
        LOST_TAGS: f"missing, or there too often: {', '.join(dict.fromkeys(lost))}" if lost else "",
        EQUAL_TEXTS: "two texts are the same that differ in the source"
        if has_equal_texts(texts) and not has_equal_texts(originals)
        else "",
        "length-ratio": "a text is much longer or shorter than is usual for its source"
        if any(is_odd_length(text, original, usual=usual) for text, original in pairs)
        else "",
        "untranslated": "words of the source are still there"
        if any(shares_words(text, original) for text, original in pairs)
        else "",
        "text-case": "a text begins in another case than its source, or has a capital after a tag at its beginning"
        if any(in_case_of_source(text, original, language) != text for text, original in pairs)
        else "",
    }
    return {name: says for name, says in checks.items() if says}


def has_equal_texts(texts: Sequence[str]) -> bool:
    """Whether two texts of a row, such as the sentences of a pair, are the same."""
    return len({text.casefold() for text in texts}) < len(texts)


def fault_of_row(texts: Mapping[str, str], originals: Mapping[str, str]) -> str | None:
    """What is wrong with the texts that somebody wrote for a row, as a word; None if nothing is."""
    if not all(text.strip() for name, text in texts.items() if originals.get(name, "x")):
        return "empty"
    if any(not keeps_tags(text, originals[name], TAG) for name, text in texts.items() if name in originals):
        return "tags"
    is_merged = has_equal_texts([*texts.values()]) and not has_equal_texts([*originals.values()])
    return "equal" if is_merged else None
