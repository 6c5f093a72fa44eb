"""Put a server under load: kill it at random moments, let many people annotate at once, or keep it waiting.

    python benchmarks/web_server.py kills [--clients 20] [--answers 5000] [--kills 10] [--seed 0] [--db URL]
    python benchmarks/web_server.py load [--clients 200] [--pause 4] [--seconds 30] [--db URL]
    python benchmarks/web_server.py slow [--clients 1100] [--seconds 45] [--db URL]

``kills``: clients answer as fast as they can, first annotators who label texts, then participants of a survey. The
server is killed (SIGKILL) at random moments and started again; clients whose answer was not acknowledged send it again.
At the end every answer that was acknowledged must be there, once, as it was sent. The exit code is 1 if one is not.

``load``: each client is an annotator who looks at a text for some seconds, labels it and sees the next one. ``--pause``
is how long they look on average: between half of it and one and a half times as long. The first table says how long
clients waited, in a process of their own on the same machine; the second, how much of that was spent within the server,
and its use of a processor. The exit code is 1 if a client's percentile 95 is 100 ms or more.

``slow``: clients connect and send nothing, or a byte a second and never a whole request; those that are closed connect
again. Meanwhile somebody opens a page on a new connection twice a second, and somebody else on one that is kept. The
server may have 1,024 files open, which is usual. The exit code is 1 if a page took 2 seconds or more, or if the log has
a megabyte or more. All traffic stays on this machine and ends after so many seconds.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import random
import resource
import socket
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from starlette.types import ASGIApp, Receive, Scope, Send
from web_clients import NO_ANSWER, PATIENCE, Annotator, Browser, Participant, SlowClients
from web_work import KeptAnswers, kept_labels, kept_sentences, make_project, make_survey

from evenhand.studio.app import ServerOptions, create_app, listen_on, run_server
from evenhand.studio.database import Database

LIBRARIES = ["evenhand.studio.app", "evenhand.data.label_schemes", "uvicorn"]
"""What a server process has in memory already, so that kills hit its work and not its imports."""

TEXTS_UNDER_LOAD = 300
"""More than anybody labels while the benchmark runs."""
MOST_SECONDS = 0.1
"""What the percentile 95 must stay below."""
USUAL_FILES = 1024
"""Files that a process may have open on most machines."""
SLOWEST_PAGE = 2.0
"""Seconds that a page must stay below while slow clients hold connections."""
LARGEST_LOG = 1_000_000
"""Bytes that the log must stay below."""
STOPWATCH = "/stopwatch"
"""Where the server says what it measured."""

Seconds = dict[str, list[float]]
"""How long answers took, for labels and for pages."""


class Stopwatch:
    """Middleware that measures how long a request is within the server, and tells."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self.seconds: Seconds = {"label": [], "page": []}
        self._processor = time.process_time()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or tell what was measured since the last time."""
        if scope["type"] == "http" and scope["path"] == STOPWATCH:
            await self._tell(send)
            return
        started = time.perf_counter()
        await self.app(scope, receive, send)
        if scope["type"] == "http":
            kind = "label" if scope["method"] == "POST" else "page"
            self.seconds[kind].append(time.perf_counter() - started)

    async def _tell(self, send: Send) -> None:
        now = time.process_time()
        told = {"seconds": self.seconds, "processor": now - self._processor}
        self.seconds, self._processor = {"label": [], "page": []}, now
        body = json.dumps(told).encode()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": body})


def serve(address: str, port: int, log: Path | None = None) -> None:
    """Serve a database until the process is killed; with a log, as a server of few files."""
    if log is not None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (USUAL_FILES, USUAL_FILES))
        with log.open("wb") as stream:
            os.dup2(stream.fileno(), sys.stdout.fileno())
            os.dup2(stream.fileno(), sys.stderr.fileno())
    app = create_app(Database(address), ServerOptions(url=f"http://127.0.0.1:{port}"))
    app.add_middleware(Stopwatch)
    run_server(app, listen_on("127.0.0.1", port))


class KillableServer:
    """A server in a process of its own, on a fixed port."""

    def __init__(self, address: str, *, log: Path | None = None) -> None:
        self.address = address
        self.log = log
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
        self._process = self._context.Process(
            target=serve, args=(self.address, self.port, self.log), daemon=True
        )
        self._process.start()
        while True:
            try:
                self.measured()
            except (OSError, urllib.error.URLError):
                time.sleep(0.02)
            else:
                return

    def kill(self) -> None:
        """Kill it without warning."""
        if self._process is not None:
            self._process.kill()
            self._process.join()

    def measured(self) -> dict[str, Any]:
        """What its stopwatch has measured since it was asked last."""
        with urllib.request.urlopen(f"{self.url}{STOPWATCH}", timeout=30) as answer:  # noqa: S310  our own server
            told: dict[str, Any] = json.load(answer)
        return told


@dataclass(frozen=True, slots=True)
class KillReport:
    """What is left after kills.

    Attributes:
        kills: How often the server was killed.
        acknowledged: Answers that the server said it had.
        lost: Acknowledged answers that are not in the database.
        different: Acknowledged answers that are there as something else.
        repeated: Answers beyond the first to the same text or prompt of one person.
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


