"""The pages of reviewers and arbiters: one item per screen beside its source, saved at every key."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import HTMLResponse
from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from evenhand.core.items import Task
from evenhand.data.language_names import LANGUAGE_NAMES
from evenhand.studio.pages import page
from evenhand.studio.routing import (
    Data,
    PersonId,
    Position,
    RowId,
    follow_personal_link,
    person_in_address,
    redirect,
)
from evenhand.studio.security import (
    Refusal,
    Submission,
    clean_text,
    field,
    seconds_field,
)
from evenhand.studio.tables import ReviewerRow, ReviewItemRow, ReviewRow, ReviewVerdictRow, utc_now
from evenhand.translation.documents import CONTEXT, TARGET
from evenhand.translation.review_pages.items import TABLE, texts_of
from evenhand.translation.review_pages.queue import ItemFacts, ItemFilter, ReviewQueue, queue_of
from evenhand.translation.review_pages.shown import (
    marked_parts,
    shown_candidates,
    shown_notes,
    shown_proposal,
)
from evenhand.translation.reviews import (
    REVIEWERS_PER_ITEM,
    ReviewOutcome,
    ReviewRole,
    ReviewVerdict,
    fault_of,
    review_texts,
)
from evenhand.translation.table_documents import fault_of_row

router = APIRouter()

LONGEST_TEXT = 12_000
LONGEST_COMMENT = 2000
UNSAVED = "problem_review_unsaved"
"""The hint that edits would be lost; who steps on after it has seen it."""


@router.get("/r/{token}")
def open_link(request: Request, database: Data, token: str) -> Response:
    """Follow a personal link."""
    with database.read() as session:
        person = follow_personal_link(request, session, ReviewerRow, token)
        return redirect(f"/review/{person.id}")


async def filter_of(problem: str = "", bias: str = "", term: str = "") -> ItemFilter:
    """The filter behind an address."""
    return ItemFilter(problem[:200], bias[:200], term[:200])


Filter = Annotated[ItemFilter, Depends(filter_of)]


def _person_and_review(request: Request, session: Session, person_id: int) -> tuple[ReviewerRow, ReviewRow]:
    person = person_in_address(request, session, ReviewerRow, person_id)
    return person, session.get_one(ReviewRow, person.review_id)


@router.get("/review/{person_id}")
def show_item(
    request: Request, database: Data, person_id: PersonId, chosen: Filter, at: Position = None
) -> Response:
    """The item to look at now, or the one at a position."""
    with database.read() as session:
        person, review = _person_and_review(request, session, person_id)
        if person.warned_at is None:
            return page(request, "review_start", review=review, person=person)
        queue = queue_of(session, review)
        items = [item for item in queue.items if chosen.passes(item)]
        waiting = [item for item in items if queue.waits_for(person, item)]
        found = (
            waiting[:1] if at is None else [item for item in items if item.position >= at][:1] or items[-1:]
        )
        if not found:
            return page(
                request, "review_done", review=review, person=person, chosen=chosen, **queue.choices()
            )
        return _item_page(request, session, review, person, queue=queue, found=found[0], chosen=chosen)


@router.post("/review/{person_id}/begin")
def begin(
    request: Request,
    database: Data,
    person_id: PersonId,
    form: Submission,  # noqa: ARG001  it carries the token
) -> Response:
    """The reviewer has read the warning."""
    with database.write() as session:
        person, _ = _person_and_review(request, session, person_id)
        person.warned_at = utc_now()
    return redirect(f"/review/{person_id}")


_STEPS = ("previous", "next")


@router.post("/review/{person_id}/{item_id}")
def save_verdict(
    request: Request, database: Data, person_id: PersonId, item_id: RowId, form: Submission, chosen: Filter
) -> Response:
    """Keep what somebody decided about an item, take the last verdict back, or step to another item."""
    choice = field(form, "choice", limit=40)
    with database.read() as session:
        person, review = _person_and_review(request, session, person_id)
        item = session.get(ReviewItemRow, item_id)
        if item is None or item.review_id != review.id:
            raise Refusal(404, "refused_text")
        is_leaving = choice in _STEPS or choice == "undo"
        if is_leaving:
            verdict, problem = None, _unsaved(session, form, item, person_id)
        else:
            verdict, problem = _verdict(session, form, item, choice)
        if problem is None and choice in _STEPS:
            return redirect(_address(person_id, chosen, at=_step(session, review, item, chosen, choice)))
        if problem:
            queue = queue_of(session, review)
            return _item_page(
                request,
                session,
                review,
                person,
                queue=queue,
                found=next(facts for facts in queue.items if facts.id == item.id),
                chosen=chosen,
                problem=problem,
                written=_written(form, item),
                comment=field(form, "comment", limit=LONGEST_COMMENT),
            )
    with database.write() as session:
        if verdict is None:
            return redirect(_address(person_id, chosen, at=_take_back(session, person_id)))
        session.execute(
            delete(ReviewVerdictRow).where(
                ReviewVerdictRow.reviewer_id == person_id, ReviewVerdictRow.item_id == item_id
            )
        )
        session.add(
            ReviewVerdictRow(
                reviewer_id=person_id,
                item_id=item_id,
                outcome=verdict.outcome.value,
                texts=dict(verdict.texts),
                comment=verdict.comment,
                seconds=seconds_field(form),
                decided_at=utc_now(),
            )
        )
    return redirect(_address(person_id, chosen))


def _address(person_id: int, chosen: ItemFilter, *, at: int | None = None) -> str:
    parts = [part for part in (chosen.query, "" if at is None else f"at={at}") if part]
    return f"/review/{person_id}" + (f"?{'&'.join(parts)}" if parts else "")


def _step(session: Session, review: ReviewRow, item: ReviewItemRow, chosen: ItemFilter, choice: str) -> int:
    """The position of the item before or after one, of those that pass the filter."""
    places = [facts.position for facts in queue_of(session, review).items if chosen.passes(facts)]
    if choice == "next":
        return next((place for place in places if place > item.position), item.position)
    return next((place for place in reversed(places) if place < item.position), item.position)


def _take_back(session: Session, person_id: int) -> int | None:
    """Take somebody's last verdict back; the position of its item, None if there is none."""
    last = session.scalar(
        select(ReviewVerdictRow)
        .where(ReviewVerdictRow.reviewer_id == person_id)
        .order_by(ReviewVerdictRow.decided_at.desc(), ReviewVerdictRow.id.desc())
    )
    if last is None:
        return None
    session.delete(last)
    return session.get_one(ReviewItemRow, last.item_id).position


