"""Databases that older versions made: every row stays, and no id is given out again."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
import sqlalchemy as sa
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from evenhand.studio.database import Database, migration_config
from evenhand.studio.tables import Base

IDS = (3, 7)
BEFORE = "0004"
"""The revision whose tables gave out the ids of deleted rows again."""


@pytest.fixture
def old(database: Database) -> Database:
    """A database as it was before, with two rows in each table."""
    with database.engine.begin() as connection:
        metadata = sa.MetaData()
        metadata.reflect(connection)
        metadata.drop_all(connection)
    with database.engine.begin() as connection:
        command.upgrade(migration_config(connection), BEFORE)
        for table in tables_of(connection):
            connection.execute(
                table.insert(), [{column.name: value(column, id_) for column in table.c} for id_ in IDS]
            )
    return database


def tables_of(connection: sa.Connection) -> list[sa.Table]:
    """The tables that a database has, without those of the migrations and of sessions."""
    metadata = sa.MetaData()
    metadata.reflect(connection)
    return [table for table in metadata.sorted_tables if table.name not in ("alembic_version", "sign_ins")]


def value(column: sa.Column[Any], id_: int) -> Any:
    """A value for a row: its id, also where another table's is meant, or one that differs between rows."""
    kinds: dict[type[Any], Any] = {
        sa.Boolean: id_ == IDS[0],
        sa.Integer: id_,
        sa.DateTime: datetime(2024, 5, id_, 12, tzinfo=UTC).replace(tzinfo=None),
        sa.Float: id_ / 8,
        sa.LargeBinary: bytes([0, id_]),
        sa.JSON: {"id": id_, "ä": [id_]},
        sa.String: f"ä{id_}",
    }
    return next(made for kind, made in kinds.items() if isinstance(column.type, kind))


def rows_of(database: Database) -> dict[str, list[dict[str, Any]]]:
    with database.engine.connect() as connection:
        return {
            table.name: [
                dict(row)
                for row in connection.execute(table.select().order_by(*table.primary_key)).mappings()
            ]
            for table in tables_of(connection)
        }


def opened(database: Database) -> Database:
    """What a newer version makes of a database when it opens it."""
    return Database(database.url.render_as_string(hide_password=False), create=False)


def test_every_row_of_an_older_database_stays(old: Database) -> None:
    before = rows_of(old)
    assert {len(rows) for rows in before.values()} == {2}
    assert before.keys() == {table.name for table in Base.metadata.sorted_tables} - {"sign_ins"}
    now = opened(old)
    assert rows_of(now) == before
    with now.engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), Base.metadata) == []
        if now.is_sqlite:
            assert connection.execute(sa.text("PRAGMA foreign_keys")).scalar() == 1
            assert connection.execute(sa.text("PRAGMA foreign_key_check")).all() == []
    now.close()


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_no_table_of_an_older_database_gives_out_an_id_again(old: Database) -> None:
    now = opened(old)
    with now.engine.begin() as connection:
        for table in reversed(tables_of(connection)):
            if "id" not in table.c:
                continue
            last = table.c.id == IDS[-1]
            content = {
                column.name: value(column, IDS[-1] if column.foreign_keys else IDS[-1] + 1)
                for column in table.c
                if column is not table.c.id
            }
            connection.execute(table.delete().where(last))
            made = connection.execute(table.insert().returning(table.c.id), content).scalar_one()
            assert (table.name, made) == (table.name, IDS[-1] + 1)
            connection.execute(table.delete().where(table.c.id == made))
    now.close()


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_deleting_a_parent_still_deletes_what_belongs_to_it(old: Database) -> None:
    now = opened(old)
    with now.engine.begin() as connection:
        connection.execute(sa.text("DELETE FROM projects WHERE id = 3"))
        connection.execute(sa.text("DELETE FROM invitations WHERE id = 3"))
    rows = rows_of(now)
    for table in ("texts", "annotators", "assignments", "adjudications"):
        assert [row["id"] for row in rows[table]] == [7]
    assert [row["invitation_id"] for row in rows["participants"]] == [None, 7]
    now.close()
