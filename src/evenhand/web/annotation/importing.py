"""Votes that were given elsewhere, taken into a project."""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import insert, select

from evenhand.data.annotations import AnnotationTable
from evenhand.web.annotation.projects import ProjectError, ProjectRole, ProjectText, add_person, project_named
from evenhand.web.database import Database
from evenhand.web.tables import AnnotatorRow, AssignmentRow, TextRow, utc_now


def texts_of(table: AnnotationTable) -> list[ProjectText]:
    """The texts of a table of annotations, to make a project of."""
    return [ProjectText(key, text) for key, text in table.texts.items()]


def import_votes(database: Database, name: str, table: AnnotationTable) -> int:
    """Take the votes of a table into a project, and return how many they are.

    Annotators that the project does not have are added; they have no link until somebody makes one. Decisions of an
    adjudicator are left out: they are made anew, with votes hidden.

    Raises:
        ProjectError: If a text is not in the project, or an annotator has labels there already.
    """
    with database.write() as session:
        project = project_named(session, name)
        texts = dict(
            session.execute(select(TextRow.key, TextRow.id).where(TextRow.project_id == project.id)).all()
        )
        _refuse_unknown(table.texts, texts)
        rows = []
        for annotator in table.annotators:
            add_person(session, project, annotator, role=ProjectRole.ANNOTATOR)
            session.flush()
            person = session.scalars(
                select(AnnotatorRow).where(
                    AnnotatorRow.project_id == project.id, AnnotatorRow.name == annotator
                )
            ).one()
            if session.scalar(
                select(AssignmentRow.id).where(AssignmentRow.annotator_id == person.id).limit(1)
            ):
                raise ProjectError(f"{annotator} has texts in {name} already. Import into a new project.")
            votes = [row for row in table if row.annotator == annotator and not row.adjudicated]
            answered = [row for row in votes if row.unsure or row.label is not None]
            rows += [
                {
                    "annotator_id": person.id,
                    "text_id": texts[row.text_id],
                    "position": position,
                    "label": None if row.unsure else row.label,
                    "unsure": row.unsure,
                    "comment": row.comment,
                    "flagged": False,
                    "seconds": row.seconds,
                    "changes": 0,
                    "voted_at": utc_now(),
                }
                for position, row in enumerate(answered)
            ]
            for row in answered:
                text = session.get_one(TextRow, texts[row.text_id])
                text.places += text.gold is None
        if rows:
            session.execute(insert(AssignmentRow), rows)
        return len(rows)


def _refuse_unknown(wanted: Iterable[str], known: dict[str, int]) -> None:
    missing = [key for key in wanted if key not in known]
    if missing:
        raise ProjectError(
            f"{len(missing):,} texts of the votes are not in the project, such as {missing[0]!r}. Make the project "
            "from the same file, or give both the same ids."
        )