def _written(form: Submission, item: ReviewItemRow) -> dict[str, str]:
    """The texts of a form by field; those of the item where the form has none, or the same but for white space."""
    written = {}
    for name, text in review_texts(texts_of(item)).items():
        given = field(form, name, limit=LONGEST_TEXT) if name in form else text
        written[name] = text if given == clean_text(text) else given
    return written


def _unsaved(session: Session, form: Submission, item: ReviewItemRow, person_id: int) -> str | None:
    """The key of a hint that texts or a comment would be lost, unless somebody was told so just now."""
    own = _own_verdict(session, item, person_id)
    kept = {**review_texts(texts_of(item)), **(own.texts if own else {})}
    is_same = _written(form, item) == kept and field(form, "comment", limit=LONGEST_COMMENT) == (
        own.comment if own else ""
    )
    return None if is_same or "discard" in form else UNSAVED


def _own_verdict(session: Session, item: ReviewItemRow, person_id: int) -> ReviewVerdictRow | None:
    return session.scalar(
        select(ReviewVerdictRow).where(
            ReviewVerdictRow.reviewer_id == person_id, ReviewVerdictRow.item_id == item.id
        )
    )


def _verdict(
    session: Session, form: Submission, item: ReviewItemRow, choice: str
) -> tuple[ReviewVerdict, str | None]:
    """What a form decides, and the key of what is wrong with it."""
    comment = field(form, "comment", limit=LONGEST_COMMENT)
    if choice.startswith("take:"):
        return _taken(session, item, choice, comment), None
    if choice not in set(ReviewOutcome):
        raise Refusal(422, "refused_label")
    before, written = review_texts(texts_of(item)), _written(form, item)
    edited = {name: text for name, text in written.items() if text != before[name]}
    outcome = ReviewOutcome(choice)
    if outcome is ReviewOutcome.ACCEPT and edited:
        outcome = ReviewOutcome.EDIT
    texts = {
        ReviewOutcome.EDIT: edited,
        ReviewOutcome.CULTURE_SPECIFIC: written if edited else {},
    }.get(outcome, {})
    fault = _fault(item, written) if texts else None
    problem = f"problem_review_{fault}" if fault else None
    if outcome is ReviewOutcome.BEYOND_REPAIR and not comment:
        problem = "problem_review_reason"
    if outcome is ReviewOutcome.EDIT and not edited:
        problem = "problem_review_unedited"
    return ReviewVerdict(item.key, "", ReviewRole.REVIEWER, outcome, texts, comment), problem


