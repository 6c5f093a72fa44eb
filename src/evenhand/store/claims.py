"""Claims: of all processes that would work on one place, one does, and the others are told who is at it."""

from __future__ import annotations

import errno
import fcntl
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from evenhand.core.errors import RunError
from evenhand.core.files import cannot_write
from evenhand.core.processes import is_alive, started_at


class BusyError(RunError):
    """Another process works on the same result."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A place that this process holds."""

    place: Path


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


def claim_on(place: Path) -> Path:
    """The file that says who holds a place; it may not be there."""
    absolute = place.absolute()
    return absolute.with_name(f".{absolute.name}.claim")


@contextmanager
def claimed(place: Path) -> Iterator[Claim]:
    """Hold a place against other processes; the claim of a process that died is void.

    Folders that were made for the claim go again if nothing came to lie in them.
    """
    claim = claim_on(place)
    made = [folder for folder in claim.parents if not folder.exists()]
    try:
        _make_and_take(claim, place)
    except OSError as problem:
        raise cannot_write(place, problem) from None
    try:
        yield Claim(place)
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
