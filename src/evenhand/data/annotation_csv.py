"""Annotations in CSV files: all annotators in one long table, or one table per annotator with aligned rows.

A table names labels in a column, or has one column per label in which one is ticked. In aligned tables the place of a
row says which text is meant, because annotators correct the texts that they are given. Rows without a text and an
answer are what spreadsheets leave behind, and are passed over.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from evenhand.core.counts import plural
from evenhand.core.errors import DatasetError
from evenhand.core.files import is_file_name, write_text
from evenhand.core.labels import LabelScheme
from evenhand.data.annotation_files import ALIGNED, LONG, AnnotationColumns, AnnotationLayout
from evenhand.data.annotations import (
    Annotation,
    AnnotationTable,
    about_changed_texts,
    about_repeated_texts,
    shortened,
)
from evenhand.data.csv_files import CsvRow, CsvTable, has_columns, plain_cell, read_table, spreadsheet_cell
from evenhand.data.label_schemes import REGARD, bundled_schemes, load_scheme

TEXT_ID, ANNOTATOR, UNSURE_COLUMN = "text_id", "annotator", "unsure"
COMMENT, SECONDS, ADJUDICATED = "comment", "seconds", "adjudicated"

ALIGNED_COLUMNS = (TEXT_ID, "text", "label", UNSURE_COLUMN, COMMENT, SECONDS, ADJUDICATED)
LONG_COLUMNS = (TEXT_ID, "text", ANNOTATOR, "label", UNSURE_COLUMN, COMMENT, SECONDS, ADJUDICATED)

_ID_COLUMNS = (TEXT_ID, "id", "", "unnamed: 0", "index")
"""Columns that may hold ids. Pandas writes its row numbers into a nameless one."""

_NO = frozenset({"", "0", "0.0", "no", "nein", "false", "falsch"})
_TICK = "x"


def is_ticked(cell: str) -> bool:
    """Whether a cell says yes: any sign but those for no."""
    return cell.strip().casefold() not in _NO


class _Answer(NamedTuple):
    label: str | None
    unsure: bool


@dataclass(frozen=True, slots=True)
class _AnswerTable:
    """A table of one file, and how an answer is read from its rows."""

    path: Path
    table: CsvTable
    text_column: str
    answer_of: Callable[[CsvRow], _Answer]

    def filled_rows(self) -> list[CsvRow]:
        """The rows that have a text.

        Raises:
            DatasetError: If a row has an answer and no text, or none has a text.
        """
        filled = []
        for row in self.table.rows:
            if row[self.text_column]:
                filled.append(row)
            elif self.answer_of(row) != _Answer(None, unsure=False):
                raise DatasetError(
                    f"{row.place}: an answer without a text. Give the text, or remove the row."
                )
        if not filled:
            raise DatasetError(f"{self.path} has no row with a text.")
        return filled

    def annotation(self, row: CsvRow, *, text_id: str, annotator: str) -> Annotation:
        answer = self.answer_of(row)
        return Annotation(
            text_id=text_id,
            text=plain_cell(row[self.text_column]),
            annotator=annotator,
            label=answer.label,
            unsure=answer.unsure,
            comment=plain_cell(row[COMMENT]),
            seconds=_seconds(row),
            adjudicated=is_ticked(row[ADJUDICATED]),
        )


def read_long(
    paths: Sequence[Path], *, scheme: LabelScheme | None, columns: AnnotationColumns
) -> AnnotationTable:
    """Annotations from tables with one row per annotation; those of several files are joined."""
    tables = [read_table(path, needed=(TEXT_ID, columns.text.lower(), ANNOTATOR)) for path in paths]
    chosen = scheme or _fitting_scheme(tables[0], columns, paths[0])
    annotations = []
    for path, table in zip(paths, tables, strict=True):
        answers = _answer_table(path, table, chosen, columns)
        for row in answers.filled_rows():
            lacking = next((column for column in (TEXT_ID, ANNOTATOR) if not row[column]), None)
            if lacking:
                raise DatasetError(f"{row.place}: {lacking} is empty. Give every row one.")
            text_id, annotator = plain_cell(row[TEXT_ID]), plain_cell(row[ANNOTATOR])
            annotations.append(answers.annotation(row, text_id=text_id, annotator=annotator))
    warnings = [*about_changed_texts(annotations), *_about_repeats(annotations)]
    return AnnotationTable(chosen, tuple(annotations), tuple(warnings))


def read_aligned(
    paths: Sequence[Path], *, scheme: LabelScheme | None, columns: AnnotationColumns
) -> AnnotationTable:
    """Annotations from one table per annotator, whose rows are about the same texts in the same order.

    The annotators are called like their files.
    """
    tables = [read_table(path, needed=(columns.text.lower(),)) for path in paths]
    _refuse_copies(paths, tables)
    _refuse_several_annotators(paths, tables)
    chosen = scheme or _fitting_scheme(tables[0], columns, paths[0])
    answers = [_answer_table(path, table, chosen, columns) for path, table in zip(paths, tables, strict=True)]
    rows = [table.filled_rows() for table in answers]
    _refuse_unequal_lengths(paths, rows)
    texts = [[plain_cell(row[columns.text.lower()]) for row in of_file] for of_file in rows]
    text_ids = list(map(plain_cell, text_ids_of(tables[0], rows[0])))
    annotations = [
        table.annotation(row, text_id=text_id, annotator=annotator)
        for table, of_file, annotator in zip(answers, rows, _annotator_names(paths), strict=True)
        for row, text_id in zip(of_file, text_ids, strict=True)
    ]
    warnings = [*_about_different_texts(paths, texts), *_about_repeats(annotations)]
    return AnnotationTable(chosen, tuple(annotations), tuple(warnings))


def write_long(table: AnnotationTable, out: Path) -> tuple[Path, ...]:
    """Write one row per annotation."""
    _write(out, LONG_COLUMNS, table)
    return (out,)


def write_aligned(table: AnnotationTable, out: Path) -> tuple[Path, ...]:
    """Write one file per annotator into a folder.

    Raises:
        DatasetError: If not every annotator was asked about every text, or one has a name that no file can have.
    """
    annotators = {row.annotator for row in table}
    unfit = sorted(name for name in annotators if not is_file_name(name))
    if unfit:
        raise DatasetError(f"{unfit[0]!r} cannot be the name of a file. Write the long layout instead.")
    order = {text_id: place for place, text_id in enumerate(table.texts)}
    files: dict[Path, list[Annotation]] = {}
    for annotator in dict.fromkeys(row.annotator for row in table):
        own = sorted((row for row in table if row.annotator == annotator), key=lambda row: order[row.text_id])
        if [row.text_id for row in own] != list(order):
            raise DatasetError(
                f"{annotator} has {len(own):,} rows about {len(order):,} texts, and aligned files need one row per "
                "text and annotator. Write the long layout instead."
            )
        files[out / f"{annotator}.csv"] = own
    for path, own in files.items():
        _write(path, ALIGNED_COLUMNS, own)
    return tuple(files)


def _write(path: Path, columns: Sequence[str], rows: Iterable[Annotation]) -> None:
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, lineterminator="\n", delimiter="\t" if path.suffix.lower() == ".tsv" else ",")
    writer.writerow(columns)
    for row in rows:
        cells = {
            **_typed(row),
            UNSURE_COLUMN: _TICK if row.unsure else "",
            SECONDS: "" if row.seconds is None else repr(row.seconds),
            ADJUDICATED: _TICK if row.adjudicated else "",
        }
        writer.writerow([spreadsheet_cell(cells[column]) for column in columns])
    write_text(path, stream.getvalue())


def _typed(row: Annotation) -> dict[str, str]:
    """The cells that hold what people typed."""
    return {
        TEXT_ID: row.text_id,
        "text": row.text,
        ANNOTATOR: row.annotator,
        "label": row.label or "",
        COMMENT: row.comment,
    }


def about_formulas(rows: Iterable[Annotation]) -> list[str]:
    """A note on the cells of a CSV file that a spreadsheet would take for formulas; none if there are none."""
    count = sum(spreadsheet_cell(cell) != cell for row in rows for cell in _typed(row).values())
    if not count:
        return []
    return [
        f"{plural(count, 'cell begins', 'cells begin')} like a formula of a spreadsheet. An apostrophe stands before "
        "each; Evenhand takes it off again when it reads the file."
    ]


def _answer_table(
    path: Path, table: CsvTable, scheme: LabelScheme, columns: AnnotationColumns
) -> _AnswerTable:
    unsure = (columns.unsure or UNSURE_COLUMN).lower()
    if columns.unsure and unsure not in table.columns:
        raise DatasetError(
            f"{path} has the columns {', '.join(table.columns)}; {unsure} is missing. Name the column with --unsure."
        )
    label = columns.label.lower()
    if label in table.columns:

        def answer_of(row: CsvRow) -> _Answer:
            cell = plain_cell(row[label])
            if scheme.means_unsure(cell):
                return _Answer(None, unsure=True)
            code = scheme.read_code(cell, place=row.place) if cell else None
            return _Answer(code, unsure=is_ticked(row[unsure]))
    else:
        ticked_columns = _ticked_columns(table, scheme)
        if len(ticked_columns) < len(scheme.labels):
            raise DatasetError(
                f"{path} has the columns {', '.join(table.columns)}; {label} is missing. Name the column with --label, "
                f"or give a file with one column per label: {', '.join(scheme.codes)}."
            )

        def answer_of(row: CsvRow) -> _Answer:
            codes = [code for column, code in ticked_columns.items() if is_ticked(row[column])]
            if len(codes) > 1:
                raise DatasetError(f"{row.place}: {' and '.join(codes)} are ticked. Tick one label.")
            return _Answer(codes[0] if codes else None, unsure=is_ticked(row[unsure]))

    return _AnswerTable(path, table, columns.text.lower(), answer_of)


def _ticked_columns(table: CsvTable, scheme: LabelScheme) -> dict[str, str]:
    """The columns that are named like labels, and the codes of those."""
    return {
        column: option.code
        for column in table.columns
        for option in scheme.labels
        if column.casefold() in option.spellings
    }


def _fitting_scheme(table: CsvTable, columns: AnnotationColumns, path: Path) -> LabelScheme:
    """Regard where labels are in one column; else the bundled scheme with the most columns, if all its labels are."""
    if columns.label.lower() in table.columns:
        return load_scheme(REGARD)
    fitting = [
        scheme
        for scheme in map(load_scheme, bundled_schemes())
        if len(_ticked_columns(table, scheme)) == len(scheme.labels)
    ]
    if not fitting:
        raise DatasetError(
            f"{path} has the columns {', '.join(table.columns)}; {columns.label.lower()} is missing. Name the column "
            "with --label, and the scheme with --scheme if each label has a column."
        )
    return max(fitting, key=lambda scheme: len(scheme.labels))


def _seconds(row: CsvRow) -> float | None:
    if not row[SECONDS]:
        return None
    try:
        seconds = float(row[SECONDS])
    except ValueError:
        seconds = math.nan
    if not 0 <= seconds < math.inf:
        raise DatasetError(
            f"{row.place}: {row[SECONDS]!r} is not a number of seconds. Correct it or leave it empty."
        )
    return seconds


def text_ids_of(table: CsvTable, rows: Sequence[CsvRow]) -> list[str]:
    """Ids from the first column that has one for every row, else the numbers of the rows from 0."""
    for column in _ID_COLUMNS:
        ids = [row[column] for row in rows] if column in table.columns else []
        if ids and all(ids) and len(set(ids)) == len(ids):
            return ids
    return [str(number) for number in range(len(rows))]


def _annotator_names(paths: Sequence[Path]) -> list[str]:
    stems = [path.name.removesuffix(".gz").rpartition(".")[0] or path.name for path in paths]
    return stems if len(set(stems)) == len(stems) else [str(path) for path in paths]


def _refuse_copies(paths: Sequence[Path], tables: Sequence[CsvTable]) -> None:
    first: dict[str, Path] = {}
    for path, table in zip(paths, tables, strict=True):
        if first.setdefault(table.sha256, path) is not path:
            raise DatasetError(
                f"{path} and {first[table.sha256]} have the same content, so one annotator would count twice. Give one "
                "file per annotator."
            )


def _refuse_several_annotators(paths: Sequence[Path], tables: Sequence[CsvTable]) -> None:
    for path, table in zip(paths, tables, strict=True):
        if ANNOTATOR in table.columns and len({row[ANNOTATOR] for row in table.rows}) > 1:
            raise DatasetError(
                f"{path} has votes of several annotators and no column {TEXT_ID}, so every vote would count as a text "
                f"of its own. Add a column {TEXT_ID} that is the same for all votes on one text."
            )


def _refuse_unequal_lengths(paths: Sequence[Path], rows: Sequence[Sequence[CsvRow]]) -> None:
    lengths = [len(of_file) for of_file in rows]
    if len(set(lengths)) > 1:
        listed = ", ".join(f"{path.name} {length:,}" for path, length in zip(paths, lengths, strict=True))
        raise DatasetError(
            f"The files have different numbers of texts: {listed}. Rows of aligned files are about the same texts in "
            f"the same order. Use the long layout, with the columns {', '.join(LONG_COLUMNS)}, where annotators saw "
            "different texts."
        )


def _about_different_texts(paths: Sequence[Path], texts: Sequence[Sequence[str]]) -> list[str]:
    """Warnings about texts that annotators changed.

    Raises:
        DatasetError: If a file has texts of the first one in other rows: then it is sorted differently.
    """
    warnings = []
    known = set(texts[0])
    for path, own in zip(paths[1:], texts[1:], strict=True):
        changed = [(number, text) for number, text in enumerate(own) if text != texts[0][number]]
        moved = [number for number, text in changed if text in known]
        if len(moved) > len(changed) / 2:
            number = moved[0]
            raise DatasetError(
                f"The rows of {path} are not those of {paths[0]}: {len(moved):,} texts stand in other rows there, the "
                f"first in row {number + 1:,} ({shortened(own[number])!r} and {shortened(texts[0][number])!r}). "
                "Sort both files alike."
            )
        if changed:
            warnings.append(
                f"{path.name} has a different text than {paths[0].name} in {len(changed):,} of {len(own):,} rows; rows "
                "are taken to be about the same text, in the words of the first file."
            )
    return warnings


def _about_repeats(annotations: Sequence[Annotation]) -> list[str]:
    return about_repeated_texts({row.text_id: row.text for row in reversed(annotations)}.values())


LONG_LAYOUT = AnnotationLayout(
    name=LONG,
    description=f"CSV with one row per annotation ({', '.join(LONG_COLUMNS)})",
    recognises=lambda path: not _is_json(path) and has_columns(path, (TEXT_ID, ANNOTATOR)),
    read=read_long,
    write=write_long,
)
ALIGNED_LAYOUT = AnnotationLayout(
    name=ALIGNED,
    description="one CSV file per annotator, with the same texts in the same order",
    recognises=lambda path: not _is_json(path),
    read=read_aligned,
    write=write_aligned,
)


def _is_json(path: Path) -> bool:
    return path.name.lower().removesuffix(".gz").endswith((".json", ".jsonl", ".ndjson"))
