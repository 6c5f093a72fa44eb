"""What reviewers decided, as it is kept with a translation and told in its data statement.

``review.csv`` has one row per verdict: item, person, role, outcome, comment, time; ``texts``, those that the person
wrote, as JSON; and ``result``, a digest of the item's texts as the verdict leaves them. It shows whether an item was
changed after its review.
"""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from evenhand.core.errors import DatasetError
from evenhand.core.files import decode_utf8, load_json, read_stored, sha256_of, write_text
from evenhand.core.labels import NOT_ASKED
from evenhand.data.csv_files import plain_cell, spreadsheet_cell
from evenhand.stats.agreement import mean_kappa, pairwise_kappa
from evenhand.translation.documents import Document
from evenhand.translation.reviews import (
    ReviewOutcome,
    ReviewRole,
    ReviewState,
    ReviewVerdict,
    review_texts,
    settled_verdict,
    state_of,
)
from evenhand.translation.table_documents import TableDocument

_COLUMNS = ("item", "person", "role", "outcome", "comment", "time", "texts", "result")


@dataclass(frozen=True, slots=True)
class RecordedVerdict:
    """A verdict, and a digest of the item's texts as it leaves them."""

    verdict: ReviewVerdict
    result: str


def digest_of_texts(texts: Mapping[str, str]) -> str:
    """A short digest of the texts of an item."""
    return sha256_of(json.dumps(dict(texts), sort_keys=True).encode())[:16]


def recorded(verdict: ReviewVerdict, shown: Mapping[str, str]) -> RecordedVerdict:
    """A verdict as it is kept, given the texts that the person saw."""
    left = {**shown, **verdict.texts} if verdict.outcome is ReviewOutcome.EDIT else shown
    return RecordedVerdict(verdict, digest_of_texts(left))


def review_csv(rows: Iterable[RecordedVerdict]) -> str:
    """Verdicts as a table."""
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, lineterminator="\n", quoting=csv.QUOTE_ALL)
    writer.writerow(_COLUMNS)
    for row in rows:
        own = row.verdict
        texts = json.dumps(dict(own.texts), ensure_ascii=False) if own.texts else ""
        writer.writerow(
            (
                own.item,
                own.person,
                own.role.value,
                own.outcome.value,
                spreadsheet_cell(own.comment),
                own.time,
                texts,
                row.result,
            )
        )
    return buffer.getvalue()


def read_review(path: Path) -> list[RecordedVerdict]:
    """Read verdicts as they were written; none where there is no file.

    Raises:
        DatasetError: If the file is not a table of verdicts.
    """
    if not path.exists():
        return []
    text = decode_utf8(read_stored(path, error=DatasetError), path, error=DatasetError)
    try:
        _, *rows = csv.reader(io.StringIO(text, newline=""), strict=True)
        return [
            RecordedVerdict(
                ReviewVerdict(
                    item,
                    person,
                    ReviewRole(role),
                    ReviewOutcome(outcome),
                    _texts_of(texts),
                    plain_cell(comment),
                    time,
                ),
                result,
            )
            for item, person, role, outcome, comment, time, texts, result in rows
        ]
    except (csv.Error, ValueError) as problem:
        raise DatasetError(
            f"{path} is not a table of verdicts with the columns {', '.join(_COLUMNS)} ({problem}). Put it back as it "
            "was."
        ) from None


def _texts_of(cell: str) -> dict[str, str]:
    """The texts of a verdict from their JSON."""
    texts = load_json(cell) if cell else {}
    if not isinstance(texts, dict) or not all(isinstance(text, str) for text in texts.values()):
        raise ValueError(f"{cell[:80]!r} has no texts by field")
    return texts


def keep_review(path: Path, rows: Sequence[RecordedVerdict]) -> None:
    """Write verdicts; what the file has on the same items gives way, and the rest stays."""
    decided = {row.verdict.item for row in rows}
    kept = [row for row in read_review(path) if row.verdict.item not in decided]
    write_text(path, review_csv([*kept, *rows]))


