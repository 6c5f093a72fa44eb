"""Writes of many threads to SQLite, committed together.

SQLite has one writer at a time, and a commit waits for the disk. Who writes while others wait for their turn leaves the
transaction open for them; the last one commits for all, and nobody is told that a change is kept before that. A write
that fails is undone alone: each has a savepoint of its own.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import cast

from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from evenhand.core.errors import EvenhandError, fault

MOST_TOGETHER = 50
"""Writes in one transaction."""
LONGEST_GROUP = 0.01
"""Seconds after which nobody else may join a transaction: about what a commit takes. Waiting longer for others would
cost the first more than it saves them."""


class CommitError(EvenhandError):
    """Changes that could not be written to disk."""


class BusyDatabaseError(EvenhandError):
    """A database that others hold for so long that nobody should wait any more."""


class _WriteGroup:
    """Writes that share a transaction."""

    def __init__(self, engine: Engine) -> None:
        self.connection = engine.connect()
        try:
            self.transaction = self.connection.begin()
        except BaseException:
            self.connection.close()
            raise
        self.size = 0
        self.began = time.monotonic()
        self._failure: Exception | None = None
        self._ended = threading.Event()

    @property
    def is_open(self) -> bool:
        """Whether the transaction is open. SQLite ends it itself if the disk is full or broken."""
        return cast("sqlite3.Connection", self.connection.connection.dbapi_connection).in_transaction

    def end(self) -> None:
        """Commit, and let everybody know."""
        try:
            if not self.is_open:
                raise sqlite3.OperationalError("SQLite gave up the transaction")
            self.transaction.commit()
        except (SQLAlchemyError, sqlite3.Error) as problem:
            self._failure = problem
        finally:
            self._ended.set()
            self.connection.close()

    def wait(self) -> None:
        """Wait until the changes are on disk.

        Raises:
            CommitError: If they are not.
        """
        self._ended.wait()
        if self._failure is not None:
            reason = fault(getattr(self._failure, "orig", None) or self._failure).rstrip(".")
            raise CommitError(
                f"The changes could not be written to the database: {reason}. None of them was kept; try again."
            ) from self._failure


class GroupWriter:
    """Lets one thread write at a time, and commits for those who wrote in turn."""

    def __init__(self, engine: Engine, *, patience: float) -> None:
        """Write to an engine.

        Args:
            engine: It begins transactions that write.
            patience: Seconds that a thread waits for its turn.
        """
        self.longest_group = LONGEST_GROUP
        self._patience = patience
        self._engine = engine
        self._turn = threading.Lock()
        self._count = threading.Lock()
        self._waiting = 0
        self._group: _WriteGroup | None = None

    @contextmanager
    def write(self) -> Iterator[Session]:
        """A session whose changes are all on disk when the block ends, or none of them if it fails."""
        self._take_turn()
        group = None
        try:
            if self._group is None:
                self._group = _WriteGroup(self._engine)
            group = self._group
            group.size += 1
            with _session_in(group) as session, session.begin():
                yield session
        finally:
            try:
                if group is not None and self._is_last(group):
                    self._group = None
                    group.end()
            finally:
                self._turn.release()
        group.wait()

    def _is_last(self, group: _WriteGroup) -> bool:
        is_full = group.size >= MOST_TOGETHER or time.monotonic() - group.began >= self.longest_group
        return is_full or not self._waiting or not group.is_open

    def _take_turn(self) -> None:
        with self._count:
            self._waiting += 1
        try:
            if not self._turn.acquire(timeout=self._patience):
                raise BusyDatabaseError(
                    "Others have been writing to the database for long. Try again in a moment."
                )
        finally:
            with self._count:
                self._waiting -= 1


def _session_in(group: _WriteGroup) -> Session:
    """A session with a savepoint of its own within the group's transaction."""
    return Session(group.connection, expire_on_commit=False, join_transaction_mode="create_savepoint")
