"""The pages of an annotator: one text per screen, saved at every key."""

from __future__ import annotations

from dataclasses import dataclass

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from evenhand.core.labels import LabelScheme, in_language
from evenhand.studio.annotation import votes
from evenhand.studio.annotation.projects import Phase, ProjectRole, scheme_of
from evenhand.studio.database import Database
from evenhand.studio.pages import page
from evenhand.studio.routing import (
    Data,
    PersonId,
    Position,
    RowId,
    follow_personal_link,
    person_in_address,
    redirect,
)
from evenhand.studio.security import (
    Refusal,
    Submission,
    field,
    seconds_field,
)
from evenhand.studio.tables import AnnotatorRow, AssignmentRow, ProjectRow, TextRow, utc_now

router = APIRouter()

LONGEST_COMMENT = 2000


@router.get("/a/{token}")
def open_link(request: Request, database: Data, token: str) -> Response:
    """Follow a personal link."""
    with database.read() as session:
        person = follow_personal_link(request, session, AnnotatorRow, token)
        folder = "adjudicate" if person.role == ProjectRole.ADJUDICATOR.value else "annotate"
        return redirect(f"/{folder}/{person.id}")


def person_and_project(
    request: Request, session: Session, person_id: int, *, role: ProjectRole
) -> tuple[AnnotatorRow, ProjectRow]:
    """Somebody who has this role, and whose link this browser's session followed, and their project."""
    person = person_in_address(request, session, AnnotatorRow, person_id)
    if person.role != role.value:
        raise Refusal(403, "refused_link")
    return person, session.get_one(ProjectRow, person.project_id)


@router.get("/annotate/{person_id}")
def show_text(request: Request, database: Data, person_id: PersonId, at: Position = None) -> Response:
    """The text to label now, or the one at a position."""
    with database.read() as session:
        annotator, project = person_and_project(request, session, person_id, role=ProjectRole.ANNOTATOR)
        if annotator.warned_at is None:
            return _start_page(request, project, annotator)
        found = (
            votes.first_waiting(session, annotator) if at is None else votes.text_at(session, annotator, at)
        )
        if found is not None:
            return _text_page(request, session, annotator, project, found)
    with database.write() as session:
        annotator, project = person_and_project(request, session, person_id, role=ProjectRole.ANNOTATOR)
        current = votes.current_assignment(session, annotator, project)
        if current is None:
            return page(
                request,
                "annotate_done",
                language=project.language,
                project=project,
                person=annotator,
                completion=votes.completion_of(session, annotator),
            )
        return redirect(f"/annotate/{person_id}")


@router.post("/annotate/{person_id}/begin")
def begin(
    request: Request,
    database: Data,
    person_id: PersonId,
    form: Submission,  # noqa: ARG001  it carries the token
) -> Response:
    """The annotator has read the warning and the guideline."""
    with database.write() as session:
        annotator, _ = person_and_project(request, session, person_id, role=ProjectRole.ANNOTATOR)
        annotator.warned_at = utc_now()
    return redirect(f"/annotate/{person_id}")


@router.get("/annotate/{person_id}/break")
def suggest_break(request: Request, database: Data, person_id: PersonId) -> HTMLResponse:
    """A moment to rest, after so many labels."""
    with database.read() as session:
        annotator, project = person_and_project(request, session, person_id, role=ProjectRole.ANNOTATOR)
        completion = votes.completion_of(session, annotator)
        return page(
            request, "annotate_break", language=project.language, person=annotator, completion=completion
        )


_STEPS = {"previous": -1, "note": 0, "next": 1}