async def _answer_all(person: Annotator | Participant, wanted: int) -> None:
    """Answer until so many answers are acknowledged; when the server is gone, try again."""
    while len(person.acknowledged) < wanted:
        try:
            await person.answer_next()
        except NO_ANSWER:
            await asyncio.sleep(0.05)


def run_kills(
    address: str, kind: type[Annotator | Participant], *, clients: int, answers: int, kills: int, seed: int
) -> KillReport:
    """Answer, kill and start again, then compare what was acknowledged with what is there."""
    each = -(-answers // clients)
    make = make_project if kind is Annotator else make_survey
    links = make(address, clients=clients, size=each)
    server = KillableServer(address)
    chance = random.Random(seed)  # noqa: S311  no secret
    moments = sorted(chance.uniform(0.02, 0.95) for _ in range(kills))
    people = [
        kind(link, Browser(server.url), random.Random(f"{seed}/{number}"))  # noqa: S311  no secret
        for number, link in enumerate(links)
    ]

    async def killer() -> None:
        for moment in moments:
            while sum(len(person.acknowledged) for person in people) < moment * answers:
                await asyncio.sleep(0.005)
            await asyncio.sleep(chance.uniform(0, 0.05))
            await asyncio.to_thread(server.kill)
            await asyncio.to_thread(server.start)

    async def everything() -> None:
        await asyncio.gather(killer(), *(_answer_all(person, each) for person in people))
        for person in people:
            person.browser.close()

    server.start()
    try:
        _complete(everything())
    finally:
        server.kill()
    acknowledged = {key: value for person in people for key, value in person.acknowledged_by_key.items()}
    kept = kept_labels(address) if kind is Annotator else kept_sentences(address)
    return _compared(acknowledged, kept, kills)


def _complete(work: Coroutine[Any, Any, None]) -> None:
    """Run to the end, in a thread of its own: the caller's may have a loop already, as under Playwright."""
    with ThreadPoolExecutor(1) as thread:
        thread.submit(asyncio.run, work).result()


def _compared(acknowledged: Mapping[tuple[int, int], str], kept: KeptAnswers, kills: int) -> KillReport:
    return KillReport(
        kills=kills,
        acknowledged=len(acknowledged),
        lost=sum(key not in kept.answers for key in acknowledged),
        different=sum(kept.answers.get(key, value) != value for key, value in acknowledged.items()),
        repeated=kept.repeated,
    )


async def _annotate_for(annotator: Annotator, pause: float, until: float) -> None:
    await asyncio.sleep(annotator.chance.uniform(0, pause))
    while time.perf_counter() < until and annotator.has_text:
        await annotator.label()
        await annotator.turn_page()
        await asyncio.sleep(annotator.chance.uniform(0.5, 1.5) * pause)


@dataclass(frozen=True, slots=True)
class LoadReport:
    """How long answers took while many people annotated.

    Attributes:
        waited: As clients saw it.
        within: From the server's reading of a request to the end of its answer.
        processor: The seconds of a processor that the server used.
        client_processor: Those that the clients used.
        seconds: How long it all took.
    """

    waited: Seconds
    within: Seconds
    processor: float
    client_processor: float
    seconds: float


def run_load(address: str, *, clients: int, pause: float, seconds: float, seed: int) -> LoadReport:
    """How long the server took for labels and pages, while many people annotate."""
    links = make_project(address, clients=clients, size=TEXTS_UNDER_LOAD)
    server = KillableServer(address)
    server.start()
    people = [
        Annotator(link, Browser(server.url), random.Random(f"{seed}/{number}"))  # noqa: S311  no secret
        for number, link in enumerate(links)
    ]
    spent: list[float] = []

    async def everything() -> None:
        for person in people:
            await person.arrive()
            person.seconds["page"].clear()
        await asyncio.to_thread(server.measured)
        started, processor = time.perf_counter(), time.process_time()
        await asyncio.gather(*(_annotate_for(person, pause, started + seconds) for person in people))
        spent.extend((time.perf_counter() - started, time.process_time() - processor))
        for person in people:
            person.browser.close()

    try:
        _complete(everything())
        told = server.measured()
    finally:
        server.kill()
    waited = {kind: [took for person in people for took in person.seconds[kind]] for kind in told["seconds"]}
    return LoadReport(waited, told["seconds"], told["processor"], spent[1], spent[0])


@dataclass(frozen=True, slots=True)
class SlowReport:
    """How a server did while slow clients held its connections.

    Attributes:
        connections: How many they opened.
        most: The most at the same time.
        waited: How long pages took, on new connections and on a kept one; a page that did not come took for ever.
        log: The bytes of the log.
    """

    connections: int
    most: int
    waited: Seconds
    log: int

    @property
    def is_fine(self) -> bool:
        """Whether pages came soon and the log stayed small."""
        return self.log < LARGEST_LOG and all(max(took) < SLOWEST_PAGE for took in self.waited.values())


async def _open_pages(browser: Browser, took: list[float], end: float, *, keep: bool) -> None:
    while time.perf_counter() < end:
        started = time.perf_counter()
        try:
            shown = (await browser.get("/sign-in")).status == 200
        except NO_ANSWER:
            shown = False
        took.append(time.perf_counter() - started if shown else PATIENCE)
        if not keep:
            browser.close()
        await asyncio.sleep(0.5)
    browser.close()


def run_slow(address: str, log: Path, *, clients: int, seconds: float) -> SlowReport:
    """How long pages take while slow clients hold connections."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, clients + 200)), hard))
    server = KillableServer(address, log=log)
    server.start()
    slow = SlowClients(server.url, clients)
    waited: Seconds = {"new": [], "kept": []}

    async def everything() -> None:
        end = time.perf_counter() + seconds
        readers = [
            _open_pages(Browser(server.url), took, end, keep=kind == "kept") for kind, took in waited.items()
        ]
        await asyncio.gather(slow.connect_until(end), *readers)

    try:
        _complete(everything())
    finally:
        server.kill()
    return SlowReport(slow.opened, slow.most, waited, log.stat().st_size)


def percentile(values: list[float], share: float) -> float:
    """The value that a share of all values stay at or below."""
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def _print_kills(kind: type[Annotator | Participant], report: KillReport) -> int:
    print(f"{kind.__name__}s: killed {report.kills} times, {report.acknowledged:,} answers acknowledged")
    print(f"lost {report.lost}, different {report.different}, repeated {report.repeated}", flush=True)
    return 0 if report.is_clean else 1


def _print_load(report: LoadReport) -> int:
    for title, found in (("clients waited", report.waited), ("within the server", report.within)):
        print(f"{title:18}{'requests':>10}{'a second':>10}{'median':>10}{'p95':>10}{'worst':>10}")
        for kind, took in found.items():
            figures = [percentile(took, 0.5), percentile(took, 0.95), max(took)]
            shown = "".join(f"{1000 * figure:>7.1f} ms" for figure in figures)
            print(f"{kind:18}{len(took):>10,}{len(took) / report.seconds:>10.1f}{shown}")
    requests = sum(map(len, report.within.values()))
    print(
        f"processor: server {report.processor / report.seconds:.0%} of a core, "
        f"{1000 * report.processor / requests:.1f} ms a request; "
        f"clients {report.client_processor / report.seconds:.0%} of a core"
    )
    return 0 if all(percentile(took, 0.95) < MOST_SECONDS for took in report.waited.values()) else 1


def _print_slow(report: SlowReport) -> int:
    print(f"slow clients: {report.connections:,} connections, {report.most:,} at the same time")
    for kind, took in report.waited.items():
        lost = sum(second >= PATIENCE for second in took)
        figures = " ".join(
            f"{name} {1000 * second:,.0f} ms"
            for name, second in (("median", percentile(took, 0.5)), ("worst", max(took)))
        )
        print(f"pages on {kind} connections: {len(took)}, {figures}, {lost} did not come")
    print(f"log: {report.log:,} bytes", flush=True)
    return 0 if report.is_fine else 1


def main() -> int:
    """Read the arguments and run."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("part", choices=["kills", "load", "slow"])
    parser.add_argument("--clients", type=int)
    parser.add_argument("--answers", type=int, default=5000)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--pause", type=float, default=4.0)
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--db", help="an empty database; a new SQLite file if not given")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        address = given.db or str(Path(folder) / "server.db")
        if given.part == "slow":
            log = Path(folder) / "server.log"
            return _print_slow(
                run_slow(address, log, clients=given.clients or 1100, seconds=given.seconds or 45.0)
            )
        if given.part == "load":
            clients, seconds = given.clients or 200, given.seconds or 30.0
            return _print_load(
                run_load(address, clients=clients, pause=given.pause, seconds=seconds, seed=given.seed)
            )
        clients = given.clients or 20
        sizes = {"clients": clients, "answers": given.answers, "kills": given.kills, "seed": given.seed}
        kinds: tuple[type[Annotator | Participant], ...] = (Annotator, Participant)
        return max(_print_kills(kind, run_kills(address, kind, **sizes)) for kind in kinds)


if __name__ == "__main__":
    sys.exit(main())
