"""The database: migrations, writing whole or not at all, addresses that are none."""

from __future__ import annotations

import sqlite3
import tracemalloc
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import func, select, text

from evenhand.core.errors import EvenhandError
from evenhand.studio.accounts import put_setting, setting
from evenhand.studio.database import Database, MissingDatabaseError
from evenhand.studio.tables import Base, SettingRow


def test_migrations_make_the_tables_that_the_code_has(database: Database) -> None:
    with database.engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), Base.metadata) == []


def test_a_failed_write_leaves_nothing(database: Database) -> None:
    def fail() -> None:
        with database.write() as session:
            put_setting(session, "one", "1")
            session.flush()
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    with database.read() as session:
        assert session.scalar(select(func.count()).select_from(SettingRow)) == 0


def test_a_reader_sees_one_state_while_others_write(database: Database) -> None:
    with database.read() as session:
        assert setting(session, "one") is None
        with database.write() as other:
            put_setting(other, "one", "1")
        assert session.scalar(select(SettingRow.value)) is None
    with database.read() as session:
        assert setting(session, "one") == "1"


def test_opening_again_keeps_what_is_there(database: Database) -> None:
    with database.write() as session:
        put_setting(session, "one", "1")
    again = Database(database.url.render_as_string(hide_password=False))
    with again.read() as session:
        assert setting(session, "one") == "1"
    again.close()


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_sqlite_keeps_a_log_and_syncs_at_every_commit(database: Database) -> None:
    with database.read() as session:
        assert session.scalar(text("PRAGMA journal_mode")) == "wal"
        assert session.scalar(text("PRAGMA synchronous")) == 2
        assert session.scalar(text("PRAGMA foreign_keys")) == 1


def test_only_the_owner_reads_a_new_file(tmp_path: Path) -> None:
    path = tmp_path / "new.db"
    Database(str(path)).close()
    assert path.stat().st_mode & 0o077 == 0


def test_a_database_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "new.db"
    Database(str(path)).close()
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    connection.close()
    with pytest.raises(EvenhandError, match="newer version"):
        Database(str(path))


def test_what_is_missing_is_made_only_where_that_is_wanted(database: Database, tmp_path: Path) -> None:
    with pytest.raises(MissingDatabaseError, match=r"Check --db"):
        Database(str(tmp_path / "typo.db"), create=False)
    assert not (tmp_path / "typo.db").exists()
    Database(database.url.render_as_string(hide_password=False), create=False).close()
    with database.engine.begin() as connection:
        connection.exec_driver_sql("DROP TABLE alembic_version")
    with pytest.raises(MissingDatabaseError, match="There is no database"):
        Database(database.url.render_as_string(hide_password=False), create=False)


def test_a_large_file_is_not_read_to_tell_what_it_is(tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    with path.open("wb") as stream:
        stream.truncate(50 * 2**20)
    tracemalloc.start()
    with pytest.raises(EvenhandError, match="not an SQLite database"):
        Database(str(path))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 5 * 2**20


def test_a_server_that_does_not_answer_is_told_in_a_sentence() -> None:
    with pytest.raises(EvenhandError) as refused:
        Database("postgresql://nobody@127.0.0.1:1/nothing")
    assert "cannot be opened" in str(refused.value)
    assert "sqlalche.me" not in str(refused.value)


@pytest.mark.parametrize(
    ("address", "says"),
    [
        ("mysql://somebody@host/name", "not known"),
        ("://", "not the address"),
        ("missing/folder/server.db", "no folder"),
        (".", "is not a file"),
    ],
)
def test_an_address_that_is_none_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str, says: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(EvenhandError, match=says):
        Database(address)


def test_a_file_that_is_no_database_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    path.write_text("These are my notes, and no database.")
    with pytest.raises(EvenhandError, match="not an SQLite database"):
        Database(str(path))
    assert path.read_text() == "These are my notes, and no database."
