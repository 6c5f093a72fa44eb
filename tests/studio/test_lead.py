"""The lead's page, adjudication, and the files of a project."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import select, update
from web_fixtures import Visitor
from web_projects import GOLD, NAME, TRAINING, joined, made_project, small_project

from evenhand.data.annotation_files import read_annotations
from evenhand.data.label_schemes import load_scheme
from evenhand.stats.agreement import cohen_kappa
from evenhand.studio.annotation.adjudicating import STILL_DECIDING
from evenhand.studio.annotation.projects import ProjectRole, ProjectText, project_named
from evenhand.studio.annotation.results import annotation_table, confusion, counted_votes
from evenhand.studio.database import Database
from evenhand.studio.tables import AdjudicationRow, AnnotatorRow, AssignmentRow, utc_now

Visitors = Callable[[], Visitor]


def label_by_text(person: Visitor, labels: dict[str, str]) -> None:
    """Give each text the label that belongs to a word in it."""
    while "data-focus" in person.page.text:
        shown = person.page.text.partition("data-focus><p>")[2].partition("</p>")[0]
        choice = next(label for word, label in labels.items() if word in shown)
        person.send(choice=choice)
        if ">Go on</button>" in person.page.text:
            person.send(choice="next")


TEXTS = [ProjectText(f"t{number}", f"The person has the word-{number}.") for number in range(4)]
ANNA = {"word-0": "label:0", "word-1": "label:1", "word-2": "label:-1", "word-3": "label:1"}
BEN = {"word-0": "label:0", "word-1": "label:1", "word-2": "label:1", "word-3": "unsure"}


@pytest.fixture
def voted(database: Database, visitor: Visitors) -> None:
    """Two people have labelled four texts, and differ on two of them."""
    made_project(database, TEXTS)
    label_by_text(joined(database, visitor, "Anna"), ANNA)
    label_by_text(joined(database, visitor, "Ben"), BEN)


@pytest.mark.usefixtures("voted")
def test_the_table_has_every_vote(database: Database) -> None:
    with database.read() as session:
        table = annotation_table(session, project_named(session, NAME))
    assert table.annotators == ("Anna", "Ben")
    assert table.votes.tolist() == [[1, 1], [2, 2], [0, 2], [2, -1]]


@pytest.mark.usefixtures("voted")
def test_the_lead_sees_progress_and_agreement(database: Database, lead: Visitor) -> None:
    lead.get(f"/projects/{NAME}")
    assert "8 of 8 votes" in lead.text
    with database.read() as session:
        votes = annotation_table(session, project_named(session, NAME)).votes
    assert f"{cohen_kappa(votes[:, 0], votes[:, 1]):.3f}" in lead.text
    assert "0 of 2 disputed texts settled" in lead.text
    fragment = lead.client.get(f"/projects/{NAME}/figures").text
    assert fragment.strip().startswith('<div id="figures">')


def test_confusion_is_against_the_mode_of_the_others() -> None:
    votes = np.array([[0, 0, 0], [0, 1, 1], [1, 0, 1], [2, -1, 2], [0, 1, 2], [-1, 1, 1]])
    slow = np.zeros((3, 3), dtype=int)
    for row in votes:
        others = [vote for vote in row[1:] if vote >= 0]
        best = max(others.count(label) for label in range(3))
        modes = [label for label in range(3) if others.count(label) == best]
        if len(modes) == 1 and row[0] >= 0:
            slow[modes[0], row[0]] += 1
    assert confusion(votes, 0, 3).tolist() == slow.tolist()


def test_gold_and_training_accuracy_are_shown(database: Database, visitor: Visitors, lead: Visitor) -> None:
    made_project(database, [*TEXTS[:1], GOLD, TRAINING], overlap=1)
    label_by_text(
        joined(database, visitor, "Anna"), {"word-0": "label:0", "saved": "label:1", "stole": "label:1"}
    )
    lead.get(f"/projects/{NAME}")
    assert "100% 1/1" in lead.text
    assert "0% 0/1" in lead.text


def test_links_are_made_shown_once_and_revoked_by_the_lead(
    database: Database, visitor: Visitors, lead: Visitor
) -> None:
    small_project(database)
    lead.get(f"/projects/{NAME}")
    lead.send(f"/projects/{NAME}/people", person="Anna", role="annotator")
    address = lead.page.text.partition('class="code">')[2].partition("<")[0]
    assert address.startswith("http://127.0.0.1:8321/a/")
    assert address not in lead.get(f"/projects/{NAME}").text
    anna = visitor()
    assert "Before you begin" in anna.get(address).text
    lead.send(f"/projects/{NAME}/people/1/revoke")
    assert anna.get(address).status_code == 404
    assert lead.client.post(f"/projects/{NAME}/people", data={"person": "Ben"}).status_code == 403


def test_only_the_administrator_sees_projects(database: Database, visitor: Visitors, lead: Visitor) -> None:
    small_project(database)
    anna = joined(database, visitor, "Anna")
    for path in ("", "/figures", "/annotations/long"):
        assert "Sign in" in anna.get(f"/projects/{NAME}{path}").text
    assert lead.get("/projects/unknown").status_code == 404


@pytest.mark.usefixtures("voted")
def test_every_adjudicator_chooses_blind_and_keeps_their_reason(
    database: Database, visitor: Visitors
) -> None:
    dora, emil = (joined(database, visitor, name, role=ProjectRole.ADJUDICATOR) for name in ("Dora", "Emil"))
    assert "word-2" in dora.text
    assert "word-2" in emil.text, "both opened the text before one of them chose"
    dora.send(choice="label:-1", reason="It is harsh.")
    assert "1 × negative" in dora.text
    late = joined(database, visitor, "Fritz", role=ProjectRole.ADJUDICATOR)
    assert "word-3" in late.text, "a text that somebody is at goes to nobody else"
    assert "×" not in emil.text
    emil.send(choice="label:1", reason="It is kind.")
    assert "You chose positive" in emil.text
    assert "It is harsh." not in emil.page.text
    dora.send(choice="label:-1", reason="It is harsh.")
    emil.send(choice="label:1", reason="It is kind indeed.")
    with database.read() as session:
        rows = {
            name: (row.blind_label, row.label, row.reason, row.confirmed)
            for name, row in session.execute(
                select(AnnotatorRow.name, AdjudicationRow).join(
                    AdjudicationRow, AdjudicationRow.annotator_id == AnnotatorRow.id
                )
            )
        }
        decisions = annotation_table(session, project_named(session, NAME)).decisions
    assert rows == {
        "Dora": ("-1", "-1", "It is harsh.", True),
        "Emil": ("1", "1", "It is kind indeed.", False),
    }
    assert decisions == {"t2": "-1"}


@pytest.mark.usefixtures("voted")
def test_a_text_that_an_adjudicator_left_goes_to_another(database: Database, visitor: Visitors) -> None:
    dora = joined(database, visitor, "Dora", role=ProjectRole.ADJUDICATOR)
    dora.send(choice="label:0")
    emil = joined(database, visitor, "Emil", role=ProjectRole.ADJUDICATOR)
    for _ in range(2):
        emil.send(choice="label:1")
    assert "Others are settling the texts that are left." in emil.text
    with database.write() as session:
        session.execute(update(AdjudicationRow).values(decided_at=utc_now() - 2 * STILL_DECIDING))
    emil.get(f"/adjudicate/{str(emil.page.url).rpartition('/')[2]}")
    assert "word-2" in emil.text
    assert "×" not in emil.text


def test_nobody_is_both_annotator_and_adjudicator(
    database: Database, visitor: Visitors, lead: Visitor
) -> None:
    small_project(database)
    joined(database, visitor, "Anna")
    lead.get(f"/projects/{NAME}")
    lead.send(f"/projects/{NAME}/people", person="Anna", role="adjudicator")
    assert lead.page.status_code == 422
    assert "Somebody of this name has another role" in lead.text


@pytest.mark.usefixtures("voted")
def test_adjudication_hides_votes_until_the_own_choice_and_keeps_them(
    database: Database, visitor: Visitors
) -> None:
    judge = joined(database, visitor, "Judge", role=ProjectRole.ADJUDICATOR)
    assert "word-2" in judge.text
    assert "×" not in judge.text
    judge.send(choice="label:0", reason="Neither good nor bad.")
    assert "1 × negative" in judge.text
    assert "1 × positive" in judge.text
    judge.send(choice="label:1")
    assert "word-3" in judge.text
    judge.send(choice="label:1", reason="")
    judge.send(choice="label:1")
    assert "Nothing to settle" in judge.text
    with database.read() as session:
        decision = session.scalars(select(AdjudicationRow).order_by(AdjudicationRow.id)).first()
        assert decision
        assert (decision.blind_label, decision.label, decision.reason) == ("0", "1", "Neither good nor bad.")
        table = annotation_table(session, project_named(session, NAME))
        labels = session.scalars(select(AssignmentRow.label).where(AssignmentRow.voted_at.is_not(None))).all()
    assert table.decisions == {"t2": "1", "t3": "1"}
    assert sorted(labels, key=str) == sorted(["0", "1", "-1", "1", "0", "1", "1", None], key=str)


@pytest.mark.usefixtures("voted")
def test_an_annotator_cannot_adjudicate(database: Database, visitor: Visitors) -> None:
    anna = joined(database, visitor, "Anna")
    number = str(anna.page.url.path).rsplit("/", 1)[-1]
    assert anna.get(f"/adjudicate/{number}").status_code == 403


@pytest.mark.usefixtures("voted")
@pytest.mark.parametrize(("layout", "ending"), [("long", "csv"), ("label-studio", "zip"), ("doccano", "zip")])
def test_downloads_read_back_as_the_same_votes(
    database: Database, lead: Visitor, tmp_path: Path, layout: str, ending: str
) -> None:
    answer = lead.get(f"/projects/{NAME}/annotations/{layout}")
    assert answer.headers["content-disposition"].endswith(f'{NAME}-{layout}.{ending}"')
    file = tmp_path / f"votes.{ending}"
    file.write_bytes(answer.content)
    files = [file]
    if ending == "zip":
        with zipfile.ZipFile(file) as archive:
            files = [Path(archive.extract(name, tmp_path)) for name in archive.namelist()]
    back = read_annotations(files, scheme=load_scheme("regard"), layout=layout)
    with database.read() as session:
        table = annotation_table(session, project_named(session, NAME))
    assert back.votes.tolist() == table.votes.tolist()
    assert back.texts == table.texts


def test_an_export_while_people_vote_is_one_whole_state(database: Database, visitor: Visitors) -> None:
    small_project(database, texts=20, overlap=1)
    anna = joined(database, visitor, "Anna")
    seen = []

    def vote() -> None:
        while "data-focus" in anna.page.text:
            anna.send(choice="label:0")

    with ThreadPoolExecutor(1) as thread:
        voting = thread.submit(vote)
        while not voting.done():
            with database.read() as session:
                project = project_named(session, NAME)
                seen.append((len(annotation_table(session, project)), counted_votes(session, project)))
        voting.result()
    assert seen == sorted(seen)
    assert all(rows == count for rows, count in seen)
    with database.read() as session:
        assert len(annotation_table(session, project_named(session, NAME))) == 20
