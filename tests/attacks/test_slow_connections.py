"""Connections that never send a whole request, that read no answer, or that cannot be accepted."""

from __future__ import annotations

import asyncio
import errno
import logging
import resource
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
import web_clients as browsers
from fastapi import Response
from web_server import SLOWEST_PAGE, percentile, run_slow

from evenhand.studio import connections
from evenhand.studio.app import BODY_LIMIT, create_app, served_from_thread
from evenhand.studio.database import Database

pytestmark = pytest.mark.parametrize("database", ["sqlite"], indirect=True)

PATIENCE = 60.0
"""Seconds after which a test fails."""
LARGE = 64 * 2**20
"""Bytes of an answer that no buffer of the machine takes whole."""


@pytest.fixture
def address(database: Database) -> Iterator[str]:
    """A server with a page that is large."""
    app = create_app(database)
    app.add_api_route("/large", lambda: Response(b"x" * LARGE))
    with served_from_thread(app) as found:
        yield found


@contextmanager
def connected(address: str) -> Iterator[socket.socket]:
    place = urlsplit(address)
    with socket.create_connection((place.hostname, place.port), timeout=PATIENCE) as connection:
        yield connection


def received(connection: socket.socket) -> int:
    """The bytes until the server closes the connection."""
    count = 0
    try:
        while part := connection.recv(2**20):
            count += len(part)
    except ConnectionResetError:
        pass
    return count


def test_eleven_hundred_slow_connections_keep_nobody_waiting(database: Database, tmp_path: Path) -> None:
    """With fewer seconds than the benchmark."""
    report = run_slow(database.shown, tmp_path / "server.log", clients=1100, seconds=6)
    assert report.most > 1000, "as many were connected"
    assert len(report.waited["new"]) > 5
    for took in report.waited.values():
        # The benchmark looks at the slowest; here other tests share the machine.
        assert percentile(took, 0.5) < SLOWEST_PAGE, report
        assert max(took) < browsers.PATIENCE, "every page came"
    assert report.log < 1_000_000


def test_a_connection_that_waits_longest_makes_room(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "room_for_connections", lambda: 10)
    with served_from_thread(create_app(database)) as address, ExitStack() as stack:
        held = [stack.enter_context(connected(address)) for _ in range(30)]
        for _ in range(3):
            assert httpx.get(f"{address}/sign-in", timeout=PATIENCE).status_code == 200
        assert [received(connection) for connection in held[:20]] == [0] * 20, "they are closed"
        held[-1].sendall(b"GET /sign-in HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n")
        assert received(held[-1]) > 1000, "the last ones are not"


@pytest.mark.parametrize(
    "beginning",
    [
        b"",
        b"GET /sign-in HTT",
        b"GET /sign-in HTTP/1.1\r\nHost: here\r\nX-Slow: ",
        b"POST /sign-in HTTP/1.1\r\nHost: here\r\nContent-Length: 1000\r\n\r\ncsrf=",
        b"POST /sign-in HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: chunked\r\n\r\n5\r\ncsrf=\r\n",
    ],
)
def test_a_request_that_is_not_there_in_time_is_given_up(
    address: str, monkeypatch: pytest.MonkeyPatch, beginning: bytes
) -> None:
    monkeypatch.setattr(connections, "REQUEST_SECONDS", 0.3)
    with connected(address) as connection:
        connection.sendall(beginning)
        assert received(connection) == 0


