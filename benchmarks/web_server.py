"""Put a server under load: kill it at random moments, or let many people annotate at once.

    python benchmarks/web_server.py kills [--clients 20] [--answers 5000] [--kills 10] [--seed 0] [--db URL]
    python benchmarks/web_server.py load [--clients 200] [--pause 4] [--seconds 30] [--db URL]

``kills``: clients label texts as fast as they can. The server is killed (SIGKILL) at random moments and started again;
clients whose answer was not acknowledged send it again. At the end every answer that was acknowledged must be there,
once, as it was sent. The exit code is 1 if one is not.

``load``: each client is an annotator who looks at a text for some seconds, labels it and sees the next one. The table
says how long the server took for a label and for a page. The exit code is 1 if a percentile 95 is 100 ms or more.
"""

from __future__ import annotations

import argparse
import asyncio
import html
import multiprocessing
import random
import re
import socket
import sys
import tempfile
import time
from collections.abc import Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import httpx
from sqlalchemy import select

from evenhand.data.label_schemes import load_scheme
from evenhand.web.annotation.projects import (
    ProjectOptions,
    ProjectText,
    add_person,
    create_project,
    project_named,
)
from evenhand.web.app import ServerOptions, create_app, listen_on, run_server
from evenhand.web.database import Database
from evenhand.web.tables import AnnotatorRow, AssignmentRow

LIBRARIES = ["evenhand.web.app", "evenhand.data.label_schemes", "httpx", "uvicorn"]
"""What a server process has in memory already, so that kills hit its work and not its imports."""

PROJECT = "under-load"
TEXTS_UNDER_LOAD = 300
"""More than anybody labels while the benchmark runs."""
LABELS = ("label:-1", "label:0", "label:1", "unsure")
MOST_SECONDS = 0.1
"""What the percentile 95 must stay below."""

_ACTION = re.compile(r'action="(/annotate/\d+/(\d+))"')
_TOKEN = re.compile(r'name="csrf" value="([^"]+)"')


def serve(address: str, port: int) -> None:
    """Serve a database until the process is killed."""
    app = create_app(Database(address), ServerOptions(url=f"http://127.0.0.1:{port}"))
    run_server(app, listen_on("127.0.0.1", port))


