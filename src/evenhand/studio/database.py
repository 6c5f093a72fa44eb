"""The database of a server: opening and migrating it, reading and writing.

SQLite runs with a write-ahead log and a full sync at every commit, so that an acknowledged answer survives both
``kill -9`` and a power failure. Threads write in turn and are committed together; SQLite's own waiting sleeps in steps
and would make some people wait for long.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, cast

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.util import CommandError
from sqlalchemy import URL, Connection, ExceptionContext, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.orm import Session

from evenhand.core.errors import EvenhandError, fault, require_extra
from evenhand.studio.group_commit import BusyDatabaseError, GroupWriter

MIGRATIONS = Path(__file__).with_name("migrations")
SQLITE_BEGINS = b"SQLite format 3"
CHECK_ADDRESS = "Check the address with --db."
_WAIT = 10.0
"""Seconds to wait for another process, such as an import, that holds a lock."""
_POSTGRES_BUSY = frozenset({"40001", "40P01", "53300", "55P03"})
"""What PostgreSQL says of a conflict, a deadlock, too many connections, and a lock that was waited for too long."""


class DatabaseError(EvenhandError):
    """A database that cannot be opened, or is not one of ours."""


class MissingDatabaseError(DatabaseError):
    """A database that is not there, or has no tables."""


def database_url(text: str) -> URL:
    """The address of a database: a path or ``sqlite:///PATH`` for SQLite, or ``postgresql://...``."""
    if "://" not in text:
        return URL.create("sqlite", database=text)
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        raise DatabaseError(
            f"{text!r} is not the address of a database. Give a file, or postgresql://USER:PASSWORD@HOST/NAME."
        ) from None
    if url.get_backend_name() == "sqlite":
        return url
    if url.get_backend_name() in ("postgresql", "postgres"):
        require_extra("postgres", purpose="A PostgreSQL database")
        return url.set(drivername="postgresql+pg8000")
    raise DatabaseError(
        f"Databases of the kind {url.get_backend_name()!r} are not known. Give a file for SQLite, or postgresql://..."
    )


class Database:
    """One database, open for reading and writing from many threads."""

    def __init__(self, address: str, *, create: bool = True) -> None:
        """Open the database and bring its tables up to date.

        Args:
            address: A path, or the URL of a database.
            create: Make it where there is none. What reads or deletes must not: on a new database it would succeed,
                and say that there was nothing to do.

        Raises:
            DatabaseError: If it cannot be opened, is missing, or was made by a newer version.
        """
        self.url = database_url(address)
        if self.is_sqlite:
            self._refuse_bad_place()
            if not create and not Path(self.url.database or "").exists():
                raise self._missing()
            self._make_private()
            self.engine = create_engine(
                self.url,
                connect_args={"check_same_thread": False, "timeout": _WAIT},
                pool_size=40,
                hide_parameters=True,  # they are people's answers, and errors are logged
            )
            event.listen(self.engine, "connect", _prepare_sqlite)
            event.listen(self.engine, "begin", _begin_sqlite)
        else:
            self.engine = create_engine(
                self.url, pool_size=20, max_overflow=20, pool_pre_ping=True, hide_parameters=True
            )
            event.listen(self.engine, "connect", _prepare_postgres)
            event.listen(self.engine, "handle_error", _hide_row)
        self._writing = self.engine.execution_options(writing=True)
        self._writer = GroupWriter(self._writing, patience=_WAIT)
        try:
            self._migrate(create=create)
        except (SQLAlchemyError, sqlite3.DatabaseError, CommandError) as problem:
            self.close()
            # SQLAlchemy adds where to read about the error, which says nothing about this database.
            reason = fault(getattr(problem, "orig", None) or problem).rstrip(".")
            raise DatabaseError(
                f"The database {self.shown} cannot be opened: {reason}. {CHECK_ADDRESS}"
            ) from None

    @property
    def is_sqlite(self) -> bool:
        """Whether it is a file of SQLite."""
        return self.url.get_backend_name() == "sqlite"

    @property
    def shown(self) -> str:
        """The address without its password."""
        return self.url.database or "" if self.is_sqlite else self.url.render_as_string(hide_password=True)

    @contextmanager
    def read(self) -> Iterator[Session]:
        """A session that sees one state of the database and changes nothing.

        Raises:
            BusyDatabaseError: If somebody else holds it for long.
        """
        with self._noting_locks(), Session(self.engine) as session:
            if not self.is_sqlite:
                session.connection(execution_options={"isolation_level": "REPEATABLE READ"})
            yield session

    @contextmanager
    def write(self) -> Iterator[Session]:
        """A session whose changes are all on disk when the block ends, or none of them if it fails.

        Raises:
            BusyDatabaseError: If somebody else holds it for long.
        """
        if self.is_sqlite:
            with self._noting_locks(), self._writer.write() as session:
                yield session
            return
        with (
            self._noting_locks(),
            Session(self._writing, expire_on_commit=False) as session,
            session.begin(),
        ):
            yield session

    @contextmanager
    def _noting_locks(self) -> Iterator[None]:
        try:
            yield
        except (SQLAlchemyError, sqlite3.Error) as problem:
            if not _is_locked(problem):
                raise
            raise BusyDatabaseError(
                f"The database {self.shown} is in use by another process. Try again in a moment."
            ) from None

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()

    def _refuse_bad_place(self) -> None:
        path = Path(self.url.database or "")
        if not self.url.database or path.is_dir():
            raise DatabaseError(f"{path} is not a file. Give the path of a database, such as evenhand.db.")
        if not path.parent.is_dir():
            raise DatabaseError(f"There is no folder {path.parent} for the database. Make it first.")
        if path.exists() and path.stat().st_size and _first_bytes(path) != SQLITE_BEGINS:
            raise DatabaseError(f"{path} is not an SQLite database. Give another path; nothing was changed.")

    def _make_private(self) -> None:
        """A new file holds personal data, so only its owner may read it."""
        try:
            Path(self.url.database or "").touch(mode=0o600, exist_ok=True)
        except OSError as problem:
            raise DatabaseError(
                f"The database {self.shown} cannot be written: {problem.strerror or problem}. Give another path."
            ) from None

    def _missing(self) -> MissingDatabaseError:
        return MissingDatabaseError(f"There is no database {self.shown}. Check --db, or EVENHAND_DB.")

    def _migrate(self, *, create: bool) -> None:
        script = ScriptDirectory(str(MIGRATIONS))
        with self.engine.connect() as connection:
            revision = MigrationContext.configure(connection).get_current_revision()
        if revision == script.get_current_head():
            return
        if revision is None and not create:
            self.close()
            raise self._missing()
        if revision is not None and revision not in {known.revision for known in script.walk_revisions()}:
            raise DatabaseError(
                f"The database {self.shown} was made by a newer version of Evenhand (its tables are at {revision}). "
                "Update Evenhand, or use another database."
            )
        with self._writing.connect() as connection:
            if self.is_sqlite:
                # A migration may drop a table that it has copied, and must not delete what belongs to its rows. This
                # can only be said before a transaction; the connection is not used again.
                connection.detach()
                connection.connection.cursor().execute("PRAGMA foreign_keys=OFF")
            with connection.begin():
                command.upgrade(migration_config(connection), "head")


