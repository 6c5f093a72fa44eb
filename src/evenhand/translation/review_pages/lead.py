"""The pages of a review's lead: progress, agreement, people and their links, the changes to take away."""

from __future__ import annotations

import math
import tempfile
from pathlib import Path

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from evenhand.core.errors import TranslationError
from evenhand.stats.agreement import AgreementBand
from evenhand.studio.accounts import public_url
from evenhand.studio.pages import page
from evenhand.studio.routing import (
    Administrator,
    Data,
    RowId,
    file_to_save,
    member,
    redirect,
    refusing_unknown,
)
from evenhand.studio.security import Refusal, Submission, field
from evenhand.studio.tables import ReviewerRow, ReviewRow, ReviewVerdictRow, utc_now
from evenhand.translation.changes import write_changes
from evenhand.translation.review_pages.queue import figures_of
from evenhand.translation.review_pages.reviews import (
    add_reviewer,
    recorded_verdicts,
    review_named,
    settled_changes,
)
from evenhand.translation.review_records import review_csv
from evenhand.translation.reviews import ReviewRole

router = APIRouter()


def _review(session: Session, name: str) -> ReviewRow:
    with refusing_unknown():
        return review_named(session, name)


@router.get("/reviews/{name}")
def show_review(request: Request, database: Data, _administrator: Administrator, name: str) -> HTMLResponse:
    """The page of a review."""
    with database.read() as session:
        return _review_page(request, session, _review(session, name))


@router.post("/reviews/{name}/people")
def add(
    request: Request, database: Data, _administrator: Administrator, form: Submission, name: str
) -> Response:
    """Add somebody, or give somebody a new link; the link is shown this once."""
    is_arbiter = field(form, "role") == ReviewRole.ARBITER.value
    with database.write() as session:
        review = _review(session, name)
        try:
            link = add_reviewer(
                session,
                review,
                field(form, "person", limit=100),
                role=ReviewRole.ARBITER if is_arbiter else ReviewRole.REVIEWER,
            )
        except TranslationError:
            raise Refusal(422, "refused_name") from None
        session.flush()
        return _review_page(request, session, review, link=(link.name, public_url(session) + link.path))


@router.post("/reviews/{name}/people/{person_id}/revoke")
def close_link(
    database: Data,
    _administrator: Administrator,
    form: Submission,  # noqa: ARG001  it carries the token
    name: str,
    person_id: RowId,
) -> Response:
    """Close somebody's link; their verdicts stay."""
    with database.write() as session:
        review = _review(session, name)
        member(session, ReviewerRow, person_id, of=review.id).revoked_at = utc_now()
    return redirect(f"/reviews/{name}")


@router.get("/reviews/{name}/changes.csv")
def download_changes(database: Data, _administrator: Administrator, name: str) -> Response:
    """What was settled, as rows of changes."""
    with database.read() as session:
        rows = settled_changes(session, _review(session, name))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "changes.csv"
        write_changes(path, rows)
        return file_to_save(path.read_bytes(), f"{name}.changes.csv")


@router.get("/reviews/{name}/verdicts.csv")
def download_verdicts(database: Data, _administrator: Administrator, name: str) -> Response:
    """Every verdict with its comment, one row each."""
    with database.read() as session:
        rows = recorded_verdicts(session, _review(session, name))
    return file_to_save(review_csv(rows).encode(), f"{name}.verdicts.csv")


def _review_page(
    request: Request, session: Session, review: ReviewRow, *, link: tuple[str, str] | None = None
) -> HTMLResponse:
    figures = figures_of(session, review)
    kappa = figures.agreement.kappa
    people = session.execute(
        select(ReviewerRow, func.count(ReviewVerdictRow.id))
        .outerjoin(ReviewVerdictRow, ReviewVerdictRow.reviewer_id == ReviewerRow.id)
        .where(ReviewerRow.review_id == review.id)
        .group_by(ReviewerRow.id)
        .order_by(ReviewerRow.name)
    ).all()
    return page(
        request,
        "review_lead",
        review=review,
        figures=figures,
        band=None if math.isnan(kappa) else AgreementBand.of(kappa),
        people=people,
        link=link,
    )
