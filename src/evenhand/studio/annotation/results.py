"""What came out of a project: its votes as a table of annotations, and how people did."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median

import numpy as np
import numpy.typing as npt
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from evenhand.core.labels import LabelScheme
from evenhand.data.annotations import Annotation, AnnotationTable
from evenhand.regard.agreement import AnnotatorAgreement, annotator_agreement
from evenhand.stats.resampling import Resampling
from evenhand.stats.vote_aggregation import Votes
from evenhand.studio.annotation.projects import Phase, ProjectRole, project_named, scheme_of
from evenhand.studio.database import Database
from evenhand.studio.tables import AdjudicationRow, AnnotatorRow, AssignmentRow, ProjectRow, TextRow

_RESAMPLING = Resampling(resamples=1000)
"""Fewer resamples than a paper needs: the figures are computed anew every few seconds."""


@dataclass(frozen=True, slots=True)
class Accuracy:
    """How many texts with a known label somebody labelled so."""

    right: int
    texts: int

    @property
    def share(self) -> float | None:
        """The share, or None if there was no such text."""
        return self.right / self.texts if self.texts else None


@dataclass(frozen=True, slots=True)
class PersonFigures:
    """How one annotator is doing.

    Attributes:
        id: The number of the annotator in the database.
        name: What the lead calls them.
        role: Annotator or adjudicator.
        revoked: Whether the link is closed.
        done: Texts labelled in the main part.
        given: Texts given in the main part.
        unsure: How many of those labelled they were unsure about.
        changed: How many votes they changed.
        seconds: The median of the seconds per text; None if no browser told.
        gold: How they did on texts with a known label in the main part.
        training: How they did in the training round.
    """

    id: int
    name: str
    role: ProjectRole
    revoked: bool
    done: int
    given: int
    unsure: int
    changed: int
    seconds: float | None
    gold: Accuracy
    training: Accuracy


def collect_annotations(database: Database, name: str) -> AnnotationTable:
    """All votes and confirmed decisions of a project, in one consistent state, also while people annotate.

    Args:
        database: The server's.
        name: Of the project.
    """
    with database.read() as session:
        return annotation_table(session, project_named(session, name))


def annotation_table(session: Session, project: ProjectRow) -> AnnotationTable:
    """All votes of the main part and all confirmed decisions, in the order of the texts."""
    votes = session.execute(
        select(TextRow.key, TextRow.text, TextRow.position, AnnotatorRow.name, AssignmentRow)
        .join(AssignmentRow, AssignmentRow.text_id == TextRow.id)
        .join(AnnotatorRow, AnnotatorRow.id == AssignmentRow.annotator_id)
        .where(
            TextRow.project_id == project.id,
            TextRow.phase == Phase.MAIN.value,
            AssignmentRow.voted_at.is_not(None),
        )
        .order_by(TextRow.position, AnnotatorRow.id)
    ).all()
    decisions = session.execute(
        select(TextRow.key, TextRow.text, AnnotatorRow.name, AdjudicationRow)
        .join(AdjudicationRow, AdjudicationRow.text_id == TextRow.id)
        .join(AnnotatorRow, AnnotatorRow.id == AdjudicationRow.annotator_id)
        .where(TextRow.project_id == project.id, AdjudicationRow.confirmed)
        .order_by(TextRow.position)
    ).all()
    return AnnotationTable(
        scheme_of(project),
        (
            *(
                Annotation(
                    text_id=key,
                    text=text,
                    annotator=name,
                    label=row.label,
                    unsure=row.unsure,
                    comment=row.comment,
                    seconds=row.seconds,
                )
                for key, text, _, name, row in votes
            ),
            *(
                Annotation(
                    text_id=key,
                    text=text,
                    annotator=name,
                    label=row.label,
                    comment=row.reason,
                    adjudicated=True,
                )
                for key, text, name, row in decisions
            ),
        ),
    )


def counted_votes(session: Session, project: ProjectRow) -> int:
    """Votes on the texts that fill places: those of the main part without a known label."""
    return (
        session.scalar(
            select(func.count(AssignmentRow.voted_at))
            .join(TextRow, TextRow.id == AssignmentRow.text_id)
            .where(
                TextRow.project_id == project.id, TextRow.phase == Phase.MAIN.value, TextRow.gold.is_(None)
            )
        )
        or 0
    )


def person_figures(session: Session, project: ProjectRow) -> list[PersonFigures]:
    """How each person of a project is doing, in the order in which they were added."""
    people = session.scalars(
        select(AnnotatorRow).where(AnnotatorRow.project_id == project.id).order_by(AnnotatorRow.id)
    ).all()
    rows = session.execute(
        select(AssignmentRow, TextRow.phase, TextRow.gold)
        .join(TextRow, TextRow.id == AssignmentRow.text_id)
        .where(TextRow.project_id == project.id)
    ).all()
    figures = []
    for person in people:
        mine = [(row, phase, gold) for row, phase, gold in rows if row.annotator_id == person.id]
        main = [(row, gold) for row, phase, gold in mine if phase == Phase.MAIN.value]
        voted = [row for row, _ in main if row.voted_at is not None]
        seconds = [row.seconds for row in voted if row.seconds is not None]
        figures.append(
            PersonFigures(
                id=person.id,
                name=person.name,
                role=ProjectRole(person.role),
                revoked=person.revoked_at is not None,
                done=len(voted),
                given=len(main),
                unsure=sum(row.unsure for row in voted),
                changed=sum(row.changes > 0 for row in voted),
                seconds=median(seconds) if seconds else None,
                gold=_accuracy(main),
                training=_accuracy((row, gold) for row, phase, gold in mine if phase == Phase.TRAINING.value),
            )
        )
    return figures


def _accuracy(rows: Iterable[tuple[AssignmentRow, str | None]]) -> Accuracy:
    known = [(row, gold) for row, gold in rows if gold is not None and row.voted_at is not None]
    return Accuracy(sum(row.label == gold for row, gold in known), len(known))


def live_agreement(table: AnnotationTable) -> AnnotatorAgreement | None:
    """How far the annotators agree so far; None before two have voted and one has given a label."""
    if len(table.annotators) < 2 or not (table.votes >= 0).any():
        return None
    return annotator_agreement(table, resampling=_RESAMPLING)


def confusion(votes: Votes, annotator: int, labels: int) -> npt.NDArray[np.int64]:
    """How often an annotator chose each label, by the most frequent label of the others.

    Texts on which the others are tied, or nobody else has a label, are left out.

    Args:
        votes: One row per text, one column per annotator.
        annotator: The column.
        labels: How many labels the scheme has.

    Returns:
        One row per label of the others, one column per label of the annotator.
    """
    counts = np.zeros((labels, labels), dtype=np.int64)
    others = np.delete(votes, annotator, axis=1)
    tallies = np.stack([(others == label).sum(axis=1) for label in range(labels)], axis=1)
    top = tallies.max(axis=1)
    clear = (top > 0) & ((tallies == top[:, None]).sum(axis=1) == 1) & (votes[:, annotator] >= 0)
    np.add.at(counts, (tallies[clear].argmax(axis=1), votes[clear, annotator]), 1)
    return counts


def label_titles(scheme: LabelScheme, language: str) -> list[str]:
    """The titles of the labels, in order."""
    return [option.title_in(language) for option in scheme.labels]
