"""Small jobs for the store: results are folders with their fingerprint in a file."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from evenhand.store.jobs import Job, open_job

ONE, OTHER = "1" * 64, "2" * 64


def fingerprint_at(place: Path) -> str | None:
    return (place / "fingerprint").read_text(encoding="utf-8") if place.exists() else None


def finish(job: Job) -> None:
    with job.result_folder() as scratch:
        (scratch / "fingerprint").write_text(job.fingerprint, encoding="utf-8")


def make(place: Path, fingerprint: str) -> None:
    with open_job(place, fingerprint, fingerprint_at=fingerprint_at) as job:
        finish(job)


def interrupt(place: Path, piece: bytes) -> None:
    """Keep a piece and stop before the result is there."""
    with open_job(place, ONE, fingerprint_at=fingerprint_at) as job:
        job.parts("scores").put("0", piece)
        raise KeyboardInterrupt


def start(place: Path, fingerprint: str) -> None:
    """Start a job that must be refused."""
    with open_job(place, fingerprint, fingerprint_at=fingerprint_at):
        pass


def refuse_with(number: int) -> Callable[..., None]:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    return refuse
