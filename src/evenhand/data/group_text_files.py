"""Files of texts about groups: one per group, or one with a column that names the group."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from evenhand.core.errors import DatasetError
from evenhand.core.files import decode_utf8, read_bounded
from evenhand.core.items import repeated
from evenhand.data.contexts import Context, ContextList, contexts_found_in
from evenhand.data.csv_files import CsvRow, read_table
from evenhand.data.group_texts import GroupText, GroupTexts
from evenhand.data.label_schemes import load_scheme
from evenhand.data.language_names import file_stem

FLAG_KINDS = ("occupation", "respect")
"""The kinds of contexts for which a flag is true and false."""

NO_CONTEXT, EMPTY = "none of the contexts is in the text", "the text is empty"
"""Why texts are left out."""

UNKNOWN_LANGUAGE = "und"
"""The code for a language that nobody named (ISO 639-2)."""

_TRUE, _FALSE = frozenset({"true", "1", "1.0", "yes"}), frozenset({"false", "0", "0.0", "no"})
_LABEL = "label"
_MOST_LEFT_OUT = 0.5
"""If more texts than this share have no context, the contexts are taken for wrong; if more are empty, the column."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupTextColumns:
    """What the columns of a table of texts about groups are called.

    Attributes:
        text: The texts.
        label: Their labels; ``label`` where there is such a column if None.
        group: Whom they are about; None where every file is about one group.
        context: Their contexts; None where contexts are found in the texts.
        context_flag: Whether a context is about an occupation, true or false; None where kinds come with contexts.
        flags: What somebody flagged texts for, true or false, one column each.
    """

    text: str = "text"
    label: str | None = None
    group: str | None = None
    context: str | None = None
    context_flag: str | None = None
    flags: tuple[str, ...] = ()

    @property
    def needed(self) -> tuple[str, ...]:
        """The columns that every table must have."""
        named = (self.text, self.label, self.group, self.context, self.context_flag, *self.flags)
        return tuple(name.lower() for name in named if name is not None)


def read_group_texts(
    paths: Sequence[str | Path],
    *,
    columns: GroupTextColumns | None = None,
    contexts: ContextList | None = None,
    language: str | None = None,
    name: str | None = None,
) -> GroupTexts:
    """Texts about groups from files: CSV, TSV, or ``.txt`` with one text per line.

    Args:
        paths: One file per group, or files with a column of groups.
        columns: What the columns are called.
        contexts: What texts begin with after the person; an empty list if they have nothing in common. If not given,
            the published contexts of the language that fits.
        language: Of the texts; that of the contexts if not given.
        name: What the texts are called in records; made of the files' names if not given.

    Raises:
        DatasetError: If files cannot be read, or texts lack a group or a context.
    """
    chosen = columns or GroupTextColumns()
    files = [Path(path) for path in paths]
    _refuse_wrong_number(files, chosen)
    rows = [
        row
        for file, group in zip(files, group_names(files), strict=True)
        for row in _rows(file, group, columns=chosen)
    ]
    empty = [row for row in rows if not row.text]
    _refuse_empty(empty, of=len(rows))
    rows = [row for row in rows if row.text]
    known = _contexts_of(rows, contexts, columns=chosen)
    found = [_context_of(row, known, columns=chosen) for row in rows]
    _refuse_lost(rows, found)
    codes = load_scheme().read_codes(row.label for row in rows if row.label)
    texts = tuple(
        GroupText(
            text=row.text,
            group=row.group,
            context=context.words,
            kind=_flagged_kind(row) if chosen.context_flag else context.kind,
            label=codes[row.label] if row.label else None,
            flags=row.flags,
        )
        for row, context in zip(rows, found, strict=True)
        if context is not None
    )
    lost = {
        EMPTY: Counter(row.group for row in empty),
        NO_CONTEXT: Counter(row.group for row, context in zip(rows, found, strict=True) if context is None),
    }
    return GroupTexts(
        name=name or "-".join(dict.fromkeys(row.group for row in rows)),
        language=language or known.likely_language or UNKNOWN_LANGUAGE,
        source=", ".join(file.name for file in files),
        texts=texts,
        left_out={reason: by_group for reason, by_group in lost.items() if by_group},
        flags=tuple(dict.fromkeys(chosen.flags)),
        warnings=_label_warnings(codes),
    )


def group_names(files: Sequence[Path]) -> list[str]:
    """What the groups of files are called: the files' names without the words that all of them begin or end with.

    ``FEMALE_texts.csv`` and ``MALE_texts.csv`` are about ``FEMALE`` and ``MALE``.
    """
    names = [file_stem(file).split("_") for file in files]
    while len(names) > 1 and all(len(name) > 1 for name in names) and len({name[-1] for name in names}) == 1:
        names = [name[:-1] for name in names]
    while len(names) > 1 and all(len(name) > 1 for name in names) and len({name[0] for name in names}) == 1:
        names = [name[1:] for name in names]
    return ["_".join(name) for name in names]


@dataclass(frozen=True, slots=True)
class _Row:
    """A row of a file: what its cells say."""

    place: str
    text: str
    group: str
    label: str
    context: str
    context_flag: str
    flags: tuple[str, ...] = ()
    """Those that are set."""


