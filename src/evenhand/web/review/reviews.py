"""Making reviews from translations, adding people, and taking what they settled back into the translation."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sqlalchemy import insert, select
from sqlalchemy.orm import Session

from evenhand.core.errors import UnknownNameError
from evenhand.core.items import Association, Benchmark, Task
from evenhand.core.labels import NOT_ASKED
from evenhand.data.defects import fill_of
from evenhand.data.inspection import CheckReport, check
from evenhand.data.stereoset import read_stereoset
from evenhand.stats.agreement import mean_kappa, pairwise_kappa
from evenhand.translation import Changes, Document, ItemTexts, TranslationError, TranslationFolder
from evenhand.translation.reviews import (
    ReviewOutcome,
    ReviewRole,
    ReviewState,
    ReviewVerdict,
    apply_verdicts,
    review_texts,
    settled_verdict,
    state_of,
)
from evenhand.web.annotation.projects import PersonalLink, give_link, person_name, refuse_bad_name
from evenhand.web.database import Database
from evenhand.web.tables import ReviewerRow, ReviewItemRow, ReviewRow, ReviewVerdictRow, utc_now


def review_name(translation: TranslationFolder) -> str:
    """The name of a translation's review, by which a server knows it again."""
    return f"{translation.record.language.lower()}-{translation.record.untouched_sha256[:8]}"


def open_review(database: Database, translation: TranslationFolder, source: Benchmark) -> str:
    """Make the review of a translation where there is none yet; its name.

    Args:
        database: The server's.
        translation: What is reviewed, as it is now.
        source: What it was translated from.

    Raises:
        TranslationError: If the translation was edited by hand, or has no item in common with the source.
    """
    translation.refuse_edits()
    name = review_name(translation)
    refuse_bad_name(name)
    with database.read() as session:
        if session.scalar(select(ReviewRow.id).where(ReviewRow.name == name)) is not None:
            return name
    benchmark = read_stereoset(translation.current, language=translation.record.language)
    problems = check(benchmark, source=source)
    with database.write() as session:
        review = ReviewRow(
            name=name,
            title=f"{source.name}: {source.language} → {benchmark.language}",
            language=benchmark.language,
            source_language=source.language,
            fingerprint=translation.record.untouched_sha256,
            created_at=utc_now(),
        )
        session.add(review)
        session.flush()
        session.execute(
            insert(ReviewItemRow), _rows(review.id, translation.changes.document, benchmark, source, problems)
        )
    return name


def _rows(
    review_id: int, document: Document, benchmark: Benchmark, source: Benchmark, problems: CheckReport
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
            "review_id": review_id,
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


def texts_of(row: ReviewItemRow) -> ItemTexts:
    """The texts of an item as they were when the review began."""
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


def collect_review(database: Database, translation: TranslationFolder) -> int:
    """Make changes of a translation of what its reviewers settled; how many rows that adds.

    Raises:
        UnknownNameError: If the server has no review of it.
        TranslationError: If a text is another one now than the reviewers saw.
    """
    translation.refuse_edits()
    with database.read() as session:
        settled, shown = _settled(session, review_named(session, review_name(translation)))
    added = apply_verdicts(translation.changes, settled, shown)
    translation.save()
    return added


def settled_changes(session: Session, review: ReviewRow) -> Changes:
    """What was settled as changes to the items of the review."""
    rows = _items(session, review)
    data = {task.value: [row.entry for row in rows if row.task == task.value] for task in Task}
    content = json.dumps({"language": review.language, "data": data}).encode()
    changes = Changes(Document(content, language=review.language, path=Path(review.name)))
    apply_verdicts(changes, *_settled(session, review))
    return changes


def _settled(session: Session, review: ReviewRow) -> tuple[list[ReviewVerdict], dict[str, dict[str, str]]]:
    verdicts = verdicts_by_item(session, review)
    rows = _items(session, review)
    settled = [found for row in rows if (found := settled_verdict(verdicts.get(row.id, ())))]
    return settled, {row.key: review_texts(texts_of(row)) for row in rows}


def _items(session: Session, review: ReviewRow) -> Sequence[ReviewItemRow]:
    """The items of a review in the order of the file."""
    query = select(ReviewItemRow).where(ReviewItemRow.review_id == review.id).order_by(ReviewItemRow.place)
    return session.scalars(query).all()


@dataclass(frozen=True, slots=True)
class TermProgress:
    """How far the review of the items about one target term is."""

    term: str
    settled: int
    items: int


@dataclass(frozen=True, slots=True)
class ReviewFigures:
    """How far a review is, and how far the reviewers agree.

    Attributes:
        items: All items.
        states: How many items are in each state.
        outcomes: How many items were settled with each outcome.
        terms: Progress by target term.
        both: Items that two reviewers decided about.
        same: Those of them on which they made the same of the item.
        kappa: Agreement of their outcomes beyond chance, the mean over pairs of reviewers; NaN if it is undefined.
    """

    items: int
    states: dict[ReviewState, int]
    outcomes: dict[ReviewOutcome, int]
    terms: tuple[TermProgress, ...]
    both: int
    same: int
    kappa: float


def figures_of(session: Session, review: ReviewRow) -> ReviewFigures:
    """The figures of a review."""
    verdicts = verdicts_by_item(session, review)
    items = session.execute(
        select(ReviewItemRow.id, ReviewItemRow.term).where(ReviewItemRow.review_id == review.id)
    ).all()
    states = dict.fromkeys(ReviewState, 0)
    outcomes = dict.fromkeys(ReviewOutcome, 0)
    terms: dict[str, list[bool]] = {}
    for identity, term in items:
        own = verdicts.get(identity, ())
        state = state_of(own)
        states[state] += 1
        terms.setdefault(term, []).append(state is ReviewState.SETTLED)
        settled = settled_verdict(own)
        if settled is not None:
            outcomes[settled.outcome] += 1
    pairs = [
        reviewers
        for own in verdicts.values()
        if len(reviewers := [verdict for verdict in own if verdict.role is ReviewRole.REVIEWER]) > 1
    ]
    return ReviewFigures(
        items=len(items),
        states=states,
        outcomes=outcomes,
        terms=tuple(
            TermProgress(term, sum(done), len(done)) for term, done in sorted(terms.items(), key=_term_order)
        ),
        both=len(pairs),
        same=sum(all(map(own[0].agrees_with, own[1:])) for own in pairs),
        kappa=_kappa(pairs),
    )


def _term_order(entry: tuple[str, list[bool]]) -> str:
    return entry[0].casefold()


def _kappa(pairs: Sequence[Sequence[ReviewVerdict]]) -> float:
    people = sorted({verdict.person for own in pairs for verdict in own})
    codes = {outcome: code for code, outcome in enumerate(ReviewOutcome)}
    votes = np.full((len(pairs), len(people)), NOT_ASKED, dtype=np.int64)
    for row, own in enumerate(pairs):
        for verdict in own:
            votes[row, people.index(verdict.person)] = codes[verdict.outcome]
    return mean_kappa(pairwise_kappa(votes)) if people else float("nan")
