"""Making and changing surveys: versions, pictures, invitations, what is kept until when."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from pathlib import Path

from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from evenhand.core.errors import EvenhandError, UnknownNameError
from evenhand.core.files import decode_utf8, read_bounded, read_stored
from evenhand.studio.annotation.projects import PersonalLink, refuse_bad_name
from evenhand.studio.database import Database
from evenhand.studio.security import new_token, token_digest
from evenhand.studio.survey.definition import SurveyDefinition
from evenhand.studio.tables import (
    InvitationRow,
    ParticipantRow,
    PictureRow,
    SurveyRow,
    SurveyVersionRow,
    utc_now,
)

LARGEST_PICTURE = 2**20
LONGEST_NOTE = 60
_SIGNATURES = {
    "image/png": (b"\x89PNG\r\n\x1a\n",),
    "image/jpeg": (b"\xff\xd8\xff",),
    "image/webp": (b"RIFF",),
}


class SurveyError(EvenhandError):
    """A survey that cannot be made, found or changed as asked."""


class UnfinishedSurveyError(SurveyError):
    """A survey that cannot be opened yet, because something of a copied file still stands in it."""


class SurveyState(StrEnum):
    """Whether people can take part. What is written in a pilot stays out of exports."""

    PILOT = "pilot"
    OPEN = "open"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture to show beside prompts."""

    name: str
    kind: str
    content: bytes
    licence: str


@dataclass(frozen=True, slots=True)
class SurveyOptions:
    """How a survey runs.

    Attributes:
        name: Its name in addresses and commands.
        keep_until: The last day on which answers are kept.
        state: Whether people can take part at once.
        seed: Decides orders and, where conditions are level, who comes into which.
        pictures: Shown beside prompts, if there are any.
    """

    name: str
    keep_until: date
    state: SurveyState = SurveyState.PILOT
    seed: int = 0
    pictures: Sequence[Picture] = ()


def read_pictures(folder: Path) -> list[Picture]:
    """The PNG, JPEG and WebP files of a folder, which must say under which licence they are.

    Raises:
        SurveyError: If there is no licence, no picture, or a file that is too large or no picture.
    """
    if not folder.is_dir():
        raise SurveyError(f"There is no folder {folder}. Check the path.")
    notes = sorted(path for path in folder.iterdir() if path.stem.lower() in ("license", "licence"))
    if not notes:
        raise SurveyError(
            f"{folder} has no licence. Put a file LICENSE.txt beside the pictures that says it."
        )
    licence = decode_utf8(read_bounded(notes[0], error=SurveyError), notes[0], error=SurveyError).strip()
    pictures = []
    for path in sorted(folder.iterdir()):
        if path.suffix.lower() not in (".png", ".jpg", ".jpeg", ".webp"):
            continue
        content = read_stored(path, error=SurveyError)
        kind = next((kind for kind, starts in _SIGNATURES.items() if content.startswith(starts)), None)
        if kind is None:
            raise SurveyError(
                f"{path} is not a PNG, JPEG or WebP picture, whatever its name says. Remove or mend it."
            )
        if len(content) > LARGEST_PICTURE:
            raise SurveyError(
                f"{path} has {len(content):,} bytes; at most {LARGEST_PICTURE:,} are shown. Shrink it."
            )
        pictures.append(Picture(path.name[-120:], kind, content, licence))
    if not pictures:
        raise SurveyError(f"{folder} has no PNG, JPEG or WebP picture.")
    return pictures


def create_survey(database: Database, definition: SurveyDefinition, options: SurveyOptions) -> None:
    """Make a survey.

    Raises:
        SurveyError: If there is one of this name, or the day until which answers are kept is over.
    """
    refuse_bad_name(options.name)
    if options.keep_until <= utc_now().date():
        raise SurveyError(f"The retention date {options.keep_until} is over. Give a later day.")
    if options.state is SurveyState.OPEN:
        refuse_placeholders(definition)
    with database.write() as session:
        if session.scalar(select(SurveyRow.id).where(SurveyRow.name == options.name)) is not None:
            raise SurveyError(f"There is a survey {options.name} already. Choose another name, or revise it.")
        survey = SurveyRow(
            name=options.name,
            state=options.state.value,
            seed=options.seed,
            retention=options.keep_until.isoformat(),
            withdrawn=0,
            created_at=utc_now(),
        )
        session.add(survey)
        session.flush()
        _add_version(session, survey, definition, number=1)
        session.add_all(
            PictureRow(
                survey_id=survey.id,
                name=picture.name,
                kind=picture.kind,
                content=picture.content,
                licence=picture.licence,
            )
            for picture in options.pictures
        )


def revise_survey(database: Database, name: str, definition: SurveyDefinition) -> int:
    """Let people who start from now on see another version, and return its number. Who has started goes on as before.

    Raises:
        SurveyError: If the consent says something else under the same version.
    """
    with database.write() as session:
        survey = survey_named(session, name)
        for former in versions_of(session, survey):
            known = SurveyDefinition.model_validate(former.definition).consent
            if known.version == definition.consent.version and known != definition.consent:
                raise SurveyError(
                    f"The consent differs from that of version {former.number} of the survey, and has its version "
                    f"{known.version!r}. Give the changed consent another version."
                )
        latest = latest_version(session, survey)
        if definition_of(latest) == definition:
            raise SurveyError(f"The survey is the same as version {latest.number}.")
        if survey.state == SurveyState.OPEN.value:
            refuse_placeholders(definition)
        _add_version(session, survey, definition, number=latest.number + 1)
        return latest.number + 1


