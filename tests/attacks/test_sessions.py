"""Browsers that come back: after a withdrawal, after a link was replaced or closed, after signing out.

Whoever has an old cookie must get into nobody's pages, neither with it nor with a copy of it, even if a database
handed out an id a second time.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator
from datetime import timedelta
from pathlib import Path
from types import ModuleType

import pytest
from fastapi.routing import APIRoute
from itsdangerous import TimestampSigner
from sqlalchemy import delete, select, text
from web_fixtures import PASSWORD, Visitor
from web_projects import NAME, joined, small_project
from web_reviews import german_folder, link_of, opened_review
from web_reviews import reviewing as reviewer
from web_surveys import SURVEY, began, small_survey

from evenhand.studio import accounts, administration
from evenhand.studio.accounts import new_setup_token, session_key
from evenhand.studio.annotation import adjudicating, labelling
from evenhand.studio.annotation import lead as annotation_lead
from evenhand.studio.annotation.projects import (
    ProjectRole,
    add_person,
    delete_project,
    person_named,
    project_named,
    revoke,
)
from evenhand.studio.database import Database
from evenhand.studio.routing import MOST_LINKS, require_administrator
from evenhand.studio.security import token_digest
from evenhand.studio.survey import lead as survey_lead
from evenhand.studio.survey import taking
from evenhand.studio.survey.surveys import close_invitation, invitation_of, invite, survey_named
from evenhand.studio.tables import (
    AdministratorRow,
    AnnotatorRow,
    AnswerRow,
    AssignmentRow,
    Base,
    ParticipantRow,
    ReviewerRow,
    ReviewVerdictRow,
    SignInRow,
    utc_now,
)
from evenhand.translation.review_pages import lead as review_lead
from evenhand.translation.review_pages import reviewing
from evenhand.translation.review_pages.reviews import add_reviewer, review_named
from evenhand.translation.reviews import ReviewRole

COOKIE = "evenhand"
CLOSED = "This link is not valid or has been closed"
Visitors = Callable[[], Visitor]


def forget_ids(database: Database) -> None:
    """Let the database hand out the ids of deleted rows again, as one would that does not count on."""
    with database.engine.begin() as connection:
        if database.is_sqlite:
            connection.execute(text("DELETE FROM sqlite_sequence"))
            return
        for table in Base.metadata.sorted_tables:
            if "id" in table.columns:
                connection.execute(text(f"ALTER SEQUENCE {table.name}_id_seq RESTART WITH 1"))


def copied_cookie(person: Visitor, visitor: Visitors) -> Visitor:
    """Somebody else who has a copy of a browser's cookie."""
    thief = visitor()
    thief.client.cookies.set(COOKIE, person.client.cookies[COOKIE])
    return thief


def csrf_of(person: Visitor) -> str:
    return str(person.page.text).partition('name="csrf" value="')[2].partition('"')[0]


def withdraw(person: Visitor, code: str) -> None:
    person.get("/withdraw")
    assert "deleted" in person.send(code=code).text


def code_of(database: Database, participant_id: int) -> str:
    from evenhand.studio.survey.participation import withdrawal_code

    with database.read() as session:
        return withdrawal_code(session, session.get_one(ParticipantRow, participant_id))


def participants(database: Database) -> list[int]:
    with database.read() as session:
        return list(session.scalars(select(ParticipantRow.id).order_by(ParticipantRow.created_at)))


