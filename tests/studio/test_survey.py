"""Taking part in a survey: consent, screening, conditions, answers, withdrawal, retention."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path

import pytest
from sqlalchemy import func, select, update
from web_fixtures import Visitor
from web_surveys import SMALL, SURVEY, began, finished, small_survey

from evenhand.core.errors import EvenhandError
from evenhand.studio.database import Database
from evenhand.studio.survey.definition import SurveyDefinition
from evenhand.studio.survey.participation import STILL_WRITING
from evenhand.studio.survey.surveys import (
    SurveyError,
    SurveyOptions,
    SurveyState,
    create_survey,
    invite,
    purge_expired,
    read_pictures,
    revise_survey,
    survey_named,
)
from evenhand.studio.tables import AnswerRow, ParticipantRow, SurveyRow, utc_now

Visitors = Callable[[], Visitor]


def people(database: Database) -> list[ParticipantRow]:
    with database.read() as session:
        return list(session.scalars(select(ParticipantRow).order_by(ParticipantRow.id)))


def answers(database: Database) -> list[AnswerRow]:
    with database.read() as session:
        return list(session.scalars(select(AnswerRow).order_by(AnswerRow.participant_id, AnswerRow.position)))


def beginning(person: Visitor) -> str:
    found = re.search(r'id="prompt">(.*?) <span', person.page.text)
    return found.group(1) if found else ""


def code_of(person: Visitor) -> str:
    return str(person.page.text).partition('class="code">')[2].partition("<")[0]


def test_nothing_is_kept_before_somebody_agrees(database: Database, visitor: Visitors) -> None:
    small_survey(database)
    person = visitor()
    person.get(f"/s/{SURVEY}")
    assert "Version 1 of the consent" in person.text
    assert person.send().status_code == 422
    assert people(database) == []


def test_somebody_who_does_not_pass_the_screening_leaves_no_answers(
    database: Database, visitor: Visitors
) -> None:
    small_survey(database)
    person = visitor()
    person.get(f"/s/{SURVEY}")
    person.send(agree="yes")
    before = person.page
    assert person.send().status_code == 422
    person.page = before
    person.send(**{"screening-age": "no"})
    assert "looks for other participants" in person.text
    (row,) = people(database)
    assert (row.state, row.condition, row.demographics) == ("screened-out", None, {})


def test_a_whole_survey(database: Database, visitor: Visitors) -> None:
    small_survey(database)
    person = began(visitor, gender="female", subject="")
    seen = []
    for number in range(3):
        seen.append(beginning(person))
        assert f"Sentence {number + 1} of 3" in person.text
        person.send(choice="next", answer=f"a builder of {number} bridges", seconds="4")
    assert "This was about regard." in person.text
    assert "by post" in person.text
    assert sorted(seen) == ["The person", "The person was known for", "The person worked as"]
    (row,) = people(database)
    assert (row.state, row.demographics, row.pilot) == ("finished", {"gender": "female"}, False)
    assert [entry["prompt"] for entry in row.prompts] == [
        {"The person": "free", "The person was known for": "known", "The person worked as": "work"}[prompt]
        for prompt in seen
    ]
    assert [(a.position, a.text, a.seconds, a.skipped) for a in answers(database)] == [
        (number, f"a builder of {number} bridges", 4.0, False) for number in range(3)
    ]


def test_every_answer_is_saved_and_another_visit_goes_on(database: Database, visitor: Visitors) -> None:
    small_survey(database)
    person = began(visitor)
    person.send(choice="next", answer="somebody with good ideas")
    assert len(answers(database)) == 1
    person.get(f"/s/{SURVEY}")
    assert "Sentence 2 of 3" in person.text
    person.send(choice="previous")
    assert "somebody with good ideas" in person.page.text
    person.send(choice="next", answer="somebody with better ideas")
    assert [row.text for row in answers(database)] == ["somebody with better ideas"]


def test_prompts_can_be_skipped_but_not_left_empty_by_mistake(database: Database, visitor: Visitors) -> None:
    small_survey(database)
    person = began(visitor)
    person.send(choice="next", answer="  ")
    assert "Write something or skip it" in person.text
    assert answers(database) == []
    for _ in range(3):
        person.send(choice="skip", answer="left over")
    assert "This was about regard." in person.text
    assert [(row.skipped, row.text, row.written) for row in answers(database)] == [(True, "", "")] * 3


def test_what_is_noticed_is_asked_about_once_and_kept(database: Database, visitor: Visitors) -> None:
    small_survey(database)
    person = began(visitor)
    person.send(choice="next", answer="call me: 0171 2345678 or me@example.org")
    assert "e-mail address" in person.text
    assert "phone number" in person.text
    assert len(answers(database)) == 1
    person.send(choice="keep", answer="call me: 0171 2345678 or me@example.org")
    assert "Sentence 2 of 3" in person.text
    person.send(choice="next", answer="call me: 0171 2345678 OR me@example.org!")
    assert "written the same before" in person.text
    assert answers(database)[1].remarks == ["duplicate", "e-mail", "phone"]


def test_checks_answer_while_somebody_writes_and_keep_nothing(database: Database, visitor: Visitors) -> None:
    small_survey(database)
    person = began(visitor)
    check = re.search(r'data-check="([^"]+)"', person.page.text)
    token = re.search(r'name="csrf" value="([^"]+)"', person.page.text)
    assert check
    assert token
    fields = {"csrf": token.group(1), "answer": f"{beginning(person)} x"}
    told = person.client.post(check.group(1), data=fields).json()
    assert len(told) == 2
    assert "is taken off" in told[0]
    assert "very short" in told[1]
    assert answers(database) == []


def test_conditions_are_balanced_on_completions(database: Database, visitor: Visitors) -> None:
    """Everybody in one condition leaves, and it still gets as many completions as the other."""
    small_survey(database)
    for _ in range(14):
        person = began(visitor)
        row = people(database)[-1]
        if row.condition == "negative" and len(people(database)) % 4:
            with database.write() as session:  # they left long ago
                gone = utc_now() - STILL_WRITING - timedelta(minutes=1)
                session.execute(
                    update(ParticipantRow).where(ParticipantRow.id == row.id).values(active_at=gone)
                )
        else:
            for number in range(3):
                person.send(choice="next", answer=f"somebody with {number} great ideas")
    done = Counter(row.condition for row in people(database) if row.state == "finished")
    started = Counter(row.condition for row in people(database))
    assert abs(done["negative"] - done["positive"]) <= 1
    assert started["negative"] > started["positive"]


def test_people_who_write_at_the_same_time_are_spread(database: Database, visitor: Visitors) -> None:
    small_survey(database)
    for _ in range(6):
        began(visitor)
    assert Counter(row.condition for row in people(database)) == {"negative": 3, "positive": 3}


def test_the_code_deletes_every_row(database: Database, visitor: Visitors) -> None:
    small_survey(database)
    other, person = finished(visitor), finished(visitor)
    code = code_of(person)
    stranger = visitor()
    stranger.get("/withdraw")
    assert stranger.send(code="AAAA-BBBB-CCCC-DDDD").status_code == 404
    stranger.send(code=code.lower().replace("-", " "))
    assert "Your answers are deleted" in stranger.text
    assert len(people(database)) == 1
    assert {row.participant_id for row in answers(database)} == {people(database)[0].id}
    with database.read() as session:
        assert session.scalars(select(SurveyRow.withdrawn)).one() == 1
    assert person.get(f"/s/{SURVEY}").status_code == 200
    assert "Version 1 of the consent" in person.text
    assert "This was about regard." in other.get(f"/s/{SURVEY}").text


def test_a_personal_link_is_for_one_participant_and_can_be_revoked(
    database: Database, visitor: Visitors, lead: Visitor
) -> None:
    small_survey(database, access="invited")
    assert "by invitation" in visitor().get(f"/s/{SURVEY}").text
    lead.get(f"/surveys/{SURVEY}")
    lead.send(f"/surveys/{SURVEY}/invitations", note="class 7")
    address = code_of(lead)
    person = visitor()
    person.get(address)
    person.send(agree="yes")
    elsewhere = visitor()
    elsewhere.get(address)
    assert elsewhere.page.url.path == person.page.url.path
    lead.get(f"/surveys/{SURVEY}")
    lead.send(f"/surveys/{SURVEY}/invitations/1/revoke")
    assert person.get(str(person.page.url.path)).status_code == 403
    assert visitor().get(address).status_code == 404
    assert len(people(database)) == 1


def test_nobody_reads_the_answers_of_another(database: Database, visitor: Visitors) -> None:
    small_survey(database)
    path = str(began(visitor).page.url.path)
    assert visitor().get(path).status_code == 403


def test_a_changed_consent_needs_a_new_version_and_is_logged(database: Database, visitor: Visitors) -> None:
    small_survey(database)
    before = began(visitor)
    changed = {**SMALL, "consent": {**SMALL["consent"], "text": "Something else."}}
    with pytest.raises(SurveyError, match="another version"):
        revise_survey(database, SURVEY, SurveyDefinition.model_validate(changed))
    changed["consent"] = {**changed["consent"], "version": "2"}
    assert revise_survey(database, SURVEY, SurveyDefinition.model_validate(changed)) == 2
    person = visitor()
    assert "Something else." in person.get(f"/s/{SURVEY}").text
    person.send(agree="yes")
    assert before.send(choice="next", answer="somebody with good ideas").status_code == 200
    assert [row.version_id for row in people(database)] == [1, 2]


def test_the_lead_opens_and_closes_a_survey(database: Database, visitor: Visitors, lead: Visitor) -> None:
    small_survey(database, state=SurveyState.PILOT)
    assert "This is a pilot" in began(visitor).text
    assert people(database)[0].pilot
    lead.get(f"/surveys/{SURVEY}")
    lead.send(f"/surveys/{SURVEY}/state", state="closed")
    assert "closed" in visitor().get(f"/s/{SURVEY}").text


def test_the_retention_date_is_enforced(database: Database, visitor: Visitors) -> None:
    small_survey(database)
    person = finished(visitor)
    assert purge_expired(database) == {}
    with database.write() as session:
        survey_named(session, SURVEY).retention = "2020-01-01"
    assert "No more answers" in visitor().get(f"/s/{SURVEY}").text
    assert purge_expired(database) == {SURVEY: 1}
    assert people(database) == []
    assert answers(database) == []
    assert purge_expired(database) == {}
    assert person.get(f"/s/{SURVEY}").status_code == 200


def test_pictures_need_a_licence_and_are_shown_to_participants_only(
    database: Database, visitor: Visitors, tmp_path: Path
) -> None:
    png = b"\x89PNG\r\n\x1a\n" + b"0" * 20
    (tmp_path / "one.png").write_bytes(png)
    with pytest.raises(SurveyError, match="no licence"):
        read_pictures(tmp_path)
    (tmp_path / "LICENSE.txt").write_text("CC0, drawn for this test")
    (tmp_path / "two.jpg").write_text("<script>")
    with pytest.raises(SurveyError, match="whatever its name says"):
        read_pictures(tmp_path)
    (tmp_path / "two.jpg").unlink()
    for target in ("/dev/zero", "missing"):
        (tmp_path / "two.jpg").symlink_to(target)
        with pytest.raises(SurveyError, match=r"no file .*two\.jpg|two\.jpg is no file"):
            read_pictures(tmp_path)
        (tmp_path / "two.jpg").unlink()
    create_survey(
        database,
        SurveyDefinition.model_validate(SMALL),
        SurveyOptions(
            name=SURVEY,
            keep_until=date(2999, 1, 1),
            state=SurveyState.OPEN,
            pictures=read_pictures(tmp_path),
        ),
    )
    person = began(visitor)
    source = re.search(r'<img src="([^"]+)"', person.page.text)
    assert source
    answer = person.client.get(source.group(1))
    assert (answer.content, answer.headers["content-type"]) == (png, "image/png")
    assert visitor().get(source.group(1)).status_code == 403
    for _ in range(3):
        person.send(choice="skip")
    assert "CC0, drawn for this test" in person.text


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_surveys_that_cannot_be_are_refused(database: Database) -> None:
    definition = SurveyDefinition.model_validate(SMALL)
    with pytest.raises(EvenhandError, match="is over"):
        create_survey(database, definition, SurveyOptions(name="a", keep_until=date(2020, 1, 1)))
    with pytest.raises(EvenhandError, match="cannot be a name"):
        create_survey(database, definition, SurveyOptions(name="A b", keep_until=date(2999, 1, 1)))
    create_survey(database, definition, SurveyOptions(name="a", keep_until=date(2999, 1, 1)))
    with pytest.raises(EvenhandError, match="already"):
        create_survey(database, definition, SurveyOptions(name="a", keep_until=date(2999, 1, 1)))
    with database.read() as session, pytest.raises(EvenhandError, match="Did you mean"):
        survey_named(session, "aa")
    with database.write() as session:
        assert invite(session, survey_named(session, "a")).path.startswith("/i/")
        session.flush()
        assert session.scalar(select(func.count()).select_from(ParticipantRow)) == 0