def refuse_placeholders(definition: SurveyDefinition) -> None:
    """Refuse a survey whose contacts are still those of the file that was copied.

    Raises:
        UnfinishedSurveyError: With what has to be filled in.
    """
    if definition.placeholders:
        raise UnfinishedSurveyError(
            f"The contacts still say {definition.placeholders[0]!r}. People who take part must know whom to ask: put "
            "your own contacts into the file, then open the survey. As a pilot it can be tried as it is."
        )


def change_state(session: Session, survey: SurveyRow, state: SurveyState) -> None:
    """Open or close a survey, or make it a pilot.

    Raises:
        UnfinishedSurveyError: If it cannot be opened yet.
    """
    if state is SurveyState.OPEN:
        refuse_placeholders(definition_of(latest_version(session, survey)))
    survey.state = state.value


def delete_survey(session: Session, survey: SurveyRow) -> int:
    """Delete a survey with its versions, pictures, links, participants and answers; how many participants it had."""
    people = session.scalar(
        select(func.count()).select_from(ParticipantRow).where(ParticipantRow.survey_id == survey.id)
    )
    # Participants first: they refer to versions, which go with the survey.
    session.execute(delete(ParticipantRow).where(ParticipantRow.survey_id == survey.id))
    session.execute(delete(SurveyRow).where(SurveyRow.id == survey.id))
    return people or 0


def definition_of(version: SurveyVersionRow) -> SurveyDefinition:
    """What a version of a survey says and asks."""
    return SurveyDefinition.model_validate(version.definition)


def _add_version(session: Session, survey: SurveyRow, definition: SurveyDefinition, *, number: int) -> None:
    session.add(
        SurveyVersionRow(
            survey_id=survey.id,
            number=number,
            definition=definition.model_dump(mode="json"),
            consent_version=definition.consent.version,
            created_at=utc_now(),
        )
    )


def survey_named(session: Session, name: str) -> SurveyRow:
    """The survey of a name.

    Raises:
        UnknownNameError: If there is none.
    """
    survey = session.scalar(select(SurveyRow).where(SurveyRow.name == name))
    if survey is None:
        raise UnknownNameError("survey", name, session.scalars(select(SurveyRow.name)))
    return survey


def versions_of(session: Session, survey: SurveyRow) -> Sequence[SurveyVersionRow]:
    """All versions, the first one first."""
    return session.scalars(
        select(SurveyVersionRow)
        .where(SurveyVersionRow.survey_id == survey.id)
        .order_by(SurveyVersionRow.number)
    ).all()


def latest_version(session: Session, survey: SurveyRow) -> SurveyVersionRow:
    """The version that people who start now see."""
    return versions_of(session, survey)[-1]


def retention_date(survey: SurveyRow) -> date:
    """The last day on which answers are kept."""
    return date.fromisoformat(survey.retention)


def takes_answers(survey: SurveyRow) -> bool:
    """Whether people can take part now."""
    return survey.state != SurveyState.CLOSED.value and not is_over(survey)


def is_over(survey: SurveyRow, *, today: date | None = None) -> bool:
    """Whether the last day on which answers are kept has passed."""
    return (today or utc_now().date()) > retention_date(survey)


def invite(session: Session, survey: SurveyRow, *, note: str = "") -> PersonalLink:
    """A personal link for one participant. It is called by its note, or by the number under which it can be closed."""
    token = new_token()
    invitation = InvitationRow(
        survey_id=survey.id,
        note=note[:LONGEST_NOTE],
        token_digest=token_digest(token),
        created_at=utc_now(),
    )
    session.add(invitation)
    session.flush()
    return PersonalLink(note or f"#{invitation.id}", f"/i/{token}", number=invitation.id)


def invitation_of(session: Session, survey: SurveyRow, link: str) -> InvitationRow:
    """The invitation of a personal link, which is given as the link, as its token, or by its number.

    Raises:
        SurveyError: If the survey has no such link.
    """
    named = link.strip().rstrip("/").rpartition("/")[2]
    number = named.removeprefix("#")
    is_number = number.isdecimal() and len(number) < 10
    mine = select(InvitationRow).where(InvitationRow.survey_id == survey.id)
    found = session.scalar(
        mine.where(
            InvitationRow.id == int(number)
            if is_number
            else InvitationRow.token_digest == token_digest(named)
        )
    )
    if found is None:
        raise SurveyError(
            f"{survey.name} has no personal link {named!r}. Give the link itself, or the number behind it."
        )
    return found


def close_invitation(invitation: InvitationRow) -> None:
    """Close a personal link; what was written with it stays."""
    invitation.revoked_at = invitation.revoked_at or utc_now()


def purge_expired(database: Database, *, today: date | None = None) -> dict[str, int]:
    """Delete all answers, participants and invitations of surveys whose retention date is over.

    Returns:
        How many participants were deleted, by the name of the survey.
    """
    deleted: dict[str, int] = {}
    with database.write() as session:
        for survey in session.scalars(select(SurveyRow).where(SurveyRow.purged_at.is_(None))):
            if not is_over(survey, today=today):
                continue
            people = list(
                session.scalars(select(ParticipantRow.id).where(ParticipantRow.survey_id == survey.id))
            )
            session.execute(delete(ParticipantRow).where(ParticipantRow.survey_id == survey.id))
            session.execute(delete(InvitationRow).where(InvitationRow.survey_id == survey.id))
            survey.state = SurveyState.CLOSED.value
            survey.purged_at = utc_now()
            deleted[survey.name] = len(people)
    return deleted
