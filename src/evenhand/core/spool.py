"""Objects that wait on disk until they are needed again, so that memory does not grow with their number."""

from __future__ import annotations

import pickle
import tempfile
import weakref
from typing import IO, Any

from evenhand.core.errors import OutputError


class Spool:
    """Objects of this process by number, in a file that is gone with it."""

    def __init__(self) -> None:
        self._file: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115  # it is closed with the spool
        weakref.finalize(self, self._file.close)
        self._starts = [0]

    def append(self, entry: object) -> int:
        """Keep an object; its number.

        Raises:
            OutputError: If there is no space left for it.
        """
        self._file.seek(self._starts[-1])
        try:
            pickle.dump(entry, self._file, protocol=pickle.HIGHEST_PROTOCOL)
            self._file.flush()
        except OSError as problem:
            raise OutputError(
                f"The folder for temporary files, {tempfile.gettempdir()}, cannot be written: "
                f"{problem.strerror or problem}. Free space there, or name another folder in TMPDIR."
            ) from None
        self._starts.append(self._file.tell())
        return len(self._starts) - 2

    def end(self, number: int) -> int:
        """How many bytes all objects up to this one take on disk."""
        return self._starts[number + 1]

    def __getitem__(self, number: int) -> Any:
        self._file.seek(self._starts[number])
        return pickle.load(self._file)  # noqa: S301 # made by this very process
