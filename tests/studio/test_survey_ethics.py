"""What participants are owed: the consent that they saw, a way out with debriefing and contacts, somebody to ask."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from sqlalchemy import func, select
from web_fixtures import Visitor
from web_surveys import SMALL, SURVEY, began, finished, small_survey

from evenhand.studio.database import Database
from evenhand.studio.survey.definition import SurveyDefinition, load_survey
from evenhand.studio.survey.export import export_survey
from evenhand.studio.survey.surveys import (
    SurveyState,
    UnfinishedSurveyError,
    change_state,
    delete_survey,
    invitation_of,
    invite,
    revise_survey,
    survey_named,
)
from evenhand.studio.tables import AnswerRow, InvitationRow, ParticipantRow, SurveyRow, SurveyVersionRow

Visitors = Callable[[], Visitor]

SQLITE = pytest.mark.parametrize("database", ["sqlite"], indirect=True)

CHANGED = {**SMALL, "consent": {"version": "2", "text": "Take part, and be named?", "agreement": "I do."}}


def state_of(database: Database) -> list[str]:
    with database.read() as session:
        return list(session.scalars(select(ParticipantRow.state).order_by(ParticipantRow.id)))


def test_a_consent_that_changed_while_it_was_read_is_shown_again(
    database: Database, visitor: Visitors
) -> None:
    small_survey(database)
    person = visitor()
    person.get(f"/s/{SURVEY}")
    revise_survey(database, SURVEY, SurveyDefinition.model_validate(CHANGED))
    person.send(agree="yes")
    assert "The consent has changed since you opened this page." in person.text
    assert "Take part, and be named?" in person.text
    assert state_of(database) == []
    person.send(agree="yes")
    person.send(**{"screening-age": "yes"})
    person.send()
    person.send(choice="next", answer="somebody with good ideas")
    assert export_survey(database, SURVEY).answers["consent_version"].to_list() == ["2"]


@SQLITE
def test_a_revision_that_leaves_the_consent_keeps_nobody_from_starting(
    database: Database, visitor: Visitors
) -> None:
    small_survey(database)
    person = visitor()
    person.get(f"/s/{SURVEY}")
    revise_survey(database, SURVEY, SurveyDefinition.model_validate({**SMALL, "instruction": "Go on."}))
    person.send(agree="yes")
    assert state_of(database) == ["screening"]


@SQLITE
def test_a_form_that_says_no_version_is_no_consent(database: Database, visitor: Visitors) -> None:
    small_survey(database)
    person = visitor()
    person.get(f"/s/{SURVEY}")
    for version in ("", "7", "1 OR 1=1"):
        assert person.send(agree="yes", version=version).status_code == 409
    assert state_of(database) == []


def test_who_stops_comes_to_the_debriefing_and_may_go_on(database: Database, visitor: Visitors) -> None:
    small_survey(database)
    person = began(visitor)
    person.send(choice="next", answer="somebody with good ideas")
    home = str(person.page.url.path)
    person.send(f"{home}/stop")
    assert "This was about regard." in person.text
    assert "by post" in person.text
    assert re.search(r"[A-Z2-7]{4}(-[A-Z2-7]{4}){3}", person.text), "the code to withdraw"
    assert state_of(database) == ["stopped"]
    assert export_survey(database, SURVEY).answers["finished"].to_list() == [False]
    person.send(f"{home}/resume")
    assert "Sentence 2 of 3" in person.text
    for _ in range(2):
        person.send(choice="skip")
    assert state_of(database) == ["finished"]


def test_who_stopped_counts_for_no_condition(database: Database, visitor: Visitors) -> None:
    small_survey(database)
    for _ in range(2):
        person = began(visitor)
        person.send(f"{person.page.url.path}/stop")
    finished(visitor)
    finished(visitor)
    with database.read() as session:
        counts = session.execute(
            select(ParticipantRow.condition, func.count())
            .where(ParticipantRow.state == "finished")
            .group_by(ParticipantRow.condition)
        ).all()
    assert sorted(count for _, count in counts) == [1, 1]


@SQLITE
def test_contacts_are_one_click_away_on_every_page(database: Database, visitor: Visitors) -> None:
    small_survey(database)
    person = visitor()
    person.get(f"/s/{SURVEY}")
    pages = [person.page.text]
    pages.append(person.send(agree="yes").text)
    pages.append(person.send(**{"screening-age": "yes"}).text)
    pages.append(person.send().text)
    for text in pages:
        assert f'href="/s/{SURVEY}/help"' in text
    assert "by post" in visitor().get(f"/s/{SURVEY}/help").text


@SQLITE
def test_who_withdraws_is_told_what_it_was_about(database: Database, visitor: Visitors) -> None:
    small_survey(database)
    person = began(visitor)
    code = str(person.page.text).partition('class="code">')[2].partition("<")[0]
    person.get("/withdraw")
    person.send(code=code)
    assert "Your answers are deleted" in person.text
    assert "This was about regard." in person.text
    assert "by post" in person.text


@SQLITE
def test_a_survey_does_not_open_with_the_contacts_of_the_file_that_was_copied(
    database: Database, lead: Visitor
) -> None:
    published = load_survey("regard-de").model_dump(mode="json")
    with pytest.raises(UnfinishedSurveyError, match="put your own contacts into the file"):
        small_survey(database, contacts=published["contacts"])
    small_survey(database, state=SurveyState.PILOT, contacts=published["contacts"])
    with pytest.raises(UnfinishedSurveyError), database.write() as session:
        change_state(session, survey_named(session, SURVEY), SurveyState.OPEN)
    lead.get(f"/surveys/{SURVEY}")
    assert lead.send(f"/surveys/{SURVEY}/state", state="open").status_code == 422
    assert "Put your own in with evenhand survey revise" in lead.text
    revise_survey(database, SURVEY, SurveyDefinition.model_validate(SMALL))
    lead.get(f"/surveys/{SURVEY}")
    lead.send(f"/surveys/{SURVEY}/state", state="open")
    with database.read() as session:
        assert survey_named(session, SURVEY).state == "open"
    with pytest.raises(UnfinishedSurveyError):
        revise_survey(
            database, SURVEY, SurveyDefinition.model_validate({**SMALL, "contacts": published["contacts"]})
        )


def test_a_survey_is_deleted_with_everything_in_it(database: Database, visitor: Visitors) -> None:
    small_survey(database)
    finished(visitor)
    with database.write() as session:
        invite(session, survey_named(session, SURVEY))
    with database.write() as session:
        assert delete_survey(session, survey_named(session, SURVEY)) == 1
    with database.read() as session:
        for table in (SurveyRow, SurveyVersionRow, ParticipantRow, AnswerRow, InvitationRow):
            assert session.scalar(select(func.count()).select_from(table)) == 0


@SQLITE
def test_a_personal_link_is_found_by_number_token_or_address(database: Database) -> None:
    small_survey(database)
    with database.write() as session:
        survey = survey_named(session, SURVEY)
        first, second = (invite(session, survey) for _ in range(2))
        assert first.name == f"#{first.number}"
        token = second.path.rpartition("/")[2]
        for link in (str(second.number), f"#{second.number}", token, f"http://127.0.0.1:8321{second.path}"):
            assert invitation_of(session, survey, link).id == second.number


@SQLITE
def test_days_and_numbers_are_written_as_the_reader_does(database: Database, visitor: Visitors) -> None:
    small_survey(database)
    with database.read() as session:
        kept_until = survey_named(session, SURVEY).retention
    year, _, day = kept_until.split("-")
    person = began(visitor)
    assert f"until {int(day)} " in person.text
    assert kept_until not in person.text
    person.get("/language/de?back=/")
    person.get(f"/s/{SURVEY}")
    assert re.search(rf"bis zum {int(day)}\. [A-Z][a-zä]+ {year} jederzeit", person.text)


@SQLITE
def test_an_error_is_in_the_language_of_the_survey(database: Database, visitor: Visitors) -> None:
    small_survey(database, language="de")
    person = visitor()
    person.get(f"/s/{SURVEY}")
    person.get("/nowhere")
    assert "Diese Seite gibt es nicht." in person.text
