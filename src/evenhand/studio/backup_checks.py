"""Whether a backup is whole: its pages, its tables, its values, and that its rows are those that were backed up.

What is wrong is named by table, row and column. No message has a value: it may be somebody's answer.
"""

from __future__ import annotations

import hashlib
import json
import math
import shutil
import sqlite3
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import JSON, Boolean, Column, DateTime, Double, Integer, LargeBinary, String
from sqlalchemy.exc import SAWarning, SQLAlchemyError

from evenhand.core.errors import fault
from evenhand.studio.database import (
    CHECK_ADDRESS,
    SQLITE_BEGINS,
    Database,
    DatabaseError,
    MissingDatabaseError,
)
from evenhand.studio.tables import Base

DIGESTS = "backup-digests"
"""The setting of a backup that has a digest of each table."""
_UNREADABLE = "its list of tables cannot be read"
_LARGEST_INTEGER = 2**31


def write_digests(path: Path) -> None:
    """Write a digest of each table into a backup."""
    with closing(_raw(path)) as connection, connection:
        digests = json.dumps(_digests(connection))
        connection.execute("INSERT INTO settings (name, value) VALUES (?, ?)", (DIGESTS, digests))


@contextmanager
def checked_backup(backup: Path) -> Iterator[Database]:
    """A copy of a backup that is whole, with its tables brought up to date; the backup stays as it is.

    Raises:
        DatabaseError: If the backup is not there, is none, or is damaged.
    """
    if not backup.is_file():
        raise DatabaseError(f"There is no file {backup}. Check the path.")
    with tempfile.TemporaryDirectory(prefix="evenhand-restore-") as folder:
        draft = Path(folder) / "backup.db"
        try:
            shutil.copyfile(backup, draft)
        except OSError as problem:
            raise DatabaseError(
                f"{backup} cannot be read: {problem.strerror or problem}. Nothing was restored."
            ) from None
        _refuse(backup, _file_fault(draft, backup))
        changed = _changed_table(draft)  # before the tables are brought up to date
        copy = _opened_copy(draft, backup)
        try:
            _refuse(backup, _table_fault(copy) or _value_fault(draft) or changed)
            yield copy
        finally:
            copy.close()


def _refuse(backup: Path, problem: str | None) -> None:
    if problem:
        raise DatabaseError(f"{backup} is damaged: {problem}. Nothing was restored; use another backup.")


def _raw(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path)
    # A text that is not UTF-8 is a fault to be named, and not an error that shows the text.
    connection.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
    return connection


