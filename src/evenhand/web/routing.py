"""What route functions ask for: the database, that the administrator is signed in, or whose personal link it is."""

from __future__ import annotations

from typing import Annotated, TypeVar

from fastapi import Depends, Path, Query, Request
from fastapi.responses import RedirectResponse
from sqlalchemy import select
from sqlalchemy.orm import Session

from evenhand.web.database import Database
from evenhand.web.security import Refusal, token_digest, wrong_secret
from evenhand.web.tables import AdministratorRow, AnnotatorRow, ReviewerRow

MOST_LINKS = 20
"""Personal links of a kind that one session remembers."""

Person = TypeVar("Person", AnnotatorRow, ReviewerRow)


async def database_of(request: Request) -> Database:
    """The database of the application."""
    # Not async for the sake of waiting: FastAPI runs other functions in a thread, which takes longer than this does.
    database: Database = request.app.state.database
    return database


Data = Annotated[Database, Depends(database_of)]


def require_administrator(request: Request, database: Data) -> int:
    """The id of the administrator, who must be signed in."""
    with database.read() as session:
        row = session.scalar(select(AdministratorRow))
        if row is None or request.session.get("admin") != row.epoch:
            request.session.pop("admin", None)
            raise Refusal(401, "refused_sign_in")
        return int(row.id)


LARGEST_ID = 2**31 - 1
"""What PostgreSQL holds in an integer; a larger one is the id of nothing."""

RowId = Annotated[int, Path(ge=0, le=LARGEST_ID)]
"""The id of a row in an address."""

Position = Annotated[int | None, Query(ge=0, le=LARGEST_ID)]
"""A place in somebody's order, behind an address."""

Administrator = Annotated[int, Depends(require_administrator)]
"""The id of the administrator, who is signed in."""


def redirect(path: str) -> RedirectResponse:
    """Send the reader on to a page, after a form too."""
    return RedirectResponse(path, status_code=303)


def follow_personal_link(request: Request, session: Session, people: type[Person], token: str) -> Person:
    """Whose personal link a token is. The browser's session remembers them, and the token leaves the address.

    Raises:
        Refusal: If it is nobody's, or was closed.
    """
    person = session.scalar(select(people).where(people.token_digest == token_digest(token)))
    if person is None or person.revoked_at is not None:
        raise wrong_secret(request, Refusal(404, "refused_link"))
    kind = people.__tablename__
    others: list[int] = [other for other in request.session.get(kind, []) if other != person.id]
    request.session[kind] = [*others, person.id][-MOST_LINKS:]
    return person


def require_personal_link(request: Request, people: type[Person], person_id: int) -> int:
    """The id of somebody whose personal link this browser's session followed.

    Raises:
        Refusal: If it did not.
    """
    if person_id not in request.session.get(people.__tablename__, []):
        raise Refusal(403, "refused_link")
    return person_id
