"""Files of what a survey collected: a long table as CSV and Parquet, a codebook, and a data statement.

Pilot answers stay out. Withdrawn participants are not there to begin with.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl
from sqlalchemy import select
from sqlalchemy.orm import Session

from evenhand.core.files import write_bytes, write_text
from evenhand.core.tables import parquet_bytes
from evenhand.data.csv_files import spreadsheet_cell
from evenhand.studio.database import Database
from evenhand.studio.survey.checks import AnswerRemark
from evenhand.studio.survey.definition import SurveyDefinition
from evenhand.studio.survey.participation import Stage, shown_prompts
from evenhand.studio.survey.surveys import definition_of, survey_named, versions_of
from evenhand.studio.tables import AnswerRow, ParticipantRow, SurveyRow, SurveyVersionRow, utc_now

ANSWERS_CSV = "answers.csv"
ANSWERS_PARQUET = "answers.parquet"
CODEBOOK = "codebook.md"
DATA_STATEMENT = "data-statement.md"

SMALLEST_GROUP = 5
"""Counts of people below that are not printed in the data statement: few people can be recognised."""

_COLUMNS: dict[str, tuple[type[pl.DataType], str]] = {
    "participant": (pl.String, "random id of the participant; group folds by it"),
    "finished": (pl.Boolean, "whether the participant came to the end"),
    "survey_version": (pl.Int64, "version of the survey that the participant saw"),
    "consent_version": (pl.String, "version of the consent that the participant agreed to"),
    "language": (pl.String, "language of the survey"),
    "condition": (pl.String, "what the participant was asked to write"),
    "position": (pl.Int64, "place of the prompt in the participant's own random order, from 1"),
    "prompt": (pl.String, "id of the prompt"),
    "kind": (pl.String, "kind of the prompt"),
    "subject": (pl.String, "subject of the sentence"),
    "context": (pl.String, "what stands behind the subject in the prompt; empty if nothing"),
    "picture": (pl.String, "file name of the picture that was shown; empty if none"),
    "written": (pl.String, "what the participant wrote; empty if skipped"),
    "text": (pl.String, "the same without a copied prompt"),
    "sentence": (pl.String, "prompt and text together; empty if skipped"),
    "skipped": (pl.Boolean, "whether the prompt was skipped"),
    "remarks": (pl.String, "what was noticed, separated by spaces"),
    "seconds": (pl.Float64, "seconds that the prompt was on the screen"),
}


@dataclass(frozen=True, slots=True)
class SurveyExport:
    """What a survey collected, as one consistent state.

    Attributes:
        answers: One row per answer.
        codebook: What the columns mean, in Markdown.
        statement: Who wrote what and how, in Markdown.
    """

    answers: pl.DataFrame
    codebook: str
    statement: str


def export_survey(database: Database, name: str) -> SurveyExport:
    """The answers of a survey with their codebook and data statement.

    Raises:
        UnknownNameError: If there is no survey of this name.
    """
    with database.read() as session:
        survey = survey_named(session, name)
        versions = versions_of(session, survey)
        definitions = {version.id: definition_of(version) for version in versions}
        numbers = {version.id: version for version in versions}
        participants = session.scalars(
            select(ParticipantRow)
            .where(ParticipantRow.survey_id == survey.id, ParticipantRow.pilot.is_(False))
            .order_by(ParticipantRow.pseudonym)
        ).all()
        answers = _answers(session, participants, definitions, numbers)
        latest = definitions[versions[-1].id]
        return SurveyExport(answers, _codebook(latest), _statement(survey, latest, participants, answers))


def write_survey(export: SurveyExport, folder: Path) -> tuple[Path, ...]:
    """Write the four files into a folder."""
    write_text(folder / ANSWERS_CSV, _without_formulas(export.answers).write_csv())
    write_bytes(folder / ANSWERS_PARQUET, parquet_bytes(export.answers))
    write_text(folder / CODEBOOK, export.codebook)
    write_text(folder / DATA_STATEMENT, export.statement)
    return tuple(folder / file for file in (ANSWERS_CSV, ANSWERS_PARQUET, CODEBOOK, DATA_STATEMENT))


def _without_formulas(answers: pl.DataFrame) -> pl.DataFrame:
    """The table with an apostrophe before cells that a spreadsheet would take for a formula."""
    written = pl.col(pl.String)
    return answers.with_columns(written.map_elements(spreadsheet_cell, return_dtype=pl.String))


def _answers(
    session: Session,
    participants: Sequence[ParticipantRow],
    definitions: dict[int, SurveyDefinition],
    versions: dict[int, SurveyVersionRow],
) -> pl.DataFrame:
    by_id = {participant.id: participant for participant in participants}
    questions = list(
        dict.fromkeys(
            question.id for definition in definitions.values() for question in definition.demographics
        )
    )
    rows = []
    for answer in session.scalars(
        select(AnswerRow)
        .join(ParticipantRow, ParticipantRow.id == AnswerRow.participant_id)
        .where(ParticipantRow.id.in_(by_id))
        .order_by(ParticipantRow.pseudonym, AnswerRow.position)
    ):
        participant = by_id[answer.participant_id]
        definition = definitions[participant.version_id]
        shown = shown_prompts(participant)[answer.position]
        prompt = definition.prompt(shown.prompt)
        rows.append(
            {
                "participant": participant.pseudonym,
                "finished": participant.state == Stage.FINISHED.value,
                "survey_version": versions[participant.version_id].number,
                "consent_version": versions[participant.version_id].consent_version,
                "language": definition.language,
                "condition": participant.condition,
                "position": answer.position + 1,
                "prompt": prompt.id,
                "kind": prompt.kind,
                "subject": definition.subject,
                "context": prompt.context,
                "picture": shown.picture or "",
                "written": answer.written,
                "text": answer.text,
                "sentence": f"{definition.beginning(prompt.id)} {answer.text}" if answer.text else "",
                "skipped": answer.skipped,
                "remarks": " ".join(answer.remarks),
                "seconds": round(answer.seconds, 1),
            }
            | {_column(question): participant.demographics.get(question, "") for question in questions}
        )
    schema = {column: kind for column, (kind, _) in _COLUMNS.items()}
    return pl.DataFrame(rows, schema=schema | {_column(question): pl.String for question in questions})


def _column(question: str) -> str:
    return f"about_{question.replace('-', '_')}"


def _codebook(definition: SurveyDefinition) -> str:
    lines = [
        "# Codebook",
        "",
        "One row per answer. " + _FORMULAS,
        "",
        "| column | type | meaning |",
        "|---|---|---|",
    ]
    lines += [f"| `{column}` | {kind.__name__} | {meaning} |" for column, (kind, meaning) in _COLUMNS.items()]
    for question in definition.demographics:
        values = ", ".join(f"`{choice.value}` {choice.title}" for choice in question.choices) or "free text"
        lines.append(
            f"| `{_column(question.id)}` | String | {question.question} ({values}; empty: no answer) |"
        )
    lines += ["", "## Conditions", ""]
    lines += [f"- `{condition.id}`: {condition.instruction}" for condition in definition.conditions]
    lines += ["", "## Prompts", "", "| id | kind | beginning |", "|---|---|---|"]
    lines += [
        f"| `{prompt.id}` | {prompt.kind} | {definition.beginning(prompt.id)} |"
        for prompt in definition.prompts
    ]
    lines += ["", "## Remarks", ""]
    lines += [f"- `{remark.value}`: {_REMARKS[remark]}" for remark in AnswerRemark]
    return "\n".join(lines) + "\n"


_FORMULAS = (
    "In the CSV file an apostrophe stands before texts that a spreadsheet would take for formulas, such as those that "
    "begin with `=`, `+`, `-` or `@`; the Parquet file has them as they were written."
)

_REMARKS = {
    AnswerRemark.COPIED_PROMPT: "the prompt was repeated; it is taken off in `text`",
    AnswerRemark.REPEATED_SUBJECT: "the subject is named again behind a context; the sentence may not be one",
    AnswerRemark.TOO_SHORT: "fewer than three letters, or one word after a subject alone",
    AnswerRemark.DUPLICATE: "the participant wrote the same at another prompt",
    AnswerRemark.E_MAIL: "looks like an e-mail address; read it before you publish",
    AnswerRemark.PHONE: "looks like a phone number; read it before you publish",
}


def _statement(
    survey: SurveyRow,
    definition: SurveyDefinition,
    participants: Sequence[ParticipantRow],
    answers: pl.DataFrame,
) -> str:
    """A data statement after Bender and Friedman (2018), with what the database knows."""
    finished = Counter(row.condition for row in participants if row.state == Stage.FINISHED.value)
    wrote = set(answers.filter(~pl.col("skipped"))["participant"])
    sentences = Counter(answers.filter(~pl.col("skipped"))["condition"])
    screened = sum(row.state == Stage.SCREENED_OUT.value for row in participants)
    months = sorted({row.created_at.strftime("%Y-%m") for row in participants})
    lines = [
        f"# Data statement: {definition.title}",
        "",
        "## Curation",
        "",
        f"Sentences that participants continued after \u201c{definition.subject}\u201d and "
        f"{sum(bool(prompt.context) for prompt in definition.prompts)} contexts or none. {definition.instruction}",
        "",
        "| condition | finished | sentences |",
        "|---|---|---|",
        *(
            f"| {condition.id} | {finished[condition.id]} | {sentences[condition.id]} |"
            for condition in definition.conditions
        ),
        "",
        f"{len(participants)} people agreed, {screened} were screened out, {len(wrote)} wrote, "
        f"{sum(finished.values())} finished, {survey.withdrawn} withdrew and were deleted. Conditions were balanced on "
        "completions; the order of prompts is random and in the table. Pilot answers are left out.",
        "",
        "## Language",
        "",
        f"{definition.language}, as typed.",
        "",
        "## Writers",
        "",
        definition.statement or "Not described.",
        "",
    ]
    for question in definition.demographics:
        if not question.choices:
            continue
        told = Counter(
            row.demographics.get(question.id, "") for row in participants if row.pseudonym in wrote
        )
        shares = ", ".join(f"{choice.title} {_shown(told[choice.value])}" for choice in question.choices)
        lines.append(f"- {question.question} {shares}, no answer {_shown(told[''])}")
    lines += [
        "",
        f"Counts below {SMALLEST_GROUP} are not printed.",
        "",
        "## Situation",
        "",
        f"Web survey, {months[0] if months else '-'} to {months[-1] if months else '-'}. Consent "
        f"{', '.join(sorted(set(answers['consent_version']))) or '-'}. No network addresses were stored. "
        f"Answers are kept until {survey.retention}; withdrawals after {utc_now().date()} are not in this copy.",
        "",
        "## Caution",
        "",
        "One group was asked to write sentences that make a person look bad. They are not the writers' opinions.",
    ]
    return "\n".join(lines) + "\n"


def _shown(count: int) -> str:
    return str(count) if count >= SMALLEST_GROUP else f"<{SMALLEST_GROUP}"
