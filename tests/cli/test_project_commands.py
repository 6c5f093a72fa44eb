"""Annotation projects from the command line: texts, votes that exist, people, and what goes wrong half-way."""

from __future__ import annotations

import csv
import re
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from running import Command

from evenhand.data.annotation_files import read_annotations

TEXTS = ["The person slept.", "The person lied.", "The person helped.", "The person ran."]
ADA, BEN = ["0", "-1", "1", "X"], ["0", "-1", "0", "1"]


def table(path: Path, header: str, *rows: str) -> Path:
    path.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    return table(tmp_path / "texts.csv", "Text", *TEXTS)


@pytest.fixture
def votes(tmp_path: Path) -> list[Path]:
    """One file per annotator, as people keep them: no ids, a column for labels and one for unsure."""
    return [
        table(
            tmp_path / f"{name}.csv",
            "Text,Regard,Unsicher",
            *(
                f"{text},{'' if vote == 'X' else vote},{'x' if vote == 'X' else ''}"
                for text, vote in zip(TEXTS, own, strict=True)
            ),
        )
        for name, own in (("ada", ADA), ("ben", BEN))
    ]


@pytest.fixture
def new(run_evenhand_here: Command, tmp_path: Path) -> Callable[..., Any]:
    def run(*arguments: str | Path) -> Any:
        return run_evenhand_here("annotate", "new", *arguments, "--db", tmp_path / "server.db")

    return run


def votes_options(votes: list[Path]) -> list[str | Path]:
    given: list[str | Path] = ["--label", "Regard", "--unsure", "Unsicher"]
    for file in votes:
        given += ["--votes", file]
    return given


def projects(db: Path) -> list[tuple[str, int]]:
    with sqlite3.connect(db) as connection:
        found = connection.execute("SELECT name, overlap FROM projects ORDER BY id").fetchall()
    connection.close()
    return found


def test_votes_go_to_the_texts_of_the_same_file_and_unsure_is_kept(
    run_evenhand_here: Command, new: Callable[..., Any], texts: Path, votes: list[Path], tmp_path: Path
) -> None:
    done = new("pilot", texts, *votes_options(votes))
    assert done.returncode == 0, done.stderr
    assert "pilot: 4 texts, 2 annotators each, 8 votes." in done.stderr
    out = tmp_path / "back.csv"
    run_evenhand_here("annotate", "collect", "pilot", "--out", out, "--db", tmp_path / "server.db")
    back = {(row.annotator, row.text): "X" if row.unsure else row.label for row in read_annotations([out])}
    assert back == {
        (name, text): vote
        for name, own in (("ada", ADA), ("ben", BEN))
        for text, vote in zip(TEXTS, own, strict=True)
    }


def test_votes_on_texts_in_another_order_are_refused_and_nothing_is_left(
    new: Callable[..., Any], votes: list[Path], tmp_path: Path
) -> None:
    shuffled = table(tmp_path / "shuffled.csv", "text", *reversed(TEXTS))
    done = new("pilot", shuffled, *votes_options(votes), "--annotator", "Cem")
    assert done.returncode == 2
    said = done.stderr.replace("\n", " ")
    assert "4 ids mean another text in the project than in the votes" in said
    assert "'The person ran.' and 'The person slept.'" in said
    assert projects(tmp_path / "server.db") == []
    assert new("pilot", shuffled).returncode == 0, "the name is free"


def test_a_bad_name_of_a_person_leaves_no_project(
    new: Callable[..., Any], texts: Path, tmp_path: Path
) -> None:
    assert new("pilot", texts, "--annotator", "a/b").returncode == 2
    assert projects(tmp_path / "server.db") == []


def test_texts_and_lessons_without_ids_do_not_collide(
    new: Callable[..., Any], texts: Path, tmp_path: Path
) -> None:
    lessons = table(tmp_path / "lessons.csv", "text,gold,explanation", "The person stole.,-1,Theft.")
    done = new("pilot", texts, "--training", lessons, "--annotator", "Anna")
    assert done.returncode == 0, done.stderr
    assert projects(tmp_path / "server.db") == [("pilot", 3)]


def test_nobody_is_named_twice(new: Callable[..., Any], texts: Path) -> None:
    done = new("pilot", texts, "--annotator", "Anna", "--adjudicator", "Anna ")
    assert done.returncode == 2
    assert "Anna is named twice" in done.stderr


def test_repeated_texts_and_empty_rows_are_told(new: Callable[..., Any], tmp_path: Path) -> None:
    path = table(tmp_path / "few.csv", "text", TEXTS[0], "", TEXTS[1], TEXTS[0])
    done = new("pilot", path)
    said = done.stderr.replace("\n", " ")
    assert "1 text occurs more than once; each occurrence counts: 'The person slept.'" in said
    assert "1 empty row was passed over" in said
    assert "pilot: 3 texts" in said


