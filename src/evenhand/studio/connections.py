"""Connections of a server: how many there are, how long a request may take, and how often their faults are logged.

Whoever opens connections and says nothing must not keep others out. A request has to be complete within a time. Where
there is no room for another connection, the one that has waited for its request longest is closed: a browser sends its
request at once, and opens a connection that was idle again by itself.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MOST_CONNECTIONS = 1000
OTHER_FILES = 200
"""Files that a server needs beside connections, most of them for the database."""
REQUEST_SECONDS = 30.0
"""Within which a request has to be there in full."""
LARGEST_REQUEST = 2**20
"""Bytes of a request with its headers, which are all in memory before any page sees them."""
ANSWER_SECONDS = 300.0
"""Within which it has to be answered, and the answer taken."""
QUIET_SECONDS = 60.0
"""Seconds between two lines of the log that say the same."""

_LOGGER = logging.getLogger(__name__)


class Connection(HttpToolsProtocol):
    """A connection with a deadline for each request, which makes room for others while it is waited for."""

    _deadline: asyncio.TimerHandle | None = None
    waiting_since: float | None = None
    """Since when the next request has been waited for; None while one is answered."""
    _received = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in uvicorn
        """Wait for a request, in the place of another connection if there is no other."""
        super().connection_made(transport)
        if self.limit_concurrency is not None and len(self.connections) >= self.limit_concurrency:
            self._make_room()
        self._wait(REQUEST_SECONDS)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the deadline."""
        self._end_within(None)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read a part of a request, and give up a request that is too large."""
        self._received += len(data)
        super().data_received(data)
        if self._received > LARGEST_REQUEST:
            self.transport.abort()

    def on_message_begin(self) -> None:
        """The first bytes of a request are there; while another one is answered, its deadline is enough."""
        super().on_message_begin()
        if self.waiting_since is not None:
            self._end_within(REQUEST_SECONDS)

    def on_message_complete(self) -> None:
        """A request is there in full."""
        super().on_message_complete()
        self._received = 0
        self.waiting_since = None
        self._end_within(ANSWER_SECONDS)

    def on_response_complete(self) -> None:
        """An answer is on its way. What reads it too slowly, or nothing at all, is waited for as well."""
        super().on_response_complete()
        self._wait(ANSWER_SECONDS)

    def _wait(self, seconds: float) -> None:
        self.waiting_since = self.loop.time()
        self._end_within(seconds)

    def _end_within(self, seconds: float | None) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        self._deadline = None if seconds is None else self.loop.call_later(seconds, self.transport.abort)

    def _make_room(self) -> None:
        waiting = [
            (other.waiting_since, other)
            for other in self.connections
            if isinstance(other, Connection) and other.waiting_since is not None
        ]
        if not waiting:
            return  # all are being answered: uvicorn asks this one to come again
        _, longest = min(waiting, key=lambda entry: entry[0])
        self.connections.discard(longest)
        longest.transport.abort()
        _LOGGER.warning("There are too many connections: the one that was waited for longest was closed")


class Server(uvicorn.Server):
    """A server that says in one line that it cannot accept connections; asyncio takes thousands."""

    async def startup(self, sockets: list[Any] | None = None) -> None:
        """Start, and listen to what goes wrong."""
        asyncio.get_running_loop().set_exception_handler(note_failed_accept)
        await super().startup(sockets=sockets)


def note_failed_accept(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Log that a connection could not be accepted; anything else as asyncio does."""
    problem = context.get("exception")
    if isinstance(problem, OSError) and "accept" in context["message"]:
        _LOGGER.warning("Connections could not be accepted: %s", problem.strerror)
    else:
        loop.default_exception_handler(context)


class RepetitionFilter(logging.Filter):
    """Lets a line through that says something new, or what was not said for a while. Faults of the program all pass."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._said: dict[str, float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the line is logged."""
        now = self._clock()
        if record.exc_info or now - self._said.get(str(record.msg), -QUIET_SECONDS) < QUIET_SECONDS:
            return bool(record.exc_info)
        self._said[str(record.msg)] = now
        return True


_REPETITIONS = RepetitionFilter()


def quiet_logs() -> None:
    """Say the same about connections once a minute at most: each line is one that strangers can cause."""
    for name in ("asyncio", "uvicorn.error", __name__):
        logging.getLogger(name).addFilter(_REPETITIONS)


def room_for_connections() -> int:
    """How many connections the process can hold. If it may, it allows itself as many files as that takes."""
    try:
        import resource
    except ImportError:  # on Windows connections are no files
        return MOST_CONNECTIONS
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_CONNECTIONS + OTHER_FILES
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return MOST_CONNECTIONS
    allowed = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
    return max(allowed - OTHER_FILES, allowed // 4)