def _rows(file: Path, group: str, *, columns: GroupTextColumns) -> list[_Row]:
    if file.name.lower().removesuffix(".gz").endswith(".txt"):
        if columns.flags:
            raise DatasetError(
                f"{file} has no columns, so it has no flag {columns.flags[0]}. Give a CSV or TSV file, or leave out "
                "--flag."
            )
        content = decode_utf8(read_bounded(file, error=DatasetError), file, error=DatasetError)
        return [
            _Row(f"{file}, line {number}", line.strip(), group, "", "", "")
            for number, line in enumerate(content.splitlines(), start=1)
            if line.strip()
        ]
    table = read_table(file, needed=columns.needed)
    label = columns.label or (_LABEL if _LABEL in table.columns else None)
    return [_row(row, group, label=label, columns=columns) for row in table.rows]


def _row(row: CsvRow, group: str, *, label: str | None, columns: GroupTextColumns) -> _Row:
    def cell(column: str | None) -> str:
        return row[column.lower()] if column else ""

    found = _Row(
        place=row.place,
        text=cell(columns.text),
        group=cell(columns.group) or group,
        label=cell(label),
        context=cell(columns.context),
        context_flag=cell(columns.context_flag),
        flags=tuple(
            name for name in dict.fromkeys(columns.flags) if _is_set(cell(name), row.place, f"flag {name}")
        ),
    )
    wanted = {"group": not columns.group or cell(columns.group)}
    if label is not None and found.text:
        wanted["label"] = found.label
    empty = [name for name, value in wanted.items() if not value]
    if empty:
        raise DatasetError(f"{row.place}: the {empty[0]} is empty. Give every row one, or remove the row.")
    return found


def _contexts_of(
    rows: Sequence[_Row], contexts: ContextList | None, *, columns: GroupTextColumns
) -> ContextList:
    """The contexts that were given; else those that a column names, or the published ones that fit."""
    if contexts is not None:
        return contexts
    if columns.context is not None:
        return ContextList(tuple(Context(words) for words in dict.fromkeys(row.context for row in rows)))
    return contexts_found_in([row.text for row in rows])


def _context_of(row: _Row, known: ContextList, *, columns: GroupTextColumns) -> Context | None:
    if columns.context is None:
        return known.find(row.text) if len(known) else Context("")
    if not row.context:
        raise DatasetError(f"{row.place}: the context is empty. Give every row one, or leave out --context.")
    return next((own for own in known if own.words == row.context), Context(row.context))


def _flagged_kind(row: _Row) -> str:
    return FLAG_KINDS[not _is_set(row.context_flag, row.place, "context flag")]


def _is_set(cell: str, place: str, what: str) -> bool:
    """Whether a flag is true."""
    if cell.casefold() not in _TRUE | _FALSE:
        raise DatasetError(f"{place}: the {what} is {cell!r}. Write true or false.")
    return cell.casefold() in _TRUE


def _refuse_wrong_number(files: Sequence[Path], columns: GroupTextColumns) -> None:
    if not files:
        raise DatasetError("There is no file of texts. Give one per group, or one with --group COLUMN.")
    if len(files) == 1 and columns.group is None:
        raise DatasetError(
            f"{files[0]} is the only file, so all its texts are about one group. Give one file per group, or name the "
            "column that tells the group with --group."
        )
    twice = repeated(str(file.absolute()) for file in files)
    if twice:
        raise DatasetError(f"{twice[0]} is given twice. Give one file per group.")
    same = repeated(group_names(files))
    if same and columns.group is None:
        raise DatasetError(
            f"Two files would be about the group {same[0]!r}. Name files after their groups, or name the column that "
            "tells the group with --group."
        )


def _refuse_empty(empty: Sequence[_Row], *, of: int) -> None:
    """Refuse a column that is empty in most rows: it is hardly that of the texts."""
    if len(empty) > _MOST_LEFT_OUT * of:
        raise DatasetError(
            f"{len(empty):,} of {of:,} texts are empty, the first at {empty[0].place}. Name the column of texts with "
            "--text."
        )


def _refuse_lost(rows: Sequence[_Row], found: Sequence[Context | None]) -> None:
    """Refuse texts of which most have none of the contexts: they are hardly the right contexts."""
    lost = [row for row, context in zip(rows, found, strict=True) if context is None]
    if len(lost) > _MOST_LEFT_OUT * len(rows):
        raise DatasetError(
            f"{len(lost):,} of {len(rows):,} texts contain none of the contexts. The first is at {lost[0].place}: "
            f"{lost[0].text!r}. Name the contexts with --contexts FILE, their column with --context, or say --contexts "
            "none if the texts have nothing in common."
        )


def _label_warnings(codes: Mapping[str, str]) -> tuple[str, ...]:
    """What is doubtful about labels that could be codes or ranks."""
    if set(codes) and set(codes) <= {"0", "1", "0.0", "1.0"}:
        return (
            "The labels are 0 and 1 only, and were read as neutral and positive. If a classifier numbered negative 0 "
            "and neutral 1, write the labels as -1, 0 and 1.",
        )
    return ()
