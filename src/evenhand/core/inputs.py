"""Names that no file can have, and pipes that nobody writes into: refused before they do harm."""

from __future__ import annotations

import errno
import os
import select
import stat
from contextlib import suppress
from io import BufferedReader
from pathlib import Path

from evenhand.core.errors import EvenhandError

_SHOWN = 80
"""Characters of a name that is too long."""

_WRITER_PATIENCE = 5.0
"""Seconds in which somebody must begin to write into a pipe."""


def checked_path(name: str | Path, *, error: type[EvenhandError]) -> Path:
    """The path of this name, which need not exist.

    Args:
        name: As somebody gave it.
        error: Raised if no file can have the name: it is too long, or has a character that no name can have.
    """
    try:
        os.lstat(name)
    except ValueError:
        reason = _impossible_character(name)
        raise error(f"{str(name)[:_SHOWN]!r} names no file: it has {reason}. Correct the name.") from None
    except OSError as problem:
        if problem.errno == errno.ENAMETOOLONG:
            reason = f"it has {len(str(name)):,} characters, more than the system takes"
            raise error(f"{str(name)[:_SHOWN]!r}... names no file: {reason}. Correct the name.") from None
    return Path(name)


def _impossible_character(name: str | Path) -> str:
    """What is in a name that the system cannot encode."""
    return "a zero character" if "\0" in str(name) else "half of a surrogate pair"


def open_input(path: Path) -> BufferedReader:
    """A file for reading; a pipe too, unless nobody writes into it, which would be waited for without end.

    Raises:
        OSError: If it cannot be opened.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except ValueError:
        raise OSError(errno.EINVAL, f"its name has {_impossible_character(path)}") from None
    try:
        if stat.S_ISFIFO(os.fstat(descriptor).st_mode):
            _await_writer(path, descriptor)
        os.set_blocking(descriptor, True)
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def _await_writer(path: Path, descriptor: int) -> None:
    """Wait until there is something to read; where nothing comes, refuse a pipe that nobody has open for writing."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    if poll.poll(1000 * _WRITER_PATIENCE):
        return
    with suppress(PermissionError):
        # A pipe says that its last writer has left, but not that it never had one: so it has us for a moment.
        os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))
        state = dict(poll.poll(0)).get(descriptor, 0)
        if state & select.POLLIN or not state & select.POLLHUP:
            return
    raise OSError(errno.EPIPE, "it is a pipe, and nobody writes into it")
