"""The pages of a survey's lead: who takes part, links, the state, files to take away."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from evenhand.studio.accounts import public_url
from evenhand.studio.pages import page
from evenhand.studio.routing import Administrator, Data, RowId, file_to_save, redirect
from evenhand.studio.security import Refusal, Submission, field
from evenhand.studio.survey.export import (
    ANSWERS_CSV,
    ANSWERS_PARQUET,
    CODEBOOK,
    DATA_STATEMENT,
    export_survey,
    write_survey,
)
from evenhand.studio.survey.participation import Stage
from evenhand.studio.survey.surveys import (
    LONGEST_NOTE,
    SurveyState,
    UnfinishedSurveyError,
    change_state,
    close_invitation,
    definition_of,
    invite,
    latest_version,
    versions_of,
)
from evenhand.studio.survey.taking import survey_in_address
from evenhand.studio.tables import AnswerRow, InvitationRow, ParticipantRow, SurveyRow

router = APIRouter()

FILES: Mapping[str, str] = {
    ANSWERS_CSV: "text/csv",
    ANSWERS_PARQUET: "application/vnd.apache.parquet",
    CODEBOOK: "text/markdown",
    DATA_STATEMENT: "text/markdown",
}


@dataclass(frozen=True, slots=True)
class ConditionCounts:
    """How many people and sentences a condition has."""

    condition: str
    started: int
    finished: int
    sentences: int


@router.get("/surveys/{name}")
def show_survey(request: Request, database: Data, _administrator: Administrator, name: str) -> HTMLResponse:
    """The live page of a survey."""
    with database.read() as session:
        return _survey_page(request, session, survey_in_address(session, name))


@router.post("/surveys/{name}/state")
def put_state(database: Data, _administrator: Administrator, form: Submission, name: str) -> Response:
    """Open or close a survey, or make it a pilot."""
    state = field(form, "state")
    if state not in set(SurveyState):
        raise Refusal(422, "refused_answer")
    with database.write() as session:
        try:
            change_state(session, survey_in_address(session, name), SurveyState(state))
        except UnfinishedSurveyError:
            raise Refusal(422, "refused_unfinished") from None
    return redirect(f"/surveys/{name}")


@router.post("/surveys/{name}/invitations")
def make_invitation(
    request: Request, database: Data, _administrator: Administrator, form: Submission, name: str
) -> Response:
    """A personal link, shown this once."""
    with database.write() as session:
        survey = survey_in_address(session, name)
        link = invite(session, survey, note=field(form, "note", limit=LONGEST_NOTE))
        session.flush()
        address = public_url(session) + link.path
        return _survey_page(request, session, survey, link=(link.name, address))


@router.post("/surveys/{name}/invitations/{invitation_id}/revoke")
def close_link(
    database: Data,
    _administrator: Administrator,
    form: Submission,  # noqa: ARG001  it carries the token
    name: str,
    invitation_id: RowId,
) -> Response:
    """Close a personal link."""
    with database.write() as session:
        invitation = session.get(InvitationRow, invitation_id)
        if invitation is None or invitation.survey_id != survey_in_address(session, name).id:
            raise Refusal(404, "refused_page")
        close_invitation(invitation)
    return redirect(f"/surveys/{name}")


@router.get("/surveys/{name}/files/{file}")
def download(database: Data, _administrator: Administrator, name: str, file: str) -> Response:
    """One of the files of an export."""
    if file not in FILES:
        raise Refusal(404, "refused_page")
    with database.read() as session:
        survey_in_address(session, name)
    with tempfile.TemporaryDirectory() as folder:
        write_survey(export_survey(database, name), Path(folder))
        content = (Path(folder) / file).read_bytes()
    return file_to_save(content, f"{name}-{file}", kind=FILES[file])


def _survey_page(
    request: Request, session: Session, survey: SurveyRow, *, link: tuple[str, str] | None = None
) -> HTMLResponse:
    definition = definition_of(latest_version(session, survey))
    used = set(
        session.scalars(select(ParticipantRow.invitation_id).where(ParticipantRow.survey_id == survey.id))
    )
    return page(
        request,
        "survey",
        survey=survey,
        definition=definition,
        versions=versions_of(session, survey),
        counts=_counts(session, survey, [condition.id for condition in definition.conditions]),
        screened_out=_people(session, survey, Stage.SCREENED_OUT),
        invitations=session.scalars(
            select(InvitationRow).where(InvitationRow.survey_id == survey.id).order_by(InvitationRow.id)
        ).all(),
        used=used,
        states=list(SurveyState),
        files=FILES,
        link=link,
        public=public_url(session) + f"/s/{survey.name}",
    )


def _people(session: Session, survey: SurveyRow, stage: Stage) -> int:
    mine = (ParticipantRow.survey_id == survey.id) & (ParticipantRow.state == stage.value)
    return session.scalar(select(func.count()).select_from(ParticipantRow).where(mine)) or 0


def _counts(session: Session, survey: SurveyRow, conditions: list[str]) -> list[ConditionCounts]:
    """People and sentences by condition, without the pilot."""
    mine = (ParticipantRow.survey_id == survey.id) & ParticipantRow.pilot.is_(False)
    people = {
        condition: (started, finished)
        for condition, started, finished in session.execute(
            select(ParticipantRow.condition, func.count(), func.count(ParticipantRow.finished_at))
            .where(mine)
            .group_by(ParticipantRow.condition)
        )
    }
    sentences = dict(
        session.execute(
            select(ParticipantRow.condition, func.count())
            .join(AnswerRow, AnswerRow.participant_id == ParticipantRow.id)
            .where(mine, AnswerRow.skipped.is_(False))
            .group_by(ParticipantRow.condition)
        ).all()
    )
    return [
        ConditionCounts(condition, *people.get(condition, (0, 0)), sentences.get(condition, 0))
        for condition in conditions
    ]
