"""Records: the rows of a dataset by field, however they are stored.

Text tables, JSON Lines, a JSON list of objects, Parquet, and what ``Dataset.save_to_disk`` and
``DatasetDict.save_to_disk`` leave behind are told apart by their content. The names of integer labels are read where a
file has them: the hub's Parquet files and saved datasets do, JSON Lines do not.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenhand.core.encodings import wide_encoding
from evenhand.core.errors import DatasetError, EvenhandError, are_missing
from evenhand.core.files import (
    decode_text,
    ends_early,
    load_json,
    parse_json,
    read_bounded,
    read_stored,
    sha256_of,
    sha256_of_text,
)
from evenhand.core.tables import is_parquet, parquet_metadata, read_columnar
from evenhand.data.csv_files import header_columns, table_from

if TYPE_CHECKING:
    import polars as pl

SAVED_DATASET, SAVED_SPLITS = "dataset_info.json", "dataset_dict.json"
"""What a dataset, and one with several splits, is known by that was saved to a folder."""

ClassNames = Mapping[str, tuple[str, ...]]
"""The names of integer labels by field, such as ``sentences.gold_label``."""


@dataclass(frozen=True, slots=True)
class Record:
    """The values of a row by field in lower case, and the place of the row for messages."""

    place: str
    values: Mapping[str, Any]

    def __getitem__(self, name: str) -> Any:
        return self.values.get(name)

    def text(self, name: str) -> str:
        """A field as text, empty where there is none."""
        value = self.values.get(name)
        return "" if value is None else str(value).strip()


@dataclass(frozen=True, slots=True)
class RecordTable:
    """The records of a file or folder, and the digest of its content."""

    fields: tuple[str, ...]
    records: tuple[Record, ...]
    sha256: str
    class_names: ClassNames = field(default_factory=dict)


def read_records(path: Path, *, needed: Sequence[str] = (), encoding: str | None = None) -> RecordTable:
    """Read records, whatever they are stored as.

    Args:
        path: A file, or a folder with a saved dataset or with Parquet files.
        needed: Fields that every record has; a text table is read with the separator that gives them.
        encoding: Of a text file, if not UTF-8.

    Raises:
        DatasetError: If they cannot be read, or lack a field.
    """
    table = _stored(path, needed=needed, encoding=encoding)
    missing = [name for name in needed if name not in table.fields]
    if missing:
        raise DatasetError(
            f"{path} has the fields {', '.join(table.fields)}; {are_missing(missing)}. "
            f"Each record needs {', '.join(needed)}."
        )
    if not table.records:
        raise DatasetError(f"{path} has no records.")
    return table


def field_sets(path: Path) -> tuple[frozenset[str], ...]:
    """The fields that records of a file may have: several where its separator is not known. None if it has no records.

    It is for telling layouts apart, so a file that cannot be read gives none, and other encodings are looked through.
    """
    try:
        if path.is_dir():
            path = _tables_of(path)[0]
            content = read_stored(path, error=DatasetError)
        else:
            content = read_bounded(path, error=DatasetError)
            if not is_parquet(content):
                return _text_field_sets(_readable(content))
        return (frozenset(map(str.lower, read_columnar(content, path, rows=1, error=DatasetError).columns)),)
    except EvenhandError:
        return ()


def has_fields(*names: str) -> Callable[[Path], bool]:
    """Whether the records of a file have these fields, as a layout asks."""
    return lambda path: any(set(names) <= fields for fields in field_sets(path))


def is_record_folder(path: Path) -> bool:
    """Whether a folder holds one dataset: saved by the library, or as Parquet files up to two folders below it."""
    if any((path / name).is_file() for name in (SAVED_DATASET, SAVED_SPLITS)):
        return True
    return path.is_dir() and bool(_files_below(path, ".parquet"))


def _stored(path: Path, *, needed: Sequence[str], encoding: str | None) -> RecordTable:
    if path.is_dir():
        return _folder_table(path)
    content = read_bounded(path, error=DatasetError)
    if is_parquet(content):
        frame = read_columnar(content, path, error=DatasetError)
        names = _class_names_of(content, path)
        return _frame_table([(path, frame)], sha256=sha256_of(content), class_names=names)
    text = decode_text(content, path, error=DatasetError, encoding=encoding)
    digest = sha256_of_text(content, text, encoding=encoding)
    if text.lstrip()[:1] in ("{", "["):
        return _json_table(text, path, sha256=digest)
    table = table_from(text, path, needed=needed, sha256=digest)
    records = tuple(Record(row.place, row.cells) for row in table.rows)
    return RecordTable(table.columns, records, table.sha256)


def _json_table(text: str, path: Path, *, sha256: str) -> RecordTable:
    rows = tuple(_json_records(text, path))
    names = dict.fromkeys(name for row in rows for name in row.values)
    return RecordTable(tuple(names), rows, sha256)


def _json_records(text: str, path: Path) -> Iterator[Record]:
    if text.lstrip().startswith("["):
        listed = parse_json(text, path, error=DatasetError)
        numbered: Iterable[tuple[str, Any]] = (
            (f"{path}, record {number}", value) for number, value in enumerate(listed, start=1)
        )
    else:
        numbered = json_lines(text, path, error=DatasetError)
    for place, value in numbered:
        if not isinstance(value, dict):
            raise DatasetError(f"{place}: not an object with fields. One object per record is needed.")
        yield Record(place, _lowered(value))


def json_lines(text: str, path: Path, *, error: type[EvenhandError]) -> Iterator[tuple[str, Any]]:
    """The values of JSON Lines with their places; a file that was cut says so."""
    lines = text.rstrip("\n").split("\n")
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        place = f"{path}, line {number:,}"
        try:
            yield place, load_json(line)
        except ValueError as problem:
            is_cut = isinstance(problem, json.JSONDecodeError) and ends_early(problem)
            if number == len(lines) and (number > 1 or is_cut):
                whole = f"after {number - 1:,} whole lines" if number > 1 else "before any line is whole"
                raise error(
                    f"{place}: the file ends in the middle of a record, {whole}. It was cut: copy it again, or make it "
                    "anew."
                ) from None
            raise error(f"{place}: not valid JSON ({problem}).") from None


def _text_field_sets(text: str) -> tuple[frozenset[str], ...]:
    start = text.lstrip()
    if start[:1] not in ("{", "["):
        return tuple(map(frozenset, header_columns(text)))
    opening = start[1:].lstrip() if start.startswith("[") else start
    try:
        first, _ = json.JSONDecoder().raw_decode(opening)
    except (ValueError, RecursionError):
        return ()
    return (frozenset(_lowered(first)),) if isinstance(first, dict) else ()


def _lowered(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row with the names of its fields in lower case, as those of text tables are."""
    return {name.lower(): value for name, value in row.items()}


