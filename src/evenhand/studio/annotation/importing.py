"""Votes that were given elsewhere, taken into a project."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import insert, select
from sqlalchemy.orm import Session

from evenhand.core.counts import plural
from evenhand.data.annotations import AnnotationTable, shortened
from evenhand.studio.annotation.projects import (
    Phase,
    ProjectError,
    ProjectRole,
    ProjectText,
    add_person,
    person_named,
    project_named,
)
from evenhand.studio.database import Database
from evenhand.studio.tables import AssignmentRow, ProjectRow, TextRow, utc_now


def texts_of(table: AnnotationTable) -> list[ProjectText]:
    """The texts of a table of annotations, to make a project of."""
    return [ProjectText(key, text) for key, text in table.texts.items()]


def import_votes(database: Database, name: str, table: AnnotationTable) -> int:
    """Take the votes of a table into a project, and return how many they are.

    Raises:
        ProjectError: As ``add_votes`` does.
    """
    with database.write() as session:
        return add_votes(session, project_named(session, name), table)


def add_votes(session: Session, project: ProjectRow, table: AnnotationTable) -> int:
    """Take the votes of a table into a project within a session, and return how many they are.

    Annotators that the project does not have are added; they have no link until somebody makes one. Decisions of an
    adjudicator are left out: they are made anew, with votes hidden.

    Raises:
        ProjectError: If a text is not in the project or is another one there, or an annotator has labels there.
    """
    texts = {
        text.key: text
        for text in session.scalars(
            select(TextRow).where(TextRow.project_id == project.id, TextRow.phase == Phase.MAIN.value)
        )
    }
    _refuse_other_texts(table.texts, {key: text.text for key, text in texts.items()})
    rows = []
    for annotator in table.annotators:
        add_person(session, project, annotator, role=ProjectRole.ANNOTATOR)
        session.flush()
        person = person_named(session, project, annotator.strip())
        if session.scalar(select(AssignmentRow.id).where(AssignmentRow.annotator_id == person.id).limit(1)):
            raise ProjectError(f"{annotator} has texts in {project.name} already. Import into a new project.")
        votes = [row for row in table if row.annotator == annotator and not row.adjudicated]
        answered = [row for row in votes if row.unsure or row.label is not None]
        rows += [
            {
                "annotator_id": person.id,
                "text_id": texts[row.text_id].id,
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
            texts[row.text_id].places += texts[row.text_id].gold is None
    if rows:
        session.execute(insert(AssignmentRow), rows)
    return len(rows)


def _refuse_other_texts(wanted: Mapping[str, str], known: Mapping[str, str]) -> None:
    """Ids alone do not tell that two files are about the same texts: both may count rows, in another order."""
    missing = [key for key in wanted if key not in known]
    if missing:
        raise ProjectError(
            f"{plural(len(missing), 'text')} of the votes are not in the project, such as {missing[0]!r}. Make the "
            "project from the same file, or give both files a column id."
        )
    other = [key for key, text in wanted.items() if _plain(text) != _plain(known[key])]
    if other:
        key = other[0]
        raise ProjectError(
            f"{plural(len(other), 'id means', 'ids mean')} another text in the project than in the votes, such as "
            f"{key}: {shortened(known[key])!r} and {shortened(wanted[key])!r}. Make the project from the same file, or "
            "give both files a column id."
        )


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold()
