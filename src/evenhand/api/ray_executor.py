"""Jobs on Ray: on a cluster at an address, or on one that is started on this machine for the occasion.

Every machine needs the same Evenhand and the same disk. A job runs in the folder in which the command was given and
with as many threads as here, so that it writes the same bytes. When a worker dies, its job starts again on another one
and goes on with what was kept in the store.
"""

from __future__ import annotations

import logging
import os
import pickle
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import chdir, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evenhand.api.executors import Assignment, ExecutorError, Result
from evenhand.core.errors import EvenhandError, missing_extra, require_extra
from evenhand.core.progress import SILENT, Monitor, Progress
from evenhand.store.claims import release_claims

ATTEMPTS = 4
"""How often a job is begun before its workers' deaths are taken for its own fault."""

SECONDS_BETWEEN_LOOKS = 0.2
SECONDS_TO_CONNECT = 5.0
THREADS_VARIABLE = "OMP_NUM_THREADS"


@dataclass(frozen=True, slots=True)
class RayExecutor:
    """Jobs of models, languages and instruments at once, on as many workers as the cluster has room for."""

    address: str | None = None
    """Of a running cluster; None starts one on this machine, unless this process is connected already."""

    def __post_init__(self) -> None:
        require_extra("ray", "ray", purpose="--on ray")

    def execute(
        self,
        assignments: Sequence[Assignment[Result]],
        *,
        monitor: Monitor = SILENT,
        finished: Callable[[int, Result], None] | None = None,
    ) -> list[Result]:
        """Do the jobs as workers come free. One that fails lets the others finish first.

        Raises:
            ExecutorError: If there is no cluster at the address, or a job's workers died again and again.
            EvenhandError: What a job raised.
        """
        if not assignments:
            return []
        with _connected(self.address) as ray:
            batch = _Batch(ray, assignments, monitor)
            try:
                with monitor.stage(f"{len(assignments)} jobs on Ray", "%") as progress:
                    return batch.results(progress, finished)
            finally:
                batch.cancel()


class _Batch:
    """Assignments under way."""

    def __init__(self, ray: Any, assignments: Sequence[Assignment[Any]], monitor: Monitor) -> None:
        self._ray = ray
        self._assignments = assignments
        self._monitor = monitor
        self._threads = _threads(ray)
        self._has_gpus = bool(ray.cluster_resources().get("GPU"))
        self._relay = ray.remote(num_cpus=0)(_Relay).remote()
        self._numbers: dict[Any, int] = {}
        self._attempts = [0] * len(assignments)
        self._shares = [0.0] * len(assignments)
        self._percent = -1
        self._workers: dict[int, str] = {}
        for number in range(len(assignments)):
            self._begin(number)

    def results(self, progress: Progress, finished: Callable[[int, Any], None] | None) -> list[Any]:
        results: dict[int, Any] = {}
        failures: dict[int, Exception] = {}
        while self._numbers:
            ready, _ = self._ray.wait(list(self._numbers), timeout=SECONDS_BETWEEN_LOOKS)
            self._hear(progress)
            for reference in ready:
                number = self._numbers.pop(reference)
                try:
                    outcome = self._outcome(reference, number)
                except EvenhandError as problem:
                    failures[number] = problem
                    continue
                if outcome is None:
                    continue
                results[number] = outcome.result
                self._shares[number] = 1.0
                if finished is not None:
                    finished(number, outcome.result)
        self._hear(progress)
        if failures:
            raise self._failure(failures)
        return [results[number] for number in range(len(self._assignments))]

    def cancel(self) -> None:
        """Stop what is under way, as when somebody presses Ctrl-C; what was kept stays."""
        for reference in self._numbers:
            self._ray.cancel(reference, force=True)

    def _begin(self, number: int) -> None:
        assignment = self._assignments[number]
        self._attempts[number] += 1
        remote = self._ray.remote(_perform).options(
            num_cpus=self._threads,
            num_gpus=1 if self._has_gpus and assignment.device != "cpu" else 0,
            max_retries=0,
        )
        call = _Call(
            number, self._ray.cloudpickle.dumps(assignment.work), Path.cwd(), os.environ.get(THREADS_VARIABLE)
        )
        self._numbers[remote.remote(call, self._relay)] = number

    def _outcome(self, reference: Any, number: int) -> _Outcome | None:
        """What a finished job came to; None if its worker died and it was begun again."""
        from ray import exceptions

        try:
            outcome: _Outcome = self._ray.get(reference)
        except exceptions.RayTaskError as problem:
            raise ExecutorError(_crash(self._assignments[number].title, problem)) from None
        except exceptions.RayError as problem:
            self._begin_again(number, problem)
            return None
        if outcome.error is not None:
            raise outcome.error
        return outcome

    def _begin_again(self, number: int, problem: Exception) -> None:
        assignment = self._assignments[number]
        if self._attempts[number] == ATTEMPTS:
            raise ExecutorError(
                f"{assignment.title}: {ATTEMPTS} workers died at it ({_first_line(problem)}). What is "
                "finished is kept. If memory ran out, use fewer workers at a time or lower --max-tokens."
            )
        self._monitor.warn(f"{assignment.title}: its worker died; another one goes on with what was kept.")
        if assignment.folder is not None and number in self._workers:
            release_claims(assignment.folder, self._workers[number])
        self._shares[number] = 0.0
        self._begin(number)

    def _hear(self, progress: Progress) -> None:
        """Pass on what the workers say."""
        for number, kind, content in self._ray.get(self._relay.take.remote()):
            if kind == "worker":
                self._workers[number] = content
            elif kind == "progress":
                done, total = content
                self._shares[number] = done / total if total else 0.0
            elif kind == "warn":
                self._monitor.warn(content)
            else:
                self._monitor.note(content)
        percent = round(100 * sum(self._shares) / len(self._shares))
        if percent != self._percent:
            self._percent = percent
            progress(percent, 100)

    def _failure(self, failures: dict[int, Exception]) -> Exception:
        first = failures[min(failures)]
        if len(failures) == 1:
            return first
        titles = ", ".join(self._assignments[number].title for number in sorted(failures)[1:])
        return EvenhandError(f"{first} These failed too: {titles}.")


