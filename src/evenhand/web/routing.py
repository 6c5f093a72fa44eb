"""What route functions ask for: the database, and that the administrator is signed in."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Path, Query, Request
from fastapi.responses import RedirectResponse
from sqlalchemy import select

from evenhand.web.database import Database
from evenhand.web.security import Refusal
from evenhand.web.tables import AdministratorRow


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