class KillableServer:
    """A server in a process of its own, on a fixed port."""

    def __init__(self, address: str) -> None:
        self.address = address
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(LIBRARIES)
        self._process: BaseProcess | None = None

    @property
    def url(self) -> str:
        """Where it is reached."""
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it and wait until it answers."""
        self._process = self._context.Process(target=serve, args=(self.address, self.port), daemon=True)
        self._process.start()
        while True:
            try:
                httpx.get(f"{self.url}/static/site.css", timeout=5)
            except httpx.HTTPError:
                time.sleep(0.02)
            else:
                return

    def kill(self) -> None:
        """Kill it without warning."""
        if self._process is not None:
            self._process.kill()
            self._process.join()


@dataclass
class Annotator:
    """A client with a personal link.

    Attributes:
        acknowledged: The label that was acknowledged last, by the number of the assignment.
        seconds: How long the server took, for labels and for pages.
    """

    link: str
    http: httpx.AsyncClient
    chance: random.Random
    acknowledged: dict[int, str] = field(default_factory=dict)
    seconds: dict[str, list[float]] = field(default_factory=lambda: {"label": [], "page": []})
    _page: str = ""
    _home: str = ""

    async def arrive(self) -> None:
        """Follow the link and read the warning."""
        answer = await self.http.get(self.link, follow_redirects=True)
        self._home = answer.url.path
        token = _TOKEN.findall(answer.text)[-1]
        if "/begin" in answer.text:
            await self.http.post(f"{self._home}/begin", data={"csrf": html.unescape(token)})
        await self.turn_page()

    async def turn_page(self) -> None:
        """Look at the next text."""
        started = time.perf_counter()
        answer = await self.http.get(self._home, follow_redirects=True)
        self.seconds["page"].append(time.perf_counter() - started)
        self._page = answer.text

    @property
    def has_text(self) -> bool:
        """Whether there is a text to label."""
        return _ACTION.search(self._page) is not None

    async def label(self) -> None:
        """Label the text; it counts as acknowledged when the server says so."""
        found = _ACTION.search(self._page)
        token = _TOKEN.findall(self._page)[-1]
        if found is None:
            return
        choice = self.chance.choice(LABELS)
        started = time.perf_counter()
        answer = await self.http.post(found.group(1), data={"csrf": html.unescape(token), "choice": choice})
        self.seconds["label"].append(time.perf_counter() - started)
        if answer.status_code == 303:
            self.acknowledged[int(found.group(2))] = choice


@dataclass(frozen=True, slots=True)
class KillReport:
    """What is left after kills.

    Attributes:
        kills: How often the server was killed.
        acknowledged: Answers that the server said it had.
        lost: Acknowledged answers that are not in the database.
        different: Acknowledged answers that are there with another label.
        repeated: Texts that an annotator has more than one answer for.
    """

    kills: int
    acknowledged: int
    lost: int
    different: int
    repeated: int

    @property
    def is_clean(self) -> bool:
        """Whether nothing was lost, changed or doubled."""
        return not (self.lost or self.different or self.repeated)


def make_project(address: str, *, clients: int, texts: int) -> list[str]:
    """A project in which each client has all texts to label; the personal links."""
    database = Database(address)
    options = ProjectOptions(
        name=PROJECT,
        title="Under load",
        language="en",
        scheme=load_scheme("regard"),
        overlap=clients,
        break_after=0,
    )
    create_project(
        database,
        options,
        [ProjectText(str(number), f"The person has the number {number}.") for number in range(texts)],
    )
    with database.write() as session:
        project = project_named(session, PROJECT)
        links = [add_person(session, project, f"client {number}").path for number in range(clients)]
    database.close()
    return links


@contextmanager
def annotators(url: str, links: list[str], seed: int) -> Iterator[list[Annotator]]:
    """A client for each link."""
    clients = [httpx.AsyncClient(base_url=url, timeout=30) for _ in links]
    yield [
        Annotator(link, client, random.Random(f"{seed}/{link}"))  # noqa: S311  no secret
        for link, client in zip(links, clients, strict=True)
    ]


async def _label_all(annotator: Annotator, wanted: int) -> None:
    """Label until so many answers are acknowledged; after a fault of the connection, try again."""
    arrived = False
    while len(annotator.acknowledged) < wanted:
        try:
            if not arrived:
                await annotator.arrive()
                arrived = True
            elif annotator.has_text:
                await annotator.label()
                await annotator.turn_page()
            else:
                await annotator.turn_page()
        except httpx.HTTPError:
            await asyncio.sleep(0.05)


def run_kills(address: str, *, clients: int, answers: int, kills: int, seed: int) -> KillReport:
    """Label, kill and start again, then compare what was acknowledged with what is there."""
    each = -(-answers // clients)
    links = make_project(address, clients=clients, texts=each)
    server = KillableServer(address)
    server.start()
    chance = random.Random(seed)  # noqa: S311  no secret
    moments = sorted(chance.uniform(0.02, 0.95) for _ in range(kills))

    async def killer(people: list[Annotator]) -> None:
        for moment in moments:
            while sum(len(person.acknowledged) for person in people) < moment * answers:
                await asyncio.sleep(0.005)
            await asyncio.sleep(chance.uniform(0, 0.05))
            await asyncio.to_thread(server.kill)
            await asyncio.to_thread(server.start)

    async def everything(people: list[Annotator]) -> None:
        work: list[Coroutine[Any, Any, None]] = [_label_all(person, each) for person in people]
        await asyncio.gather(killer(people), *work)
        for person in people:
            await person.http.aclose()

    with annotators(server.url, links, seed) as people:
        try:
            _complete(everything(people))
        finally:
            server.kill()
        acknowledged = {number: label for person in people for number, label in person.acknowledged.items()}
    return _compared(address, acknowledged, kills)


def _complete(work: Coroutine[Any, Any, None]) -> None:
    """Run to the end, in a thread of its own: the caller's may have a loop already, as under Playwright."""
    with ThreadPoolExecutor(1) as thread:
        thread.submit(asyncio.run, work).result()