@pytest.mark.parametrize("ids_come_again", [False, True])
def test_who_withdrew_comes_to_the_consent_and_to_nobody_elses_answers(
    database: Database, visitor: Visitors, *, ids_come_again: bool
) -> None:
    small_survey(database)
    first = began(visitor)
    (own,) = participants(database)
    page_of_first = str(first.page.url)
    old_csrf = csrf_of(first)
    withdraw(visitor(), code_of(database, own))
    if ids_come_again:
        forget_ids(database)
    stranger = began(visitor)
    (theirs,) = participants(database)
    assert (theirs == own) is ids_come_again
    stranger.send(choice="next", answer="somebody who is a stranger")
    secret = code_of(database, theirs)

    assert first.get(f"/s/{SURVEY}").url.path == f"/s/{SURVEY}"
    assert "Take part?" in first.text
    for address in (page_of_first, f"/take/{theirs}", f"/take/{theirs}?at=0"):
        answer = first.get(address)
        assert answer.status_code == 403
        assert CLOSED in first.text
        assert secret not in answer.text
        assert "stranger" not in answer.text
    for action in ("answers/0", "stop", "resume", "questions", "screening", "check/0"):
        sent = first.client.post(
            f"/take/{theirs}/{action}", data={"csrf": old_csrf, "choice": "next", "answer": "overwritten"}
        )
        assert sent.status_code == 403
    with database.read() as session:
        assert session.scalars(select(AnswerRow.written)).all() == ["somebody who is a stranger"]
        assert session.get_one(ParticipantRow, theirs).state == "writing"


def test_who_withdrew_takes_part_again_as_somebody_new(database: Database, visitor: Visitors) -> None:
    small_survey(database)
    person = began(visitor)
    (own,) = participants(database)
    withdraw(person, code_of(database, own))
    person.get(f"/s/{SURVEY}")
    person.send(agree="yes")
    (again,) = participants(database)
    assert again != own
    assert person.page.url.path == f"/take/{again}"


def test_a_shared_computer_leads_each_personal_link_to_its_own_consent(
    database: Database, visitor: Visitors
) -> None:
    small_survey(database, access="invited")
    with database.write() as session:
        survey = survey_named(session, SURVEY)
        links = [invite(session, survey, note=name).path for name in ("one", "two")]
    computer = visitor()
    computer.get(links[0])
    computer.send(agree="yes")
    (one,) = participants(database)
    assert computer.page.url.path == f"/take/{one}"
    assert computer.get(links[1]).url.path == f"/s/{SURVEY}"
    computer.send(agree="yes")
    two = participants(database)[1]
    assert computer.page.url.path == f"/take/{two}"
    assert computer.get(f"/s/{SURVEY}").url.path == f"/take/{two}", "who started last goes on"
    assert computer.get(links[0]).url.path == f"/take/{one}"


def test_a_closed_invitation_ends_the_session_of_its_participant(
    database: Database, visitor: Visitors
) -> None:
    small_survey(database, access="invited")
    with database.write() as session:
        link = invite(session, survey_named(session, SURVEY)).path
    person = visitor()
    person.get(link)
    person.send(agree="yes")
    (own,) = participants(database)
    with database.write() as session:
        survey = survey_named(session, SURVEY)
        close_invitation(invitation_of(session, survey, link))
        fresh = invite(session, survey).path
    assert person.get(f"/take/{own}").status_code == 403
    assert person.get(link).status_code == 404
    assert person.get(fresh).url.path == f"/s/{SURVEY}", "another invitation begins anew"


@pytest.mark.parametrize("role", list(ProjectRole))
@pytest.mark.parametrize("ids_come_again", [False, True])
def test_who_was_in_a_deleted_project_is_nobody_in_the_next(
    database: Database, visitor: Visitors, role: ProjectRole, *, ids_come_again: bool
) -> None:
    small_project(database)
    old = joined(database, visitor, "Anna", role=role)
    own = int(str(old.page.url.path).rpartition("/")[2])
    old_csrf = csrf_of(old)
    with database.write() as session:
        delete_project(session, project_named(session, NAME))
    if ids_come_again:
        forget_ids(database)
    small_project(database)
    stranger = joined(database, visitor, "Zoe", role=role)
    with database.read() as session:
        theirs = session.scalars(select(AnnotatorRow.id)).one()
        assignment = session.scalars(select(AssignmentRow.id)).first() or 1
    assert (theirs == own) is ids_come_again
    folder = "adjudicate" if role is ProjectRole.ADJUDICATOR else "annotate"
    for person_id in {own, theirs}:
        assert old.get(f"/{folder}/{person_id}").status_code == 403
        assert CLOSED in old.text
        sent = old.client.post(
            f"/{folder}/{person_id}/{assignment}", data={"csrf": old_csrf, "choice": "label:1"}
        )
        assert sent.status_code == 403
    with database.read() as session:
        votes = session.scalars(select(AssignmentRow.label).where(AssignmentRow.voted_at.is_not(None))).all()
    assert votes == []
    assert stranger.get(f"/{folder}/{theirs}").status_code == 200