def _first_bytes(path: Path) -> bytes:
    with path.open("rb") as stream:
        return stream.read(len(SQLITE_BEGINS))


def migration_config(connection: Connection) -> Config:
    """What alembic needs to know to migrate over a connection."""
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    config.attributes["connection"] = connection
    return config


def _is_locked(problem: Exception) -> bool:
    """Whether something failed only because others hold the database."""
    original = getattr(problem, "orig", None) or problem
    if isinstance(original, sqlite3.Error):
        code = getattr(original, "sqlite_errorcode", None)  # none of errors that Python finds itself
        return code is not None and code & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
    fields = original.args[0] if original.args else None
    return isinstance(problem, PoolTimeoutError) or (
        isinstance(fields, dict) and fields.get("C") in _POSTGRES_BUSY
    )


def _prepare_postgres(connection: Any, _record: object) -> None:
    with closing(connection.cursor()) as cursor:
        cursor.execute(f"SET lock_timeout = '{_WAIT:.0f}s'")
    connection.commit()


def _hide_row(context: ExceptionContext) -> None:
    """Take what PostgreSQL tells of a row off its errors, which are logged, and off those that they came of."""
    wrapped, problem = context.sqlalchemy_exception, cast("BaseException | None", context.original_exception)
    while problem is not None:
        if problem.args and isinstance(problem.args[0], dict):
            told = str(problem)
            problem.args = ({key: value for key, value in problem.args[0].items() if key not in ("D", "W")},)
            if wrapped is not None:
                wrapped.args = (str(wrapped.args[0]).replace(told, str(problem)), *wrapped.args[1:])
        problem = problem.__cause__ or problem.__context__


def _prepare_sqlite(connection: Any, _record: object) -> None:
    # SQLAlchemy's own recipe: Python's driver must not begin transactions, or BEGIN IMMEDIATE comes too late.
    connection.isolation_level = None
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "secure_delete=ON"):
        connection.execute(f"PRAGMA {pragma}").close()


def _begin_sqlite(connection: Connection) -> None:
    writing = connection.get_execution_options().get("writing", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writing else "BEGIN")
