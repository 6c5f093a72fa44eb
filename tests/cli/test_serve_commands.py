"""The commands of servers, surveys and annotation projects."""

from __future__ import annotations

import re
import socket
import sqlite3
from pathlib import Path

import polars as pl
import pytest
from fastapi.testclient import TestClient
from running import Command
from web_fixtures import PASSWORD, Visitor

from evenhand.studio.accounts import is_setup_token, new_setup_token
from evenhand.studio.app import create_app
from evenhand.studio.database import Database
from evenhand.studio.demo import PROJECT, SURVEY, fill_demo


@pytest.fixture
def demo(tmp_path: Path) -> Path:
    """A database with the demonstration."""
    path = tmp_path / "demo.db"
    database = Database(str(path))
    create_app(database)
    fill_demo(database)
    database.close()
    return path


def test_a_project_is_made_with_links_and_collected(run_evenhand_here: Command, tmp_path: Path) -> None:
    texts = tmp_path / "texts.csv"
    texts.write_text("id,text,gold\na,The person slept.,\nb,The person saved a child.,positive\n")
    db = tmp_path / "server.db"
    made = run_evenhand_here(
        "annotate", "new", "pilot", texts, "--annotator", "Anna", "--adjudicator", "Judge", "--overlap", "1",
        "--db", db,
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    assert "pilot: 2 texts, 1 annotator each" in made.stderr
    links = re.findall(r"http://127.0.0.1:8321/a/[\w-]{32}", made.stdout)
    assert len(links) == 2
    more = run_evenhand_here("annotate", "link", "pilot", "Ben", "--db", db)
    assert "/a/" in more.stdout
    gone = run_evenhand_here("annotate", "revoke", "pilot", "Bem", "--db", db)
    assert gone.returncode == 2
    assert "Did you mean 'Ben'" in gone.stderr
    assert run_evenhand_here("annotate", "revoke", "pilot", "Ben", "--db", db).returncode == 0
    again = run_evenhand_here("annotate", "new", "pilot", texts, "--db", db)
    assert again.returncode == 2
    assert "already" in again.stderr


def test_votes_go_out_and_into_another_project(
    run_evenhand_here: Command, demo: Path, tmp_path: Path
) -> None:
    table = tmp_path / "votes.csv"
    out = run_evenhand_here("annotate", "collect", PROJECT, "--out", table, "--db", demo)
    assert out.returncode == 0, out.stderr
    assert "96 annotations of 24 texts" in out.stderr
    new = run_evenhand_here(
        "annotate", "new", "second", "--votes", table, "--adjudicator", "Judge", "--db", tmp_path / "new.db"
    )
    assert new.returncode == 0, new.stderr
    assert "96 votes" in new.stderr
    back = tmp_path / "back.csv"
    run_evenhand_here("annotate", "collect", "second", "--out", back, "--db", tmp_path / "new.db")
    columns = ["text_id", "annotator", "label", "unsure", "comment", "seconds"]
    first, second = (pl.read_csv(file, infer_schema=False) for file in (table, back))
    assert first.select(columns).equals(second.select(columns))


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("text\n\n", "no rows"),
        ("words\nThe person slept.\n", "text"),
        ("text,gold\nThe person slept.,7\n", "is not a label of the scheme"),
        ("id,text\na,One.\na,Two.\n", "1 id occurs more than once: a"),
        ("text\n" + "x" * 100_000 + "\n", "at most 10,000"),
    ],
)
def test_texts_that_cannot_be_labelled_are_refused(
    run_evenhand_here: Command, tmp_path: Path, content: str, says: str
) -> None:
    texts = tmp_path / "texts.csv"
    texts.write_text(content)
    done = run_evenhand_here("annotate", "new", "pilot", texts, "--db", tmp_path / "server.db")
    assert done.returncode == 2
    assert says in done.stderr.replace("\n", " ")


