"""The pages of an adjudicator: texts on which votes differ, and a decision with its reason.

The votes are shown once the adjudicator has chosen for themselves. They stay as they are; a decision stands beside. Of
several adjudicators each chooses blind: a text that one of them is at is not given to another, and where two were at it
at the same time, the first who settles it decides and what the other chose is kept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import timedelta

from fastapi import APIRouter, Request, Response
from sqlalchemy import ColumnElement, and_, case, func, select
from sqlalchemy.orm import Session

from evenhand.core.labels import LabelScheme
from evenhand.studio.annotation.labelling import (
    chosen_label,
    guideline_of,
    person_and_project,
    question_of,
)
from evenhand.studio.annotation.projects import Phase, ProjectRole, scheme_of
from evenhand.studio.pages import page
from evenhand.studio.routing import Data, PersonId, RowId, redirect
from evenhand.studio.security import Refusal, Submission, field
from evenhand.studio.tables import AdjudicationRow, AssignmentRow, ProjectRow, TextRow, utc_now

router = APIRouter()

LONGEST_REASON = 2000
STILL_DECIDING = timedelta(minutes=30)
"""Somebody who chose longer ago than that and has not settled the text has left."""


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
def show_disputed(request: Request, database: Data, person_id: PersonId) -> Response:
    """The next text that needs a decision."""
    with database.read() as session:
        person, project = person_and_project(request, session, person_id, role=ProjectRole.ADJUDICATOR)
        disputed = disputed_texts(session, project)
        rows = _adjudications(session, project)
        settled = {row.text_id for row in rows if row.confirmed}
        own = {row.text_id: row for row in rows if row.annotator_id == person.id}
        others = {row.text_id for row in rows if row.annotator_id != person.id and _is_recent(row)}
        waiting = [text_id for text_id in disputed if text_id not in settled]
        free = [text_id for text_id in waiting if text_id in own or text_id not in others]
        if not free:
            reason = "adjudication_others_text" if waiting else "adjudication_done_text"
            return page(request, "adjudicate_done", language=project.language, project=project, reason=reason)
        text = session.get_one(TextRow, free[0])
        decision = own.get(text.id)
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
def decide(
    request: Request, database: Data, person_id: PersonId, text_id: RowId, form: Submission
) -> Response:
    """Keep a decision: the first without having seen the votes, the second final."""
    with database.write() as session:
        person, project = person_and_project(request, session, person_id, role=ProjectRole.ADJUDICATOR)
        text = session.get(TextRow, text_id)
        if text is None or text.project_id != project.id:
            raise Refusal(404, "refused_text")
        label = chosen_label(field(form, "choice", limit=100), scheme_of(project))
        reason = field(form, "reason", limit=LONGEST_REASON)
        # Two adjudicators who settle the same text at the same time must not both be confirmed.
        session.execute(select(TextRow.id).where(TextRow.id == text.id).with_for_update(key_share=True))
        rows = session.scalars(select(AdjudicationRow).where(AdjudicationRow.text_id == text.id)).all()
        decision = next((row for row in rows if row.annotator_id == person.id), None)
        is_settled = any(row.confirmed for row in rows)
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
            decision.label, decision.reason = label, reason
            decision.confirmed, decision.decided_at = not is_settled, utc_now()
    return redirect(f"/adjudicate/{person_id}")


def _adjudications(session: Session, project: ProjectRow) -> Sequence[AdjudicationRow]:
    return session.scalars(
        select(AdjudicationRow).join(
            TextRow, and_(TextRow.id == AdjudicationRow.text_id, TextRow.project_id == project.id)
        )
    ).all()


def _is_recent(row: AdjudicationRow) -> bool:
    """Whether an adjudicator who has chosen is likely still at the text."""
    return utc_now() - row.decided_at < STILL_DECIDING


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
