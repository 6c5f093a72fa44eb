"""What stands between a request and a page: limits of size and rate, headers, tokens against forged forms.

Addresses are kept in memory only, salted and hashed, for as long as a rate is counted.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import math
import secrets
import threading
import time
import unicodedata
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from ipaddress import IPv6Network, ip_address
from typing import Annotated

from fastapi import Depends, Request, Response
from starlette.datastructures import FormData, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)

HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}

_LOGGER = logging.getLogger(__name__)

TOKEN_BYTES = 24
MAX_FIELDS = 200


class Refusal(Exception):  # noqa: N818  it is a page that people see, not a fault of the program
    """A request that is answered with a page that says why not.

    Attributes:
        status: The status of the answer.
        reason: The key of the sentence that the page shows.
    """

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason


def new_token() -> str:
    """A secret for a link, which nobody can guess."""
    return secrets.token_urlsafe(TOKEN_BYTES)


def token_digest(token: str) -> str:
    """What is stored of a secret. It is as long and random as a key, so it needs no slow hash."""
    return hashlib.sha256(token.encode()).hexdigest()


TLS_HEADERS = {"Strict-Transport-Security": "max-age=31536000"}
"""What is added where people reach the server over TLS."""


class SafeResponses:
    """Middleware that adds headers to every answer, whoever made it."""

    def __init__(self, app: ASGIApp, headers: Mapping[str, str]) -> None:
        self.app = app
        self.headers = headers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in self.headers.items():
                    headers.setdefault(name, value)
            await send(message)

        await self.app(scope, receive, send_with_headers)


class FailurePages:
    """Middleware that answers with a page where the program fails, so that it has the headers of every other page."""

    def __init__(self, app: ASGIApp, show: Callable[[Request], Response]) -> None:
        self.app = app
        self.show = show

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        has_begun = False

        async def send_noting(message: Message) -> None:
            nonlocal has_begun
            has_begun = has_begun or message["type"] == "http.response.start"
            await send(message)

        try:
            await self.app(scope, receive, send_noting)
        except Exception:
            # Where, and not for whom: the address of a page may hold a secret.
            _LOGGER.exception("A page failed")
            if has_begun:
                raise
            scope.setdefault("session", {})
            await self.show(Request(scope))(scope, receive, send)


class BodyLimit:
    """Middleware that refuses a body that is larger than any form of ours, before it is in memory."""

    def __init__(self, app: ASGIApp, limit: int) -> None:
        self.app = app
        self.limit = limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Read the body, whatever length it claims, and pass it on if it is small enough."""
        if scope["type"] != "http" or scope["method"] in ("GET", "HEAD"):
            await self.app(scope, receive, send)
            return
        body = bytearray()
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            body += message.get("body", b"")
            if len(body) > self.limit:
                await _refuse_large(send)
                return
            if not message.get("more_body", False):
                break
        whole: Message = {"type": "http.request", "body": bytes(body), "more_body": False}
        pending = [whole]

        async def receive_whole() -> Message:
            return pending.pop() if pending else await receive()

        await self.app(scope, receive_whole, send)


async def _refuse_large(send: Send) -> None:
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": 413, "headers": headers})
    await send({"type": "http.response.body", "body": b"This is too long to be sent. Shorten it, please."})


@dataclass(frozen=True, slots=True)
class Rate:
    """At most so many requests of one kind in so many seconds."""

    requests: int
    seconds: float


LONGEST_RATE = 60.0
"""Seconds after which no rate needs a request any more."""


