"""What clients of a benchmark work on, a project or a survey, and what the database has of it in the end."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import select

from evenhand.data.label_schemes import load_scheme
from evenhand.studio.annotation.projects import (
    ProjectOptions,
    ProjectText,
    add_person,
    create_project,
    project_named,
)
from evenhand.studio.database import Database
from evenhand.studio.survey.definition import SurveyDefinition
from evenhand.studio.survey.surveys import SurveyOptions, SurveyState, create_survey, invite, survey_named
from evenhand.studio.tables import AnswerRow, AssignmentRow, utc_now

NAME = "under-load"


def make_project(address: str, *, clients: int, size: int) -> list[str]:
    """A project in which each client has all texts to label; the personal links."""
    database = Database(address)
    options = ProjectOptions(
        name=NAME,
        title="Under load",
        language="en",
        scheme=load_scheme("regard"),
        overlap=clients,
        break_after=0,
    )
    texts = [ProjectText(str(number), f"The person has the number {number}.") for number in range(size)]
    create_project(database, options, texts)
    with database.write() as session:
        project = project_named(session, NAME)
        links = [add_person(session, project, f"client {number}").path for number in range(clients)]
    database.close()
    return links


def make_survey(address: str, *, clients: int, size: int) -> list[str]:
    """A survey with one prompt more than each client answers, so that nobody finishes; the personal links."""
    database = Database(address)
    definition = SurveyDefinition.model_validate(
        {
            "title": "Under load",
            "language": "en",
            "access": "invited",
            "consent": {"version": "1", "text": "Take part?", "agreement": "I do."},
            "conditions": [{"id": "any", "instruction": "Write."}],
            "subject": "The person",
            "prompts": [{"id": str(number), "kind": "free"} for number in range(size + 1)],
            "instruction": "Continue.",
            "debriefing": "This was a benchmark.",
        }
    )
    until = utc_now().date() + timedelta(days=1)
    create_survey(database, definition, SurveyOptions(NAME, until, state=SurveyState.OPEN))
    with database.write() as session:
        survey = survey_named(session, NAME)
        links = [invite(session, survey).path for _ in range(clients)]
    database.close()
    return links


@dataclass(frozen=True, slots=True)
class KeptAnswers:
    """What a database has.

    Attributes:
        answers: Labels by annotator and assignment, or what was written by participant and position.
        repeated: Answers beyond the first to the same text or prompt of one person.
    """

    answers: dict[tuple[int, int], str]
    repeated: int


def kept_labels(address: str) -> KeptAnswers:
    """The labels that annotators gave."""
    database = Database(address)
    with database.read() as session:
        rows = session.scalars(select(AssignmentRow).where(AssignmentRow.voted_at.is_not(None))).all()
    database.close()
    labels = {(row.annotator_id, row.id): "unsure" if row.unsure else f"label:{row.label}" for row in rows}
    return KeptAnswers(labels, len(rows) - len({(row.annotator_id, row.text_id) for row in rows}))


def kept_sentences(address: str) -> KeptAnswers:
    """What participants wrote."""
    database = Database(address)
    with database.read() as session:
        rows = session.scalars(select(AnswerRow)).all()
    database.close()
    sentences = {(row.participant_id, row.position): row.written for row in rows}
    return KeptAnswers(sentences, len(rows) - len(sentences))
