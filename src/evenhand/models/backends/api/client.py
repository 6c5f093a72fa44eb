"""Requests to a server: sent with a key, repeated after a pause where that can help, and counted."""

from __future__ import annotations

import json
import random
import re
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cached_property
from ssl import SSLContext
from threading import Lock, Thread
from typing import Any
from weakref import finalize

import httpx

from evenhand.core.errors import UnknownNameError
from evenhand.models.backends.api.options import KEY_VARIABLES, ApiError, ApiOptions, key_from_environment

FIRST_PAUSE = 1.0
LONGEST_PAUSE = 60.0
"""Seconds. The pause doubles from try to try."""

LONGEST_REQUESTED_PAUSE = 300.0
"""Seconds that a server may ask to wait; beyond that it is better to come back another day."""

SECRET_LENGTH = 12
"""Characters from which a key is hidden wherever it occurs, also in texts of a model. Shorter ones, such as *none*, are
what local servers are content with, and may be words of a text.
"""

MAX_BYTES = 16 * 2**20
CONNECT_TIMEOUT = 10.0

_PASSING = frozenset({408, 429, 500, 502, 503, 504, 529})
"""Statuses after which the same request may succeed."""

_KEY_REFUSED = frozenset({401, 403})


class RequestLimitError(ApiError):
    """All requests that were allowed have been sent."""


class RequestRefusedError(ApiError):
    """A server understood a request and will not answer it."""


class _PassingError(Exception):
    """A failure that another try may mend."""

    def __init__(self, reason: str, pause: float = 0.0) -> None:
        super().__init__(reason)
        self.pause = pause


class _Connections:
    """As many connections as requests are under way, each in a client of its own.

    One client with many connections looks through all of them for every request, several times.
    """

    def __init__(self, timeout: float) -> None:
        self._timeout = httpx.Timeout(timeout, connect=min(timeout, CONNECT_TIMEOUT))
        self._lock = Lock()
        self._all: list[httpx.Client] = []
        self._idle: list[httpx.Client] = []

    @contextmanager
    def idle(self) -> Iterator[httpx.Client]:
        """A client that nobody else uses while the block runs."""
        with self._lock:
            client = self._idle.pop() if self._idle else self._new()
        try:
            yield client
        finally:
            with self._lock:
                self._idle.append(client)

    def close(self) -> None:
        """Close them all."""
        for client in self._all:
            client.close()

    @cached_property
    def _context(self) -> SSLContext:
        """What a server shows its name by; it takes a while to read, so all clients share it."""
        return httpx.create_ssl_context()

    def _new(self) -> httpx.Client:
        client = httpx.Client(timeout=self._timeout, verify=self._context)
        self._all.append(client)
        return client


