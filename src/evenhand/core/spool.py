"""Bytes that wait on disk until they are needed again, so that memory does not grow with their number."""

from __future__ import annotations

import tempfile
import weakref
from typing import IO

from evenhand.core.errors import OutputError


class Spool:
    """Entries by number, in a file that is gone with the process."""

    def __init__(self) -> None:
        self._file: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115  # it is closed with the spool
        weakref.finalize(self, self._file.close)
        self._starts = [0]

    def append(self, entry: bytes) -> int:
        """Keep an entry; its number.

        Raises:
            OutputError: If there is no space left for it.
        """
        self._file.seek(self._starts[-1])
        try:
            self._file.write(entry)
            self._file.flush()
        except OSError as problem:
            raise OutputError(
                f"The folder for temporary files, {tempfile.gettempdir()}, cannot be written: "
                f"{problem.strerror or problem}. Free space there, or name another folder in TMPDIR."
            ) from None
        self._starts.append(self._starts[-1] + len(entry))
        return len(self._starts) - 2

    def end(self, number: int) -> int:
        """How many bytes all entries up to this one take."""
        return self._starts[number + 1]

    def __getitem__(self, number: int) -> bytes:
        self._file.seek(self._starts[number])
        return self._file.read(self._starts[number + 1] - self._starts[number])
