"""People at a server, as far as a benchmark needs them: annotators who label, participants who write.

They share the machine with the server they measure, so they speak HTTP over plain sockets: a request costs them about a
tenth of what it costs the server.
"""

from __future__ import annotations

import asyncio
import html
import random
import re
import time
from dataclasses import dataclass, field
from urllib.parse import urlencode, urlsplit

LABELS = ("label:-1", "label:0", "label:1", "unsure")
PATIENCE = 30.0
"""Seconds after which a request counts as lost."""

_ACTION = re.compile(r'action="(/annotate/\d+/(\d+))"')
_CSRF = re.compile(r'name="csrf" value="([^"]+)"')

NO_ANSWER = (OSError, EOFError, TimeoutError)
"""What a request raises when the server is gone."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a server answered."""

    status: int
    location: str
    text: str

    @property
    def csrf(self) -> str:
        """The token that the last form of the page carries."""
        return html.unescape(_CSRF.findall(self.text)[-1])


class Browser:
    """One kept connection and one cookie."""

    def __init__(self, url: str) -> None:
        address = urlsplit(url)
        self._host, self._port = address.hostname or "", address.port or 80
        self._cookie = ""
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def get(self, path: str) -> Answer:
        """Ask for a page, and follow where it leads."""
        answer = await self._ask("GET", path)
        while answer.location:
            answer = await self._ask("GET", answer.location)
        return answer

    async def post(self, path: str, **fields: str) -> Answer:
        """Send a form."""
        return await self._ask("POST", path, urlencode(fields))

    def close(self) -> None:
        """Close the connection."""
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None

    async def _ask(self, method: str, path: str, body: str = "") -> Answer:
        head = [f"{method} {path} HTTP/1.1", f"Host: {self._host}", f"Content-Length: {len(body)}"]
        if body:
            head.append("Content-Type: application/x-www-form-urlencoded")
        if self._cookie:
            head.append(f"Cookie: {self._cookie}")
        request = "\r\n".join([*head, "", body]).encode()
        try:
            return await asyncio.wait_for(self._exchange(request), PATIENCE)
        except NO_ANSWER:
            self.close()
            raise

    async def _exchange(self, request: bytes) -> Answer:
        if self._streams is None:
            self._streams = await asyncio.open_connection(self._host, self._port)
        reader, writer = self._streams
        writer.write(request)
        first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
        if "set-cookie" in headers:
            self._cookie = headers["set-cookie"].partition(";")[0]
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        return Answer(int(first.split()[1]), headers.get("location", ""), body.decode())


SLOW_BEGINNINGS = (
    b"",
    b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ",
    b"POST /sign-in HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100000\r\n\r\n",
)
"""What a slow client sends at once: nothing, or a part of the headers, or headers and no body."""


@dataclass
class SlowClients:
    """Clients that connect, send a byte a second and never a whole request; who is closed connects again.

    Attributes:
        url: Of the server.
        count: How many there are.
        opened: Connections so far.
        open: Connections at the moment.
        most: The most at the same time.
    """

    url: str
    count: int
    opened: int = 0
    open: int = 0
    most: int = 0

    async def connect_until(self, end: float) -> None:
        """Keep all connections until a moment of ``time.perf_counter``."""
        await asyncio.gather(*(self._connect(number, end) for number in range(self.count)))

    async def _connect(self, number: int, end: float) -> None:
        address = urlsplit(self.url)
        beginning = SLOW_BEGINNINGS[number % len(SLOW_BEGINNINGS)]
        await asyncio.sleep(number / self.count)
        while time.perf_counter() < end:
            try:
                _, writer = await asyncio.open_connection(address.hostname, address.port)
            except OSError:
                await asyncio.sleep(1)
                continue
            self.opened += 1
            self.open += 1
            self.most = max(self.most, self.open)
            try:
                await self._drip(writer, beginning, end)
            except OSError:
                await asyncio.sleep(1)
            finally:
                self.open -= 1
                writer.transport.abort()

    async def _drip(self, writer: asyncio.StreamWriter, beginning: bytes, end: float) -> None:
        writer.write(beginning)
        while time.perf_counter() < end and not writer.is_closing():
            await asyncio.sleep(1)
            if beginning:
                writer.write(b"x")
                await writer.drain()
        if time.perf_counter() < end:
            await asyncio.sleep(1)


