"""The order of the items of a review, what somebody should look at next, filters, and how far the review is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any
from urllib.parse import urlencode

from sqlalchemy import select
from sqlalchemy.orm import Session

from evenhand.studio.tables import ReviewerRow, ReviewItemRow, ReviewRow
from evenhand.translation.review_pages.reviews import verdicts_by_item
from evenhand.translation.review_records import ReviewAgreement, agreement_of
from evenhand.translation.reviews import (
    ReviewOutcome,
    ReviewRole,
    ReviewState,
    ReviewVerdict,
    settled_verdict,
    state_of,
)


@dataclass(frozen=True, slots=True)
class ItemFacts:
    """What is known of an item without reading it."""

    id: int
    position: int
    bias_type: str
    term: str
    problems: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ItemFilter:
    """Which items somebody wants to see; an empty text lets all pass."""

    problem: str = ""
    bias: str = ""
    term: str = ""

    def passes(self, item: ItemFacts) -> bool:
        """Whether an item is one of them."""
        return (
            (not self.problem or self.problem in item.problems)
            and self.bias in ("", item.bias_type)
            and self.term in ("", item.term)
        )

    @property
    def query(self) -> str:
        """The filter as a part of an address."""
        return urlencode({name: value for name, value in asdict(self).items() if value})


@dataclass(frozen=True, slots=True)
class ReviewQueue:
    """The items of a review in their order, and what was decided about each."""

    items: Sequence[ItemFacts]
    verdicts: Mapping[int, Sequence[ReviewVerdict]]

    def waits_for(self, person: ReviewerRow, item: ItemFacts) -> bool:
        """Whether somebody should look at an item: a reviewer at open ones, the arbiter at disputed ones."""
        own = self.verdicts.get(item.id, ())
        if any(verdict.person == person.name for verdict in own):
            return False
        state = state_of(own)
        return state is (
            ReviewState.DISPUTED if person.role == ReviewRole.ARBITER.value else ReviewState.OPEN
        )

    def done_by(self, person: ReviewerRow) -> int:
        """How many items somebody decided about."""
        return sum(any(verdict.person == person.name for verdict in own) for own in self.verdicts.values())

    def choices(self) -> dict[str, Any]:
        """What one can filter by, with the number of items; problems that occur most first."""
        return {
            "problems": Counter(name for item in self.items for name in item.problems).most_common(),
            "bias_types": sorted(Counter(item.bias_type for item in self.items).items()),
            "terms": sorted(
                Counter(item.term for item in self.items).items(), key=lambda own: own[0].casefold()
            ),
        }

    def term_progress(self, term: str) -> tuple[int, int]:
        """How many items about a target term are settled, and how many there are."""
        own = [item for item in self.items if item.term == term]
        settled = [item for item in own if state_of(self.verdicts.get(item.id, ())) is ReviewState.SETTLED]
        return len(settled), len(own)


def queue_of(session: Session, review: ReviewRow) -> ReviewQueue:
    """The queue of a review."""
    columns = (
        ReviewItemRow.id,
        ReviewItemRow.position,
        ReviewItemRow.bias_type,
        ReviewItemRow.term,
        ReviewItemRow.problems,
    )
    rows = session.execute(
        select(*columns).where(ReviewItemRow.review_id == review.id).order_by(ReviewItemRow.position)
    )
    items = [
        ItemFacts(
            row.id, row.position, row.bias_type, row.term, tuple(problem["name"] for problem in row.problems)
        )
        for row in rows
    ]
    return ReviewQueue(items, verdicts_by_item(session, review))


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
        agreement: Of the reviewers.
    """

    items: int
    states: dict[ReviewState, int]
    outcomes: dict[ReviewOutcome, int]
    terms: tuple[TermProgress, ...]
    agreement: ReviewAgreement


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
    return ReviewFigures(
        items=len(items),
        states=states,
        outcomes=outcomes,
        terms=tuple(
            TermProgress(term, sum(done), len(done)) for term, done in sorted(terms.items(), key=_term_order)
        ),
        agreement=agreement_of(verdicts.values()),
    )


def _term_order(entry: tuple[str, list[bool]]) -> str:
    return entry[0].casefold()