def test_a_survey_from_its_making_to_its_end(run_evenhand_here: Command, tmp_path: Path) -> None:
    db = tmp_path / "server.db"
    survey = tmp_path / "mine.yaml"
    shown = run_evenhand_here("survey", "show", "regard-de")
    survey.write_text(shown.stdout)
    made = run_evenhand_here("survey", "new", "mine", survey, "--keep-until", "2999-12-31", "--db", db)
    assert made.returncode == 0, made.stderr
    assert "http://127.0.0.1:8321/s/mine" in made.stderr
    unfinished = run_evenhand_here("survey", "state", "mine", "open", "--db", db)
    assert unfinished.returncode == 2
    assert "[Name und Adresse der Verantwortlichen]" in unfinished.stderr
    own = shown.stdout.replace("[Name und Adresse der Verantwortlichen]", "Institut, Musterstraße 1")
    survey.write_text(own)
    assert run_evenhand_here("survey", "revise", "mine", survey, "--db", db).returncode == 0
    assert run_evenhand_here("survey", "state", "mine", "open", "--db", db).returncode == 0
    assert "Did you mean 'closed'" in run_evenhand_here("survey", "state", "mine", "close", "--db", db).stderr
    same = run_evenhand_here("survey", "revise", "mine", survey, "--db", db)
    assert "The survey is the same as version 2" in same.stderr
    links = run_evenhand_here("survey", "links", "mine", "--count", "3", "--db", db)
    numbers, addresses = zip(*(line.split("\t") for line in links.stdout.splitlines()), strict=True)
    assert numbers == ("1", "2", "3")
    assert all(address.startswith("http://127.0.0.1:8321/i/") for address in addresses)
    assert run_evenhand_here("survey", "revoke", "mine", "2", "--db", db).returncode == 0
    assert run_evenhand_here("survey", "revoke", "mine", addresses[2], "--db", db).returncode == 0
    with sqlite3.connect(db) as connection:
        closed = connection.execute("SELECT id FROM invitations WHERE revoked_at IS NOT NULL").fetchall()
    connection.close()
    assert closed == [(2,), (3,)]
    assert "has no personal link '9'" in run_evenhand_here("survey", "revoke", "mine", "9", "--db", db).stderr
    out = run_evenhand_here("survey", "export", "mine", "--out", tmp_path / "out", "--db", db)
    assert "0 answers of 0 participants" in out.stderr
    assert pl.read_parquet(tmp_path / "out" / "answers.parquet").height == 0
    assert "No survey" in run_evenhand_here("survey", "purge", "--db", db).stderr
    gone = run_evenhand_here("survey", "purge", "--today", "3000-01-01", "--db", db)
    assert "mine: 0 participants" in gone.stderr
    deleted = run_evenhand_here("survey", "delete", "mine", "--yes", "--db", db)
    assert "mine is deleted, with 0 participants." in deleted.stderr


def test_backup_and_restore_by_one_command_each(
    run_evenhand_here: Command, demo: Path, tmp_path: Path
) -> None:
    backup, again = tmp_path / "backup.db", tmp_path / "again.db"
    assert run_evenhand_here("serve", "backup", backup, "--db", demo).returncode == 0
    restored = run_evenhand_here("serve", "restore", backup, "--db", again)
    assert restored.returncode == 0, restored.stderr
    for db in (demo, again):
        run_evenhand_here("survey", "export", SURVEY, "--out", tmp_path / db.stem, "--db", db)
    first, second = ((tmp_path / name / "answers.csv").read_bytes() for name in ("demo", "again"))
    assert first == second
    assert first.count(b"\n") > 200


