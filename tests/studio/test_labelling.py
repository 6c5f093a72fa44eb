"""The annotator's pages: order, overlap, saving, training, breaks, links."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable

import pytest
from sqlalchemy import select
from web_fixtures import Visitor
from web_projects import GOLD, NAME, TRAINING, joined, made_project, small_project

from evenhand.studio.annotation.projects import ProjectText, add_person, project_named, revoke
from evenhand.studio.database import Database
from evenhand.studio.tables import AnnotatorRow, AssignmentRow, TextRow

Visitors = Callable[[], Visitor]


def shown_text(person: Visitor) -> str:
    found = re.search(r"data-focus><p>(.*?)</p>", person.page.text)
    return found.group(1) if found else ""


def rows(database: Database) -> list[AssignmentRow]:
    with database.read() as session:
        return list(session.scalars(select(AssignmentRow).order_by(AssignmentRow.id)))


def label_all(person: Visitor, choice: str = "label:0") -> list[str]:
    """Label until there is nothing left; the texts in the order in which they came."""
    texts = []
    while text := shown_text(person):
        texts.append(text)
        person.send(choice=choice)
    return texts


def test_the_warning_and_guideline_come_before_the_first_text_and_once(
    database: Database, visitor: Visitors
) -> None:
    small_project(database)
    with database.write() as session:
        link = add_person(session, project_named(session, NAME), "Anna")
    person = visitor()
    person.get(link.path)
    assert link.path not in str(person.page.url)
    assert "hurtful or offensive" in person.text
    assert "Judge for yourself" in person.text
    assert "how many seconds you looked at the text is kept" in person.text
    assert not shown_text(person)
    person.send()
    assert shown_text(person)
    assert shown_text(joined(database, visitor, "Anna"))


def test_each_text_is_labelled_by_as_many_as_the_overlap_says(database: Database, visitor: Visitors) -> None:
    small_project(database, texts=25, overlap=2)
    seen = Counter[str]()
    for name in ("Anna", "Ben", "Cem"):
        seen.update(label_all(joined(database, visitor, name)))
    assert set(seen.values()) == {2}
    assert len(seen) == 25


def test_everybody_has_an_order_of_their_own_that_a_new_visit_keeps(
    database: Database, visitor: Visitors
) -> None:
    small_project(database, texts=9, overlap=2)
    anna = joined(database, visitor, "Anna")
    first = shown_text(anna)
    assert shown_text(joined(database, visitor, "Anna")) == first
    orders = [label_all(joined(database, visitor, name)) for name in ("Anna", "Ben")]
    assert sorted(orders[0]) == sorted(orders[1])
    assert orders[0] != orders[1]


def test_a_vote_is_kept_with_seconds_comment_and_flag(database: Database, visitor: Visitors) -> None:
    small_project(database)
    person = joined(database, visitor, "Anna")
    person.send(choice="label:-1", comment="Harsh <b>words</b>", flagged="yes", seconds="2.5")
    row = rows(database)[0]
    assert (row.label, row.unsure, row.comment, row.flagged, row.seconds) == (
        "-1", False, "Harsh <b>words</b>", True, 2.5,
    )  # fmt: skip
    assert row.voted_at is not None


def test_the_same_form_sent_twice_counts_once(database: Database, visitor: Visitors) -> None:
    small_project(database)
    person = joined(database, visitor, "Anna")
    before = person.page
    person.send(choice="label:1")
    person.page = before
    person.send(choice="label:1")
    voted = [row for row in rows(database) if row.voted_at is not None]
    assert [(row.label, row.changes) for row in voted] == [("1", 0)]


def test_unsure_arrows_and_undo(database: Database, visitor: Visitors) -> None:
    small_project(database)
    person = joined(database, visitor, "Anna")
    first = shown_text(person)
    person.send(choice="unsure")
    second = shown_text(person)
    assert second != first
    person.send(choice="previous", comment="seen")
    assert shown_text(person) == first
    assert 'aria-pressed="true"' in person.page.text
    person.send(choice="next")
    assert shown_text(person) == second
    person.send(choice="undo")
    assert shown_text(person) == first
    assert 'aria-pressed="true"' not in person.page.text
    assert rows(database)[1].comment == "seen"
    person.send(choice="label:0")
    assert rows(database)[0].changes == 1
    person.send(choice="undo")
    person.send(choice="undo")
    assert shown_text(person) == first


def test_pages_say_where_an_annotator_is(database: Database, visitor: Visitors) -> None:
    small_project(database, texts=2, overlap=1)
    person = joined(database, visitor, "Anna")

    def can_undo() -> bool:
        return re.search(r'value="undo"[^>]* disabled', person.page.text) is None

    assert "0 of 2 labelled" in person.text
    assert not can_undo(), "there is nothing to take back"
    person.send(choice="label:0")
    assert "1 of 2 labelled" in person.text
    assert can_undo()
    person.send(choice="previous")
    assert "Text 1" in person.text
    person.send(choice="next")
    person.send(choice="label:1")
    assert "You have labelled all 2 texts that there are for you." in person.text


def test_the_training_round_says_what_is_right_and_comes_first(database: Database, visitor: Visitors) -> None:
    made_project(database, [ProjectText("a", "The person slept."), TRAINING, GOLD], overlap=1)
    person = joined(database, visitor, "Anna")
    assert shown_text(person) == TRAINING.text
    person.send(choice="label:1", comment="Not sure what was stolen.", flagged="yes")
    assert "Most people would say: negative." in person.text
    assert "Theft." in person.text
    assert "0 of 1 right" in person.text
    before = person.page
    person.send(choice="label:-1")
    assert rows(database)[0].label == "1", "the right label is known by then"
    person.page = before
    person.send(choice="next")
    assert {shown_text(person)} <= {"The person slept.", GOLD.text}
    assert (rows(database)[0].comment, rows(database)[0].flagged) == ("Not sure what was stolen.", True)


def test_gold_texts_are_for_everybody_and_look_like_others(database: Database, visitor: Visitors) -> None:
    made_project(database, [ProjectText("a", "The person slept.", source="secret source"), GOLD], overlap=1)
    anna = label_all(joined(database, visitor, "Anna"))
    ben = label_all(joined(database, visitor, "Ben"))
    assert sorted(anna) == ["The person saved a child.", "The person slept."]
    assert ben == ["The person saved a child."]
    page = joined(database, visitor, "Cem").page.text
    assert "secret source" not in page
    assert "gold" not in page.lower()


def test_a_break_is_suggested(database: Database, visitor: Visitors) -> None:
    small_project(database, texts=5, overlap=1, break_after=2)
    person = joined(database, visitor, "Anna")
    person.send(choice="label:0")
    person.send(choice="label:0")
    assert "Time for a break?" in person.text
    assert "You have labelled 2 texts, 3 are left." in person.text
    person.get(str(person.page.url.path).removesuffix("/break"))
    assert shown_text(person)


def test_a_revoked_link_is_closed_at_once_and_frees_its_texts(database: Database, visitor: Visitors) -> None:
    small_project(database, texts=3, overlap=1)
    anna = joined(database, visitor, "Anna")
    anna.send(choice="label:0")
    with database.write() as session:
        revoke(session, session.scalars(select(AnnotatorRow)).one())
    assert anna.send(choice="label:0").status_code == 403
    assert len(label_all(joined(database, visitor, "Ben"))) == 2
    assert len([row for row in rows(database) if row.voted_at is not None]) == 3


def test_a_text_of_another_project_is_refused(database: Database, visitor: Visitors) -> None:
    small_project(database)
    made_project(database, [ProjectText("z", "The person of another project.")], name="other")
    anna = joined(database, visitor, "Anna")
    stranger = joined(database, visitor, "Zoe", name="other")
    action = re.search(r'action="(/annotate/\d+)/(\d+)"', anna.page.text)
    own = re.search(r'action="(/annotate/\d+)/\d+"', stranger.page.text)
    assert action
    assert own
    token = re.search(r'name="csrf" value="([^"]+)"', stranger.page.text)
    assert token
    fields = {"csrf": token.group(1), "choice": "label:0"}
    assert stranger.client.post(f"{action.group(1)}/{action.group(2)}", data=fields).status_code == 403
    assert stranger.client.post(f"{own.group(1)}/{action.group(2)}", data=fields).status_code == 404
    assert all(row.voted_at is None for row in rows(database))


@pytest.mark.parametrize("choice", ["label:7", "label:", "-1", "", "label:<script>"])
def test_a_label_outside_the_scheme_is_refused(database: Database, visitor: Visitors, choice: str) -> None:
    small_project(database)
    person = joined(database, visitor, "Anna")
    assert person.send(choice=choice).status_code == 422
    assert all(row.voted_at is None for row in rows(database))


def test_script_in_every_field_is_shown_as_text(database: Database, visitor: Visitors, lead: Visitor) -> None:
    script = "<script>alert(1)</script>"
    made_project(database, [ProjectText("a", f"The person said {script}.", source=script)], overlap=1)
    person = joined(database, visitor, "Anna <script>")
    assert script not in person.page.text
    person.send(choice="previous", comment=script, flagged="yes")
    assert script not in person.page.text
    person.send(choice="label:0", comment=script, flagged="yes")
    page = lead.get(f"/projects/{NAME}").text
    assert script not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page


def test_a_closed_link_frees_no_place_that_gold_never_took(database: Database, visitor: Visitors) -> None:
    made_project(database, [ProjectText("a", "The person slept."), GOLD], overlap=1)
    joined(database, visitor, "Anna")
    with database.write() as session:
        revoke(session, session.scalars(select(AnnotatorRow)).one())
    with database.read() as session:
        assert session.scalars(select(TextRow.places)).all() == [0, 0]


def test_comments_keep_every_script_and_ids_that_cannot_be_are_refused(
    database: Database, visitor: Visitors
) -> None:
    small_project(database)
    person = joined(database, visitor, "Anna")
    written = "👩‍🔬 می‌خواهم\r\nzwei\x00 Zeilen"
    home = str(person.page.url.path)
    person.send(choice="label:0", comment=written)
    assert rows(database)[0].comment == "👩‍🔬 می‌خواهم\nzwei Zeilen"
    for path in (f"{home}?at=99999999999", f"{home}?at=-1", "/annotate/99999999999", "/annotate/x"):
        assert person.get(path).status_code == 404


def test_long_comments_and_senseless_seconds_do_no_harm(database: Database, visitor: Visitors) -> None:
    small_project(database)
    person = joined(database, visitor, "Anna")
    before = person.page
    assert person.send(choice="label:0", comment="x" * 3000).status_code == 422
    person.page = before
    for seconds in ("nan", "-5", "1e9", "soon"):
        person.send(choice="label:0", seconds=seconds)
        person.page = before
    assert rows(database)[0].seconds == 3600


def test_places_are_counted(database: Database, visitor: Visitors) -> None:
    small_project(database, texts=15, overlap=2)
    joined(database, visitor, "Anna")
    with database.read() as session:
        project = project_named(session, NAME)
        places = session.scalars(select(TextRow.places).where(TextRow.project_id == project.id)).all()
    assert sorted(places) == [0] * 5 + [1] * 10