def test_each_request_of_a_kept_connection_has_time_of_its_own(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """People think for longer than a request takes."""
    monkeypatch.setattr(connections, "REQUEST_SECONDS", 0.3)
    with connected(address) as connection:
        for _ in range(2):
            connection.sendall(b"HEAD /sign-in HTTP/1.1\r\nHost: here\r\n\r\n")
            assert connection.recv(2**16).startswith(b"HTTP/1.1 ")
            time.sleep(1)
        connection.sendall(b"HEAD /sign-in HTTP/1.1\r\nHost: here\r\nX-Slow: ")
        assert received(connection) == 0


@pytest.mark.parametrize(
    ("beginning", "more"),
    [
        (b"GET /", b"x"),
        (b"GET / HTTP/1.1\r\nX-Long: ", b"x"),
        (b"GET / HTTP/1.1\r\n", b"X-Many: 1\r\n"),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", b"X-Last: 1\r\n"),
    ],
)
def test_a_request_that_is_larger_than_any_form_is_given_up(
    address: str, beginning: bytes, more: bytes
) -> None:
    with connected(address) as connection:
        connection.sendall(beginning)
        with pytest.raises(ConnectionError):
            connection.sendall(more * (LARGE // len(more)))


def test_a_form_that_is_too_long_is_refused_in_words(address: str) -> None:
    answer = httpx.post(f"{address}/sign-in", content=b"x" * (BODY_LIMIT + 1), timeout=PATIENCE)
    assert (answer.status_code, "too long" in answer.text) == (413, True)


def test_an_answer_that_is_not_taken_in_time_is_given_up(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "ANSWER_SECONDS", 0.3)
    with connected(address) as connection:
        connection.sendall(b"GET /large HTTP/1.1\r\nHost: here\r\n\r\n")
        time.sleep(2)
        assert received(connection) < LARGE


def test_an_answer_that_is_taken_is_whole(address: str) -> None:
    assert len(httpx.get(f"{address}/large", timeout=PATIENCE).content) == LARGE


@pytest.mark.usefixtures("database")
def test_connections_that_cannot_be_accepted_are_one_line(caplog: pytest.LogCaptureFixture) -> None:
    problem = OSError(errno.EMFILE, "Too many open files")
    context = {"message": "socket.accept() out of system resource", "exception": problem}
    loop = asyncio.new_event_loop()
    logger = logging.getLogger(connections.__name__)
    repetitions = connections.RepetitionFilter()
    logger.addFilter(repetitions)
    try:
        for _ in range(2048):
            connections.note_failed_accept(loop, context)
    finally:
        logger.removeFilter(repetitions)
        loop.close()
    assert [record.getMessage() for record in caplog.records] == [
        "Connections could not be accepted: Too many open files"
    ]
    assert caplog.records[0].exc_info is None


@pytest.mark.usefixtures("database")
def test_the_same_line_is_logged_once_a_minute_and_a_fault_of_the_program_always() -> None:
    now = [0.0]
    lines = connections.RepetitionFilter(clock=lambda: now[0])

    def passes(text: str, *, fault: Exception | None = None) -> bool:
        exc_info = (type(fault), fault, None) if fault else None
        return lines.filter(logging.LogRecord("any", logging.WARNING, "", 0, text, (), exc_info))

    assert [passes("one"), passes("one"), passes("another")] == [True, False, True]
    assert [passes("one", fault=ValueError()), passes("one", fault=ValueError())] == [True, True]
    now[0] = 61.0
    assert [passes("one"), passes("one")] == [True, False]


@pytest.mark.parametrize(
    ("limits", "room", "raised"),
    [
        ((1024, 4096), 1000, (1200, 4096)),
        ((1024, 1024), 824, (1024, 1024)),
        ((256, resource.RLIM_INFINITY), 1000, (1200, resource.RLIM_INFINITY)),
        ((4096, 4096), 1000, None),
        ((resource.RLIM_INFINITY, resource.RLIM_INFINITY), 1000, None),
        ((100, 100), 25, (100, 100)),
    ],
)
@pytest.mark.usefixtures("database")
def test_connections_leave_files_for_the_database(
    monkeypatch: pytest.MonkeyPatch, limits: tuple[int, int], room: int, raised: tuple[int, int] | None
) -> None:
    chosen: list[tuple[int, int]] = []
    monkeypatch.setattr(resource, "getrlimit", lambda _kind: limits)
    monkeypatch.setattr(resource, "setrlimit", lambda _kind, wanted: chosen.append(wanted))
    assert connections.room_for_connections() == room
    assert chosen == ([raised] if raised else [])