@pytest.mark.parametrize("ids_come_again", [False, True])
def test_a_reviewer_who_was_deleted_is_not_the_next_one(
    database: Database, visitor: Visitors, tmp_path: Path, *, ids_come_again: bool
) -> None:
    review = opened_review(database, german_folder(tmp_path))
    old = reviewer(database, visitor, review, "Ann")
    own = int(str(old.page.url.path).rpartition("/")[2])
    item = str(old.page.text).partition(f'action="/review/{own}/')[2].partition('"')[0].partition("?")[0]
    assert item.isdecimal()
    old_csrf = csrf_of(old)
    with database.write() as session:
        session.execute(delete(ReviewerRow))
    if ids_come_again:
        forget_ids(database)
    stranger = reviewer(database, visitor, review, "Ben")
    with database.read() as session:
        theirs = session.scalars(select(ReviewerRow.id)).one()
    assert (theirs == own) is ids_come_again
    for person_id in {own, theirs}:
        assert old.get(f"/review/{person_id}").status_code == 403
        sent = old.client.post(
            f"/review/{person_id}/{item}", data={"csrf": old_csrf, "choice": "beyond-repair", "comment": "x"}
        )
        assert sent.status_code == 403
    with database.read() as session:
        assert session.scalars(select(ReviewVerdictRow.id)).all() == []
    assert stranger.get(f"/review/{theirs}").status_code == 200


def close_annotator(database: Database, name: str) -> None:
    with database.write() as session:
        revoke(session, person_named(session, project_named(session, NAME), name))


def link_annotator(database: Database, name: str, role: ProjectRole) -> str:
    with database.write() as session:
        return add_person(session, project_named(session, NAME), name, role=role).path


@pytest.mark.parametrize("steps", ["new", "closed", "closed, new"])
@pytest.mark.parametrize("role", list(ProjectRole))
def test_the_old_browser_of_a_project_is_out(
    database: Database, visitor: Visitors, role: ProjectRole, steps: str
) -> None:
    small_project(database)
    old_link = link_annotator(database, "Anna", role)
    old = visitor()
    old.get(old_link)
    own = str(old.page.url.path)
    copy = copied_cookie(old, visitor)
    assert copy.get(own).status_code == 200, "while the link is open its session is"
    if "closed" in steps:
        close_annotator(database, "Anna")
    new_link = link_annotator(database, "Anna", role) if "new" in steps else None
    for browser in (old, copy, copied_cookie(old, visitor)):
        assert browser.get(own).status_code == 403
        assert browser.get(old_link).status_code == 404
        assert browser.get(own).status_code == 403
    if new_link:
        assert visitor().get(new_link).url.path == own
        assert old.get(own).status_code == 403, "a new browser does not let the old one in again"
        assert old.get(new_link).url.path == own


@pytest.mark.parametrize("steps", ["new", "closed", "closed, new"])
@pytest.mark.parametrize("role", list(ReviewRole))
def test_the_old_browser_of_a_review_is_out(
    database: Database, visitor: Visitors, tmp_path: Path, role: ReviewRole, steps: str
) -> None:
    review = opened_review(database, german_folder(tmp_path))
    old_link = link_of(database, review, "Ann", role=role)
    old = visitor()
    old.get(old_link)
    own = str(old.page.url.path)
    if "closed" in steps:
        with database.write() as session:
            session.scalars(select(ReviewerRow)).one().revoked_at = utc_now()
    new_link = None
    if "new" in steps:
        with database.write() as session:
            new_link = add_reviewer(session, review_named(session, review), "Ann", role=role).path
    for browser in (old, copied_cookie(old, visitor)):
        assert browser.get(own).status_code == 403
        assert browser.get(old_link).status_code == 404
    if new_link:
        assert visitor().get(new_link).url.path == own
        assert old.get(own).status_code == 403


def routes_of(*modules: ModuleType) -> Iterator[APIRoute]:
    for module in modules:
        yield from module.router.routes


