"""Which texts an annotator is given, and their votes.

Texts are reserved a few at a time, so that people who label at the same time fill each text's places between them.
Everybody goes through the texts in a random order of their own, which the project's seed decides. Texts with a known
label (gold) are for everybody and take no place.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import NamedTuple

from sqlalchemy import ColumnElement, func, insert, or_, select, update
from sqlalchemy.orm import Session

from evenhand.studio.annotation.projects import Phase
from evenhand.studio.tables import AnnotatorRow, AssignmentRow, ProjectRow, TextRow, utc_now

RESERVED = 10
"""Texts that an annotator holds at a time. Who leaves keeps others from these only, until the link is revoked."""


@dataclass(frozen=True, slots=True)
class Vote:
    """What an annotator says about a text.

    Attributes:
        label: The code of a label; None with ``unsure``.
        unsure: Whether they cannot decide.
    """

    label: str | None
    unsure: bool = False


@dataclass(frozen=True, slots=True)
class Note:
    """What is kept beside a vote, and also without one.

    Attributes:
        comment: What the annotator wrote.
        flagged: Whether the lead should look at the text.
        seconds: How long the text was on the screen this time; None if the browser did not tell.
    """

    comment: str = ""
    flagged: bool = False
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Completion:
    """How far an annotator is: texts labelled, and texts that there are for them."""

    done: int
    total: int


def current_assignment(
    session: Session, annotator: AnnotatorRow, project: ProjectRow
) -> AssignmentRow | None:
    """The text to label next; more are reserved when there is none. None: all is done."""
    waiting = first_waiting(session, annotator)
    if waiting is None:
        _reserve(session, annotator, project)
        waiting = first_waiting(session, annotator)
    return None if waiting is None else waiting.assignment


class AssignedText(NamedTuple):
    """An assignment and its text, which are read together: every page and every vote needs both."""

    assignment: AssignmentRow
    text: TextRow


def _assigned_text(
    session: Session, annotator: AnnotatorRow, *which: ColumnElement[bool]
) -> AssignedText | None:
    row = session.execute(
        select(AssignmentRow, TextRow)
        .join(TextRow, TextRow.id == AssignmentRow.text_id)
        .where(AssignmentRow.annotator_id == annotator.id, *which)
        .order_by(AssignmentRow.position)
        .limit(1)
    ).first()
    return None if row is None else AssignedText(*row)


def first_waiting(session: Session, annotator: AnnotatorRow) -> AssignedText | None:
    """The first text that the annotator was given and has not labelled."""
    return _assigned_text(session, annotator, AssignmentRow.voted_at.is_(None))


def text_at(session: Session, annotator: AnnotatorRow, position: int) -> AssignedText | None:
    """The annotator's text at a position."""
    return _assigned_text(session, annotator, AssignmentRow.position == position)


def text_assigned(session: Session, annotator: AnnotatorRow, assignment_id: int) -> AssignedText | None:
    """The text of an assignment; None if it is not the annotator's."""
    return _assigned_text(session, annotator, AssignmentRow.id == assignment_id)


def _reserve(session: Session, annotator: AnnotatorRow, project: ProjectRow) -> None:
    # Two annotators who reserve at the same time must not take the same last place.
    session.execute(select(ProjectRow.id).where(ProjectRow.id == project.id).with_for_update(key_share=True))
    held = select(AssignmentRow.text_id).where(AssignmentRow.annotator_id == annotator.id)
    free = select(TextRow.id, TextRow.gold).where(TextRow.project_id == project.id, TextRow.id.not_in(held))
    chosen = session.execute(free.where(TextRow.phase == Phase.TRAINING.value)).all()
    if not chosen:
        chosen = session.execute(
            free.where(
                TextRow.phase == Phase.MAIN.value,
                or_(TextRow.gold.is_not(None), TextRow.places < project.overlap),
            )
        ).all()
        annotator.remaining = max(len(chosen) - RESERVED, 0)
        chosen = sorted(chosen, key=lambda text: _rank(project.seed, annotator.id, text.id))[:RESERVED]
    if not chosen:
        return
    last = session.scalar(
        select(func.max(AssignmentRow.position)).where(AssignmentRow.annotator_id == annotator.id)
    )
    start = 0 if last is None else last + 1
    session.execute(
        insert(AssignmentRow),
        [
            {
                "annotator_id": annotator.id,
                "text_id": text.id,
                "position": start + place,
                "label": None,
                "unsure": False,
                "comment": "",
                "flagged": False,
                "seconds": None,
                "changes": 0,
                "voted_at": None,
            }
            for place, text in enumerate(chosen)
        ],
    )
    taken = [text.id for text in chosen if text.gold is None]
    session.execute(update(TextRow).where(TextRow.id.in_(taken)).values(places=TextRow.places + 1))


def _rank(seed: int, annotator: int, text: int) -> bytes:
    return hashlib.blake2b(f"{seed}/{annotator}/{text}".encode(), digest_size=8).digest()


def put_note(assignment: AssignmentRow, note: Note) -> None:
    """Keep comment and flag, and add the time."""
    assignment.comment = note.comment
    assignment.flagged = note.flagged
    if note.seconds is not None:
        assignment.seconds = (assignment.seconds or 0.0) + note.seconds


def cast_vote(assignment: AssignmentRow, vote: Vote) -> None:
    """Keep a vote, also in the place of an earlier one of the same annotator; the same one again changes nothing."""
    if assignment.voted_at is not None:
        if (assignment.label, assignment.unsure) == (vote.label, vote.unsure):
            return
        assignment.changes += 1
    assignment.label = vote.label
    assignment.unsure = vote.unsure
    assignment.voted_at = utc_now()


def undo_last_vote(session: Session, annotator: AnnotatorRow) -> AssignmentRow | None:
    """Take the annotator's last vote back, outside the training round; None if there is none."""
    last = session.scalar(
        select(AssignmentRow)
        .join(TextRow, TextRow.id == AssignmentRow.text_id)
        .where(
            AssignmentRow.annotator_id == annotator.id,
            AssignmentRow.voted_at.is_not(None),
            TextRow.phase == Phase.MAIN.value,
        )
        .order_by(AssignmentRow.voted_at.desc(), AssignmentRow.position.desc())
        .limit(1)
    )
    if last is not None:
        last.label, last.unsure, last.voted_at = None, False, None
        last.changes += 1
    return last


def completion_of(session: Session, annotator: AnnotatorRow) -> Completion:
    """How far the annotator is in the main part. Others may take some of the texts that remain."""
    held, done = session.execute(
        select(func.count(), func.count(AssignmentRow.voted_at))
        .select_from(AssignmentRow)
        .join(TextRow, TextRow.id == AssignmentRow.text_id)
        .where(AssignmentRow.annotator_id == annotator.id, TextRow.phase == Phase.MAIN.value)
    ).one()
    return Completion(done, held + annotator.remaining)
