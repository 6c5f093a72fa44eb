"""The pages of the administrator's account: the one-time link, signing in, the password, what there is."""

from __future__ import annotations

import re

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse
from sqlalchemy import select
from sqlalchemy.orm import Session

from evenhand.studio import accounts
from evenhand.studio.pages import LANGUAGES, page
from evenhand.studio.routing import Administrator, Data, redirect
from evenhand.studio.security import Refusal, Submission, field, limit_passwords, wrong_secret
from evenhand.studio.tables import AdministratorRow, ProjectRow, ReviewRow, SurveyRow

router = APIRouter()


@router.get("/language/{code}")
def choose_language(request: Request, code: str, back: str = "/") -> Response:
    """Show the interface in another language."""
    if code in LANGUAGES:
        request.session["language"] = code
    return redirect(_own_path(back))


@router.post("/keys")
def switch_keys(request: Request, form: Submission) -> Response:
    """Turn single keys on or off: who speaks to a computer, or holds a key by mistake, would set them off."""
    request.session["keys"] = "off" if field(form, "keys") == "off" else "on"
    return redirect(_own_path(field(form, "back")))


def _own_path(back: str) -> str:
    # Browsers read "/\\" and "/", tab, "/" as the beginning of another server's address.
    is_ours = re.fullmatch(r"/(?![/\\])[ -\[\]-~]*", back) is not None
    return back if is_ours else "/"


@router.get("/")
def home(request: Request, database: Data) -> HTMLResponse:
    """For the administrator what there is; for others where to go."""
    if "admin" not in request.session:
        return page(request, "welcome")
    with database.read() as session:
        return page(
            request,
            "home",
            projects=session.scalars(select(ProjectRow).order_by(ProjectRow.created_at)).all(),
            surveys=session.scalars(select(SurveyRow).order_by(SurveyRow.created_at)).all(),
            reviews=session.scalars(select(ReviewRow).order_by(ReviewRow.created_at)).all(),
        )


@router.get("/setup/{token}")
def show_setup(request: Request, database: Data, token: str) -> HTMLResponse:
    """The page behind the one-time link."""
    with database.read() as session:
        if not accounts.is_setup_token(session, token):
            raise wrong_secret(request, Refusal(404, "refused_setup"))
    return page(request, "password", action=request.url.path, problem=None, kind="setup")


@router.post("/setup/{token}")
def set_up(request: Request, database: Data, form: Submission, token: str) -> Response:
    """Make the administrator."""
    with database.write() as session:
        if not accounts.is_setup_token(session, token):
            raise wrong_secret(request, Refusal(404, "refused_setup"))
        problem = _password_problem(form)
        if problem:
            return page(
                request, "password", status=422, action=request.url.path, problem=problem, kind="setup"
            )
        _sign_in(request, session, accounts.put_administrator(session, _password(form, "password")))
    return redirect("/")


def _sign_in(request: Request, session: Session, row: AdministratorRow) -> None:
    """Begin another session, of which nothing is known to whoever used this browser before."""
    request.session.clear()
    request.session["admin"] = accounts.begin_sign_in(session, row)


@router.get("/lead/{token}")
def sign_in_by_link(request: Request, database: Data, token: str) -> Response:
    """Follow the link of a demonstration."""
    with database.write() as session:
        row = accounts.administrator_of(session, token)
        if row is None:
            raise wrong_secret(request, Refusal(404, "refused_link"))
        _sign_in(request, session, row)
    return redirect("/")


@router.get("/sign-in")
def show_sign_in(request: Request) -> HTMLResponse:
    """The form for the password."""
    return page(request, "sign_in", problem=None)


@router.post("/sign-in")
def sign_in(request: Request, database: Data, form: Submission) -> Response:
    """Check the password."""
    limit_passwords(request)
    with database.read() as session:
        row = accounts.sign_in(session, _password(form, "password"))
    if row is None:
        return page(request, "sign_in", status=401, problem="problem_password")
    with database.write() as session:
        _sign_in(request, session, row)
    return redirect("/")


@router.post("/sign-out")
def sign_out(request: Request, database: Data, form: Submission) -> Response:  # noqa: ARG001  it has the token
    """End the session, here and in every copy of its cookie."""
    token = request.session.get("admin")
    if token is not None:
        with database.write() as session:
            accounts.end_sign_in(session, token)
    request.session.clear()
    return redirect("/")


@router.get("/password")
def show_password(request: Request, _administrator: Administrator) -> HTMLResponse:
    """The form for another password."""
    return page(request, "password", action="/password", problem=None, kind="change")


@router.post("/password")
def change_password(
    request: Request, database: Data, form: Submission, _administrator: Administrator
) -> Response:
    """Set another password; all other sessions end."""
    limit_passwords(request, "administrator")
    with database.write() as session:
        problem = _password_problem(form)
        row = accounts.sign_in(session, _password(form, "current"))
        if row is None:
            problem = "problem_password"
        if row is None or problem:
            return page(request, "password", status=422, action="/password", problem=problem, kind="change")
        accounts.change_password(session, row, _password(form, "password"))
        request.session["admin"] = accounts.begin_sign_in(session, row)
    return redirect("/")


def _password(form: Submission, name: str) -> str:
    """A password as it was typed: a blank at its end belongs to it."""
    value = form.get(name)
    return value if isinstance(value, str) else ""


def _password_problem(form: Submission) -> str | None:
    chosen = _password(form, "password")
    if len(chosen) < accounts.SHORTEST_PASSWORD:
        return "problem_short_password"
    return None if chosen == _password(form, "again") else "problem_other_password"
