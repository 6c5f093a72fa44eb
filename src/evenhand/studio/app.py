"""The application: the pages it is made of, its middleware, and what is shown when something goes wrong."""

from __future__ import annotations

import errno
import logging
import mimetypes
import socket
import sys
import threading
import time
import webbrowser
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from importlib import resources
from ipaddress import ip_network
from typing import TYPE_CHECKING

from fastapi import Depends, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.middleware.sessions import SessionMiddleware

from evenhand.core.errors import EvenhandError
from evenhand.studio import accounts, administration
from evenhand.studio.annotation import adjudicating, labelling
from evenhand.studio.annotation import lead as annotation_lead
from evenhand.studio.database import Database
from evenhand.studio.group_commit import BusyDatabaseError
from evenhand.studio.pages import page
from evenhand.studio.routing import forget_ended_session, redirect, refuse_nul
from evenhand.studio.security import (
    HEADERS,
    TLS_HEADERS,
    BodyLimit,
    FailurePages,
    RateLimiter,
    Refusal,
    SafeResponses,
)
from evenhand.studio.survey import lead as survey_lead
from evenhand.studio.survey import taking
from evenhand.translation.review_pages import lead as review_lead
from evenhand.translation.review_pages import reviewing

if TYPE_CHECKING:
    from evenhand.studio.connections import Server

_LOGGER = logging.getLogger(__name__)

BODY_LIMIT = 512 * 1024
"""Bytes of a form. Six texts of 10,000 letters, each of which a form sends as up to nine bytes."""
COOKIE = "evenhand"
KEPT_CONNECTION = 75
"""Seconds that a connection stays open for the next request."""
SWITCH_INTERVAL = 0.0005
"""Seconds after which a thread lets another one run; Python's own choice is ten times as long."""


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """How a server is reached.

    Attributes:
        url: Where people find it, such as ``https://survey.example.org``. With ``https`` the session's cookie is sent
            over TLS only.
        limiter: Counts requests.
        proxies: Addresses or networks of web servers that pass requests on. Only they are believed when they say, in
            ``X-Forwarded-For``, from whom a request came.
    """

    url: str = accounts.DEFAULT_URL
    limiter: RateLimiter | None = None
    proxies: Sequence[str] = ()

    def __post_init__(self) -> None:
        for proxy in self.proxies:
            try:
                ip_network(proxy)
            except ValueError:
                raise EvenhandError(
                    f"{proxy!r} is not the address of a proxy. Give an address or a network, such as 127.0.0.1 or "
                    "10.0.0.0/24."
                ) from None

    @property
    def over_tls(self) -> bool:
        """Whether people reach it over TLS."""
        return self.url.startswith("https://")


def create_app(database: Database, options: ServerOptions | None = None) -> FastAPI:
    """The application over a database.

    Args:
        database: Where everything is kept.
        options: How it is reached.
    """
    options = options or ServerOptions()
    app = FastAPI(
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        dependencies=[Depends(refuse_nul), Depends(forget_ended_session)],
    )
    app.state.database = database
    app.state.limiter = options.limiter or RateLimiter()
    app.add_middleware(
        SessionMiddleware,
        secret_key=accounts.session_key(database),
        session_cookie=COOKIE,
        max_age=int(accounts.SIGN_IN_LIFETIME.total_seconds()),
        same_site="lax",
        https_only=options.over_tls,
    )
    app.add_middleware(BodyLimit, limit=BODY_LIMIT)
    app.add_middleware(FailurePages, show=_show_failure)
    app.add_middleware(SafeResponses, headers=HEADERS | TLS_HEADERS if options.over_tls else HEADERS)
    if options.proxies:
        from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

        app.add_middleware(ProxyHeadersMiddleware, trusted_hosts=list(options.proxies))
    app.add_exception_handler(Refusal, _show_refusal)
    app.add_exception_handler(BusyDatabaseError, _show_busy)
    app.add_exception_handler(HTTPException, _show_missing)
    app.add_exception_handler(RequestValidationError, _show_missing)
    app.add_api_route("/static/{name}", _static_file)
    modules = (
        *(administration, labelling, adjudicating, annotation_lead),
        *(taking, survey_lead, reviewing, review_lead),
    )
    for module in modules:
        app.include_router(module.router)
    with database.write() as session:
        accounts.put_setting(session, accounts.PUBLIC_URL, options.url)
    return app


