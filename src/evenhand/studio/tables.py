"""The tables of a server's database.

Tokens, withdrawal codes and passwords are stored as digests only. No table has a network address. Ids are
never used again: on SQLite, a migration that makes a table with an id gives it ``sqlite_autoincrement=True``.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    JSON,
    DateTime,
    Dialect,
    Double,
    ForeignKey,
    Index,
    LargeBinary,
    MetaData,
    String,
    Text,
    TypeDecorator,
    UniqueConstraint,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column


class UtcTime(TypeDecorator[datetime]):
    """A moment, stored without a zone because SQLite has none, and read as UTC."""

    impl = DateTime
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002
        """Drop the zone of a moment that has one."""
        return value.astimezone(UTC).replace(tzinfo=None) if value else None

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002
        """Add the zone again."""
        return value.replace(tzinfo=UTC) if value else None


class Base(DeclarativeBase):
    """All tables; constraints have names, so that migrations can change them."""

    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(column_0_label)s",
            "uq": "uq_%(table_name)s_%(column_0_name)s",
            "fk": "fk_%(table_name)s_%(column_0_name)s_%(referred_table_name)s",
            "pk": "pk_%(table_name)s",
        }
    )
    type_annotation_map = {datetime: UtcTime, float: Double, dict[str, Any]: JSON, list[Any]: JSON}  # noqa: RUF012


class SettingRow(Base):
    """A value of the server itself, such as the key that signs sessions."""

    __tablename__ = "settings"

    name: Mapped[str] = mapped_column(String(40), primary_key=True)
    value: Mapped[str] = mapped_column(Text)


class AdministratorRow(Base):
    """Who runs the server. ``epoch`` changes with the password and ends all older sessions."""

    __tablename__ = "administrators"

    id: Mapped[int] = mapped_column(primary_key=True)
    password: Mapped[str] = mapped_column(Text)
    epoch: Mapped[str] = mapped_column(String(32))
    created_at: Mapped[datetime]


class SignInRow(Base):
    """A session in which the administrator is signed in: the digest of its token, and the password's epoch."""

    __tablename__ = "sign_ins"

    digest: Mapped[str] = mapped_column(String(64), primary_key=True)
    epoch: Mapped[str] = mapped_column(String(32))
    created_at: Mapped[datetime]


class ProjectRow(Base):
    """An annotation project: texts that people label under one scheme."""

    __tablename__ = "projects"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(60), unique=True)
    title: Mapped[str] = mapped_column(Text)
    language: Mapped[str] = mapped_column(String(8))
    scheme: Mapped[dict[str, Any]]
    guideline: Mapped[str] = mapped_column(Text)
    warning: Mapped[str] = mapped_column(Text)
    overlap: Mapped[int]
    break_after: Mapped[int]
    seed: Mapped[int]
    created_at: Mapped[datetime]