def _file_fault(draft: Path, backup: Path) -> str | None:
    """What is wrong with the pages of the file, or with what its rows refer to."""
    with draft.open("rb") as stream:
        first = stream.read(len(SQLITE_BEGINS))
    if first and first != SQLITE_BEGINS:
        raise DatabaseError(
            f"{backup} is not an SQLite database. Give a file that evenhand serve backup wrote."
        )
    try:
        with closing(_raw(draft)) as connection:
            (result,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
            if result != "ok":
                return fault(ValueError(result)).rstrip(".")
            made = connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_master").fetchall()
            if not all(_is_text(part) for row in made for part in row if part is not None):
                return _UNREADABLE
            orphan = connection.execute("PRAGMA foreign_key_check").fetchone()
    except sqlite3.Error as problem:
        return fault(problem).rstrip(".")
    except UnicodeDecodeError:  # SQLite's own message quotes what is broken
        return _UNREADABLE
    if orphan:
        table, row, parent, _ = orphan
        return f"row {row} of {table} belongs to a row of {parent} that is not there"
    return None


def _digests(connection: sqlite3.Connection) -> dict[str, str]:
    """A digest of each table: how it was made, and its rows."""
    digests = {}
    tables = connection.execute(
        "SELECT name, sql FROM sqlite_master WHERE type = 'table' AND substr(name, 1, 7) != 'sqlite_' ORDER BY name"
    ).fetchall()
    for name, made in tables:
        digest = hashlib.sha256(repr(made).encode())
        quoted = name.replace('"', '""')
        for row in connection.execute(f'SELECT * FROM "{quoted}" ORDER BY rowid'):  # noqa: S608  a name, quoted
            if name != "settings" or row[0] != DIGESTS:
                digest.update(repr(row).encode())
        digests[name] = digest.hexdigest()
    return digests


def _changed_table(draft: Path) -> str | None:
    """Which table is not as it was backed up; None also for a backup of a version that wrote no digests."""
    try:
        with closing(_raw(draft)) as connection:
            row = connection.execute("SELECT value FROM settings WHERE name = ?", (DIGESTS,)).fetchone()
            found = _digests(connection)
    except sqlite3.Error:
        return None  # then tables are not those of Evenhand, which is named below
    if row is None:
        return None
    try:
        expected = json.loads(row[0])
    except (TypeError, ValueError):
        return "its digests cannot be read"
    if not isinstance(expected, dict):
        return "its digests are none"
    changed = [table for table in sorted({*found, *expected}) if found.get(table) != expected.get(table)]
    return f"the table {changed[0]} is not as it was backed up" if changed else None


def _opened_copy(draft: Path, backup: Path) -> Database:
    """The copy, brought up to date; what is wrong with it is said of the backup."""
    try:
        return Database(str(draft), create=False)
    except MissingDatabaseError:
        raise DatabaseError(
            f"{backup} has no tables of Evenhand. Give a file that evenhand serve backup wrote."
        ) from None
    except DatabaseError as problem:
        said = str(problem).removesuffix(CHECK_ADDRESS).replace(f"The database {draft}", str(backup)).rstrip()
        raise DatabaseError(f"{said} Nothing was restored.") from None


def _table_fault(copy: Database) -> str | None:
    """How the tables differ from those that the code has."""
    try:
        with copy.engine.connect() as connection, warnings.catch_warnings():
            warnings.simplefilter("ignore", SAWarning)  # of types that are unknown; they are a difference
            differences: list[Any] = compare_metadata(MigrationContext.configure(connection), Base.metadata)
    except SQLAlchemyError:
        return _UNREADABLE
    if not differences:
        return None
    first = differences[0][0] if isinstance(differences[0], list) else differences[0]
    operation, what = str(first[0]).split("_", 1)
    names = [part if isinstance(part, str) else getattr(part, "name", None) for part in first[1:]]
    verb = {"add": "is missing", "remove": "is not one of Evenhand"}.get(operation, "is another")
    return f"the {what} {'.'.join(name for name in names if name)} {verb}"


def _value_fault(draft: Path) -> str | None:
    """The first value that its column cannot have."""
    with closing(_raw(draft)) as connection:
        for table in Base.metadata.sorted_tables:
            columns = list(table.columns)
            names = ", ".join(f'"{column.name}"' for column in columns)
            for number, *values in connection.execute(f'SELECT rowid, {names} FROM "{table.name}"'):  # noqa: S608
                for column, value in zip(columns, values, strict=True):
                    if value is not None and not _fits(column, value):
                        return f"row {number} of {table.name} has something in {column.name} that cannot be there"
    return None


def _fits(column: Column[Any], value: object) -> bool:
    """Whether a value as SQLite has it is one of the column, in databases of either kind."""
    kind = getattr(column.type, "impl_instance", column.type)
    fits = next(fits for known, fits in _FITTING.items() if isinstance(kind, known))
    longest = getattr(kind, "length", None)
    return fits(value) and (longest is None or not isinstance(value, str) or len(value) <= longest)


def _is_text(value: object) -> bool:
    return isinstance(value, str) and not any(c == "\0" or "\ud800" <= c <= "\udfff" for c in value)


def _is_parsed(value: object, parse: Callable[[str], object]) -> bool:
    try:
        parse(str(value))
    except (ValueError, RecursionError):
        return False
    return _is_text(value)


_FITTING: dict[type[Any], Callable[[Any], bool]] = {
    Boolean: lambda value: value in (0, 1),
    Integer: lambda value: isinstance(value, int) and -_LARGEST_INTEGER <= value < _LARGEST_INTEGER,
    Double: lambda value: isinstance(value, int | float) and math.isfinite(value),
    DateTime: lambda value: _is_parsed(value, datetime.fromisoformat),
    JSON: lambda value: _is_parsed(value, json.loads),
    LargeBinary: lambda value: isinstance(value, bytes),
    String: _is_text,
}
"""How a value of each kind of column is known, the special kinds first."""