@pytest.mark.parametrize(
    ("language", "says"),
    [("german", "Did you mean 'de'?"), ("EN", "Did you mean 'en'?"), ("xx", "is not the code of a language")],
)
def test_a_language_that_is_none_is_refused(
    new: Callable[..., Any], texts: Path, language: str, says: str
) -> None:
    done = new("pilot", texts, "--language", language)
    assert done.returncode == 2
    assert says in done.stderr


def test_a_project_is_deleted_when_it_is_said_twice(
    run_evenhand_here: Command, new: Callable[..., Any], texts: Path, votes: list[Path], tmp_path: Path
) -> None:
    db = tmp_path / "server.db"
    new("pilot", texts, *votes_options(votes))
    asked = run_evenhand_here("annotate", "delete", "pilot", "--db", db)
    assert asked.returncode == 2
    assert "Say --yes to do it" in asked.stderr
    done = run_evenhand_here("annotate", "delete", "pilot", "--yes", "--db", db)
    assert "pilot is deleted, with 8 votes." in done.stderr
    with sqlite3.connect(db) as connection:
        for rows in ("projects", "texts", "annotators", "assignments"):
            assert connection.execute(f"SELECT count(*) FROM {rows}").fetchone() == (0,)  # noqa: S608  our own names
    connection.close()
    unknown = run_evenhand_here("annotate", "delete", "pilot", "--yes", "--db", db)
    assert "Unknown project 'pilot'. There are none yet." in unknown.stderr.replace("\n", " ")


def test_files_are_not_replaced_unless_that_is_asked_for(
    run_evenhand_here: Command, votes: list[Path], tmp_path: Path
) -> None:
    before = votes[0].read_bytes()
    options = ["--label", "Regard", "--unsure", "Unsicher"]
    own = run_evenhand_here("annotate", "import", *votes, *options, "--out", votes[0], "--replace")
    assert own.returncode == 2
    assert "is one of the files that were read" in own.stderr.replace("\n", " ")
    assert votes[0].read_bytes() == before
    out = tmp_path / "long.csv"
    assert run_evenhand_here("annotate", "import", *votes, *options, "--out", out).returncode == 0
    again = run_evenhand_here("annotate", "import", *votes, *options, "--out", out)
    assert "is there already. Give another file with --out, or replace it with --replace." in (
        again.stderr.replace("\n", " ")
    )
    assert (
        run_evenhand_here("annotate", "import", *votes, *options, "--out", out, "--replace").returncode == 0
    )
    tasks = tmp_path / "tasks.json"
    assert (
        run_evenhand_here("annotate", "export", out, "--to", "label-studio", "--out", tasks).returncode == 0
    )
    assert tasks.with_suffix(".xml").is_file()
    twice = run_evenhand_here("annotate", "export", out, "--to", "label-studio", "--out", tasks)
    assert "tasks.json is there already" in twice.stderr.replace("\n", " ")


def test_the_name_of_a_project_is_told_from_a_file(run_evenhand_here: Command, tmp_path: Path) -> None:
    done = run_evenhand_here("annotate", "export", "pilot", "--to", "long", "--out", "x.csv", cwd=tmp_path)
    assert done.returncode == 2
    assert re.search(r"evenhand annotate collect pilot --out pilot\.csv", done.stderr.replace("\n", " "))


@pytest.mark.parametrize(
    "command",
    [
        ["serve", "backup", "b.db"],
        ["serve", "password"],
        ["survey", "purge"],
        ["survey", "export", "s", "--out", "out"],
        ["survey", "state", "s", "open"],
        ["annotate", "collect", "p", "--out", "c.csv"],
        ["annotate", "delete", "p", "--yes"],
    ],
)
def test_a_mistyped_database_is_refused_and_not_made(
    run_evenhand_here: Command, tmp_path: Path, command: list[str]
) -> None:
    done = run_evenhand_here(*command, "--db", tmp_path / "typo.db", cwd=tmp_path)
    assert done.returncode == 2
    assert "There is no database" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_one_vote_is_no_consensus(run_evenhand_here: Command, tmp_path: Path) -> None:
    rows = [f"{number},Text {number}.,{'ada' if number % 2 else 'ben'},1" for number in range(6)]
    path = table(
        tmp_path / "long.csv", "text_id,text,annotator,label", *rows, "6,Text 6.,ada,0", "6,Text 6.,ben,0"
    )
    told = run_evenhand_here("annotate", "agreement", path, "--labels", tmp_path / "labels.csv")
    assert "7 texts: all agree on 1" in told.stdout
    assert "6 texts have one vote only, with which nobody can agree." in told.stdout
    with (tmp_path / "labels.csv").open(encoding="utf-8", newline="") as stream:
        assert [row["consensus"] for row in csv.DictReader(stream)] == [""] * 6 + ["0"]
