"""The pages of an adjudicator: texts on which votes differ, and a decision with its reason.

The votes are shown once the adjudicator has chosen for themselves. They stay as they are; a decision stands beside.
"""

from __future__ import annotations

from collections import Counter

from fastapi import APIRouter, Request, Response
from sqlalchemy import ColumnElement, and_, case, func, select
from sqlalchemy.orm import Session

from evenhand.core.labels import LabelScheme
from evenhand.web.annotation.labelling import (
    Person,
    chosen_label,
    guideline_of,
    person_and_project,
    question_of,
)
from evenhand.web.annotation.projects import Phase, ProjectRole, scheme_of
from evenhand.web.pages import page
from evenhand.web.routing import Data, RowId, redirect
from evenhand.web.security import Refusal, Submission, field
from evenhand.web.tables import AdjudicationRow, AssignmentRow, ProjectRow, TextRow, utc_now

router = APIRouter()

LONGEST_REASON = 2000


def disputed_texts(session: Session, project: ProjectRow) -> list[int]:
    """The ids of texts whose votes differ, in their order. Being unsure differs from any label."""
    votes: ColumnElement[str | None] = case(
        (AssignmentRow.unsure, "unsure"), else_="label:" + AssignmentRow.label
    )
    return list(
        session.scalars(
            select(TextRow.id)
            .join(AssignmentRow, AssignmentRow.text_id == TextRow.id)
            .where(
                TextRow.project_id == project.id,
                TextRow.phase == Phase.MAIN.value,
                AssignmentRow.voted_at.is_not(None),
            )
            .group_by(TextRow.id, TextRow.position)
            .having(func.count(votes.distinct()) > 1)
            .order_by(TextRow.position)
        )
    )


@router.get("/adjudicate/{person_id}")
def show_disputed(request: Request, database: Data, person_id: Person) -> Response:
    """The next text that needs a decision."""
    with database.read() as session:
        person, project = person_and_project(session, person_id, ProjectRole.ADJUDICATOR)
        disputed = disputed_texts(session, project)
        decisions = {
            row.text_id: row
            for row in session.scalars(
                select(AdjudicationRow).join(
                    TextRow, and_(TextRow.id == AdjudicationRow.text_id, TextRow.project_id == project.id)
                )
            )
        }
        waiting = [
            text_id for text_id in disputed if text_id not in decisions or not decisions[text_id].confirmed
        ]
        if not waiting:
            return page(request, "adjudicate_done", language=project.language, project=project)
        text = session.get_one(TextRow, waiting[0])
        decision = decisions.get(text.id)
        scheme = scheme_of(project)
        return page(
            request,
            "adjudicate",
            language=project.language,
            project=project,
            person=person,
            scheme=scheme,
            question=question_of(project, scheme),
            guideline=guideline_of(project, scheme),
            text=text,
            decision=decision,
            ballots=_ballots(session, text, scheme, project.language) if decision else None,
            done=len(disputed) - len(waiting),
            total=len(disputed),
        )


@router.post("/adjudicate/{person_id}/{text_id}")
def decide(database: Data, person_id: Person, text_id: RowId, form: Submission) -> Response:
    """Keep a decision: the first without having seen the votes, the second final."""
    with database.write() as session:
        person, project = person_and_project(session, person_id, ProjectRole.ADJUDICATOR)
        text = session.get(TextRow, text_id)
        if text is None or text.project_id != project.id:
            raise Refusal(404, "refused_text")
        label = chosen_label(field(form, "choice", limit=100), scheme_of(project))
        reason = field(form, "reason", limit=LONGEST_REASON)
        decision = session.scalar(select(AdjudicationRow).where(AdjudicationRow.text_id == text.id))
        if decision is None:
            session.add(
                AdjudicationRow(
                    text_id=text.id,
                    annotator_id=person.id,
                    blind_label=label,
                    label=label,
                    confirmed=False,
                    reason=reason,
                    decided_at=utc_now(),
                )
            )
        elif not decision.confirmed:
            decision.annotator_id, decision.label, decision.reason = person.id, label, reason
            decision.confirmed, decision.decided_at = True, utc_now()
    return redirect(f"/adjudicate/{person_id}")


def _ballots(
    session: Session, text: TextRow, scheme: LabelScheme, language: str
) -> list[tuple[str, int, list[str]]]:
    """What was voted: the title of each label, how many chose it, and their comments. Names stay hidden."""
    rows = session.scalars(
        select(AssignmentRow).where(AssignmentRow.text_id == text.id, AssignmentRow.voted_at.is_not(None))
    ).all()
    titles = {option.code: option.title_in(language) for option in scheme.labels}
    unsure = scheme.unsure.title_in(language)
    chosen = [(unsure if row.label is None else titles[row.label], row.comment) for row in rows]
    return [
        (title, count, [comment for other, comment in chosen if other == title and comment])
        for title, count in Counter(title for title, _ in chosen).most_common()
    ]