def _fault(item: ReviewItemRow, written: Mapping[str, str]) -> str | None:
    if item.task == TABLE:
        return fault_of_row(written, item.source["texts"])
    return fault_of(Task(item.task), written)


def _taken(session: Session, item: ReviewItemRow, choice: str, comment: str) -> ReviewVerdict:
    """The verdict of a reviewer that the arbiter takes over."""
    number = choice.removeprefix("take:")
    row = session.get(ReviewVerdictRow, int(number)) if number.isdecimal() and len(number) < 10 else None
    if row is None or row.item_id != item.id:
        raise Refusal(404, "refused_text")
    return ReviewVerdict(
        item.key, "", ReviewRole.ARBITER, ReviewOutcome(row.outcome), row.texts, comment or row.comment
    )


def _item_page(
    request: Request,
    session: Session,
    review: ReviewRow,
    person: ReviewerRow,
    *,
    queue: ReviewQueue,
    found: ItemFacts,
    chosen: ItemFilter,
    problem: str | None = None,
    written: Mapping[str, str] | None = None,
    comment: str | None = None,
) -> HTMLResponse:
    item = session.get_one(ReviewItemRow, found.id)
    own = _own_verdict(session, item, person.id)
    texts = review_texts(texts_of(item))
    shown = dict(written or {**texts, **(own.texts if own else {})})
    is_arbiter = person.role == ReviewRole.ARBITER.value
    proposals = (
        session.scalars(
            select(ReviewVerdictRow)
            .join(ReviewerRow, ReviewerRow.id == ReviewVerdictRow.reviewer_id)
            .where(ReviewVerdictRow.item_id == item.id, ReviewerRow.role == ReviewRole.REVIEWER.value)
            .order_by(ReviewVerdictRow.id)
        ).all()
        if is_arbiter
        else []
    )
    done = queue.done_by(person)
    waiting = sum(queue.waits_for(person, facts) for facts in queue.items)
    return page(
        request,
        "review",
        status=422 if problem else 200,
        review=review,
        person=person,
        is_arbiter=is_arbiter,
        languages=[LANGUAGE_NAMES.get(tag, tag) for tag in (review.source_language, review.language)],
        item=item,
        texts=texts,
        shown=shown,
        is_edited=shown != texts,
        parts={
            "source": marked_parts(item.source.get(CONTEXT, ""), item.source.get(TARGET, "")),
            "context": marked_parts(shown.get(CONTEXT, ""), shown.get(TARGET, "")),
        },
        candidates=shown_candidates(item, shown),
        verdict=own,
        comment=(own.comment if own else "") if comment is None else comment,
        problem=problem,
        is_discarding=problem == UNSAVED,
        proposals=proposals,
        proposed=[shown_proposal(item, texts, row.texts) for row in proposals],
        notes=shown_notes(item),
        done=done,
        total=done + waiting,
        term=queue.term_progress(item.term),
        needed=REVIEWERS_PER_ITEM,
        chosen=chosen,
        **queue.choices(),
    )