class ApiClient:
    """Sends requests to one server. Threads may share it."""

    def __init__(
        self,
        options: ApiOptions,
        *,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.options = options
        self.requests = 0
        """Requests sent so far, tries included."""
        self._sleep = sleep
        self._clock = clock
        self._lock = Lock()
        # Jitter only spreads requests over time, so it need not be repeatable.
        self._jitter = random.Random()  # noqa: S311
        self._connections = _Connections(options.timeout)
        # A model is closed by nobody, so its connections close when it is gone.
        finalize(self, self._connections.close)

    def __repr__(self) -> str:
        return f"ApiClient({self.options.host})"

    def post(self, path: str, payload: dict[str, Any], *, check: Callable[[Any], str | None]) -> Any:
        """The answer to a request, as a JSON value.

        Args:
            path: Below the address of the server.
            payload: What is sent.
            check: Says what an answer lacks, or None if it is whole. Half an answer is asked for again.

        Raises:
            ApiError: If the server does not answer, or not with a whole answer, after all tries.
            RequestRefusedError: If it refuses the request.
            RequestLimitError: If no request is left.
        """
        for attempt in range(1, self.options.max_attempts + 1):
            try:
                return self._try(path, payload, check)
            except _PassingError as failure:
                if attempt == self.options.max_attempts:
                    raise ApiError(
                        f"{self.options.host} failed {attempt} times, the last time with: {str(failure).rstrip('.')}. "
                        "Give the same command again later; stored answers are not asked for again."
                    ) from None
                self._sleep(max(self._pause(attempt), failure.pause))
        raise AssertionError("there is at least one attempt")

    def model_names(self) -> list[str]:
        """The models that the server lists; none if it does not list them."""
        try:
            answer = self._answer("GET", "models", None)
            return [str(entry["id"]) for entry in answer["data"]]
        except (_PassingError, ApiError, KeyError, TypeError):
            return []

    def _pause(self, attempt: int) -> float:
        """Twice as long from try to try, and of random length, so that many clients do not come back at once."""
        longest = min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** (attempt - 1))
        return longest * (0.5 + self._jitter.random() / 2)

    def _try(self, path: str, payload: dict[str, Any], check: Callable[[Any], str | None]) -> Any:
        answer = self._answer("POST", path, payload)
        lacking = check(answer)
        if lacking:
            raise _PassingError(f"an answer that cannot be used: {lacking}")
        return answer

    def _answer(self, method: str, path: str, payload: dict[str, Any] | None) -> Any:
        self._count()
        key = key_from_environment()
        try:
            status, headers, body = self._exchange(method, path, payload, key)
        except httpx.TimeoutException:
            raise _PassingError(f"no answer within {self.options.timeout:g} seconds") from None
        except httpx.RequestError as problem:
            raise _PassingError(_hidden(f"{type(problem).__name__}: {problem}", key)) from None
        if key is not None and len(key) >= SECRET_LENGTH:
            body = body.replace(key.encode(), b"[key]")
        if status != httpx.codes.OK:
            self._refuse(status, headers, _hidden(_message(body), key), payload, has_key=key is not None)
        try:
            return _read_json(body)
        except ValueError:
            raise _PassingError(f"no JSON, but {_excerpt(body)!r}") from None

    def _count(self) -> None:
        with self._lock:
            limit = self.options.max_requests
            if limit is not None and self.requests >= limit:
                raise RequestLimitError(
                    f"The limit of {limit:,} requests to {self.options.host} is reached. Raise "
                    "EVENHAND_API_MAX_REQUESTS and run it again; stored answers are not asked for again."
                )
            self.requests += 1

    def _exchange(
        self, method: str, path: str, payload: dict[str, Any] | None, key: str | None
    ) -> tuple[int, httpx.Headers, bytes]:
        """Status, headers and body, within a time limit for all of them together.

        A server that sends a byte now and then never exceeds a limit on reading. So another thread reads, and is left
        behind when time is up, with its connection.
        """
        exchanged: Future[tuple[int, httpx.Headers, bytes]] = Future()

        def exchange() -> None:
            try:
                exchanged.set_result(self._send(method, path, payload, key))
            except BaseException as problem:  # raised again where the result is waited for
                exchanged.set_exception(problem)

        Thread(target=exchange, daemon=True).start()
        try:
            return exchanged.result(self.options.timeout)
        except TimeoutError:
            raise httpx.ReadTimeout("the answer takes too long") from None

    def _send(
        self, method: str, path: str, payload: dict[str, Any] | None, key: str | None
    ) -> tuple[int, httpx.Headers, bytes]:
        deadline = self._clock() + self.options.timeout
        headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        url = f"{self.options.base_url}/{path}"
        body = b""
        with (
            self._connections.idle() as http,
            http.stream(method, url, json=payload, headers=headers) as response,
        ):
            for chunk in response.iter_bytes():
                body += chunk
                if self._clock() > deadline:
                    raise httpx.ReadTimeout("the answer takes too long")
                if len(body) > MAX_BYTES:
                    raise ApiError(f"{self.options.host} answers with more than {MAX_BYTES // 2**20} MB.")
            return response.status_code, response.headers, body

    def _refuse(
        self,
        status: int,
        headers: httpx.Headers,
        message: str,
        payload: dict[str, Any] | None,
        *,
        has_key: bool,
    ) -> None:
        host = self.options.host
        variables = " or ".join(KEY_VARIABLES)
        if status in _KEY_REFUSED:
            fault = "refuses the key" if has_key else "wants a key, and none is set"
            raise ApiError(f"{host} {fault} ({status}: {message}). Set {variables} to a key for this server.")
        if status == httpx.codes.TOO_MANY_REQUESTS and "insufficient_quota" in message:
            raise ApiError(f"The account at {host} has no quota left ({message}).")
        if status in _PASSING:
            pause = _requested_pause(headers)
            if pause > LONGEST_REQUESTED_PAUSE:
                raise ApiError(
                    f"{host} asks to wait {pause:,.0f} seconds ({status}: {message}). Run it again then; "
                    "stored answers are not asked for again."
                )
            raise _PassingError(f"{status}: {message}", pause)
        name = (payload or {}).get("model")
        if status == httpx.codes.NOT_FOUND and isinstance(name, str):
            names = self.model_names()
            if names and name not in names:
                raise ApiError(str(UnknownNameError(f"model at {host}", name, names)))
        raise RequestRefusedError(
            f"{host} refuses the request ({status}: {message}). Check the name of the model, the endpoint and the "
            "options."
        )


def _requested_pause(headers: httpx.Headers) -> float:
    """Seconds that a server asks to wait, given as a number or as a time."""
    value = headers.get("retry-after", "").strip()
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        return max(0.0, (parsedate_to_datetime(value) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError):
        return 0.0


def _read_json(body: bytes) -> Any:
    """The JSON value in a body, with a sign in place of what is no character.

    A server that cuts a text after a number of tokens may leave half of a character. No file can hold that, and the
    answer is paid for.

    Raises:
        ValueError: If it is not JSON, or is nested too deeply.
    """
    try:
        value = json.loads(body.decode(json.detect_encoding(body), errors="replace"))
        text = json.dumps(value, ensure_ascii=False)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    return json.loads(text.encode("utf-16", errors="surrogatepass").decode("utf-16", errors="replace"))


def _message(body: bytes) -> str:
    """What a server says about an error: its message if it has the usual form, otherwise the first words."""
    try:
        return error_words(_read_json(body)["error"])
    except (ValueError, KeyError, TypeError):
        return _excerpt(body)


def error_words(error: Any) -> str:
    """The code and the message of an error as servers give it, or whatever else they give."""
    known = isinstance(error, dict) and "message" in error
    parts = [error.get("code"), error["message"]] if known else [error]
    return _excerpt(": ".join(str(part) for part in parts if part).encode())


def _excerpt(body: bytes) -> str:
    text = " ".join(body.decode("utf-8", errors="replace").split())
    return (text if len(text) <= 300 else f"{text[:300]} ...") or "no message"


def _hidden(text: str, key: str | None) -> str:
    """A message without the key, which some servers repeat; a short one is hidden where it is a word of its own."""
    if key is None or len(key) >= SECRET_LENGTH:
        return text if key is None else text.replace(key, "[key]")
    return re.sub(rf"(?<!\w){re.escape(key)}(?!\w)", "[key]", text)