class TextRow(Base):
    """A text of a project. ``places`` is how many annotators it was given to, those with a revoked link not counted.

    ``marks`` are the starts and ends of marked words, ``topic`` is what is asked about them.
    """

    __tablename__ = "texts"
    __table_args__ = (
        UniqueConstraint("project_id", "key", name="uq_texts_project_key"),
        Index("ix_texts_project_phase_places", "project_id", "phase", "places"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    project_id: Mapped[int] = mapped_column(ForeignKey("projects.id", ondelete="CASCADE"))
    key: Mapped[str] = mapped_column(String(200))
    position: Mapped[int]
    text: Mapped[str] = mapped_column(Text)
    source: Mapped[str] = mapped_column(Text)
    phase: Mapped[str] = mapped_column(String(10))
    gold: Mapped[str | None] = mapped_column(String(60))
    explanation: Mapped[str] = mapped_column(Text)
    places: Mapped[int]
    topic: Mapped[str] = mapped_column(Text, server_default="")
    marks: Mapped[list[Any]] = mapped_column(server_default="[]")


class AnnotatorRow(Base):
    """Somebody with a personal link to a project, as annotator or as adjudicator.

    ``remaining`` is how many more texts there were for them when they were last given some.
    """

    __tablename__ = "annotators"
    __table_args__ = (UniqueConstraint("project_id", "name", name="uq_annotators_project_name"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    project_id: Mapped[int] = mapped_column(ForeignKey("projects.id", ondelete="CASCADE"))
    name: Mapped[str] = mapped_column(String(60))
    role: Mapped[str] = mapped_column(String(12))
    token_digest: Mapped[str] = mapped_column(String(64), unique=True)
    remaining: Mapped[int]
    warned_at: Mapped[datetime | None]
    revoked_at: Mapped[datetime | None]
    created_at: Mapped[datetime]

    @property
    def belongs_to(self) -> int:
        """The id of the project."""
        return self.project_id


class AssignmentRow(Base):
    """A text given to an annotator, and the vote on it once there is one."""

    __tablename__ = "assignments"
    __table_args__ = (
        UniqueConstraint("annotator_id", "text_id", name="uq_assignments_annotator_text"),
        UniqueConstraint("annotator_id", "position", name="uq_assignments_annotator_position"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    annotator_id: Mapped[int] = mapped_column(ForeignKey("annotators.id", ondelete="CASCADE"))
    text_id: Mapped[int] = mapped_column(ForeignKey("texts.id", ondelete="CASCADE"), index=True)
    position: Mapped[int]
    label: Mapped[str | None] = mapped_column(String(60))
    unsure: Mapped[bool]
    comment: Mapped[str] = mapped_column(Text)
    flagged: Mapped[bool]
    seconds: Mapped[float | None]
    changes: Mapped[int]
    voted_at: Mapped[datetime | None]


class AdjudicationRow(Base):
    """What an adjudicator decided about a text on which votes differ. Votes stay as they are.

    ``blind_label`` was chosen before the votes were shown, ``label`` after that; a decision counts once confirmed. Each
    adjudicator has rows of their own, and at most one of a text is confirmed.
    """

    __tablename__ = "adjudications"
    __table_args__ = (UniqueConstraint("text_id", "annotator_id", name="uq_adjudications_text_annotator"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    text_id: Mapped[int] = mapped_column(ForeignKey("texts.id", ondelete="CASCADE"))
    annotator_id: Mapped[int] = mapped_column(ForeignKey("annotators.id", ondelete="CASCADE"))
    blind_label: Mapped[str] = mapped_column(String(60))
    label: Mapped[str] = mapped_column(String(60))
    confirmed: Mapped[bool]
    reason: Mapped[str] = mapped_column(Text)
    decided_at: Mapped[datetime]


class SurveyRow(Base):
    """A survey. ``state`` is pilot, open or closed."""

    __tablename__ = "surveys"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(60), unique=True)
    state: Mapped[str] = mapped_column(String(10))
    seed: Mapped[int]
    retention: Mapped[str] = mapped_column(String(10))
    withdrawn: Mapped[int]
    purged_at: Mapped[datetime | None]
    created_at: Mapped[datetime]


class SurveyVersionRow(Base):
    """What a survey said and asked from one moment on. Nothing in it changes."""

    __tablename__ = "survey_versions"
    __table_args__ = (UniqueConstraint("survey_id", "number", name="uq_survey_versions_number"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    survey_id: Mapped[int] = mapped_column(ForeignKey("surveys.id", ondelete="CASCADE"))
    number: Mapped[int]
    definition: Mapped[dict[str, Any]]
    consent_version: Mapped[str] = mapped_column(String(40))
    created_at: Mapped[datetime]


class PictureRow(Base):
    """A picture that a survey shows beside a prompt."""

    __tablename__ = "pictures"
    __table_args__ = (UniqueConstraint("survey_id", "name", name="uq_pictures_survey_name"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    survey_id: Mapped[int] = mapped_column(ForeignKey("surveys.id", ondelete="CASCADE"))
    name: Mapped[str] = mapped_column(String(120))
    kind: Mapped[str] = mapped_column(String(20))
    content: Mapped[bytes] = mapped_column(LargeBinary)
    licence: Mapped[str] = mapped_column(Text)


class InvitationRow(Base):
    """A personal link to a survey, for one participant."""

    __tablename__ = "invitations"

    id: Mapped[int] = mapped_column(primary_key=True)
    survey_id: Mapped[int] = mapped_column(ForeignKey("surveys.id", ondelete="CASCADE"))
    note: Mapped[str] = mapped_column(String(60))
    token_digest: Mapped[str] = mapped_column(String(64), unique=True)
    revoked_at: Mapped[datetime | None]
    created_at: Mapped[datetime]


class ParticipantRow(Base):
    """Somebody who agreed to a survey. ``state`` is screening, questions, writing, finished or screened-out."""

    __tablename__ = "participants"
    __table_args__ = (Index("ix_participants_survey_state", "survey_id", "state"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    survey_id: Mapped[int] = mapped_column(ForeignKey("surveys.id", ondelete="CASCADE"))
    version_id: Mapped[int] = mapped_column(ForeignKey("survey_versions.id"))
    invitation_id: Mapped[int | None] = mapped_column(
        ForeignKey("invitations.id", ondelete="SET NULL"), unique=True
    )
    pseudonym: Mapped[str] = mapped_column(String(16), unique=True)
    withdrawal_digest: Mapped[str] = mapped_column(String(64), unique=True)
    pilot: Mapped[bool]
    state: Mapped[str] = mapped_column(String(12))
    condition: Mapped[str | None] = mapped_column(String(40))
    seed: Mapped[int]
    prompts: Mapped[list[Any]]
    demographics: Mapped[dict[str, Any]]
    active_at: Mapped[datetime]
    finished_at: Mapped[datetime | None]
    created_at: Mapped[datetime]


class AnswerRow(Base):
    """What a participant wrote at one prompt, or that it was skipped."""

    __tablename__ = "answers"
    __table_args__ = (UniqueConstraint("participant_id", "position", name="uq_answers_position"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    participant_id: Mapped[int] = mapped_column(ForeignKey("participants.id", ondelete="CASCADE"))
    position: Mapped[int]
    written: Mapped[str] = mapped_column(Text)
    text: Mapped[str] = mapped_column(Text)
    skipped: Mapped[bool]
    remarks: Mapped[list[Any]]
    seconds: Mapped[float]
    answered_at: Mapped[datetime]


class ReviewRow(Base):
    """A review of a translation. ``fingerprint`` says of which untouched file."""

    __tablename__ = "reviews"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(60), unique=True)
    title: Mapped[str] = mapped_column(Text)
    language: Mapped[str] = mapped_column(String(20))
    source_language: Mapped[str] = mapped_column(String(20))
    fingerprint: Mapped[str] = mapped_column(String(64))
    created_at: Mapped[datetime]


class ReviewItemRow(Base):
    """An item under review: its entry in the file, what it was translated from, and the problems that are known of it.

    ``position`` puts items with problems first; ``place`` is where it stands in the file.
    """

    __tablename__ = "review_items"
    __table_args__ = (
        UniqueConstraint("review_id", "key", name="uq_review_items_review_key"),
        Index("ix_review_items_review_position", "review_id", "position"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    review_id: Mapped[int] = mapped_column(ForeignKey("reviews.id", ondelete="CASCADE"))
    key: Mapped[str] = mapped_column(String(200))
    position: Mapped[int]
    place: Mapped[int]
    task: Mapped[str] = mapped_column(String(20))
    bias_type: Mapped[str] = mapped_column(Text)
    term: Mapped[str] = mapped_column(Text)
    entry: Mapped[dict[str, Any]]
    source: Mapped[dict[str, Any]]
    problems: Mapped[list[Any]]


class ReviewerRow(Base):
    """Somebody with a personal link to a review, as reviewer or as arbiter."""

    __tablename__ = "reviewers"
    __table_args__ = (UniqueConstraint("review_id", "name", name="uq_reviewers_review_name"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    review_id: Mapped[int] = mapped_column(ForeignKey("reviews.id", ondelete="CASCADE"))
    name: Mapped[str] = mapped_column(String(60))
    role: Mapped[str] = mapped_column(String(12))
    token_digest: Mapped[str] = mapped_column(String(64), unique=True)
    warned_at: Mapped[datetime | None]
    revoked_at: Mapped[datetime | None]
    created_at: Mapped[datetime]

    @property
    def belongs_to(self) -> int:
        """The id of the review."""
        return self.review_id


class ReviewVerdictRow(Base):
    """What a reviewer or the arbiter decided about an item, with the texts that they want instead."""

    __tablename__ = "review_verdicts"
    __table_args__ = (UniqueConstraint("reviewer_id", "item_id", name="uq_review_verdicts_reviewer_item"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    reviewer_id: Mapped[int] = mapped_column(ForeignKey("reviewers.id", ondelete="CASCADE"))
    item_id: Mapped[int] = mapped_column(ForeignKey("review_items.id", ondelete="CASCADE"), index=True)
    outcome: Mapped[str] = mapped_column(String(20))
    texts: Mapped[dict[str, Any]]
    comment: Mapped[str] = mapped_column(Text)
    seconds: Mapped[float | None]
    decided_at: Mapped[datetime]


def utc_now() -> datetime:
    """This moment."""
    return datetime.now(UTC)