@router.post("/annotate/{person_id}/{assignment_id}")
def save_choice(
    request: Request, database: Data, person_id: PersonId, assignment_id: RowId, form: Submission
) -> Response:
    """Keep what the annotator did with a text: a label, unsure, a step to another text, or the last vote back."""
    choice = field(form, "choice", limit=100)
    home = f"/annotate/{person_id}"
    # People wait for those who write, so all that can be read is read before.
    with database.read() as session:
        annotator, project = person_and_project(request, session, person_id, role=ProjectRole.ANNOTATOR)
        known = votes.text_assigned(session, annotator, assignment_id)
        if known is None:
            raise Refusal(404, "refused_text")
    in_training = known.text.phase == Phase.TRAINING.value
    vote = None if choice == "undo" or choice in _STEPS else _vote(choice, scheme_of(project))
    undone = None
    with database.write() as session:
        assignment = session.get_one(AssignmentRow, assignment_id)
        had_vote = assignment.voted_at is not None
        votes.put_note(assignment, _note(form))
        if choice == "undo":
            undone = votes.undo_last_vote(session, annotator)
        elif vote is not None and not (in_training and had_vote):  # by then the right label is known
            votes.cast_vote(assignment, vote)
    if undone is not None:
        return redirect(f"{home}?at={undone.position}")
    if in_training or choice in _STEPS:
        return redirect(f"{home}?at={max(known.assignment.position + _STEPS.get(choice, 0), 0)}")
    if vote is not None and not had_vote and _time_for_break(database, annotator, project):
        return redirect(f"{home}/break")
    return redirect(home)


def _vote(choice: str, scheme: LabelScheme) -> votes.Vote:
    if choice == "unsure":
        return votes.Vote(None, unsure=True)
    return votes.Vote(chosen_label(choice, scheme))


def chosen_label(choice: str, scheme: LabelScheme) -> str:
    """The code of the label that a button stands for."""
    kind, _, code = choice.partition(":")
    if kind != "label" or code not in scheme.codes:
        raise Refusal(422, "refused_label")
    return code


def _note(form: Submission) -> votes.Note:
    return votes.Note(field(form, "comment", limit=LONGEST_COMMENT), "flagged" in form, seconds_field(form))


def _time_for_break(database: Database, annotator: AnnotatorRow, project: ProjectRow) -> bool:
    if not project.break_after:
        return False
    with database.read() as session:
        found = votes.completion_of(session, annotator)
    return found.done % project.break_after == 0 and found.done < found.total


def guideline_of(project: ProjectRow, scheme: LabelScheme) -> str:
    """The project's own guideline, or the scheme's."""
    return project.guideline or in_language(scheme.guideline, project.language)


def question_of(project: ProjectRow, scheme: LabelScheme) -> str:
    """What is asked about each text; empty if the scheme has no question."""
    return in_language(scheme.question, project.language)


def _start_page(request: Request, project: ProjectRow, annotator: AnnotatorRow) -> HTMLResponse:
    scheme = scheme_of(project)
    return page(
        request,
        "annotate_start",
        language=project.language,
        project=project,
        person=annotator,
        scheme=scheme,
        guideline=guideline_of(project, scheme),
    )


def _text_page(
    request: Request,
    session: Session,
    annotator: AnnotatorRow,
    project: ProjectRow,
    shown: votes.AssignedText,
) -> HTMLResponse:
    scheme = scheme_of(project)
    assignment, text = shown
    training = _training_of(session, annotator) if text.phase == Phase.TRAINING.value else None
    return page(
        request,
        "annotate",
        language=project.language,
        project=project,
        person=annotator,
        scheme=scheme,
        question=question_of(project, scheme),
        guideline=guideline_of(project, scheme),
        assignment=assignment,
        text=text,
        completion=votes.completion_of(session, annotator),
        training=training,
    )


@dataclass(frozen=True, slots=True)
class _TrainingRound:
    """How an annotator did in the training round so far."""

    texts: int
    done: int
    right: int


def _training_of(session: Session, annotator: AnnotatorRow) -> _TrainingRound:
    counts = session.execute(
        select(
            func.count(),
            func.count(AssignmentRow.voted_at),
            func.count().filter(AssignmentRow.label == TextRow.gold),
        )
        .select_from(AssignmentRow)
        .join(TextRow, TextRow.id == AssignmentRow.text_id)
        .where(AssignmentRow.annotator_id == annotator.id, TextRow.phase == Phase.TRAINING.value)
    ).one()
    return _TrainingRound(*counts)
