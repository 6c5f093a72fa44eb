"""Taking part: consent, screening, a condition, prompts in a logged order, answers, withdrawal.

A condition is chosen when writing begins, for the one with the fewest completions; people who are writing at the moment
count as if they will finish, and those who left do not. So the conditions end level even where more people leave one of
them than the others.
"""

from __future__ import annotations

import base64
import hmac
import random
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from sqlalchemy import delete, func, or_, select
from sqlalchemy.orm import Session

from evenhand.studio.accounts import SESSION_KEY, setting
from evenhand.studio.security import token_digest
from evenhand.studio.survey.checks import CheckedAnswer, check_answer
from evenhand.studio.survey.definition import SurveyDefinition
from evenhand.studio.survey.surveys import SurveyState, definition_of, latest_version
from evenhand.studio.tables import (
    AnswerRow,
    InvitationRow,
    ParticipantRow,
    PictureRow,
    SurveyRow,
    SurveyVersionRow,
    utc_now,
)

STILL_WRITING = timedelta(minutes=30)
"""Somebody whose last answer is older than that has left."""
_CODE_GROUPS = 4


class Stage(StrEnum):
    """How far a participant is."""

    SCREENING = "screening"
    QUESTIONS = "questions"
    WRITING = "writing"
    FINISHED = "finished"
    STOPPED = "stopped"
    SCREENED_OUT = "screened-out"


@dataclass(frozen=True, slots=True)
class ShownPrompt:
    """A prompt at its place in a participant's order, and the picture beside it if there is one."""

    prompt: str
    picture: str | None = None


def start(session: Session, survey: SurveyRow, *, invitation: InvitationRow | None = None) -> ParticipantRow:
    """Somebody has agreed to the consent of the latest version."""
    version = latest_version(session, survey)
    definition = definition_of(version)
    pseudonym = secrets.token_hex(6)
    now = utc_now()
    participant = ParticipantRow(
        survey_id=survey.id,
        version_id=version.id,
        invitation_id=invitation.id if invitation else None,
        pseudonym=pseudonym,
        withdrawal_digest=token_digest(_code(session, pseudonym)),
        pilot=survey.state == SurveyState.PILOT.value,
        state=(Stage.SCREENING if definition.screening else Stage.QUESTIONS).value,
        seed=0,
        prompts=[],
        demographics={},
        active_at=now,
        created_at=now,
    )
    session.add(participant)
    session.flush()
    if not definition.screening and not definition.demographics:
        begin_writing(session, participant)
    return participant


def last_followed(
    session: Session, survey: SurveyRow, links: Sequence[str]
) -> ParticipantRow | InvitationRow | None:
    """As whom a browser came to a survey last: a participant, or somebody with a personal link that nobody has used.

    Args:
        session: A session.
        survey: The survey.
        links: Digests of what the browser may open, the latest last.
    """
    participants = session.scalars(
        select(ParticipantRow).where(
            ParticipantRow.survey_id == survey.id, ParticipantRow.withdrawal_digest.in_(links)
        )
    )
    invitations = session.scalars(
        select(InvitationRow)
        .outerjoin(ParticipantRow, ParticipantRow.invitation_id == InvitationRow.id)
        .where(
            InvitationRow.survey_id == survey.id,
            InvitationRow.token_digest.in_(links),
            InvitationRow.revoked_at.is_(None),
            ParticipantRow.id.is_(None),
        )
    )
    known: dict[str, ParticipantRow | InvitationRow] = {
        **{participant.withdrawal_digest: participant for participant in participants},
        **{invitation.token_digest: invitation for invitation in invitations},
    }
    return next((known[link] for link in reversed(links) if link in known), None)


def withdrawal_code(session: Session, participant: ParticipantRow) -> str:
    """The code that deletes a participant's rows. It is derived, so that it can be shown again but is not stored."""
    return _code(session, participant.pseudonym)


def _code(session: Session, pseudonym: str) -> str:
    key = setting(session, SESSION_KEY) or ""
    digest = hmac.digest(key.encode(), f"withdrawal/{pseudonym}".encode(), "sha256")
    letters = base64.b32encode(digest).decode()
    return "-".join(letters[4 * group : 4 * group + 4] for group in range(_CODE_GROUPS))


def screen(session: Session, participant: ParticipantRow, answers: Mapping[str, str]) -> None:
    """Let a participant go on whose answers all pass. Of one who cannot take part, only the fact is kept."""
    definition = definition_for(session, participant)
    passes = all(answers.get(question.id) in question.passing for question in definition.screening)
    if not passes:
        participant.state = Stage.SCREENED_OUT.value
    elif definition.demographics:
        participant.state = Stage.QUESTIONS.value
    else:
        begin_writing(session, participant)


def put_demographics(session: Session, participant: ParticipantRow, answers: Mapping[str, str]) -> None:
    """Keep what somebody told about themselves, and begin with the prompts. Empty answers are not kept."""
    participant.demographics = {question: answer for question, answer in answers.items() if answer}
    begin_writing(session, participant)