def addresses(routes: Iterable[APIRoute], method: str) -> list[str]:
    """The addresses of routes, with the name of a project and the ids that come first in a database."""
    return [
        re.sub(r"\{\w+\}", "1", route.path.replace("{name}", NAME))
        for route in routes
        if method in (route.methods or ())
    ]


def test_every_page_of_a_person_is_closed_to_a_stranger(
    database: Database, visitor: Visitors, tmp_path: Path
) -> None:
    small_survey(database)
    small_project(database)
    began(visitor)
    joined(database, visitor, "Anna")
    reviewer(database, visitor, opened_review(database, german_folder(tmp_path)), "Ann")
    stranger = joined(database, visitor, "Somebody else")
    csrf = csrf_of(stranger)
    routes = [
        route
        for route in routes_of(labelling, adjudicating, reviewing, taking)
        if "{person_id}" in route.path or "{participant_id}" in route.path
    ]
    gets, posts = addresses(routes, "GET"), addresses(routes, "POST")
    assert (len(gets), len(posts)) == (6, 11)
    for path in gets:
        assert stranger.get(path).status_code == 403, path
        assert CLOSED in stranger.text
    for path in posts:
        stranger.page = stranger.client.post(path, data={"csrf": csrf, "choice": "next", "answer": "x"})
        assert stranger.page.status_code == 403, path
        assert CLOSED in stranger.text, "the form is in order, and it is still not theirs"


def test_a_session_remembers_many_links_in_a_cookie_that_browsers_take(
    database: Database, visitor: Visitors
) -> None:
    small_project(database)
    links = [
        link_annotator(database, f"Person {number}", ProjectRole.ANNOTATOR)
        for number in range(MOST_LINKS + 1)
    ]
    lab = visitor()
    pages = [str(lab.get(link).url.path) for link in links]
    assert lab.get(pages[0]).status_code == 403, "the first link was forgotten"
    assert [lab.get(page).status_code for page in pages[1:]] == [200] * MOST_LINKS
    assert len(COOKIE) + 1 + len(lab.client.cookies[COOKIE]) < 4096


def test_a_cookie_of_an_older_version_opens_nothing(
    database: Database, lead: Visitor, visitor: Visitors
) -> None:
    small_survey(database)
    small_project(database)
    began(visitor)
    joined(database, visitor, "Anna")
    (own,) = participants(database)
    with database.read() as session:
        epoch = session.scalars(select(AdministratorRow.epoch)).one()
    content = {"participants": [own], "annotators": [1], "reviewers": [1], "invitation": 1, "admin": epoch}
    signed = TimestampSigner(session_key(database)).sign(b64encode(json.dumps(content).encode()))
    browser = visitor()
    for path, status in ((f"/take/{own}", 403), ("/annotate/1", 403), (f"/s/{SURVEY}", 200)):
        browser.client.cookies.set(COOKIE, signed.decode())
        assert browser.get(path).status_code == status
    browser.client.cookies.set(COOKIE, signed.decode())
    assert browser.get("/password").url.path == "/sign-in"
    assert lead.get("/password").url.path == "/password"


def test_a_cookie_copied_before_signing_out_opens_nothing(
    database: Database, lead: Visitor, visitor: Visitors
) -> None:
    small_project(database)
    own = str(lead.get(link_annotator(database, "Anna", ProjectRole.ANNOTATOR)).url.path)
    other = visitor()
    other.get("/sign-in")
    other.send(password=PASSWORD)
    copies = [copied_cookie(lead, visitor) for _ in range(3)]
    assert copies[0].get(f"/projects/{NAME}").url.path == f"/projects/{NAME}"
    lead.get("/")
    csrf = csrf_of(lead)
    lead.send("/sign-out")
    assert "Sign in as administrator" in lead.text

    own_pages = addresses(
        [
            route
            for route in routes_of(administration, annotation_lead, survey_lead, review_lead)
            if any(dependency.call is require_administrator for dependency in route.dependant.dependencies)
        ],
        "GET",
    )
    assert {path.split("/")[1] for path in own_pages} == {"password", "projects", "surveys", "reviews"}
    for path in own_pages:
        thief = copied_cookie(copies[1], visitor)
        assert thief.get(path).url.path == "/sign-in", path
    assert "Sign in as administrator" in copied_cookie(copies[1], visitor).get("/").text
    assert copies[1].get(own).status_code == 403, "links that the session followed ended with it"
    sent = copies[2].client.post(
        f"/projects/{NAME}/people", data={"csrf": csrf, "person": "Mallory", "role": "annotator"}
    )
    assert sent.status_code in (401, 403)
    with database.read() as session:
        assert session.scalars(select(AnnotatorRow.name)).all() == ["Anna"]
    assert "Projects and surveys" in other.get("/").text, "another browser stays signed in"


