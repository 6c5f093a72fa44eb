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
import fcntl
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

from evenhand.core.errors import EvenhandError, OutputError, RunError
from evenhand.core.files import (
    cannot_write,
    escape_glob,
    file_written_whole,
    folder_written_whole,
    is_alive,
    started_at,
    write_bytes,
)

FINGERPRINT_DIGITS = 16
"""Digits of a fingerprint in the name of a folder."""

_DIGEST_BYTES = 32
_UNFINISHED = ".unfinished"


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
) -> Iterator[Job]:
    """Claim a place for a job, and go on with what an earlier process finished of it.

    Args:
        place: Where the result is to lie. If it is a link, the result replaces the link, never what it points to.
        fingerprint: Digest of all that determines the result.
        fingerprint_at: Reads the fingerprint of the result at a place; None if nothing is there. Raises if what is
            there is something else.
        replace: Start afresh: forget what was kept, and let an existing result give way.

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
    with _claimed(place):
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
    if folder.exists() or os.path.lexists(_claim_on(place)):
        with suppress(BusyError, OutputError), _claimed(place):
            shutil.rmtree(folder, ignore_errors=True)


def release_claims(folder: Path, owner: str) -> None:
    """Lift the claims of a process that is known to have died, as on a machine that cannot be asked any more.

    Args:
        folder: Where its results were to lie.
        owner: Host and process, as ``"host 123"``. Claims of other processes stand.
    """
    for claim in folder.glob(".*.claim"):
        holder = _Holder.of(claim)
        if holder is not None and f"{holder.host} {holder.process}" == owner:
            claim.unlink(missing_ok=True)


def _claim_on(place: Path) -> Path:
    absolute = place.absolute()
    return absolute.with_name(f".{absolute.name}.claim")


@contextmanager
def _claimed(place: Path) -> Iterator[None]:
    """Hold the place against other processes; the claim of a process that died is void.

    Folders that were made for the claim go again if nothing came to lie in them.
    """
    claim = _claim_on(place)
    made = [folder for folder in claim.parents if not folder.exists()]
    try:
        _make_and_take(claim, place)
    except OSError as problem:
        raise cannot_write(place, problem) from None
    try:
        yield
    finally:
        claim.unlink(missing_ok=True)
        for folder in made:
            with suppress(OSError):
                folder.rmdir()


def _make_and_take(claim: Path, place: Path) -> None:
    """Make the folder and claim the place in it; once more if another process that failed removed the folder again."""
    claim.parent.mkdir(parents=True, exist_ok=True)
    try:
        _take(claim, place)
    except FileNotFoundError:
        claim.parent.mkdir(parents=True, exist_ok=True)
        _take(claim, place)


def _take(claim: Path, place: Path) -> None:
    """Write the claim, unless a living process holds one."""
    with _locked(claim.parent):
        holder = _Holder.of(claim)
        if holder is not None and holder.is_dead:
            claim.unlink(missing_ok=True)
        try:
            _write_claim(claim, _Holder.this_process())
        except FileExistsError:
            raise BusyError(
                f"{place} is being made by {_Holder.of(claim) or 'another process'}. Wait for it, or choose another "
                f"place with --out. If that process is gone, remove {claim}."
            ) from None


def _write_claim(claim: Path, holder: _Holder) -> None:
    """Make a file that must not exist yet, which network disks honour too.

    A symbolic link appears together with its content, so that nobody ever reads half of a claim.
    """
    try:
        claim.symlink_to(holder.to_text())
    except OSError as problem:
        if problem.errno not in {errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EINVAL}:
            raise
        # A disk without symbolic links.
        with claim.open("x", encoding="utf-8") as stream:
            stream.write(holder.to_text())


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Keep the other processes of this machine from removing a void claim and writing their own at the same time.

    Only claims of this machine are ever found void, so a lock that holds within it is enough. It is on the folder
    itself, leaves no file, and ends with the process. A disk that has no locks does without: claims hold all the same,
    except when two processes find the same void one at the same moment.
    """
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


@dataclass(frozen=True, slots=True)
class _Holder:
    """The process that holds a claim."""

    host: str
    process: str
    started: str
    """Tells it from a later process of the same number, as in a container that is started again."""

    @classmethod
    def this_process(cls) -> _Holder:
        return cls(socket.gethostname(), str(os.getpid()), started_at(os.getpid()))

    @classmethod
    def of(cls, claim: Path) -> _Holder | None:
        """Who holds a claim; None if nobody does."""
        try:
            text = str(claim.readlink()) if claim.is_symlink() else claim.read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        host, process, started = (*text.split(" "), "", "", "")[:3]
        return cls(host, process, started)

    def to_text(self) -> str:
        """What a claim holds."""
        return f"{self.host} {self.process} {self.started}".rstrip()

    @property
    def is_dead(self) -> bool:
        """Whether it has ended, which can be known of processes on this machine only."""
        if self.host != socket.gethostname() or not self.process.isdigit():
            return False
        number = int(self.process)
        return not is_alive(number) or (bool(self.started) and self.started != started_at(number))

    def __str__(self) -> str:
        return f"another process ({self.process} on {self.host})" if self.process else "another process"