def begin_writing(session: Session, participant: ParticipantRow) -> None:
    """Give a participant a condition and an order of prompts; both are logged."""
    # People who begin at the same time must see each other, or all of them come into the same condition. Their own rows
    # hold the key of the survey already: a lock on the key too would make two of them wait for each other.
    survey = session.scalars(
        select(SurveyRow).where(SurveyRow.id == participant.survey_id).with_for_update(key_share=True)
    ).one()
    definition = definition_for(session, participant)
    participant.seed = random.Random(f"{survey.seed}/{participant.id}").getrandbits(31)  # noqa: S311  no secret
    chance = random.Random(participant.seed)  # noqa: S311  it must repeat
    participant.condition = _fewest(session, participant, [c.id for c in definition.conditions], chance)
    prompts = [prompt.id for prompt in definition.prompts]
    chance.shuffle(prompts)
    pictures = list(
        session.scalars(
            select(PictureRow.name).where(PictureRow.survey_id == survey.id).order_by(PictureRow.name)
        )
    )
    chance.shuffle(pictures)
    participant.prompts = [
        {"prompt": prompt, "picture": pictures[place % len(pictures)] if pictures else None}
        for place, prompt in enumerate(prompts)
    ]
    participant.state = Stage.WRITING.value
    participant.active_at = utc_now()


def _fewest(
    session: Session, participant: ParticipantRow, conditions: Sequence[str], chance: random.Random
) -> str:
    counts = dict(
        session.execute(
            select(ParticipantRow.condition, func.count())
            .where(
                ParticipantRow.survey_id == participant.survey_id,
                ParticipantRow.pilot == participant.pilot,
                or_(
                    ParticipantRow.state == Stage.FINISHED.value,
                    (ParticipantRow.state == Stage.WRITING.value)
                    & (ParticipantRow.active_at > utc_now() - STILL_WRITING),
                ),
            )
            .group_by(ParticipantRow.condition)
        ).all()
    )
    fewest = min(counts.get(condition, 0) for condition in conditions)
    return chance.choice([condition for condition in conditions if counts.get(condition, 0) == fewest])


def definition_for(session: Session, participant: ParticipantRow) -> SurveyDefinition:
    """The version of the survey that a participant agreed to."""
    return definition_of(session.get_one(SurveyVersionRow, participant.version_id))


def shown_prompts(participant: ParticipantRow) -> list[ShownPrompt]:
    """A participant's prompts in their order."""
    return [ShownPrompt(**entry) for entry in participant.prompts]


def answers_of(session: Session, participant: ParticipantRow) -> dict[int, AnswerRow]:
    """What a participant wrote or skipped, by position."""
    rows = session.scalars(select(AnswerRow).where(AnswerRow.participant_id == participant.id))
    return {row.position: row for row in rows}


def check_written(
    session: Session, participant: ParticipantRow, position: int, written: str
) -> CheckedAnswer:
    """What is noticed about an answer at a position, beside the participant's others."""
    definition = definition_for(session, participant)
    prompt = definition.prompt(shown_prompts(participant)[position].prompt)
    earlier = [row.text for place, row in answers_of(session, participant).items() if place != position]
    return check_answer(
        written, subject=definition.subject, context=prompt.context, earlier=filter(None, earlier)
    )


def put_answer(
    session: Session, participant: ParticipantRow, position: int, written: str, *, seconds: float | None
) -> CheckedAnswer:
    """Keep an answer, also in the place of an earlier one; an empty one is a prompt that was skipped."""
    checked = check_written(session, participant, position, written) if written else CheckedAnswer("", ())
    row = answers_of(session, participant).get(position)
    if row is None:
        row = AnswerRow(participant_id=participant.id, position=position, seconds=0.0)
        session.add(row)
    row.written = written
    row.text = checked.text
    row.skipped = not written
    row.remarks = [remark.value for remark in checked.remarks]
    row.seconds += seconds or 0.0
    row.answered_at = participant.active_at = utc_now()
    return checked


def finish(session: Session, participant: ParticipantRow) -> None:
    """A participant has been through all prompts."""
    if len(answers_of(session, participant)) == len(participant.prompts):
        participant.state = Stage.FINISHED.value
        participant.finished_at = participant.finished_at or utc_now()


def stop(session: Session, participant: ParticipantRow) -> None:
    """A participant stops before the end. They count for no condition, and what they wrote is kept."""
    finish(session, participant)
    if participant.state == Stage.WRITING.value:
        participant.state = Stage.STOPPED.value


def resume(participant: ParticipantRow) -> None:
    """A participant who stopped goes on."""
    participant.state = Stage.WRITING.value
    participant.active_at = utc_now()


def withdraw(session: Session, code: str) -> SurveyDefinition | None:
    """Delete a participant with all answers, and return what they took part in; None if nobody has this code."""
    plain = "".join(character for character in code.upper() if character.isalnum())
    groups = "-".join(plain[4 * group : 4 * group + 4] for group in range(_CODE_GROUPS))
    participant = session.scalar(
        select(ParticipantRow).where(ParticipantRow.withdrawal_digest == token_digest(groups))
    )
    if participant is None or len(plain) != 4 * _CODE_GROUPS:
        return None
    definition = definition_for(session, participant)
    survey = session.get_one(SurveyRow, participant.survey_id)
    survey.withdrawn += 1
    session.execute(delete(ParticipantRow).where(ParticipantRow.id == participant.id))
    return definition
