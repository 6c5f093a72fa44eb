"""Executors: where the jobs of a workflow run, in this process or on Ray.

A job writes its result into the store, so it can be repeated anywhere: a worker that dies costs what it had not kept of
one job. Whoever asked opens the finished results.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from evenhand.core.errors import EvenhandError, UnknownNameError
from evenhand.core.progress import SILENT, Monitor

HERE = "here"
RAY = "ray"
EXECUTORS = (HERE, RAY)

Result = TypeVar("Result")


class ExecutorError(EvenhandError):
    """Jobs that cannot be run where they should."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment(Generic[Result]):
    """One job for an executor. Everything in it can be sent to another process.

    Attributes:
        title: What it is called while it runs.
        work: Does it. Its result is sent back, so it should be small.
        folder: Where its results go, so that a dead worker's claims there can be lifted.
        device: ``cpu``, ``cuda`` or ``auto``, which takes a GPU where there is one.
    """

    title: str
    work: Callable[[Monitor], Result]
    folder: Path | None = None
    device: str = "cpu"


class Executor(Protocol):
    """Where jobs run."""

    def execute(
        self,
        assignments: Sequence[Assignment[Result]],
        *,
        monitor: Monitor = SILENT,
        finished: Callable[[int, Result], None] | None = None,
    ) -> list[Result]:
        """Do all jobs; the results are in the order of the assignments.

        Args:
            assignments: The jobs.
            monitor: Watches all of them together.
            finished: Called here with the number and the result of each job when it is done, in any order.
        """
        ...


class LocalExecutor:
    """One job after another in this process."""

    def execute(
        self,
        assignments: Sequence[Assignment[Result]],
        *,
        monitor: Monitor = SILENT,
        finished: Callable[[int, Result], None] | None = None,
    ) -> list[Result]:
        """Do the jobs in their order; the first error ends it."""
        results = []
        for number, assignment in enumerate(assignments):
            results.append(assignment.work(monitor))
            if finished is not None:
                finished(number, results[-1])
        return results


def executor_at(on: str | Executor) -> Executor:
    """The executor that a text means: ``here``, ``ray``, or ``ray:ADDRESS``.

    Raises:
        MissingExtraError: If Ray is wanted and not installed.
        UnknownNameError: If there is no such executor.
    """
    if not isinstance(on, str):
        return on
    name, colon, address = on.partition(":")
    if name not in EXECUTORS or (name == HERE and colon):
        raise UnknownNameError("place for jobs", on, [HERE, RAY, f"{RAY}:ADDRESS"])
    if name == HERE:
        return LocalExecutor()
    if colon and not address:
        raise ExecutorError(
            f"{on!r} has no address. Write ray:HOST:PORT, or ray for a cluster on this machine."
        )
    from evenhand.api.ray_executor import RayExecutor

    return RayExecutor(address or None)
