"""The pages of a participant, from the consent to the debriefing, and the page to withdraw."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import HTMLResponse, JSONResponse
from sqlalchemy import select
from sqlalchemy.orm import Session

from evenhand.core.errors import UnknownNameError
from evenhand.studio.pages import interface_language, page, words
from evenhand.studio.routing import (
    Data,
    Position,
    RowId,
    known_links,
    redirect,
    remember_link,
    require_links,
)
from evenhand.studio.security import (
    Refusal,
    Submission,
    field,
    limit_starts,
    seconds_field,
    token_digest,
    wrong_secret,
)
from evenhand.studio.survey import participation
from evenhand.studio.survey.definition import Access
from evenhand.studio.survey.participation import Stage
from evenhand.studio.survey.surveys import (
    SurveyState,
    definition_of,
    is_over,
    latest_version,
    survey_named,
    takes_answers,
    versions_of,
)
from evenhand.studio.tables import (
    AnswerRow,
    InvitationRow,
    ParticipantRow,
    PictureRow,
    SurveyRow,
    SurveyVersionRow,
)

router = APIRouter()

LONGEST_ANSWER = 1000
LONGEST_DETAIL = 200
_UNFINISHED = (Stage.SCREENING.value, Stage.QUESTIONS.value, Stage.WRITING.value)


@router.get("/s/{name}")
def show_consent(request: Request, database: Data, name: str) -> Response:
    """The consent, which comes first; who has started goes on."""
    with database.read() as session:
        survey = survey_in_address(session, name)
        last = participation.last_followed(session, survey, known_links(request))
        if isinstance(last, ParticipantRow):
            return redirect(f"/take/{last.id}")
        definition = definition_of(latest_version(session, survey))
        if not takes_answers(survey):
            return page(request, "survey_closed", language=definition.language, reason="closed_text")
        if definition.access is Access.INVITED and last is None:
            return page(request, "survey_closed", language=definition.language, reason="invited_only")
        return _consent_page(request, session, survey)


def _consent_page(
    request: Request, session: Session, survey: SurveyRow, *, notice: str | None = None
) -> HTMLResponse:
    """The consent of the latest version, with what has to be said about it."""
    version = latest_version(session, survey)
    definition = definition_of(version)
    return page(
        request,
        "survey_consent",
        status=409 if notice else 200,
        language=definition.language,
        survey=survey,
        version=version,
        definition=definition,
        since=_in_use_since(session, survey, version),
        is_pilot=survey.state == SurveyState.PILOT.value,
        notice=notice,
    )


@router.get("/i/{token}")
def open_invitation(request: Request, database: Data, token: str) -> Response:
    """Follow a personal link to a survey; who has started with it goes on, also in another browser."""
    with database.read() as session:
        invitation = session.scalar(
            select(InvitationRow).where(InvitationRow.token_digest == token_digest(token))
        )
        if invitation is None or invitation.revoked_at is not None:
            raise wrong_secret(request, Refusal(404, "refused_link"))
        participant = session.scalar(
            select(ParticipantRow).where(ParticipantRow.invitation_id == invitation.id)
        )
        if participant is not None:
            remember_link(request, participant.withdrawal_digest)
            return redirect(f"/take/{participant.id}")
        remember_link(request, invitation.token_digest)
        return redirect(f"/s/{session.get_one(SurveyRow, invitation.survey_id).name}")


@router.post("/s/{name}/start")
def start(request: Request, database: Data, form: Submission, name: str) -> Response:
    """Somebody agrees."""
    if field(form, "agree") != "yes":
        raise Refusal(422, "refused_answer")
    with database.write() as session:
        survey = survey_in_address(session, name)
        last = participation.last_followed(session, survey, known_links(request))
        invitation = last if isinstance(last, InvitationRow) else None
        invited_only = definition_of(latest_version(session, survey)).access is Access.INVITED
        if not takes_answers(survey) or (invited_only and invitation is None):
            return redirect(f"/s/{name}")
        if not _has_seen_consent(session, survey, field(form, "version", limit=20)):
            return _consent_page(request, session, survey, notice="consent_changed")
        if invitation is None:
            limit_starts(request)
        participant = participation.start(session, survey, invitation=invitation)
        remember_link(request, participant.withdrawal_digest)
        return redirect(f"/take/{participant.id}")


def _has_seen_consent(session: Session, survey: SurveyRow, number: str) -> bool:
    """Whether the version that a form came from has the consent that is in use now."""
    shown = [version for version in versions_of(session, survey) if str(version.number) == number]
    return bool(shown) and shown[0].consent_version == latest_version(session, survey).consent_version


async def participant_id_in_address(request: Request, participant_id: RowId) -> int:
    """The id in the address; that it is of this browser's session is for ``_participant`` to say."""
    require_links(request)
    return participant_id