@dataclass(frozen=True, slots=True)
class _Call:
    """What a worker is sent. The work stays pickled until the number of threads is set, because it imports torch."""

    number: int
    work: bytes
    folder: Path
    threads: str | None


@dataclass(frozen=True, slots=True)
class _Outcome:
    """A job's result, or its error, which Ray would bury in tracebacks of its own."""

    result: Any = None
    error: EvenhandError | None = None


class _Relay:
    """Where workers leave what they have to say."""

    def __init__(self) -> None:
        self._heard: list[tuple[int, str, Any]] = []

    def put(self, number: int, kind: str, content: Any) -> None:
        self._heard.append((number, kind, content))

    def take(self) -> list[tuple[int, str, Any]]:
        heard, self._heard = self._heard, []
        return heard


@dataclass(slots=True)
class _RelayMonitor:
    """The monitor of a job on a worker."""

    number: int
    relay: Any
    _told: float = field(default=0.0)

    @contextmanager
    def stage(self, title: str, unit: str = "items") -> Iterator[Progress]:  # noqa: ARG002 # all jobs share one bar
        yield self._progress

    def note(self, message: str) -> None:
        self.relay.put.remote(self.number, "note", message)

    def warn(self, message: str) -> None:
        self.relay.put.remote(self.number, "warn", message)

    def _progress(self, done: int, total: int) -> None:
        share = done / total if total else 0.0
        if share - self._told >= 0.01 or share < self._told:
            self._told = share
            self.relay.put.remote(self.number, "progress", (done, total))


def _perform(call: _Call, relay: Any) -> _Outcome:
    """Do a job on a worker, in the folder of whoever asked."""
    import ray

    host = socket.gethostname()
    ray.get(relay.put.remote(call.number, "worker", f"{host} {os.getpid()}"))
    if not call.folder.is_dir():
        return _Outcome(
            error=ExecutorError(
                f"The folder {call.folder} is not on {host}. Give the command in a folder that every machine of the "
                "cluster can reach."
            )
        )
    # Ray has set it to the processors of the job; torch reads it when it is first imported.
    if call.threads is None:
        os.environ.pop(THREADS_VARIABLE, None)
    else:
        os.environ[THREADS_VARIABLE] = call.threads
    try:
        with chdir(call.folder):
            work = ray.cloudpickle.loads(call.work)
            return _Outcome(work(_RelayMonitor(call.number, relay)))
    except EvenhandError as problem:
        return _Outcome(error=_sendable(problem))
    except ModuleNotFoundError as problem:
        missing = missing_extra(problem, purpose=f"A job on {host}")
        if missing is None:
            raise
        return _Outcome(error=_sendable(missing))


def _sendable(problem: EvenhandError) -> EvenhandError:
    """An error that another process can read: itself, or its message where it has a constructor of its own."""
    try:
        pickle.loads(pickle.dumps(problem))  # noqa: S301 # made here
    except (TypeError, AttributeError, pickle.PicklingError):
        return EvenhandError(str(problem))
    return problem


def _threads(ray: Any) -> int:
    """Threads of a job, which it takes as many processors for: as here, so that sums are made in the same order."""
    wanted = os.environ.get(THREADS_VARIABLE, "")
    here = int(wanted) if wanted.isdigit() and int(wanted) > 0 else (os.cpu_count() or 1)
    largest = max((int(node["Resources"].get("CPU", 0)) for node in ray.nodes() if node["Alive"]), default=1)
    return max(1, min(here, largest))


@contextmanager
def _connected(address: str | None) -> Iterator[Any]:
    """Ray, connected; disconnected again if it was not connected before."""
    import ray

    if address is not None:
        _refuse_dead(address)
    if ray.is_initialized():
        yield ray
        return
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    try:
        if address is None:
            ray.init(include_dashboard=False, **quiet)
        else:
            ray.init(address=address, **quiet)
    except (OSError, RuntimeError, ValueError) as problem:
        raise _no_cluster(address, problem) from None
    try:
        yield ray
    finally:
        ray.shutdown()


def _refuse_dead(address: str) -> None:
    """Refuse an address at which nobody listens, for which Ray itself would wait for minutes."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if not (colon and port.isdigit()):
        return
    try:
        socket.create_connection((host, int(port)), timeout=SECONDS_TO_CONNECT).close()
    except (OSError, OverflowError) as problem:
        raise _no_cluster(address, problem) from None


def _no_cluster(address: str | None, problem: Exception) -> ExecutorError:
    where = f"at {address}" if address else "on this machine"
    return ExecutorError(
        f"There is no Ray cluster {where} ({_first_line(problem)}). Start one with: ray start --head. "
        "Nothing was begun."
    )


def _first_line(problem: Exception) -> str:
    return (str(problem).strip().splitlines() or [type(problem).__name__])[0]


def _crash(title: str, problem: Exception) -> str:
    cause = getattr(problem, "cause", None) or problem
    reason = (str(cause).strip().splitlines() or [""])[-1]
    return (
        f"{title} failed on Ray: {type(cause).__name__}: {reason}. Every machine needs the same version of Evenhand; "
        "see whether the same command works without --on."
    )
