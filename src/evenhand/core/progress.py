"""How long work tells how far it is."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Protocol, TypeAlias

Progress: TypeAlias = Callable[[int, int], None]
"""Called with how much is done, and of how much."""


class Monitor(Protocol):
    """Who watches a workflow: a terminal, a notebook, a log."""

    def stage(self, title: str, unit: str = "items") -> AbstractContextManager[Progress]:
        """A piece of work begins; what it gives is told about its progress until it ends."""
        ...

    def note(self, message: str) -> None:
        """Something worth knowing."""
        ...

    def warn(self, message: str) -> None:
        """Something that may change how a result reads."""
        ...


class _Silent:
    """Nobody watches."""

    @contextmanager
    def stage(self, title: str, unit: str = "items") -> Iterator[Progress]:  # noqa: ARG002 # nobody reads them
        yield no_progress

    def note(self, message: str) -> None:
        pass

    def warn(self, message: str) -> None:
        pass


SILENT: Monitor = _Silent()


def share_of(progress: Progress, count: int, *, first: float, last: float) -> Progress:
    """The progress of a part of some work, from one share of its count to another."""
    return lambda done, total: progress(int(count * (first + (last - first) * done / total)), count)


def no_progress(_done: int, _total: int) -> None:
    """For whoever does not want to know."""


@dataclass(slots=True, eq=False)
class Activity:
    """Something that this process is busy with."""

    title: str
    unit: str
    started: float
    done: int = 0
    total: int = 0
    """0 as long as nobody knows."""
    _first: tuple[float, int] | None = None

    def report(self, done: int, total: int) -> None:
        """How much is done, and of how much."""
        if self._first is None:  # what an earlier process had done is no measure of the speed
            self._first = (self.started, 0) if done <= 1 else (time.monotonic(), done)
        self.done, self.total = done, total

    def rate(self, now: float) -> float:
        """Units per second; 0 as long as that is not known."""
        since, before = self._first or (now, 0)
        return (self.done - before) / (now - since) if now > since else 0.0


_under_way: list[Activity] = []


@contextmanager
def activity(title: str, unit: str = "") -> Iterator[Progress]:
    """Say what the process is busy with during the block, from places that know no monitor.

    Args:
        title: What is done.
        unit: What progress is counted in, if it is reported.
    """
    own = Activity(title, unit, time.monotonic())
    _under_way.append(own)
    try:
        yield own.report
    finally:
        _under_way.remove(own)


def activities() -> tuple[Activity, ...]:
    """What is under way, the whole first and its latest part last."""
    return tuple(_under_way)