def test_a_sign_in_ends_after_sixty_days(
    database: Database, lead: Visitor, visitor: Visitors, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = utc_now()
    monkeypatch.setattr(accounts, "utc_now", lambda: now + timedelta(days=59, hours=23))
    assert "Projects and surveys" in lead.get("/").text
    monkeypatch.setattr(accounts, "utc_now", lambda: now + timedelta(days=60, minutes=1))
    assert "Sign in as administrator" in lead.get("/").text
    other = visitor()
    other.get("/sign-in")
    other.send(password=PASSWORD)
    with database.read() as session:
        assert len(session.scalars(select(SignInRow.digest)).all()) == 1, "what has ended is deleted"


def test_a_password_checked_before_it_changed_signs_nobody_in(database: Database, lead: Visitor) -> None:
    with database.read() as session:
        known = accounts.sign_in(session, PASSWORD)
    assert known is not None
    lead.get("/password")
    lead.send(current=PASSWORD, password="quite another sentence", again="quite another sentence")
    with database.write() as session:
        late = accounts.begin_sign_in(session, known)
    with database.read() as session:
        assert not accounts.is_signed_in(session, late)
    assert "Projects and surveys" in lead.get("/").text


@pytest.mark.parametrize(("minutes", "opens"), [(59, True), (61, False)])
@pytest.mark.parametrize("replace", [False, True])
def test_a_password_link_works_for_an_hour(
    request: pytest.FixtureRequest,
    database: Database,
    visitor: Visitors,
    monkeypatch: pytest.MonkeyPatch,
    *,
    replace: bool,
    minutes: int,
    opens: bool,
) -> None:
    if replace:
        request.getfixturevalue("lead")
    link = f"/setup/{new_setup_token(database, replace=replace)}"
    person = visitor()
    person.get(link)
    later = utc_now() + timedelta(minutes=minutes)
    monkeypatch.setattr(accounts, "utc_now", lambda: later)
    assert (visitor().get(link).status_code == 200) is opens
    answer = person.send(password="a sentence of a thief", again="a sentence of a thief")
    assert (answer.status_code == 200) is opens
    with database.read() as session:
        assert (accounts.sign_in(session, "a sentence of a thief") is not None) is opens


def test_another_password_closes_the_links_that_would_set_one(
    database: Database, lead: Visitor, visitor: Visitors
) -> None:
    link = f"/setup/{new_setup_token(database, replace=True)}"
    thief = visitor()
    assert thief.get(link).status_code == 200
    lead.get("/password")
    lead.send(current=PASSWORD, password="quite another sentence", again="quite another sentence")
    assert visitor().get(link).status_code == 404
    assert thief.send(password="a sentence of a thief", again="a sentence of a thief").status_code == 404
    with database.read() as session:
        assert accounts.sign_in(session, "quite another sentence") is not None


def test_another_password_closes_the_link_of_a_demonstration(database: Database, visitor: Visitors) -> None:
    link = f"/lead/{accounts.new_lead_token(database)}"
    lead = visitor()
    assert "Projects and surveys" in lead.get(link).text
    lead.get(f"/setup/{new_setup_token(database, replace=True)}")
    lead.send(password=PASSWORD, again=PASSWORD)
    assert visitor().get(link).status_code == 404


def test_a_password_link_of_an_older_version_has_expired(database: Database, visitor: Visitors) -> None:
    with database.write() as session:
        accounts.put_setting(session, accounts.SETUP_DIGEST, token_digest("old"))
    assert visitor().get("/setup/old").status_code == 404
