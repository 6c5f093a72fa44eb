"""Making the review of a translation, and bringing one up to date whose translation has changed since."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import delete, insert, select
from sqlalchemy.orm import Session

from evenhand.core.items import Benchmark, Task
from evenhand.data.stereoset import read_stereoset
from evenhand.studio.annotation.projects import refuse_bad_name
from evenhand.studio.database import Database
from evenhand.studio.tables import ReviewItemRow, ReviewRow, ReviewVerdictRow, utc_now
from evenhand.translation import Document, ItemTexts, RowTexts, TableDocument, TranslationFolder
from evenhand.translation.changes import DocumentKind
from evenhand.translation.documents import OWN_ITEM
from evenhand.translation.folder import SET_ASIDE, TranslationRecord
from evenhand.translation.review_pages.items import TABLE, item_rows, table_rows, texts_of
from evenhand.translation.review_pages.reviews import items_of, latest_review, verdicts_by_item
from evenhand.translation.review_records import digest_of_texts, keep_set_aside, recorded
from evenhand.translation.reviews import ReviewOutcome, ReviewVerdict, review_texts, settled_verdict

_MARKS = (ReviewOutcome.BEYOND_REPAIR, ReviewOutcome.CULTURE_SPECIFIC)


@dataclass(frozen=True, slots=True)
class OpenedReview:
    """The name of a review, and what had changed since it was opened last.

    Attributes:
        name: By which the server knows it.
        changed: Items that have other texts now.
        set_aside: Verdicts on them, which were set aside.
    """

    name: str
    changed: int = 0
    set_aside: int = 0


def open_review(
    database: Database, translation: TranslationFolder[Document], source: Benchmark, *, is_new: bool = False
) -> OpenedReview:
    """Make the review of a translation, or bring the one that is there up to date.

    Args:
        database: The server's.
        translation: What is reviewed, as it is now.
        source: What it was translated from.
        is_new: Begin another review, whatever there is.

    Raises:
        TranslationError: If the translation was edited by hand, or has no item in common with the source.
    """
    translation.refuse_edits()
    benchmark = read_stereoset(translation.current, language=translation.record.language)
    rows = item_rows(translation.changes.document, benchmark, source, translation.changes.standing())
    return _opened(
        database, translation, rows, title=source.name, source_language=source.language, is_new=is_new
    )


def open_table_review(
    database: Database, translation: TranslationFolder[TableDocument], *, is_new: bool = False
) -> OpenedReview:
    """Make the review of a translated table, or bring the one that is there up to date.

    Args:
        database: The server's.
        translation: What is reviewed, as it is now.
        is_new: Begin another review, whatever there is.

    Raises:
        TranslationError: If the table was edited by hand, or its source is not in the folder.
    """
    translation.refuse_edits()
    known = translation.record.source
    return _opened(
        database,
        translation,
        table_rows(translation.changes.document, translation.source()),
        title=known.name if known else translation.path.name,
        source_language=known.language if known else "",
        is_new=is_new,
    )


def _opened(
    database: Database,
    translation: TranslationFolder[DocumentKind],
    rows: list[dict[str, Any]],
    *,
    title: str,
    source_language: str,
    is_new: bool,
) -> OpenedReview:
    record = translation.record
    with database.write() as session:
        review = None if is_new else latest_review(session, record)
        if review is not None:
            own = {row.item for row in translation.changes.rows if row.field == OWN_ITEM}
            known = [row for row in rows if row["key"] not in own]
            return _brought_up_to_date(session, review, known, translation.path)
        review = ReviewRow(
            name=_new_name(session, record),
            title=f"{title}: {source_language} → {record.language}",
            language=record.language,
            source_language=source_language,
            fingerprint=record.untouched_sha256,
            created_at=utc_now(),
        )
        session.add(review)
        session.flush()
        session.execute(insert(ReviewItemRow), [{**row, "review_id": review.id} for row in rows])
        return OpenedReview(review.name)


def _new_name(session: Session, record: TranslationRecord) -> str:
    base = f"{record.language.lower()}-{record.untouched_sha256[:8]}"
    refuse_bad_name(base)
    taken = set(session.scalars(select(ReviewRow.name)))
    return next(
        name
        for number in range(1, len(taken) + 2)
        if (name := base if number == 1 else f"{base}-{number}") not in taken
    )


def _brought_up_to_date(
    session: Session, review: ReviewRow, rows: Sequence[Mapping[str, Any]], folder: Path
) -> OpenedReview:
    """Show every item as it is now; verdicts on items with other texts are set aside, in a file of the folder."""
    verdicts = verdicts_by_item(session, review)
    known = {row.key: row for row in items_of(session, review)}
    now = {row["key"]: row for row in rows}
    gone = [row for key, row in known.items() if key not in now and not _is_marked_by_review(row, verdicts)]
    changed = [row for key, row in known.items() if key in now and _has_changed(row, now[key], verdicts)]
    lost = [verdict for row in (*gone, *changed) for verdict in verdicts.get(row.id, ())]
    shown = {row.key: review_texts(texts_of(row)) for row in (*gone, *changed)}
    if lost:
        keep_set_aside(folder / SET_ASIDE, [recorded(verdict, shown[verdict.item]) for verdict in lost])
        _delete_verdicts(session, [row.id for row in (*gone, *changed)])
    for row in gone:
        session.delete(row)
    for key, row in known.items():
        if key in now:
            is_collected = (
                digest_of_texts(review_texts(texts_of(row))) != _digest(now[key]) and row not in changed
            )
            for name in ("position", "place", "source", "problems", *(() if is_collected else ("entry",))):
                setattr(row, name, now[key][name])
        elif row not in gone:
            row.position = len(now) + row.position
    added = [{**row, "review_id": review.id} for key, row in now.items() if key not in known]
    if added:
        session.execute(insert(ReviewItemRow), added)
    return OpenedReview(review.name, len(gone) + len(changed), len(lost))


def _delete_verdicts(session: Session, items: Collection[int]) -> None:
    session.execute(delete(ReviewVerdictRow).where(ReviewVerdictRow.item_id.in_(items)))


def _is_marked_by_review(row: ReviewItemRow, verdicts: Mapping[int, Sequence[ReviewVerdict]]) -> bool:
    settled = settled_verdict(verdicts.get(row.id, ()))
    return settled is not None and settled.outcome in _MARKS


def _has_changed(
    row: ReviewItemRow, now: Mapping[str, Any], verdicts: Mapping[int, Sequence[ReviewVerdict]]
) -> bool:
    """Whether an item has other texts than its reviewers saw, and than they wanted it to have."""
    shown = review_texts(texts_of(row))
    settled = settled_verdict(verdicts.get(row.id, ()))
    expected = {digest_of_texts(shown)} | ({recorded(settled, shown).result} if settled else set())
    return _digest(now) not in expected


def _digest(row: Mapping[str, Any]) -> str:
    if row["task"] == TABLE:
        return digest_of_texts(
            review_texts(RowTexts(row["key"], row["entry"], tuple(row["source"]["columns"])))
        )
    return digest_of_texts(review_texts(ItemTexts(Task(row["task"]), row["entry"])))
