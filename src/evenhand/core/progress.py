"""How long work tells how far it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
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
