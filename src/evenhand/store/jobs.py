"""The store: the one way in which anything that takes long is made.

A *job* makes one result: a run folder, a model folder, a file of pairs, a certificate. It is known by the place of its
result and by a *fingerprint* of all that determines it.

    with open_job(place, fingerprint, fingerprint_at=fingerprint_of_run) as job:
        if job.is_done:
            return open_run(place)
        parts = job.parts("scores")       # what an earlier, killed process finished is there already
        ...
        with job.result_folder() as scratch:
            ...                            # renamed into place when the block succeeds

- A result that is there with the same fingerprint is done; another one is refused, or replaced on demand.
- Two processes never work on one place: the second is told who is at it.
- Parts are kept as they come, each written whole and checked when it is read. They lie beside the place, in a
  folder that carries the fingerprint, so what another job left behind never stands in the way.
- When the result is in place, the parts are removed.
"""

from __future__ import annotations

import hashlib
import io
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from evenhand.core.errors import EvenhandError, OutputError, RunError
from evenhand.core.files import (
    cannot_write,
    escape_glob,
    file_written_whole,
    folder_written_whole,
    write_bytes,
)
from evenhand.store.claims import BusyError, Claim, claim_on, claimed

FINGERPRINT_DIGITS = 16
"""Digits of a fingerprint in the name of a folder."""

_DIGEST_BYTES = 32
_UNFINISHED = ".unfinished"