def keep_set_aside(path: Path, rows: Sequence[RecordedVerdict]) -> None:
    """Add verdicts to those that were set aside before."""
    write_text(path, review_csv([*read_review(path), *rows]))


@dataclass(frozen=True, slots=True)
class ReviewAgreement:
    """How far reviewers agree.

    Attributes:
        both: Items that two reviewers decided about.
        same: Those of them on which they came to the same result.
        kappa: Agreement of their outcomes beyond chance, the mean over pairs of reviewers; NaN if it is undefined.
    """

    both: int
    same: int
    kappa: float


def agreement_of(verdicts: Iterable[Sequence[ReviewVerdict]]) -> ReviewAgreement:
    """The agreement of the verdicts on several items."""
    pairs = [
        reviewers
        for own in verdicts
        if len(reviewers := [verdict for verdict in own if verdict.role is ReviewRole.REVIEWER]) > 1
    ]
    same = sum(all(map(own[0].agrees_with, own[1:])) for own in pairs)
    return ReviewAgreement(len(pairs), same, _kappa(pairs))


def _kappa(pairs: Sequence[Sequence[ReviewVerdict]]) -> float:
    people = sorted({verdict.person for own in pairs for verdict in own})
    codes = {outcome: code for code, outcome in enumerate(ReviewOutcome)}
    votes = np.full((len(pairs), len(people)), NOT_ASKED, dtype=np.int64)
    for row, own in enumerate(pairs):
        for verdict in own:
            votes[row, people.index(verdict.person)] = codes[verdict.outcome]
    return mean_kappa(pairwise_kappa(votes)) if people else float("nan")


@dataclass(frozen=True, slots=True)
class ReviewSummary:
    """What a review has covered.

    Attributes:
        items: All items of the translation, those aside that people wrote for this language.
        states: How many of the items that somebody looked at are in each state.
        outcomes: How many items were settled with each outcome.
        changed: Settled items whose texts are others now.
        reviewers: Who reviewed.
        arbiters: Who settled disputes, with the number of items.
        agreement: Of the reviewers.
    """

    items: int
    states: Mapping[ReviewState, int]
    outcomes: Mapping[ReviewOutcome, int]
    changed: int
    reviewers: tuple[str, ...]
    arbiters: Mapping[str, int]
    agreement: ReviewAgreement


def summary_of(
    rows: Sequence[RecordedVerdict], document: Document | TableDocument, *, own_items: Collection[str]
) -> ReviewSummary:
    """What verdicts cover of a translation as it is now.

    Args:
        rows: The verdicts.
        document: The translation.
        own_items: Ids of items that people wrote for this language; they are no one's translation.
    """
    by_item: dict[str, list[RecordedVerdict]] = {}
    for row in rows:
        if row.verdict.item in document.items:
            by_item.setdefault(row.verdict.item, []).append(row)
    states: Counter[ReviewState] = Counter()
    outcomes: Counter[ReviewOutcome] = Counter()
    arbiters: Counter[str] = Counter()
    changed = 0
    for identity, own in by_item.items():
        verdicts = [row.verdict for row in own]
        states[state_of(verdicts)] += 1
        settled = settled_verdict(verdicts)
        if settled is None:
            continue
        outcomes[settled.outcome] += 1
        if settled.role is ReviewRole.ARBITER:
            arbiters[settled.person] += 1
        results = {row.result for row in own if settled.agrees_with(row.verdict)}
        changed += digest_of_texts(review_texts(document.items[identity])) not in results
    people = {row.verdict.person for row in rows if row.verdict.role is ReviewRole.REVIEWER}
    return ReviewSummary(
        items=len(document) - len(own_items),
        states=states,
        outcomes=outcomes,
        changed=changed,
        reviewers=tuple(sorted(people)),
        arbiters=arbiters,
        agreement=agreement_of([row.verdict for row in own] for own in by_item.values()),
    )