ParticipantId = Annotated[int, Depends(participant_id_in_address)]


@router.get("/take/{participant_id}")
def show_stage(
    request: Request,
    database: Data,
    participant_id: ParticipantId,
    at: Position = None,
    problem: Literal["remarks", "empty"] | None = None,
) -> Response:
    """Where the participant is: screening, questions, a prompt, or the end."""
    with database.read() as session:
        participant = _participant(request, session, participant_id)
        definition = participation.definition_for(session, participant)
        survey = session.get_one(SurveyRow, participant.survey_id)
        if is_over(survey) and participant.state in _UNFINISHED:
            return page(request, "survey_closed", language=definition.language, reason="closed_text")
        shared: dict[str, Any] = {
            "definition": definition,
            "participant": participant,
            "survey": survey,
            "code": participation.withdrawal_code(session, participant),
            "is_pilot": participant.pilot,
        }
        template = f"survey_{participant.state.replace('-', '_')}"
        if participant.state != Stage.WRITING.value:
            licences = session.scalars(
                select(PictureRow.licence).where(PictureRow.survey_id == survey.id).distinct()
            ).all()
            return page(request, template, language=definition.language, licences=licences, **shared)
        answers = participation.answers_of(session, participant)
        prompts = participation.shown_prompts(participant)
        waiting = next((place for place in range(len(prompts)) if place not in answers), len(prompts) - 1)
        position = waiting if at is None else min(at, waiting)
        answer = answers.get(position)
        return page(
            request,
            template,
            language=definition.language,
            position=position,
            total=len(prompts),
            done=len(answers),
            beginning=definition.beginning(prompts[position].prompt),
            picture=prompts[position].picture,
            instruction=definition.condition(str(participant.condition)).instruction,
            answer=answer.written if answer else "",
            remarks=_told(answer, problem),
            **shared,
        )


@router.post("/take/{participant_id}/screening")
def put_screening(
    request: Request, database: Data, participant_id: ParticipantId, form: Submission
) -> Response:
    """Decide whether somebody can take part."""
    with database.write() as session:
        participant = _writer(request, session, participant_id, Stage.SCREENING)
        definition = participation.definition_for(session, participant)
        answers = {question.id: field(form, f"screening-{question.id}") for question in definition.screening}
        if not all(answers.values()):
            raise Refusal(422, "refused_answer")
        participation.screen(session, participant, answers)
    return redirect(f"/take/{participant_id}")


@router.post("/take/{participant_id}/questions")
def put_questions(
    request: Request, database: Data, participant_id: ParticipantId, form: Submission
) -> Response:
    """Keep what the participant told about themselves."""
    with database.write() as session:
        participant = _writer(request, session, participant_id, Stage.QUESTIONS)
        answers = {}
        for question in participation.definition_for(session, participant).demographics:
            given = field(form, f"question-{question.id}", limit=LONGEST_DETAIL)
            known = {choice.value for choice in question.choices}
            answers[question.id] = given if not known or given in known else ""
        participation.put_demographics(session, participant, answers)
    return redirect(f"/take/{participant_id}")


@router.post("/take/{participant_id}/answers/{position}")
def put_answer(
    request: Request, database: Data, participant_id: ParticipantId, position: RowId, form: Submission
) -> Response:
    """Keep an answer, or that a prompt was skipped; then on to the next, or back."""
    choice = field(form, "choice", limit=20)
    written = "" if choice == "skip" else field(form, "answer", limit=LONGEST_ANSWER)
    home = f"/take/{participant_id}"
    with database.write() as session:
        participant = _writer(request, session, participant_id, Stage.WRITING)
        if position >= len(participant.prompts):
            raise Refusal(404, "refused_page")
        if choice == "previous" and not written:
            return redirect(f"{home}?at={max(position - 1, 0)}")
        if not written and choice != "skip":
            return redirect(f"{home}?at={position}&problem=empty")
        checked = participation.put_answer(
            session, participant, position, written, seconds=seconds_field(form)
        )
        if choice == "previous":
            return redirect(f"{home}?at={max(position - 1, 0)}")
        if checked.needs_another_look and choice != "keep":
            return redirect(f"{home}?at={position}&problem=remarks")
        session.flush()
        last = position == len(participant.prompts) - 1
        if last:
            participation.finish(session, participant)
        return redirect(home if last else f"{home}?at={position + 1}")


@router.post("/take/{participant_id}/stop")
def stop(
    request: Request,
    database: Data,
    participant_id: ParticipantId,
    form: Submission,  # noqa: ARG001  it has the token
) -> Response:
    """Somebody stops before the end, and comes to the debriefing; what they wrote is kept."""
    with database.write() as session:
        participation.stop(session, _participant(request, session, participant_id, stage=Stage.WRITING))
    return redirect(f"/take/{participant_id}")


