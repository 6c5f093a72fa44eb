"""``evenhand data review`` as users run it: links, progress, and what was settled."""

from __future__ import annotations

import json
import re
from pathlib import Path

import builders
import pytest
from fastapi.testclient import TestClient
from running import Command
from web_fixtures import Visitor
from web_reviews import english, german_folder

from evenhand.studio import app as server
from evenhand.studio.database import Database
from evenhand.translation import read_changes

pytestmark = pytest.mark.usefixtures("served")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    builders.write_json(tmp_path / "en.json", builders.document(english().items))
    return german_folder(tmp_path)


def test_two_reviewers_get_links_and_what_they_settle_becomes_changes(
    run_evenhand_here: Command, folder: Path, tmp_path: Path
) -> None:
    place = ("data", "review", folder, "--db", tmp_path / "server.db")
    made = run_evenhand_here(
        *place,
        "--source",
        tmp_path / "en.json",
        "--reviewer",
        "Ann",
        "--reviewer",
        "Ben",
        "--arbiter",
        "Cleo",
    )
    assert made.returncode == 0, made.stderr
    links = dict(re.findall(r"(Reviewer \w+|Arbiter \w+): http://127.0.0.1:8321(/r/[\w-]+)", made.stderr))
    assert list(links) == ["Reviewer Ann", "Reviewer Ben", "Arbiter Cleo"]

    database = Database(str(tmp_path / "server.db"))
    application = server.create_app(database)
    for name in ("Reviewer Ann", "Reviewer Ben"):
        with TestClient(application, base_url="http://127.0.0.1:8321") as client:
            person = Visitor(client)
            person.get(links[name])
            person.send()
            person.send(choice="beyond-repair", comment="no two answers")
    database.close()

    shown = run_evenhand_here(*place, "--show")
    assert "4 items: 3 open, 0 disputed, 1 settled." in shown.stdout
    assert "came to the same result on 1 (100%); kappa of their verdicts undefined." in shown.stdout
    figures = json.loads(run_evenhand_here(*place, "--show", "--json").stdout)
    assert figures["states"] == {"open": 3, "disputed": 0, "settled": 1}
    assert figures["terms"] == {"baker": [0, 2], "nurse": [1, 2]}
    collected = run_evenhand_here(*place, "--collect")
    assert "1 change by reviewers" in collected.stdout
    assert "1 of 4 items settled." in collected.stdout
    assert "Next:" not in collected.stderr
    (row,) = read_changes(folder / "changes.csv")
    assert (row.item, row.field, row.by) == ("intra-2", "beyond_repair", "Ann and Ben")
    assert json.loads(run_evenhand_here(*place, "--collect", "--json").stdout)["changes"] == 0


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((), "from a file that is not known here. Name it with --source."),
        (("--collect", "--show"), "Give one of them"),
        (("--show",), "There is no review of"),
        (("--collect",), "Begin one with: evenhand data review"),
        (("--source", "starter"), "have no item in common"),
        (("--source", "en.json", "--reviewer", "a/b"), "cannot be a person's name"),
        (("--source", "en.json", "--reviewer", "Ann", "--arbiter", "Ann"), "reviewed nothing"),
        (("--source", "en.json", "--url", "example.org"), "not the address of a server"),
    ],
)
def test_a_review_that_cannot_be_says_what_to_do(
    run_evenhand_here: Command, folder: Path, tmp_path: Path, arguments: tuple[str, ...], says: str
) -> None:
    given = [str(tmp_path / "en.json") if argument == "en.json" else argument for argument in arguments]
    done = run_evenhand_here("data", "review", folder, "--db", tmp_path / "server.db", *given)

    assert done.returncode == 2
    assert says in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


def test_asking_for_a_review_makes_no_database(
    run_evenhand_here: Command, folder: Path, tmp_path: Path
) -> None:
    for option in ("--show", "--collect"):
        run_evenhand_here("data", "review", folder, "--db", tmp_path / "none.db", option)

    assert not (tmp_path / "none.db").exists()


def test_fewer_than_two_reviewers_are_warned_about_and_a_page_is_opened_if_wanted(
    run_evenhand_here: Command, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str | None] = []
    monkeypatch.setattr(server, "run_server", lambda *_, opened_at=opened, opened: opened_at.append(opened))
    place = ("data", "review", folder, "--db", tmp_path / "server.db", "--source", tmp_path / "en.json")

    alone = run_evenhand_here(*place, "--reviewer", "Ann", "--open")
    both = run_evenhand_here(*place, "--reviewer", "Ben", "--no-open")

    assert "The review has 1 reviewer. An item is settled when two have decided" in " ".join(
        alone.stderr.split()
    )
    assert "An item is settled" not in both.stderr
    first, second = opened
    assert first is not None
    assert first.startswith("http://127.0.0.1:8321/reviews/de-")
    assert second is None


def test_a_folder_that_is_no_translation_is_refused(run_evenhand_here: Command, tmp_path: Path) -> None:
    done = run_evenhand_here("data", "review", tmp_path, "--db", tmp_path / "server.db")

    assert done.returncode == 2
    assert "holds no translation" in done.stderr
