"""Backup and restore: one SQLite file with every row, whatever the database is.

A backup is one consistent state, taken while people write. It can be restored into a database of either kind, so it is
also the way from SQLite to PostgreSQL. It has no sign-ins: one that has ended since must not come back. What is damaged
is refused before anything is written.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Select, Table, func, insert, select, text
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from evenhand.core.errors import fault
from evenhand.core.files import file_written_whole
from evenhand.studio.backup_checks import DIGESTS, checked_backup, write_digests
from evenhand.studio.database import Database, DatabaseError, database_url
from evenhand.studio.tables import Base, SettingRow, SignInRow

_BATCH = 1000


def back_up(database: Database, out: Path) -> Mapping[str, int]:
    """Write every row into a new SQLite file.

    Returns:
        How many rows each table has.

    Raises:
        DatabaseError: If the file is there already.
    """
    if out.exists():
        raise DatabaseError(f"{out} is there already. Give a new file; a backup is never overwritten.")
    with tempfile.TemporaryDirectory(prefix="evenhand-backup-") as folder:
        draft = Path(folder) / "backup.db"
        copy = Database(str(draft))
        with database.read() as source, copy.write() as target:
            counts = _copy_rows(source, target)
        with copy.engine.connect() as connection:
            connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
        copy.close()
        write_digests(draft)
        with draft.open("rb") as content, file_written_whole(out) as stream:
            shutil.copyfileobj(content, stream)
    out.chmod(0o600)
    return counts


def restore(database: Database, backup: Path) -> Mapping[str, int]:
    """Copy every row of a backup into an empty database.

    Returns:
        How many rows each table has.

    Raises:
        DatabaseError: If the backup cannot be read or is damaged, or the database is not empty.
    """
    with checked_backup(backup) as copy:
        return fill(database, copy)


@contextmanager
def made_for_restoring(address: str) -> Iterator[Database]:
    """A database at an address. If it was not there before and something fails, it is not there afterwards either."""
    url = database_url(address)
    is_sqlite = url.get_backend_name() == "sqlite"
    was_there = not is_sqlite or Path(url.database or "").exists()
    database = Database(address)
    try:
        yield database
    except BaseException:
        database.close()
        if not was_there:
            for ending in ("", "-wal", "-shm"):
                Path(f"{url.database}{ending}").unlink(missing_ok=True)
        raise
    database.close()


def fill(database: Database, copy: Database) -> Mapping[str, int]:
    """Copy every row of one database into another, which has to be empty.

    Returns:
        How many rows each table has.

    Raises:
        DatabaseError: If it is not empty, or cannot be written.
    """
    try:
        with copy.read() as source, database.write() as target:
            _refuse_filled(target, database)
            counts = _copy_rows(source, target)
    except SQLAlchemyError as problem:
        reason = fault(getattr(problem, "orig", None) or problem).rstrip(".")
        raise DatabaseError(f"{database.shown} cannot be filled: {reason}. Nothing was restored.") from None
    return counts


def _copy_rows(source: Session, target: Session) -> dict[str, int]:
    counts = {}
    for table in Base.metadata.sorted_tables:
        if table is SignInRow.__table__:
            continue
        rows = source.execute(_all_rows(table)).mappings()
        counts[table.name] = 0
        for batch in rows.partitions(_BATCH):
            target.execute(insert(table), [dict(row) for row in batch])
            counts[table.name] += len(batch)
        if "id" in table.columns:
            _count_on(target, table, last=_last_id(source, table))
    return counts


def _all_rows(table: Table) -> Select[Any]:
    """All rows but the digests of a backup, which are of one file."""
    rows = select(table)
    return rows.where(table.c.name != DIGESTS) if table.name == SettingRow.__tablename__ else rows


def _refuse_filled(session: Session, database: Database) -> None:
    for table in Base.metadata.sorted_tables:
        if session.scalar(select(func.count()).select_from(table)):
            raise DatabaseError(
                f"The database {database.shown} is not empty: {table.name} has rows. Restore into a new database with "
                "--db, or move the old one away first."
            )


def _is_sqlite(session: Session) -> bool:
    return session.get_bind().dialect.name == "sqlite"


def _last_id(session: Session, table: Table) -> int:
    """The last id that a table gave out, also to a row that is gone."""
    if _is_sqlite(session):
        query = text("SELECT seq FROM sqlite_sequence WHERE name = :table").bindparams(table=table.name)
    else:
        query = text(f"SELECT last_value - CASE WHEN is_called THEN 0 ELSE 1 END FROM {table.name}_id_seq")  # noqa: S608
    return session.scalar(query) or 0


def _count_on(session: Session, table: Table, *, last: int) -> None:
    """Let a table give out no id again."""
    if _is_sqlite(session):
        own = {"table": table.name, "last": last}
        session.execute(text("DELETE FROM sqlite_sequence WHERE name = :table"), own)
        session.execute(text("INSERT INTO sqlite_sequence (name, seq) VALUES (:table, :last)"), own)
    else:
        session.execute(text(f"SELECT setval('{table.name}_id_seq', :next, false)"), {"next": last + 1})