@dataclass
class Annotator:
    """Somebody with a personal link to a project.

    Attributes:
        acknowledged: The label that was acknowledged last, by the number of the assignment.
        seconds: How long answers took, for labels and for pages.
    """

    link: str
    browser: Browser
    chance: random.Random
    acknowledged: dict[int, str] = field(default_factory=dict)
    seconds: dict[str, list[float]] = field(default_factory=lambda: {"label": [], "page": []})
    _page: Answer | None = None
    _home: str = ""

    async def arrive(self) -> None:
        """Follow the link and read the warning."""
        page = await self.browser.get(self.link)
        self._home = re.findall(r"/annotate/\d+", page.text)[0]
        if "/begin" in page.text:
            await self.browser.post(f"{self._home}/begin", csrf=page.csrf)
        await self.turn_page()

    async def turn_page(self) -> None:
        """Look at the next text."""
        started = time.perf_counter()
        self._page = await self.browser.get(self._home)
        self.seconds["page"].append(time.perf_counter() - started)

    @property
    def has_text(self) -> bool:
        """Whether there is a text to label."""
        return self._page is not None and _ACTION.search(self._page.text) is not None

    async def label(self) -> None:
        """Label the text; it counts as acknowledged when the server says so."""
        if self._page is None:
            return
        form = _ACTION.search(self._page.text)
        if form is None:
            return
        choice = self.chance.choice(LABELS)
        started = time.perf_counter()
        answer = await self.browser.post(form.group(1), csrf=self._page.csrf, choice=choice)
        self.seconds["label"].append(time.perf_counter() - started)
        if answer.status == 303:
            self.acknowledged[int(form.group(2))] = choice

    async def answer_next(self) -> None:
        """Arrive, or label the text on the screen, and look at the next one."""
        if self._page is None:
            await self.arrive()
            return
        await self.label()
        await self.turn_page()

    @property
    def acknowledged_by_key(self) -> dict[tuple[int, int], str]:
        """What was acknowledged, by the annotator and the assignment."""
        person = int(self._home.rpartition("/")[2])
        return {(person, assignment): choice for assignment, choice in self.acknowledged.items()}


@dataclass
class Participant:
    """Somebody with a personal link to a survey, who answers one prompt after another.

    Attributes:
        acknowledged: What was written and acknowledged, by the position of the prompt.
        number: The id of the participant, once they have begun.
    """

    link: str
    browser: Browser
    chance: random.Random
    acknowledged: dict[int, str] = field(default_factory=dict)
    number: int | None = None
    _csrf: str = ""

    async def begin(self) -> None:
        """Follow the link and agree; who had agreed before goes on."""
        page = await self.browser.get(self.link)
        start = re.search(r'action="(/s/[^"]+/start)"', page.text)
        if start is not None:
            version = re.findall(r'name="version" value="(\d+)"', page.text)[0]
            await self.browser.post(start.group(1), csrf=page.csrf, agree="yes", version=version)
            page = await self.browser.get(self.link)
        self._csrf = page.csrf
        self.number = int(re.findall(r"/take/(\d+)/", page.text)[0])

    async def answer_next(self) -> None:
        """Begin, or answer the first prompt that has no acknowledged answer."""
        if self.number is None:
            await self.begin()
            return
        position = len(self.acknowledged)
        written = f"had {self.chance.randrange(10**6)} reasons to be at place {position}"
        path = f"/take/{self.number}/answers/{position}"
        answer = await self.browser.post(path, csrf=self._csrf, choice="keep", answer=written)
        if answer.status == 303 and "problem" not in answer.location:
            self.acknowledged[position] = written

    @property
    def acknowledged_by_key(self) -> dict[tuple[int, int], str]:
        """What was acknowledged, by the participant and the position."""
        return {(self.number or 0, position): written for position, written in self.acknowledged.items()}
