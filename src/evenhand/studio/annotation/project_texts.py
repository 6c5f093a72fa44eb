"""Texts to label, from files."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from evenhand.core.counts import plural
from evenhand.core.errors import DatasetError
from evenhand.core.files import decode_utf8, read_bounded
from evenhand.core.labels import LabelScheme
from evenhand.data.annotation_csv import text_ids_of
from evenhand.data.annotations import about_repeated_texts
from evenhand.data.csv_files import CsvRow, CsvTable, plain_cell, read_table
from evenhand.studio.annotation.projects import Phase, ProjectText

LONGEST_TEXT = 10_000
"""Characters of a text; nobody can label more on one screen."""


@dataclass(frozen=True, slots=True)
class ProjectTexts:
    """The texts of a file, and what people should know about it."""

    texts: tuple[ProjectText, ...]
    warnings: tuple[str, ...] = ()


def read_project_texts(
    path: Path, scheme: LabelScheme, *, phase: Phase = Phase.MAIN, column: str = "text"
) -> ProjectTexts:
    """The texts of a file: CSV or TSV with a column of texts, or a text file with one text per line.

    The columns ``id``, ``source``, ``gold`` and ``explanation`` are read where they are there. Without ids, texts are
    numbered as in files of annotations, so that votes on the same file are about the same texts.

    Raises:
        DatasetError: If the file cannot be read, or a row is no text that can be labelled.
    """
    if path.suffix.lower() == ".txt":
        content = decode_utf8(read_bounded(path, error=DatasetError), path, error=DatasetError)
        lines = [(number, line.strip()) for number, line in enumerate(content.splitlines(), start=1)]
        filled = [(number, line) for number, line in lines if line]
        for number, line in filled:
            _refuse_length(line, f"{path}, line {number}")
        texts = [ProjectText(str(place), line, phase=phase) for place, (_, line) in enumerate(filled)]
        empty = 0
    else:
        table = read_table(path, needed=(column.lower(),))
        ids = _keys_of(table)
        texts = [
            _project_text(row, key, scheme, phase, column.lower())
            for row, key in zip(table.rows, ids, strict=True)
        ]
        empty = table.empty_rows
    if not texts:
        raise DatasetError(f"{path} has no texts.")
    if phase is Phase.TRAINING:
        if any(text.gold is None for text in texts):
            raise DatasetError(
                f"{path}: every text of the training round needs its right label in the column gold."
            )
        texts = [replace(text, key=f"{phase.value}-{text.key}") for text in texts]
    warnings = about_repeated_texts(text.text for text in texts)
    if empty:
        warnings.append(f"{path}: {plural(empty, 'empty row was', 'empty rows were')} passed over.")
    return ProjectTexts(tuple(texts), tuple(warnings))


def _keys_of(table: CsvTable) -> list[str]:
    """The ids that a table gives its texts; where it has a column for them, an empty one is the number of the row."""
    named = next((column for column in ("text_id", "id") if column in table.columns), None)
    if named is None:
        return text_ids_of(table, table.rows)
    return [plain_cell(row[named]) or str(place) for place, row in enumerate(table.rows)]


def _project_text(row: CsvRow, key: str, scheme: LabelScheme, phase: Phase, column: str) -> ProjectText:
    text = plain_cell(row[column])
    if not text:
        raise DatasetError(f"{row.place}: the text is empty. Remove the row, or fill it.")
    _refuse_length(text, row.place)
    gold = row["gold"].strip()
    return ProjectText(
        key=key,
        text=text,
        source=row["source"].strip(),
        gold=scheme.read_code(gold, place=row.place) if gold else None,
        explanation=row["explanation"].strip(),
        phase=phase,
    )


def _refuse_length(text: str, place: str) -> None:
    if len(text) > LONGEST_TEXT:
        raise DatasetError(
            f"{place}: the text has {len(text):,} characters, and at most {LONGEST_TEXT:,} fit on a screen. Shorten or "
            "split it."
        )