@router.post("/take/{participant_id}/resume")
def resume(
    request: Request,
    database: Data,
    participant_id: ParticipantId,
    form: Submission,  # noqa: ARG001  it has the token
) -> Response:
    """Somebody who stopped goes on after all."""
    with database.write() as session:
        participant = _writer(request, session, participant_id, Stage.STOPPED)
        if not takes_answers(session.get_one(SurveyRow, participant.survey_id)):
            raise Refusal(409, "refused_closed")
        participation.resume(participant)
    return redirect(f"/take/{participant_id}")


@router.get("/s/{name}/help")
def show_help(request: Request, database: Data, name: str) -> HTMLResponse:
    """Where to find help and ask questions, for everybody and at any time."""
    with database.read() as session:
        survey = survey_in_address(session, name)
        definition = definition_of(latest_version(session, survey))
        return page(
            request, "survey_help", language=definition.language, survey=survey, definition=definition
        )


@router.post("/take/{participant_id}/check/{position}")
def check(
    request: Request, database: Data, participant_id: ParticipantId, position: RowId, form: Submission
) -> JSONResponse:
    """What is noticed while somebody writes; nothing is kept."""
    written = field(form, "answer", limit=LONGEST_ANSWER)
    with database.read() as session:
        participant = _participant(request, session, participant_id, stage=Stage.WRITING)
        if not written or position >= len(participant.prompts):
            return JSONResponse([])
        checked = participation.check_written(session, participant, position, written)
        language = participation.definition_for(session, participant).language
    say = words(interface_language(request, language))
    return JSONResponse([say(_key(remark.value)) for remark in checked.remarks])


def _told(answer: AnswerRow | None, problem: str | None) -> list[str]:
    """The keys of the sentences that a participant is told about an answer."""
    if problem == "empty":
        return ["remark_empty"]
    return [_key(remark) for remark in answer.remarks] if answer and problem else []


def _key(remark: str) -> str:
    return f"remark_{remark.replace('-', '_')}"


@router.get("/take/{participant_id}/pictures/{name}")
def show_picture(request: Request, database: Data, participant_id: ParticipantId, name: str) -> Response:
    """A picture of the survey."""
    with database.read() as session:
        participant = _participant(request, session, participant_id)
        picture = session.scalar(
            select(PictureRow).where(PictureRow.survey_id == participant.survey_id, PictureRow.name == name)
        )
        if picture is None:
            raise Refusal(404, "refused_page")
        return Response(picture.content, media_type=picture.kind)


@router.get("/withdraw")
def show_withdraw(request: Request) -> HTMLResponse:
    """The form for the code."""
    return page(request, "withdraw", problem=None)


@router.post("/withdraw")
def withdraw(request: Request, database: Data, form: Submission) -> Response:
    """Delete all rows of the participant with the code; what the survey was about is told all the same."""
    with database.write() as session:
        definition = participation.withdraw(session, field(form, "code", limit=100))
        if definition is not None:
            return page(request, "withdrawn", language=definition.language, definition=definition)
    refusal = wrong_secret(request, Refusal(404, "withdraw_unknown"))
    return page(request, "withdraw", status=refusal.status, problem=refusal.reason)


def survey_in_address(session: Session, name: str) -> SurveyRow:
    """The survey of a name, or a page that says that there is none."""
    try:
        return survey_named(session, name)
    except UnknownNameError:
        raise Refusal(404, "refused_page") from None


def _writer(request: Request, session: Session, participant_id: int, stage: Stage) -> ParticipantRow:
    """A participant at a stage, whose answers can still be kept: closing a survey stops nobody, its last day does."""
    participant = _participant(request, session, participant_id, stage=stage)
    if is_over(session.get_one(SurveyRow, participant.survey_id)):
        raise Refusal(409, "refused_over")
    return participant


def _participant(
    request: Request, session: Session, participant_id: int, *, stage: Stage | None = None
) -> ParticipantRow:
    """A participant of this browser's session who has not withdrawn, whose link is open, and who is at a stage."""
    participant = session.get(ParticipantRow, participant_id)
    if participant is None or participant.withdrawal_digest not in known_links(request):
        raise Refusal(403, "refused_link")
    if participant.invitation_id is not None:
        invitation = session.get(InvitationRow, participant.invitation_id)
        if invitation is not None and invitation.revoked_at is not None:
            raise Refusal(403, "refused_link")
    if stage is not None and participant.state != stage.value:
        raise Refusal(409, "refused_form")
    return participant


def _in_use_since(session: Session, survey: SurveyRow, version: SurveyVersionRow) -> date:
    first = session.scalars(
        select(SurveyVersionRow.created_at)
        .where(
            SurveyVersionRow.survey_id == survey.id,
            SurveyVersionRow.consent_version == version.consent_version,
        )
        .order_by(SurveyVersionRow.number)
    ).first()
    return (first or version.created_at).date()