def listen_on(host: str, port: int) -> socket.socket:
    """A socket that listens, before anything is said or changed.

    Raises:
        EvenhandError: If the port is taken, or the address is not of this machine.
    """
    # With the protocol left open, asyncio does not turn Nagle's algorithm off, and every page waits 40 ms for the
    # reader's acknowledgement of its headers.
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen()
    except OSError as problem:
        listening.close()
        if problem.errno == errno.EADDRINUSE:
            raise EvenhandError(f"Port {port} is in use. Choose another with --port.") from None
        reason = problem.strerror or problem
        raise EvenhandError(
            f"{host}, port {port}, cannot be listened on: {reason}. Choose others with --host and --port."
        ) from None
    return listening


def run_server(app: FastAPI, listening: socket.socket, *, opened: str | None = None) -> None:
    """Serve until somebody stops it. Nothing is logged that has an address of a reader.

    A connection is kept for longer than people take for a text, so that it is not closed just when they answer.

    Args:
        app: What is served.
        listening: A socket that listens already.
        opened: An address to open in a browser.
    """
    # SQLite lets go of the interpreter at every statement. Whoever is writing must get it back soon, or all who wait to
    # write wait for those who make pages.
    sys.setswitchinterval(SWITCH_INTERVAL)
    if opened:
        # What a browser asks waits in the socket until it is served.
        threading.Thread(target=webbrowser.open, args=(opened,), daemon=True).start()
    with suppress(KeyboardInterrupt):
        _server(app).run(sockets=[listening])


def _server(app: FastAPI) -> Server:
    import uvicorn

    from evenhand.studio import connections

    config = uvicorn.Config(
        app,
        http=connections.Connection,
        ws="none",
        limit_concurrency=connections.room_for_connections(),
        proxy_headers=False,  # create_app reads them, from the proxies that were named
        access_log=False,
        log_level="warning",
        server_header=False,
        timeout_keep_alive=KEPT_CONNECTION,
        timeout_graceful_shutdown=5,
    )
    connections.quiet_logs()
    return connections.Server(config)


@contextmanager
def served_from_thread(app: FastAPI) -> Iterator[str]:
    """The address of an application that a thread serves on a free port of this machine, for tests and screenshots."""
    listening = listen_on("127.0.0.1", 0)
    address = f"http://127.0.0.1:{listening.getsockname()[1]}"
    server = _server(app)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    while not server.started and thread.is_alive():
        time.sleep(0.02)
    try:
        yield address
    finally:
        server.should_exit = True
        thread.join()


async def _show_refusal(request: Request, refusal: Exception) -> Response:
    status = refusal.status if isinstance(refusal, Refusal) else 500
    if status == 401 and request.method == "GET":
        return redirect("/sign-in")
    return page(request, "error", status=status, reason=str(refusal))


async def _show_busy(request: Request, problem: Exception) -> Response:
    _LOGGER.warning("%s", problem)
    answer = page(request, "error", status=503, reason="refused_busy")
    answer.headers["Retry-After"] = "5"
    return answer


async def _show_missing(request: Request, problem: Exception) -> Response:
    status = problem.status_code if isinstance(problem, HTTPException) else 404
    return page(request, "error", status=status, reason="refused_page")


def _show_failure(request: Request) -> Response:
    return page(request, "error", status=500, reason="refused_failure")


def _static_file(name: str) -> Response:
    """A style sheet or script of ours."""
    content = _static_files().get(name)
    if content is None:
        raise Refusal(404, "refused_page")
    kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
    return Response(content, media_type=kind, headers={"Cache-Control": "no-cache"})


@cache
def _static_files() -> dict[str, bytes]:
    """Our own files, and the style sheet of the reports, so that all pages look alike."""
    own = resources.files("evenhand.studio") / "static"
    files = {entry.name: entry.read_bytes() for entry in own.iterdir()}
    shared = resources.files("evenhand.reporting") / "templates" / "page.css"
    return files | {"page.css": shared.read_bytes()}