def test_serving_says_where_and_how(
    run_evenhand_here: Command, tmp_path: Path, served: list[tuple[str, int]]
) -> None:
    db = tmp_path / "server.db"
    first = run_evenhand_here("serve", "--db", db)
    assert re.search(r"once and within an hour: http://127.0.0.1:8321/setup/[\w-]{32}", first.stderr)
    assert "certificate" not in first.stderr
    nowhere = run_evenhand_here("serve", "--db", db, "--host", "0.0.0.0", "--port", "9000")  # noqa: S104
    assert nowhere.returncode == 2
    assert "no link can begin with it" in nowhere.stderr.replace("\n", " ")
    outside = run_evenhand_here(
        *("serve", "--db", db, "--host", "0.0.0.0", "--port", "9000", "--url", "http://10.0.0.5:9000")  # noqa: S104
    )
    assert "reverse_proxy 127.0.0.1:9000" in outside.stderr.replace("\n", " ")
    behind = run_evenhand_here("serve", "--db", db, "--url", "https://survey.example.org")
    assert "https://survey.example.org/setup/" in behind.stderr
    assert "reverse_proxy" not in behind.stderr
    assert served == [("127.0.0.1", 8321), ("0.0.0.0", 9000), ("127.0.0.1", 8321)]  # noqa: S104
    assert run_evenhand_here("serve", "--url", "survey.example.org").returncode == 2


@pytest.mark.usefixtures("served")
def test_a_server_behind_another_asks_which_one_may_say_who_sent_a_request(
    run_evenhand_here: Command, tmp_path: Path
) -> None:
    db = tmp_path / "server.db"
    behind = run_evenhand_here("serve", "--db", db, "--url", "https://survey.example.org")
    assert "must be named with --proxy" in " ".join(behind.stderr.split())
    named = run_evenhand_here(
        "serve", "--db", db, "--url", "https://survey.example.org", "--proxy", "127.0.0.1"
    )
    assert named.returncode == 0
    assert "--proxy" not in named.stderr
    refused = run_evenhand_here("serve", "--db", db, "--proxy", "nginx")
    assert refused.returncode == 2
    assert "'nginx' is not the address of a proxy" in refused.stderr


@pytest.mark.usefixtures("served")
def test_the_demonstration_begins_with_a_link_that_signs_in(
    run_evenhand_here: Command, tmp_path: Path
) -> None:
    demo = run_evenhand_here("serve", "--demo")
    lines = [line for line in demo.stderr.splitlines() if "http://127.0.0.1:8321/" in line]
    assert re.match(r"Start here, signed in as the lead: http://127.0.0.1:8321/lead/[\w-]{32}", lines[0])
    assert "Take part in the survey: http://127.0.0.1:8321/s/demo-survey" in demo.stderr
    assert "/setup/" not in demo.stderr
    both = run_evenhand_here("serve", "--demo", "--db", tmp_path / "mine.db")
    assert both.returncode == 2
    assert "Give --demo or --db, not both" in both.stderr


def test_a_port_in_use_is_told_before_anything_changes(run_evenhand_here: Command, tmp_path: Path) -> None:
    db = tmp_path / "server.db"
    database = Database(str(db))
    token = new_setup_token(database)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = run_evenhand_here("serve", "--db", db, "--port", str(port))
    assert done.returncode == 2
    assert done.stderr.strip().endswith(f"Port {port} is in use. Choose another with --port.")
    with database.read() as session:
        assert is_setup_token(session, str(token)), "the link of a running server still works"
    database.close()


def test_a_forgotten_password_is_replaced_by_a_one_time_link(
    run_evenhand_here: Command, tmp_path: Path
) -> None:
    db = tmp_path / "server.db"
    database = Database(str(db))
    visitor = Visitor(TestClient(create_app(database), base_url="http://127.0.0.1:8321"))
    visitor.get(f"/setup/{new_setup_token(database)}")
    visitor.send(password=PASSWORD, again=PASSWORD)
    done = run_evenhand_here("serve", "password", "--db", db)
    found = re.search(r"http://127.0.0.1:8321(/setup/[\w-]{32})", done.stderr)
    assert found
    visitor.get(found[1])
    visitor.send(password="another long sentence", again="another long sentence")
    assert visitor.get(found[1]).status_code == 404
    visitor.get("/")
    visitor.send("/sign-out")
    visitor.get("/sign-in")
    assert visitor.send(password=PASSWORD).status_code == 401
    visitor.get("/sign-in")
    assert visitor.send(password="another long sentence").status_code == 200
    database.close()
