"""Writes of many threads to SQLite: committed together, failing alone, never told before they are on disk."""

from __future__ import annotations

import math
import sqlite3
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from sqlalchemy import event, text
from sqlalchemy.orm import Session

from evenhand.studio.accounts import put_setting
from evenhand.studio.database import Database
from evenhand.studio.group_commit import MOST_TOGETHER, CommitError

pytestmark = pytest.mark.parametrize("database", ["sqlite"], indirect=True)


class _Commits:
    """Counts commits to the database."""

    def __init__(self, database: Database) -> None:
        self.number = 0
        event.listen(database.engine, "commit", self._count)

    def _count(self, _connection: object) -> None:
        self.number += 1


@pytest.fixture(autouse=True)
def _patient_writer(database: Database) -> None:
    """However slow the machine is."""
    database._writer.longest_group = math.inf


@contextmanager
def _queue_behind_one_write(
    database: Database, writes: list[Callable[[Session], None]]
) -> Iterator[list[Future[None]]]:
    """Let the writes begin while one other is being made, so that all of them wait for their turn."""

    def run(write: Callable[[Session], None]) -> None:
        with database.write() as session:
            write(session)

    with ThreadPoolExecutor(len(writes)) as threads:
        with database.write() as session:
            put_setting(session, "first", "1")
            futures = [threads.submit(run, write) for write in writes]
            while database._writer._waiting < len(writes):
                threading.Event().wait(0.001)
        yield futures


def _put(name: str) -> Callable[[Session], None]:
    return lambda session: put_setting(session, name, "1")


def _kept(database: Database) -> set[str]:
    """What another process would find on disk."""
    with sqlite3.connect(str(database.url.database)) as connection:
        names = {name for (name,) in connection.execute("SELECT name FROM settings")}
    connection.close()
    return names


def test_those_who_wait_for_their_turn_are_committed_together(database: Database) -> None:
    commits = _Commits(database)
    names = [f"waiting {number}" for number in range(8)]
    with _queue_behind_one_write(database, [_put(name) for name in names]) as futures:
        for future in futures:
            future.result()
    assert _kept(database) == {"first", *names}
    assert commits.number == 1


def test_nobody_joins_a_group_that_is_open_for_long(database: Database) -> None:
    commits = _Commits(database)
    database._writer.longest_group = 0.0
    with _queue_behind_one_write(database, [_put("a"), _put("b")]) as futures:
        for future in futures:
            future.result()
    assert _kept(database) == {"first", "a", "b"}
    assert commits.number == 3


def test_a_group_has_a_limit(database: Database) -> None:
    commits = _Commits(database)
    writes = [_put(f"waiting {number}") for number in range(MOST_TOGETHER + 3)]
    with _queue_behind_one_write(database, writes) as futures:
        for future in futures:
            future.result()
    assert len(_kept(database)) == MOST_TOGETHER + 4
    assert commits.number == 2


def test_nobody_is_told_before_the_commit(database: Database) -> None:
    kept_when_told: list[bool] = []

    def write(name: str) -> None:
        with database.write() as session:
            put_setting(session, name, "1")
        kept_when_told.append(name in _kept(database))

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(write, [str(number) for number in range(40)]))
    assert kept_when_told == [True] * 40


def test_a_write_that_fails_is_undone_alone(database: Database) -> None:
    def fail(session: Session) -> None:
        put_setting(session, "wrong", "1")
        session.flush()
        raise RuntimeError

    with _queue_behind_one_write(database, [_put("a"), fail, _put("b")]) as futures:
        futures[0].result()
        with pytest.raises(RuntimeError):
            futures[1].result()
        futures[2].result()
    assert _kept(database) == {"first", "a", "b"}


def test_all_are_told_when_sqlite_gives_the_transaction_up(database: Database) -> None:
    def lose() -> None:
        with database.write() as session:
            session.execute(text("ROLLBACK"))  # what SQLite does by itself when the disk is full
            raise RuntimeError

    def write_before(threads: ThreadPoolExecutor) -> None:
        with database.write() as session:
            put_setting(session, "first", "1")
            threads.submit(lose)
            while not database._writer._waiting:
                threading.Event().wait(0.001)

    with ThreadPoolExecutor(1) as threads, pytest.raises(CommitError, match="None of them was kept"):
        write_before(threads)
    assert _kept(database) == set()
    with database.write() as session:
        put_setting(session, "later", "1")
    assert _kept(database) == {"later"}


def test_a_write_waits_for_a_lock_of_another_process(database: Database) -> None:
    with sqlite3.connect(str(database.url.database), isolation_level=None, check_same_thread=False) as other:
        other.execute("BEGIN IMMEDIATE")
        release = threading.Timer(0.05, lambda: other.execute("COMMIT"))
        release.start()
        with database.write() as session:
            put_setting(session, "after", "1")
        release.join()
    other.close()
    assert "after" in _kept(database)
