"""Making annotation projects: texts from files, and people with personal links."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from sqlalchemy import delete, func, insert, select, update
from sqlalchemy.orm import Session

from evenhand.core.counts import plural
from evenhand.core.errors import EvenhandError, UnknownNameError, shortlist
from evenhand.core.files import is_file_name
from evenhand.core.items import Span
from evenhand.core.labels import LabelScheme
from evenhand.core.languages import refuse_unknown_language
from evenhand.studio.database import Database
from evenhand.studio.security import new_token, token_digest
from evenhand.studio.tables import AnnotatorRow, AssignmentRow, ProjectRow, ReviewerRow, TextRow, utc_now

LONGEST_NAME = 60
LONGEST_KEY = 200
LONGEST_LANGUAGE = 8
_NAME = re.compile(r"[a-z0-9][a-z0-9-]*")


class ProjectError(EvenhandError):
    """A project that cannot be made, found or changed as asked."""


class RoleError(ProjectError):
    """Somebody who cannot be what they are asked to be, because they have another role."""


class Phase(StrEnum):
    """When a text is shown."""

    TRAINING = "training"
    MAIN = "main"


class ProjectRole(StrEnum):
    """What somebody does in a project."""

    ANNOTATOR = "annotator"
    ADJUDICATOR = "adjudicator"


@dataclass(frozen=True, slots=True)
class ProjectText:
    """A text to label.

    Attributes:
        key: The id of the text in its file.
        text: What people see.
        source: Where it comes from; nobody who labels sees it.
        gold: The code of its right label, if that is known.
        explanation: Why that label is right; shown in the training round.
        phase: When it is shown.
        topic: What is asked about marked words, such as the category of a lexicon.
        marks: Words that are marked.
    """

    key: str
    text: str
    source: str = ""
    gold: str | None = None
    explanation: str = ""
    phase: Phase = Phase.MAIN
    topic: str = ""
    marks: tuple[Span, ...] = ()


@dataclass(frozen=True, slots=True)
class ProjectOptions:
    """What a project is.

    Attributes:
        name: Its name in addresses and commands.
        title: What people see as its name.
        language: The language of its texts.
        scheme: The labels.
        guideline: How to decide, instead of the scheme's own words; may be empty.
        warning: What people are told before the first text; may be empty.
        overlap: How many annotators label each text.
        break_after: Labels after which a break is suggested; 0 for never.
        seed: Decides the order in which each annotator sees the texts.
    """

    name: str
    title: str
    language: str
    scheme: LabelScheme
    guideline: str = ""
    warning: str = ""
    overlap: int = 3
    break_after: int = 100
    seed: int = 0


@dataclass(frozen=True, slots=True)
class PersonalLink:
    """A link that was just made; the token is not stored, so this is the only time that it is known.

    Attributes:
        name: Whom it is for.
        path: Of the page that it opens.
        number: Under which the lead sees it; None if they see it by name.
    """

    name: str
    path: str
    number: int | None = None


def create_project(database: Database, options: ProjectOptions, texts: Iterable[ProjectText]) -> None:
    """Make a project.

    Raises:
        ProjectError: If there is one of this name, or the texts or options do not fit together.
    """
    with database.write() as session:
        add_project(session, options, texts)


def add_project(session: Session, options: ProjectOptions, texts: Iterable[ProjectText]) -> ProjectRow:
    """Make a project within a session, with which it is kept or not.

    Raises:
        ProjectError: If there is one of this name, or the texts or options do not fit together.
    """
    rows = list(texts)
    refuse_bad_name(options.name)
    refuse_unknown_language(options.language)
    _refuse_repeated_keys(rows)
    _refuse_long_codes(rows, options)
    for gold in {text.gold for text in rows if text.gold is not None}:
        options.scheme.index(gold)
    if options.overlap < 1:
        raise ProjectError(f"The overlap is {options.overlap}; each text needs at least one annotator.")
    if not any(text.phase is Phase.MAIN for text in rows):
        raise ProjectError("There is no text to label beside those of the training round.")
    if session.scalar(select(ProjectRow.id).where(ProjectRow.name == options.name)) is not None:
        raise ProjectError(f"There is a project {options.name} already. Choose another name.")
    project = ProjectRow(
        name=options.name,
        title=options.title,
        language=options.language,
        scheme=options.scheme.model_dump(mode="json"),
        guideline=options.guideline,
        warning=options.warning,
        overlap=options.overlap,
        break_after=options.break_after,
        seed=options.seed,
        created_at=utc_now(),
    )
    session.add(project)
    session.flush()
    session.execute(
        insert(TextRow),
        [
            {
                "project_id": project.id,
                "key": text.key,
                "position": position,
                "text": text.text,
                "source": text.source,
                "phase": text.phase.value,
                "gold": text.gold,
                "explanation": text.explanation,
                "places": 0,
                "topic": text.topic,
                "marks": [[mark.start, mark.end] for mark in text.marks],
            }
            for position, text in enumerate(rows)
        ],
    )
    return project


def delete_project(session: Session, project: ProjectRow) -> int:
    """Delete a project with its texts, people, votes and decisions, and return how many votes it had."""
    votes = session.scalar(
        select(func.count(AssignmentRow.voted_at))
        .join(TextRow, TextRow.id == AssignmentRow.text_id)
        .where(TextRow.project_id == project.id)
    )
    session.execute(delete(ProjectRow).where(ProjectRow.id == project.id))
    return votes or 0


def refuse_bad_name(name: str) -> None:
    """A name stands in addresses and in commands."""
    if not _NAME.fullmatch(name) or len(name) > LONGEST_NAME:
        raise ProjectError(
            f"{name!r} cannot be a name. Use up to {LONGEST_NAME} small letters, digits and hyphens, such as regard-2."
        )


def _refuse_repeated_keys(texts: Sequence[ProjectText]) -> None:
    seen: set[str] = set()
    repeated = [text.key for text in texts if text.key in seen or seen.add(text.key)]  # type: ignore[func-returns-value]
    if repeated:
        raise ProjectError(
            f"{plural(len(repeated), 'id occurs', 'ids occur')} more than once: {shortlist(repeated)}. Give each text "
            "an id of its own."
        )


def _refuse_long_codes(texts: Sequence[ProjectText], options: ProjectOptions) -> None:
    """The columns of the database have widths, which PostgreSQL keeps to."""
    for kind, longest, values in (
        ("id of a text", LONGEST_KEY, [text.key for text in texts]),
        ("code of a label", LONGEST_NAME, options.scheme.codes),
        ("language", LONGEST_LANGUAGE, [options.language]),
    ):
        long = next((value for value in values if len(value) > longest), None)
        if long is not None:
            raise ProjectError(
                f"{long[:40]!r}... cannot be the {kind}: it has {len(long):,} characters, and at most {longest} fit."
            )


def project_named(session: Session, name: str) -> ProjectRow:
    """The project of a name.

    Raises:
        UnknownNameError: If there is none.
    """
    project = session.scalar(select(ProjectRow).where(ProjectRow.name == name))
    if project is None:
        raise UnknownNameError("project", name, session.scalars(select(ProjectRow.name)))
    return project


def scheme_of(project: ProjectRow) -> LabelScheme:
    """The label scheme of a project."""
    return LabelScheme.model_validate(project.scheme)


def add_person(
    session: Session, project: ProjectRow, name: str, *, role: ProjectRole = ProjectRole.ANNOTATOR
) -> PersonalLink:
    """Add somebody to a project, or give somebody who is there a new link in the place of the old one.

    Raises:
        ProjectError: If the name cannot be one.
        RoleError: If somebody of this name has the other role: who labelled a text must not settle it.
    """
    name = person_name(name, error=ProjectError)
    person = session.scalar(
        select(AnnotatorRow).where(AnnotatorRow.project_id == project.id, AnnotatorRow.name == name)
    )
    if person is None:
        person = AnnotatorRow(
            project_id=project.id, name=name, role=role.value, remaining=0, created_at=utc_now()
        )
        session.add(person)
    elif person.role != role.value:
        raise RoleError(f"{name} is {person.role} in {project.name} already. Choose another name.")
    elif person.revoked_at is not None:
        _count_places(session, person, step=1)
    return give_link(person, folder="a")


def person_name(name: str, *, error: type[EvenhandError]) -> str:
    """A name that somebody can have, without white space around it.

    Raises:
        EvenhandError: If nobody can; of the kind that is given.
    """
    name = name.strip()
    if not is_file_name(name) or len(name) > LONGEST_NAME:
        raise error(
            f"{name!r} cannot be a person's name. Use 1 to {LONGEST_NAME} characters without slashes."
        )
    return name


def give_link(person: AnnotatorRow | ReviewerRow, *, folder: str) -> PersonalLink:
    """A new personal link for somebody, in the place of one that they have."""
    token = new_token()
    person.token_digest = token_digest(token)
    person.revoked_at = None
    return PersonalLink(person.name, f"/{folder}/{token}")


def person_named(session: Session, project: ProjectRow, name: str) -> AnnotatorRow:
    """Somebody in a project.

    Raises:
        UnknownNameError: If nobody there has this name.
    """
    people = {
        person.name: person
        for person in session.scalars(select(AnnotatorRow).where(AnnotatorRow.project_id == project.id))
    }
    if name not in people:
        raise UnknownNameError("annotator", name, people)
    return people[name]


def revoke(session: Session, person: AnnotatorRow) -> None:
    """Close a personal link. Votes stay; texts that were given and not labelled are free for others."""
    if person.revoked_at is None:
        person.revoked_at = utc_now()
        _count_places(session, person, step=-1)


def _count_places(session: Session, person: AnnotatorRow, *, step: int) -> None:
    waiting = select(AssignmentRow.text_id).where(
        AssignmentRow.annotator_id == person.id, AssignmentRow.voted_at.is_(None)
    )
    session.execute(
        update(TextRow)
        .where(TextRow.id.in_(waiting), TextRow.gold.is_(None))
        .values(places=TextRow.places + step)
    )
