"""A monitor that remembers what it was told."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from evenhand.core.progress import Progress


@dataclass
class RecordingMonitor:
    """Stages, progress, notes and warnings in their order."""

    stages: list[str] = field(default_factory=list)
    progress: list[tuple[int, int]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    @contextmanager
    def stage(self, title: str, unit: str = "items") -> Iterator[Progress]:  # noqa: ARG002 # only the title is kept
        self.stages.append(title)
        yield lambda done, total: self.progress.append((done, total))

    def note(self, message: str) -> None:
        self.notes.append(message)

    def warn(self, message: str) -> None:
        self.warnings.append(message)