class RateLimiter:
    """Counts requests in sliding windows, in memory."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._salt = secrets.token_bytes(16)
        self._windows: dict[bytes, deque[float]] = {}
        self._lock = threading.Lock()

    def admits(self, rate: Rate, kind: str, who: str) -> bool:
        """Count a request if the rate allows it, in one step: of requests that come at once none slips through."""
        now = self._clock()
        with self._lock:
            if len(self._windows) > 10_000:
                self._forget(now)
            window = self._windows.setdefault(self._key(kind, who), deque())
            while window and window[0] <= now - rate.seconds:
                window.popleft()
            if len(window) >= rate.requests:
                return False
            window.append(now)
            return True

    def _key(self, kind: str, who: str) -> bytes:
        return hmac.digest(self._salt, f"{kind}\0{who}".encode(), "sha256")

    def _forget(self, now: float) -> None:
        stale = [
            key for key, window in self._windows.items() if not window or window[-1] < now - LONGEST_RATE
        ]
        for key in stale:
            del self._windows[key]


ACCESS = Rate(20, LONGEST_RATE)
"""Passwords that one address tries, and wrong links and withdrawal codes that it sends."""
PAGES = Rate(1200, LONGEST_RATE)
"""Forms that one session sends: several a second are fast typing."""
STARTS = Rate(120, LONGEST_RATE)
"""Surveys begun from one address without a personal link; a whole class may share it."""


def limit_passwords(request: Request, who: str | None = None) -> None:
    """Count a password before it is checked: right or wrong, those that come at once are all counted.

    Args:
        request: It carries the password.
        who: Who gives it, if they have signed in; otherwise the address counts.

    Raises:
        Refusal: If too many were tried.
    """
    _limit(request, ACCESS, "password", who or _address(request))


def wrong_secret(request: Request, refusal: Refusal) -> Refusal:
    """The refusal of a link or code that opens nothing; after too many from one address it only says so.

    A right one is never refused: nobody can guess them, and others behind the same address must not close them.
    """
    limiter: RateLimiter = request.app.state.limiter
    return refusal if limiter.admits(ACCESS, "access", _address(request)) else Refusal(429, "refused_rate")


def limit_starts(request: Request) -> None:
    """Refuse an address that begins surveys by the hundred."""
    _limit(request, STARTS, "start", _address(request))


def _limit(request: Request, rate: Rate, kind: str, who: str) -> None:
    limiter: RateLimiter = request.app.state.limiter
    if not limiter.admits(rate, kind, who):
        raise Refusal(429, "refused_rate")


def _address(request: Request) -> str:
    """The address of a request; of IPv6 the first half, which is one household's or one machine's."""
    host = request.client.host if request.client else ""
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if address.version == 4 or address.ipv4_mapped:
        return host
    return str(IPv6Network((address.packed, 64), strict=False))


def csrf_token(request: Request) -> str:
    """The token that every form of this session carries."""
    token = request.session.get("csrf")
    if not isinstance(token, str):
        token = request.session["csrf"] = new_token()
    return token


async def _submission(request: Request) -> FormData:
    is_ours = request.headers.get("content-type", "").startswith("application/x-www-form-urlencoded")
    form = await request.form(max_fields=MAX_FIELDS) if is_ours else FormData()
    expected = request.session.get("csrf")
    given = form.get("csrf")
    if not (isinstance(expected, str) and isinstance(given, str) and _is_same(expected, given)):
        raise Refusal(403, "refused_form")
    _limit(request, PAGES, "pages", expected)
    return form


def _is_same(expected: str, given: str) -> bool:
    # Of strings it compares ASCII only, and a form can hold anything.
    return hmac.compare_digest(expected.encode(), given.encode())


Submission = Annotated[FormData, Depends(_submission)]
"""The fields of a form that came from one of our own pages."""


_CONTROL = {"Cc", "Cs"}


def field(form: FormData, name: str, *, limit: int = 4000) -> str:
    """A text field of a form, without control characters, which PostgreSQL refuses in part; empty if it is missing.

    Raises:
        Refusal: If it is longer than the limit.
    """
    value = form.get(name)
    if not isinstance(value, str):
        return ""
    text = clean_text(value)
    if len(text) > limit:
        raise Refusal(422, "refused_length")
    return text


def clean_text(text: str) -> str:
    """A text without control characters and without white space around it, as a form gives it back."""
    return "".join(
        character
        for character in text
        if character in "\n\t" or unicodedata.category(character) not in _CONTROL
    ).strip()


LONGEST_LOOK = 3600.0
"""Seconds with one page beyond which somebody was not looking at it."""


def seconds_field(form: FormData) -> float | None:
    """The seconds that a page was looked at, an hour at most; None if the browser did not tell."""
    try:
        seconds = float(field(form, "seconds", limit=20))
    except ValueError:
        return None
    return min(max(seconds, 0.0), LONGEST_LOOK) if math.isfinite(seconds) else None