@dataclass(frozen=True, slots=True)
class Parts:
    """Finished pieces of a job by key, each written whole."""

    folder: Path

    def get(self, key: str) -> bytes | None:
        """A piece that was put; None if there is none, or its file is damaged."""
        try:
            content = self._path(key).read_bytes()
        except FileNotFoundError:
            return None
        except OSError as problem:
            raise RunError(f"{self._path(key)} cannot be read: {problem.strerror or problem}.") from None
        digest, piece = content[:_DIGEST_BYTES], content[_DIGEST_BYTES:]
        return piece if hashlib.sha256(piece).digest() == digest else None

    def put(self, key: str, piece: bytes) -> None:
        """Keep a piece."""
        try:
            write_bytes(self._path(key), hashlib.sha256(piece).digest() + piece)
        except OutputError as problem:
            raise OutputError(
                f"{problem} What was finished before is kept: give the same command again to go on."
            ) from None

    def get_array(self, key: str, shape: tuple[int, ...]) -> npt.NDArray[np.float64] | None:
        """An array that was put; None if there is none of this shape."""
        piece = self.get(key)
        if piece is None:
            return None
        array: npt.NDArray[np.float64] = np.load(io.BytesIO(piece), allow_pickle=False)
        return array if array.shape == shape else None

    def put_array(self, key: str, array: npt.NDArray[np.float64]) -> None:
        """Keep an array."""
        buffer = io.BytesIO()
        np.save(buffer, array, allow_pickle=False)
        self.put(key, buffer.getvalue())

    def __iter__(self) -> Iterator[str]:
        """The keys of all pieces, in order."""
        return iter(sorted(path.name for path in self.folder.glob("[!.]*")))

    def remove(self) -> None:
        """Forget every piece."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _path(self, key: str) -> Path:
        if not key or "/" in key or key.startswith("."):
            raise ValueError(f"{key!r} cannot be the key of a part")
        return self.folder / key


@dataclass(frozen=True, slots=True)
class Job:
    """One result in the making, which only this process works on."""

    place: Path
    fingerprint: str
    folder: Path
    """For everything that is needed to go on after an interruption; gone when the result is in place."""
    is_done: bool
    """Whether the result of this very job is in its place already."""

    def parts(self, stage: str) -> Parts:
        """Where the pieces of a stage are kept."""
        return Parts(self.folder / stage)

    def subfolder(self, name: str) -> Path:
        """A folder for what keeps its own files, such as checkpoints."""
        folder = self.folder / name
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            raise cannot_write(folder, problem) from None
        return folder

    @contextmanager
    def result_folder(self) -> Iterator[Path]:
        """A scratch folder that becomes the result when the block succeeds."""
        with folder_written_whole(self.place, scratch=self.subfolder("result")) as scratch:
            yield scratch
        self.discard()

    @contextmanager
    def result_file(self) -> Iterator[BinaryIO]:
        """A stream to a file that becomes the result when the block succeeds."""
        with file_written_whole(self.place, scratch=self.subfolder("result")) as stream:
            yield stream
        self.discard()

    def discard(self) -> None:
        """Forget what was kept to go on."""
        shutil.rmtree(self.folder, ignore_errors=True)


@contextmanager
def open_job(
    place: str | Path,
    fingerprint: str,
    *,
    fingerprint_at: Callable[[Path], str | None],
    replace: bool = False,
    claim: Claim | None = None,
) -> Iterator[Job]:
    """Claim a place for a job, and go on with what an earlier process finished of it.

    Args:
        place: Where the result is to lie. If it is a link, the result replaces the link, never what it points to.
        fingerprint: Digest of all that determines the result.
        fingerprint_at: Reads the fingerprint of the result at a place; None if nothing is there. Raises if what is
            there is something else.
        replace: Start afresh: forget what was kept, and let an existing result give way.
        claim: On the place, from ``claim_place``; the caller gives it back.

    Raises:
        BusyError: If another process works on the same place.
        RunError: If the place holds the result of another job, or is a link to nothing.
        OutputError: If the place cannot be written.
    """
    place = Path(place)
    folder = _parts_folder(place, fingerprint)

    def is_done() -> bool:
        if replace:
            fingerprint_at(place)  # raises for what must not be replaced
            return False
        _refuse_broken_link(place)
        existing = fingerprint_at(place)
        if existing is not None and existing != fingerprint:
            raise RunError(
                f"{place} holds another result: another model, other data, options or version. Choose another place "
                "with --out, or replace it with --fresh."
            )
        return existing == fingerprint

    def is_in_place() -> bool:
        try:
            return fingerprint_at(place) == fingerprint
        except EvenhandError:
            return False

    if is_done():
        _remove_remains(place, folder)
        yield Job(place, fingerprint, folder, is_done=True)
        return
    with nullcontext() if claim and claim.place == place else claimed(place):
        if replace:
            for leftover in leftovers(place):
                shutil.rmtree(leftover, ignore_errors=True)
        try:
            # Between the first look and the claim, another process may have finished.
            yield Job(place, fingerprint, folder, is_done=is_done())
        except BaseException:
            # What is kept is of use only to go on, and not if the result was in place before the interruption.
            if not any(path.is_file() for path in folder.rglob("*")) or is_in_place():
                shutil.rmtree(folder, ignore_errors=True)
            raise


@contextmanager
def claim_place(
    place: str | Path, *, fingerprint_at: Callable[[Path], str | None], replace: bool = False
) -> Iterator[Claim | None]:
    """Claim the place of a job before its fingerprint is known, such as before a model is loaded for it.

    Where a result lies already, nothing is claimed, and None is given: it may be the result of this very job.

    Args:
        place: Where the result is to lie.
        fingerprint_at: As for ``open_job``.
        replace: Whether an existing result is to give way.

    Raises:
        BusyError: If another process works on the same place.
        RunError: If the place is a link to nothing.
        OutputError: If the place cannot be written.
    """
    place = Path(place)
    if not replace:
        _refuse_broken_link(place)
    if fingerprint_at(place) is not None and not replace:
        yield None
        return
    with claimed(place) as claim:
        yield claim


def kept_parts(place: str | Path, fingerprint: str, stage: str) -> Parts:
    """The pieces that an interrupted job with this place kept of a stage, to look at: nothing is claimed."""
    return Parts(_parts_folder(Path(place), fingerprint) / stage)


def supplement_parts(place: str | Path, fingerprint: str) -> Parts:
    """Where the pieces of something are kept that is added to a finished result; whoever adds it claims the place.

    Args:
        place: Of the result.
        fingerprint: Digest of the result and of what is added.
    """
    return Parts(_parts_folder(Path(place), fingerprint))


def leftovers(place: Path) -> list[Path]:
    """The folders of unfinished jobs with this place, of whatever fingerprint."""
    digits = "[0-9a-f]" * FINGERPRINT_DIGITS
    return sorted(place.absolute().parent.glob(f"{escape_glob(f'.{place.name}.')}{digits}{_UNFINISHED}"))


def _parts_folder(place: Path, fingerprint: str) -> Path:
    absolute = place.absolute()
    return absolute.with_name(f".{absolute.name}.{fingerprint[:FINGERPRINT_DIGITS]}{_UNFINISHED}")


def _refuse_broken_link(place: Path) -> None:
    if place.is_symlink() and not place.exists():
        raise RunError(
            f"{place} is a link to {place.readlink()}, and nothing is there. If that is on another disk, mount it; "
            "otherwise remove the link, or choose another place with --out."
        )


def _remove_remains(place: Path, folder: Path) -> None:
    """Remove what a process left behind that was killed after its result was in place.

    Another process may be making the same result anew, or the disk may be read-only: then it stays as it is.
    """
    if folder.exists() or os.path.lexists(claim_on(place)):
        with suppress(BusyError, OutputError), claimed(place):
            shutil.rmtree(folder, ignore_errors=True)
