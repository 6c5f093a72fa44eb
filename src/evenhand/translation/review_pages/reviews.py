"""Finding reviews of translations, adding people, and taking what they settled back into the translation."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from evenhand.core.errors import UnknownNameError
from evenhand.core.items import Task
from evenhand.studio.annotation.projects import PersonalLink, give_link, person_name
from evenhand.studio.database import Database
from evenhand.studio.tables import ReviewerRow, ReviewItemRow, ReviewRow, ReviewVerdictRow, utc_now
from evenhand.translation import (
    Change,
    Changes,
    Document,
    TableDocument,
    TranslationError,
    TranslationFolder,
)
from evenhand.translation.changes import DocumentKind
from evenhand.translation.folder import REVIEW, TranslationRecord, read_record
from evenhand.translation.review_pages.items import TABLE, texts_of
from evenhand.translation.review_records import RecordedVerdict, digest_of_texts, keep_review, recorded
from evenhand.translation.reviews import (
    ReviewOutcome,
    ReviewRole,
    ReviewVerdict,
    apply_verdicts,
    review_texts,
    settled_verdict,
)
from evenhand.translation.table_files import table_bytes


def latest_review(session: Session, record: TranslationRecord) -> ReviewRow | None:
    """The review of a translation that was begun last; None if there is none."""
    return session.scalar(
        select(ReviewRow)
        .where(ReviewRow.fingerprint == record.untouched_sha256)
        .order_by(ReviewRow.created_at.desc(), ReviewRow.id.desc())
    )


def review_of(session: Session, folder: Path, *, database: str) -> ReviewRow:
    """The review of a folder that was begun last.

    Raises:
        TranslationError: If the server has none.
    """
    review = latest_review(session, read_record(folder))
    if review is None:
        raise no_review(folder, database)
    return review


def no_review(folder: Path, database: str) -> TranslationError:
    """What to say where a database has no review of a folder."""
    return TranslationError(
        f"There is no review of {folder} in {database}. Begin one with: evenhand data review {folder} --reviewer NAME "
        "--reviewer NAME."
    )


def review_named(session: Session, name: str) -> ReviewRow:
    """The review of a name.

    Raises:
        UnknownNameError: If there is none.
    """
    review = session.scalar(select(ReviewRow).where(ReviewRow.name == name))
    if review is None:
        raise UnknownNameError("review", name, session.scalars(select(ReviewRow.name)))
    return review


def add_reviewer(
    session: Session, review: ReviewRow, name: str, *, role: ReviewRole = ReviewRole.REVIEWER
) -> PersonalLink:
    """Add somebody to a review, or give somebody who is there a new link in the place of the old one.

    Raises:
        TranslationError: If the name cannot be one, or belongs to somebody with another role.
    """
    name = person_name(name, error=TranslationError)
    person = session.scalar(
        select(ReviewerRow).where(ReviewerRow.review_id == review.id, ReviewerRow.name == name)
    )
    if person is None:
        person = ReviewerRow(review_id=review.id, name=name, role=role.value, created_at=utc_now())
        session.add(person)
    elif person.role != role.value:
        raise TranslationError(
            f"{name} is {person.role} in this review already. Settle disputes with somebody who reviewed nothing."
        )
    return give_link(person, folder="r")


def count_reviewers(session: Session, review: ReviewRow) -> int:
    """How many people review and have a link that is open."""
    return (
        session.scalar(
            select(func.count(ReviewerRow.id)).where(
                ReviewerRow.review_id == review.id,
                ReviewerRow.role == ReviewRole.REVIEWER.value,
                ReviewerRow.revoked_at.is_(None),
            )
        )
        or 0
    )


def verdicts_by_item(session: Session, review: ReviewRow) -> dict[int, list[ReviewVerdict]]:
    """All verdicts by the id of the item's row, in the order in which they were given."""
    rows = session.execute(
        select(ReviewVerdictRow, ReviewerRow.name, ReviewerRow.role, ReviewItemRow.key)
        .join(ReviewerRow, ReviewerRow.id == ReviewVerdictRow.reviewer_id)
        .join(ReviewItemRow, ReviewItemRow.id == ReviewVerdictRow.item_id)
        .where(ReviewItemRow.review_id == review.id)
        .order_by(ReviewVerdictRow.decided_at, ReviewVerdictRow.id)
    )
    found: dict[int, list[ReviewVerdict]] = {}
    for row, person, role, key in rows:
        verdict = ReviewVerdict(
            item=key,
            person=person,
            role=ReviewRole(role),
            outcome=ReviewOutcome(row.outcome),
            texts=row.texts,
            comment=row.comment,
            time=row.decided_at.isoformat(timespec="seconds"),
        )
        found.setdefault(row.item_id, []).append(verdict)
    return found


