"""What route functions ask for and answer with: the database, the administrator, personal links, files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, TypeVar

from fastapi import Depends, Path, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import RedirectResponse
from sqlalchemy import select
from sqlalchemy.orm import Session

from evenhand.core.errors import UnknownNameError
from evenhand.studio.accounts import is_signed_in
from evenhand.studio.database import Database
from evenhand.studio.security import Refusal, token_digest, wrong_secret
from evenhand.studio.tables import AnnotatorRow, ReviewerRow

MOST_LINKS = 30
"""Links that one session remembers; their digests must fit into a cookie, which has 4,096 bytes."""

Person = TypeVar("Person", AnnotatorRow, ReviewerRow)


async def database_of(request: Request) -> Database:
    """The database of the application."""
    # Not async for the sake of waiting: FastAPI runs other functions in a thread, which takes longer than this does.
    database: Database = request.app.state.database
    return database


Data = Annotated[Database, Depends(database_of)]


async def refuse_nul(request: Request) -> None:
    """Refuse an address with a NUL, which is of no page: PostgreSQL takes no text with one."""
    if "\0" in request.scope["path"]:
        raise Refusal(404, "refused_page")


async def forget_ended_session(request: Request, database: Data) -> None:
    """Forget all of a session, links too, that was signed out of or whose password is another one now."""
    token = request.session.get("admin")
    if token is not None and not await run_in_threadpool(_is_signed_in, database, token):
        request.session.clear()


def _is_signed_in(database: Database, token: str) -> bool:
    with database.read() as session:
        return is_signed_in(session, token)


async def require_administrator(request: Request) -> None:
    """Refuse who is not signed in. Before every route, ``forget_ended_session`` looks whether a session still is."""
    if "admin" not in request.session:
        raise Refusal(401, "refused_sign_in")


LARGEST_ID = 2**31 - 1
"""What PostgreSQL holds in an integer; a larger one is the id of nothing."""

RowId = Annotated[int, Path(ge=0, le=LARGEST_ID)]
"""The id of a row in an address."""

Position = Annotated[int | None, Query(ge=0, le=LARGEST_ID)]
"""A place in somebody's order, behind an address."""

Administrator = Annotated[None, Depends(require_administrator)]
"""That the administrator is signed in."""


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
    """Whose personal link a token is. The browser's session remembers it, and the token leaves the address.

    Raises:
        Refusal: If it is nobody's, or was closed.
    """
    person = session.scalar(select(people).where(people.token_digest == token_digest(token)))
    if person is None or person.revoked_at is not None:
        raise wrong_secret(request, Refusal(404, "refused_link"))
    remember_link(request, person.token_digest)
    return person


def require_links(request: Request) -> None:
    """Refuse a browser without links before its form is looked at, so that who lost a cookie is told what to do."""
    if not known_links(request):
        raise Refusal(403, "refused_link")


async def person_id_in_address(request: Request, person_id: RowId) -> int:
    """The id in the address; that the person's link was followed is for ``person_in_address`` to say."""
    require_links(request)
    return person_id


PersonId = Annotated[int, Depends(person_id_in_address)]
"""The id of somebody whose page an address is."""


def person_in_address(request: Request, session: Session, people: type[Person], person_id: int) -> Person:
    """Somebody whose page this is, if this browser's session followed the link that is theirs now.

    Raises:
        Refusal: If it did not, or the link was closed or replaced since.
    """
    person = session.get(people, person_id)
    if person is None or person.revoked_at is not None or person.token_digest not in known_links(request):
        raise Refusal(403, "refused_link")
    return person


def remember_link(request: Request, digest: str) -> None:
    """Let this browser's session open what a digest stands for, as long as somebody has it."""
    others = [other for other in known_links(request) if other != digest]
    request.session["links"] = [*others, digest][-MOST_LINKS:]


def known_links(request: Request) -> list[str]:
    """Digests of what this browser's session may open, the latest last: personal links, and surveys by their codes.

    Ids say which of them a page is about, and never that somebody may see it: a digest is of one person alone.
    """
    links: list[str] = request.session.get("links", [])
    return links
