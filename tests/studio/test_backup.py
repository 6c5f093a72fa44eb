"""Backup and restore, from each kind of database into each."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import select
from web_fixtures import PASSWORD, Visitor
from web_projects import NAME, joined, made_project, small_project
from web_surveys import SURVEY, finished, small_survey

from evenhand.studio.annotation.projects import ProjectText, delete_project, project_named
from evenhand.studio.annotation.results import annotation_table
from evenhand.studio.app import create_app
from evenhand.studio.backup import back_up, restore
from evenhand.studio.database import Database, DatabaseError
from evenhand.studio.survey.export import export_survey
from evenhand.studio.tables import Base, SignInRow


def contents(database: Database) -> dict[str, list[tuple[object, ...]]]:
    with database.read() as session:
        return {
            table.name: sorted((tuple(row) for row in session.execute(select(table))), key=repr)
            for table in Base.metadata.sorted_tables
            if table.name != "sign_ins"
        }


@pytest.mark.usefixtures("lead")
def test_a_backup_restores_every_row_and_work_goes_on(
    database: Database, visitor: Callable[[], Visitor], tmp_path: Path
) -> None:
    small_project(database)
    small_survey(database)
    joined(database, visitor, "Anna").send(choice="label:1", comment="well")
    finished(visitor)
    file = tmp_path / "backup.db"
    counts = back_up(database, file)
    assert counts["answers"] == 3
    again = Database(str(tmp_path / "again.db"))
    restore(again, file)
    assert contents(again) == contents(database)
    with again.read() as session:
        assert len(annotation_table(session, project_named(session, NAME))) == 1
    assert export_survey(again, SURVEY).answers.equals(export_survey(database, SURVEY).answers)
    client = Visitor(TestClient(create_app(again), base_url="http://127.0.0.1:8321"))
    client.get("/sign-in")
    client.send(password=PASSWORD)
    assert "Projects and surveys" in client.text
    again.close()
    with pytest.raises(DatabaseError, match="never overwritten"):
        back_up(database, file)
    with pytest.raises(DatabaseError, match="not empty"):
        restore(database, file)


def test_new_rows_come_behind_restored_ones(database: Database, tmp_path: Path) -> None:
    source = Database(str(tmp_path / "source.db"))
    small_project(source)
    back_up(source, tmp_path / "backup.db")
    source.close()
    restore(database, tmp_path / "backup.db")
    small_survey(database)
    made_project(database, [ProjectText("z", "The person of another project.")], name="other")
    with database.read() as session:
        assert project_named(session, "other").id > project_named(session, NAME).id


@pytest.mark.usefixtures("lead")
def test_a_restore_neither_signs_anybody_in_nor_gives_out_an_id_again(
    database: Database, tmp_path: Path
) -> None:
    made_project(database, [ProjectText("a", "The first text.")], name="first")
    made_project(database, [ProjectText("b", "The second text.")], name="second")
    with database.write() as session:
        delete_project(session, project_named(session, "second"))
    back_up(database, tmp_path / "backup.db")
    again = Database(str(tmp_path / "again.db"))
    restore(again, tmp_path / "backup.db")
    made_project(again, [ProjectText("c", "The third text.")], name="third")
    with again.read() as session:
        assert [project_named(session, name).id for name in ("first", "third")] == [1, 3]
        assert session.scalars(select(SignInRow.digest)).all() == []
    again.close()


def test_what_is_no_backup_is_refused(tmp_path: Path) -> None:
    database = Database(str(tmp_path / "server.db"))
    with pytest.raises(DatabaseError, match="no file"):
        restore(database, tmp_path / "missing.db")
    (tmp_path / "notes.db").write_text("no backup at all")
    with pytest.raises(
        DatabaseError, match=re.escape(str(tmp_path / "notes.db")) + " is not an SQLite database"
    ):
        restore(database, tmp_path / "notes.db")
    with sqlite3.connect(tmp_path / "other.db") as connection:
        connection.execute("CREATE TABLE notes (text)")
    connection.close()
    with pytest.raises(DatabaseError, match=r"other\.db has no tables of Evenhand"):
        restore(database, tmp_path / "other.db")
    database.close()
