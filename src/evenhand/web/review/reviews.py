"""Making reviews from translations, adding people, and taking what they settled back into the translation."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sqlalchemy import insert, select
from sqlalchemy.orm import Session

from evenhand.core.errors import UnknownNameError
from evenhand.core.items import Association, Benchmark, Task
from evenhand.data.defects import fill_of
from evenhand.data.inspection import CheckReport, check
from evenhand.data.stereoset import read_stereoset
from evenhand.translation import (
    Change,
    Changes,
    Document,
    ItemTexts,
    RowTexts,
    TableDocument,
    TranslationError,
    TranslationFolder,
)
from evenhand.translation.changes import DocumentKind
from evenhand.translation.folder import TranslationRecord
from evenhand.translation.reviews import (
    ReviewOutcome,
    ReviewRole,
    ReviewVerdict,
    apply_verdicts,
    review_texts,
    settled_verdict,
)
from evenhand.translation.table_documents import table_problems
from evenhand.translation.table_files import table_bytes
from evenhand.web.annotation.projects import PersonalLink, give_link, person_name, refuse_bad_name
from evenhand.web.database import Database
from evenhand.web.tables import ReviewerRow, ReviewItemRow, ReviewRow, ReviewVerdictRow, utc_now

TABLE = "table"
"""What stands for the task of an item that is a row of a table."""

_TERM_COLUMNS = ("bias_type", "experiment", "kind", "group")
"""Columns of a table that its rows are told apart by, the first that is there."""


def name_of_review(record: TranslationRecord) -> str:
    """The name of a translation's review, by which a server knows it again."""
    return f"{record.language.lower()}-{record.untouched_sha256[:8]}"


def open_review(database: Database, translation: TranslationFolder[Document], source: Benchmark) -> str:
    """Make the review of a translation where there is none yet; its name.

    Args:
        database: The server's.
        translation: What is reviewed, as it is now.
        source: What it was translated from.

    Raises:
        TranslationError: If the translation was edited by hand, or has no item in common with the source.
    """
    translation.refuse_edits()
    name = name_of_review(translation.record)
    if not _is_there(database, name):
        benchmark = read_stereoset(translation.current, language=translation.record.language)
        problems = check(benchmark, source=source)
        rows = _rows(translation.changes.document, benchmark, source, problems)
        _make_review(database, translation, rows, title=source.name, source_language=source.language)
    return name


def open_table_review(database: Database, translation: TranslationFolder[TableDocument]) -> str:
    """Make the review of a translated table where there is none yet; its name.

    Raises:
        TranslationError: If the table was edited by hand, or its source is not in the folder.
    """
    translation.refuse_edits()
    name = name_of_review(translation.record)
    if not _is_there(database, name):
        known = translation.record.source
        _make_review(
            database,
            translation,
            _table_rows(translation.changes.document, translation.source()),
            title=known.name if known else translation.path.name,
            source_language=known.language if known else "",
        )
    return name


def _is_there(database: Database, name: str) -> bool:
    refuse_bad_name(name)
    with database.read() as session:
        return session.scalar(select(ReviewRow.id).where(ReviewRow.name == name)) is not None


def _make_review(
    database: Database,
    translation: TranslationFolder[DocumentKind],
    rows: list[dict[str, Any]],
    *,
    title: str,
    source_language: str,
) -> None:
    language = translation.record.language
    with database.write() as session:
        review = ReviewRow(
            name=name_of_review(translation.record),
            title=f"{title}: {source_language} → {language}",
            language=language,
            source_language=source_language,
            fingerprint=translation.record.untouched_sha256,
            created_at=utc_now(),
        )
        session.add(review)
        session.flush()
        session.execute(insert(ReviewItemRow), [{**row, "review_id": review.id} for row in rows])


def _table_rows(document: TableDocument, source: TableDocument) -> list[dict[str, Any]]:
    """One row per row of the table that is not marked, those with problems first."""
    problems = table_problems(document, source)
    items = [row for row in document if not row.is_beyond_repair]
    order = sorted(range(len(items)), key=lambda place: (-len(problems.get(items[place].id, ())), place))
    rows = []
    for position, place in enumerate(order):
        item = items[place]
        term = next((item.cells[column] for column in _TERM_COLUMNS if item.cells.get(column)), "")
        texts = source.items[item.id].texts() if item.id in source.items else {}
        rows.append(
            {
                "key": item.id,
                "position": position,
                "place": place,
                "task": TABLE,
                "bias_type": term,
                "term": term,
                "entry": item.cells,
                "source": {"columns": list(item.columns), "texts": texts},
                "problems": list(problems.get(item.id, ())),
            }
        )
    return rows


def _rows(
    document: Document, benchmark: Benchmark, source: Benchmark, problems: CheckReport
) -> list[dict[str, Any]]:
    """One row per item that is not marked, those with problems first."""
    sources = {item.id: item for item in source}
    named, flagged = problems.defects_by_item(), problems.flagged_items()
    # The source's term where there is one: a file may not say what its targets were before.
    known = {item.id: sources.get(item.id, item) for item in benchmark}
    items = [item for item in document if not item.is_beyond_repair]
    order = sorted(
        range(len(items)),
        key=lambda place: (items[place].id not in flagged, -len(named.get(items[place].id, ())), place),
    )
    return [
        {
            "key": items[place].id,
            "position": position,
            "place": place,
            "task": items[place].task.value,
            "bias_type": known[items[place].id].bias_type,
            "term": known[items[place].id].cluster,
            "entry": items[place].row,
            "source": _source(sources.get(items[place].id)),
            "problems": list(named.get(items[place].id, ())),
        }
        for position, place in enumerate(order)
    ]


def _source(item: Association | None) -> dict[str, Any]:
    """What a reviewer sees of the source; nothing for an item that is not in it."""
    if item is None:
        return {}
    return {
        "target": item.target,
        "context": item.context,
        "candidates": {
            candidate.id: (candidate.word or fill_of(item, candidate) or candidate.text)
            if item.task is Task.INTRASENTENCE
            else candidate.text
            for candidate in item.candidates
        },
    }


def texts_of(row: ReviewItemRow) -> ItemTexts | RowTexts:
    """The texts of an item as they were when the review began."""
    if row.task == TABLE:
        return RowTexts(row.key, row.entry, tuple(row.source["columns"]))
    return ItemTexts(Task(row.task), row.entry)


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


def collect_review(database: Database, translation: TranslationFolder[DocumentKind]) -> int:
    """Make changes of a translation of what its reviewers settled; how many rows that adds.

    Raises:
        UnknownNameError: If the server has no review of it.
        TranslationError: If a text is another one now than the reviewers saw.
    """
    translation.refuse_edits()
    with database.read() as session:
        settled, shown = _settled(session, review_named(session, name_of_review(translation.record)))
    added = apply_verdicts(translation.changes, settled, shown)
    translation.save()
    return added


def settled_changes(session: Session, review: ReviewRow) -> list[Change]:
    """What was settled as changes to the items of the review."""
    rows = _items(session, review)
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
    rows = _items(session, review)
    settled = [found for row in rows if (found := settled_verdict(verdicts.get(row.id, ())))]
    return settled, {row.key: review_texts(texts_of(row)) for row in rows}


def _items(session: Session, review: ReviewRow) -> Sequence[ReviewItemRow]:
    """The items of a review in the order of the file."""
    query = select(ReviewItemRow).where(ReviewItemRow.review_id == review.id).order_by(ReviewItemRow.place)
    return session.scalars(query).all()
