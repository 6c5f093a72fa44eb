"""What route functions ask for and answer with: the database, the administrator, personal links, files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, TypeVar

from fastapi import Depends, Path, Query, Request, Response
from fastapi.responses import RedirectResponse
from sqlalchemy import select
from sqlalchemy.orm import Session

from evenhand.core.errors import UnknownNameError
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


def file_to_save(content: bytes, name: str, *, kind: str = "text/csv") -> Response:
    """A file that the browser saves under a name."""
    shown = f'attachment; filename="{name}"'
    return Response(content, media_type=kind, headers={"Content-Disposition": shown})


@contextmanager
def refusing_unknown() -> Iterator[None]:
    """Within it, a name that nothing has is a page that is not there."""
    try:
        yield
    except UnknownNameError:
        raise Refusal(404, "refused_page") from None


def member(session: Session, people: type[Person], person_id: int, *, of: int) -> Person:
    """Somebody of a project or a review.

    Raises:
        Refusal: If nobody there has this id.
    """
    person = session.get(people, person_id)
    if person is None or person.belongs_to != of:
        raise Refusal(404, "refused_page")
    return person


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