@dataclass(frozen=True, slots=True)
class CollectedReview:
    """What was taken from a review into a translation.

    Attributes:
        changes: Rows that were added to the changes.
        settled: Items that are settled.
        items: All items under review.
        outdated: Settled items whose texts have changed since, so that nobody has reviewed what is there now.
    """

    changes: int
    settled: int
    items: int
    outdated: int


def collect_review(database: Database, translation: TranslationFolder[DocumentKind]) -> CollectedReview:
    """Make changes of a translation of what its reviewers settled, and keep all their verdicts beside it.

    Raises:
        TranslationError: If the server has no review of it, or a text is another one now than the reviewers saw.
    """
    translation.refuse_edits()
    with database.read() as session:
        review = review_of(session, translation.path, database=database.shown)
        settled, shown = _settled(session, review)
        verdicts = [verdict for own in verdicts_by_item(session, review).values() for verdict in own]
    added = apply_verdicts(translation.changes, settled, shown)
    translation.save()
    keep_review(translation.path / REVIEW, [recorded(verdict, shown[verdict.item]) for verdict in verdicts])
    items = translation.changes.document.items
    outdated = sum(
        digest_of_texts(review_texts(items[verdict.item])) != recorded(verdict, shown[verdict.item]).result
        for verdict in settled
    )
    return CollectedReview(added, len(settled), len(shown), outdated)


def recorded_verdicts(session: Session, review: ReviewRow) -> list[RecordedVerdict]:
    """All verdicts of a review, as they are kept beside a translation."""
    shown = {row.key: review_texts(texts_of(row)) for row in items_of(session, review)}
    verdicts = verdicts_by_item(session, review).values()
    return [recorded(verdict, shown[verdict.item]) for own in verdicts for verdict in own]


def settled_changes(session: Session, review: ReviewRow) -> list[Change]:
    """What was settled as changes to the items of the review."""
    rows = items_of(session, review)
    settled = _settled(session, review)
    if rows and rows[0].task == TABLE:
        table = Changes(_table_of(rows, review))
        apply_verdicts(table, *settled)
        return table.rows
    data = {task.value: [row.entry for row in rows if row.task == task.value] for task in Task}
    content = json.dumps({"language": review.language, "data": data}).encode()
    changes = Changes(Document(content, language=review.language, path=Path(review.name)))
    apply_verdicts(changes, *settled)
    return changes.rows


def _table_of(rows: Sequence[ReviewItemRow], review: ReviewRow) -> TableDocument:
    columns = list(dict.fromkeys(["id", *(column for row in rows for column in row.entry)]))
    cells = [[row.key if column == "id" else row.entry.get(column, "") for column in columns] for row in rows]
    return TableDocument(
        table_bytes(columns, cells, suffix=".csv"),
        language=review.language,
        suffix=".csv",
        path=Path(review.name),
        columns=rows[0].source["columns"],
    )


def _settled(session: Session, review: ReviewRow) -> tuple[list[ReviewVerdict], dict[str, dict[str, str]]]:
    verdicts = verdicts_by_item(session, review)
    rows = items_of(session, review)
    settled = [found for row in rows if (found := settled_verdict(verdicts.get(row.id, ())))]
    return settled, {row.key: review_texts(texts_of(row)) for row in rows}


def items_of(session: Session, review: ReviewRow) -> Sequence[ReviewItemRow]:
    """The items of a review in the order of the file."""
    query = select(ReviewItemRow).where(ReviewItemRow.review_id == review.id).order_by(ReviewItemRow.place)
    return session.scalars(query).all()