def _readable(content: bytes) -> str:
    """Text whose names of fields are right in any common encoding, for nothing but looking at them."""
    if encoding := wide_encoding(content):
        return content.decode(encoding, "replace")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("latin-1")


def _folder_table(folder: Path) -> RecordTable:
    digest = hashlib.sha256()
    frames = []
    names: dict[str, tuple[str, ...]] = {}
    for path in _tables_of(folder):
        content = read_stored(path, error=DatasetError)
        digest.update(content)
        frames.append((path, read_columnar(content, path, error=DatasetError)))
        names |= _class_names_of(content, path)
    return _frame_table(frames, sha256=digest.hexdigest(), class_names=names)


def _tables_of(folder: Path) -> list[Path]:
    """The files with the tables of a folder.

    Raises:
        DatasetError: If there is none.
    """
    is_saved = any((folder / name).is_file() for name in (SAVED_DATASET, SAVED_SPLITS))
    suffix = ".arrow" if is_saved else ".parquet"
    paths = _files_below(folder, suffix)
    if not paths:
        raise DatasetError(f"{folder} says that it holds a dataset, but has no {suffix} file. Save it again.")
    return paths


def _files_below(folder: Path, suffix: str) -> list[Path]:
    """Files of a folder and up to two folders deep: configurations, and splits within them, are stored so."""
    try:
        found = [path for depth in ("", "*/", "*/*/") for path in folder.glob(f"{depth}*{suffix}")]
    except OSError as problem:
        raise DatasetError(f"{folder} cannot be read: {problem.strerror or problem}.") from None
    return sorted(path for path in found if path.is_file() and not path.name.startswith("cache-"))


def _class_names_of(content: bytes, path: Path) -> dict[str, tuple[str, ...]]:
    """The names of labels that the ``datasets`` library writes into a Parquet file, or beside an Arrow file."""
    if is_parquet(content):
        text = parquet_metadata(content, path, error=DatasetError).get("huggingface", "{}")
    else:
        path = path.with_name(SAVED_DATASET)
        text = read_stored(path, error=DatasetError).decode("utf-8", "replace") if path.is_file() else "{}"
    try:
        description = load_json(text)
        if isinstance(description, dict):
            description = description.get("info", description)
        return dict(_class_names(description.get("features") if isinstance(description, dict) else None))
    except (ValueError, RecursionError):
        raise DatasetError(
            f"{path} has a description of its features that is not valid JSON. Save the dataset again."
        ) from None


def _class_names(features: Any, prefix: str = "") -> Iterator[tuple[str, tuple[str, ...]]]:
    """The names of every label in a description of features, nested ones with their path."""
    if isinstance(features, list):
        for part in features:
            yield from _class_names(part, prefix)
    elif isinstance(features, dict):
        if features.get("_type") == "ClassLabel" and isinstance(features.get("names"), list):
            yield prefix, tuple(map(str, features["names"]))
            return
        for name, part in features.items():
            inner = name not in ("feature", "_type")
            yield from _class_names(part, f"{prefix}.{name}".lstrip(".") if inner else prefix)


def _frame_table(
    frames: Sequence[tuple[Path, pl.DataFrame]], *, sha256: str, class_names: ClassNames
) -> RecordTable:
    records = tuple(
        Record(f"{path}, record {number:,}", _lowered(row))
        for path, frame in frames
        for number, row in enumerate(frame.iter_rows(named=True), start=1)
    )
    return RecordTable(tuple(map(str.lower, frames[0][1].columns)), records, sha256, class_names)