def _compared(address: str, acknowledged: dict[int, str], kills: int) -> KillReport:
    database = Database(address)
    with database.read() as session:
        rows = session.scalars(select(AssignmentRow).join(AnnotatorRow)).all()
    database.close()
    kept = {
        row.id: "unsure" if row.unsure else f"label:{row.label}" for row in rows if row.voted_at is not None
    }
    return KillReport(
        kills=kills,
        acknowledged=len(acknowledged),
        lost=sum(number not in kept for number in acknowledged),
        different=sum(kept.get(number, label) != label for number, label in acknowledged.items()),
        repeated=len(rows) - len({(row.annotator_id, row.text_id) for row in rows}),
    )


async def _annotate_for(annotator: Annotator, pause: float, until: float) -> None:
    await asyncio.sleep(annotator.chance.uniform(0, pause))
    while time.perf_counter() < until and annotator.has_text:
        await annotator.label()
        await annotator.turn_page()
        await asyncio.sleep(annotator.chance.uniform(0.5, 1.5) * pause)


def run_load(
    address: str, *, clients: int, pause: float, seconds: float, seed: int
) -> dict[str, list[float]]:
    """How long the server took for labels and pages, while many people annotate."""
    links = make_project(address, clients=clients, texts=TEXTS_UNDER_LOAD)
    server = KillableServer(address)
    server.start()

    async def everything(people: list[Annotator]) -> None:
        for person in people:
            await person.arrive()
            person.seconds["page"].clear()
        until = time.perf_counter() + seconds
        await asyncio.gather(*(_annotate_for(person, pause, until) for person in people))
        for person in people:
            await person.http.aclose()

    with annotators(server.url, links, seed) as people:
        try:
            _complete(everything(people))
        finally:
            server.kill()
        return {
            kind: [took for person in people for took in person.seconds[kind]] for kind in ("label", "page")
        }


def percentile(values: list[float], share: float) -> float:
    """The value that a share of all values stay at or below."""
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def _print_kills(report: KillReport) -> int:
    print(f"killed {report.kills} times, {report.acknowledged:,} answers acknowledged")
    print(f"lost {report.lost}, different {report.different}, repeated {report.repeated}")
    return 0 if report.is_clean else 1


def _print_load(found: dict[str, list[float]], seconds: float) -> int:
    print(f"{'':8}{'requests':>10}{'a second':>10}{'median':>10}{'p95':>10}{'worst':>10}")
    for kind, took in found.items():
        figures = [percentile(took, 0.5), percentile(took, 0.95), max(took)]
        shown = "".join(f"{1000 * figure:>7.1f} ms" for figure in figures)
        print(f"{kind:8}{len(took):>10,}{len(took) / seconds:>10.1f}{shown}")
    return 0 if all(percentile(took, 0.95) < MOST_SECONDS for took in found.values()) else 1


def main() -> int:
    """Read the arguments and run."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("part", choices=["kills", "load"])
    parser.add_argument("--clients", type=int)
    parser.add_argument("--answers", type=int, default=5000)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--pause", type=float, default=4.0)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--db", help="an empty database; a new SQLite file if not given")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        address = given.db or str(Path(folder) / "server.db")
        if given.part == "kills":
            report = run_kills(
                address,
                clients=given.clients or 20,
                answers=given.answers,
                kills=given.kills,
                seed=given.seed,
            )
            return _print_kills(report)
        found = run_load(
            address, clients=given.clients or 200, pause=given.pause, seconds=given.seconds, seed=given.seed
        )
        return _print_load(found, given.seconds)


if __name__ == "__main__":
    sys.exit(main())
