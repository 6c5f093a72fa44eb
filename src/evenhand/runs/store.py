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

import errno
import hashlib
import io
import os
import shutil
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from evenhand.core.errors import RunError
from evenhand.core.files import (
    cannot_write,
    escape_glob,
    file_written_whole,
    folder_written_whole,
    is_alive,
    write_bytes,
)

FINGERPRINT_DIGITS = 16
"""Digits of a fingerprint in the name of a folder."""

_DIGEST_BYTES = 32


class BusyError(RunError):
    """Another process works on the same result."""


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
        digest, piece = content[:_DIGEST_BYTES], content[_DIGEST_BYTES:]
        return piece if hashlib.sha256(piece).digest() == digest else None

    def put(self, key: str, piece: bytes) -> None:
        """Keep a piece."""
        write_bytes(self._path(key), hashlib.sha256(piece).digest() + piece)

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
        with folder_written_whole(self.place) as scratch:
            yield scratch
        self.discard()

    @contextmanager
    def result_file(self) -> Iterator[BinaryIO]:
        """A stream to a file that becomes the result when the block succeeds."""
        with file_written_whole(self.place) as stream:
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
) -> Iterator[Job]:
    """Claim a place for a job, and go on with what an earlier process finished of it.

    Args:
        place: Where the result is to lie.
        fingerprint: Digest of all that determines the result.
        fingerprint_at: Reads the fingerprint of the result at a place; None if nothing is there. Raises if what is
            there is something else.
        replace: Start afresh: forget what was kept, and let an existing result give way.

    Raises:
        BusyError: If another process works on the same place.
        RunError: If the place holds the result of another job.
        OutputError: If the place cannot be written.
    """
    place = Path(place)
    existing = fingerprint_at(place)
    if existing is not None and existing != fingerprint and not replace:
        raise RunError(
            f"{place} holds another result: another model, other data, options or version. Choose another place with "
            "--out, or replace it with --fresh."
        )
    folder = _parts_folder(place, fingerprint)
    if existing == fingerprint and not replace:
        shutil.rmtree(folder, ignore_errors=True)
        yield Job(place, fingerprint, folder, is_done=True)
        return
    with _claimed(place):
        if replace:
            for leftover in leftovers(place):
                shutil.rmtree(leftover, ignore_errors=True)
        # Between the first look and the claim, another process may have finished.
        is_done = not replace and fingerprint_at(place) == fingerprint
        yield Job(place, fingerprint, folder, is_done=is_done)


def leftovers(place: Path) -> list[Path]:
    """The folders of unfinished jobs with this place, of whatever fingerprint."""
    return sorted(place.absolute().parent.glob(f"{escape_glob(f'.{place.name}.')}*.unfinished"))


def _parts_folder(place: Path, fingerprint: str) -> Path:
    absolute = place.absolute()
    return absolute.with_name(f".{absolute.name}.{fingerprint[:FINGERPRINT_DIGITS]}.unfinished")


def release_claims(folder: Path, owner: str) -> None:
    """Lift the claims of a process that is known to have died, as on a machine that cannot be asked any more.

    Args:
        folder: Where its results were to lie.
        owner: Host and process, as ``"host 123"``. Claims of other processes stand.
    """
    for claim in folder.glob(".*.claim"):
        if _holder(claim) == owner:
            claim.unlink(missing_ok=True)


def _claim_on(place: Path) -> Path:
    absolute = place.absolute()
    return absolute.with_name(f".{absolute.name}.claim")


@contextmanager
def _claimed(place: Path) -> Iterator[None]:
    """Hold the place against other processes; the claim of a process that died is void."""
    claim = _claim_on(place)
    owner = f"{socket.gethostname()} {os.getpid()}"
    try:
        claim.parent.mkdir(parents=True, exist_ok=True)
        _take(claim, owner, place)
    except OSError as problem:
        raise cannot_write(place, problem) from None
    try:
        yield
    finally:
        claim.unlink(missing_ok=True)


def _take(claim: Path, owner: str, place: Path) -> None:
    """Write the claim, unless a living process holds one.

    A file that must not exist yet is the one claim that network disks honour too. It is linked into place with its
    content, so that nobody ever reads half of one.
    """
    draft = claim.with_name(f"{claim.name}-{owner.replace(' ', '-')}")
    draft.write_text(owner, encoding="utf-8")
    try:
        for _ in range(3):
            try:
                _link(draft, claim)
            except FileExistsError:
                holder = _holder(claim)
                if holder is not None and not _is_void(holder):
                    host, _, process = holder.partition(" ")
                    raise BusyError(
                        f"{place} is being made by another process ({process} on {host}). Wait for it, or choose "
                        f"another place with --out. If that process is gone, remove {claim}."
                    ) from None
                _remove_void(claim, holder, draft)
            else:
                return
        raise BusyError(f"{place} is being claimed by other processes at this moment. Try again.")
    finally:
        draft.unlink(missing_ok=True)


def _remove_void(claim: Path, holder: str | None, draft: Path) -> None:
    """Remove the claim of a dead process, and no other: a living one may have taken its place just now."""
    aside = draft.with_name(f"{draft.name}-void")
    try:
        claim.rename(aside)
    except FileNotFoundError:
        return
    if _holder(aside) != holder:
        with suppress(FileExistsError):
            _link(aside, claim)
    aside.unlink(missing_ok=True)


def _link(draft: Path, claim: Path) -> None:
    try:
        os.link(draft, claim)
    except OSError as problem:
        if problem.errno not in {errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK}:
            raise
        # A disk without hard links.
        with claim.open("x", encoding="utf-8") as stream:
            stream.write(draft.read_text(encoding="utf-8"))


def _holder(claim: Path) -> str | None:
    try:
        return claim.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None


def _is_void(holder: str) -> bool:
    """Whether the process that holds a claim is dead, which can be told of processes on this machine only."""
    host, _, process = holder.partition(" ")
    return host == socket.gethostname() and process.isdigit() and not is_alive(int(process))
