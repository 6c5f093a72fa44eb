"""Standard streams that are closed or full, whose reader is gone, or whose encoding lacks characters."""

from __future__ import annotations

import codecs
import io
import os
import sys
from typing import NoReturn, TextIO

from evenhand.core.errors import OutputError

READER_GONE = 141
"""Nobody reads on, as behind ``| head -1``: what a shell reports for any tool that this stops. It is not 0, so that a
gate whose result nobody saw does not pass."""

_SHOW_CURSOR = b"\x1b[?25h"
_LONGEST_NAME = 100

_REPLACE = "evenhand-replace"

_PLAIN = {
    "−": "-",  # the minus sign of figures
    "–": "-",  # the dash of ranges
    "─": "-",
    "━": "=",
    "┿": "+",
    "┊": "|",
    "·": ".",
    "●": "o",
    "×": "x",  # the sign between factors
    "…": "...",
    "’": "'",  # the apostrophe of printed text
}
"""What stands for characters of our own that an output cannot write."""


def write_in_any_encoding() -> None:
    """Let standard output and error replace what their encoding lacks: a command must not fail for a minus sign."""
    codecs.register_error(_REPLACE, _replaced)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=_REPLACE)


def _replaced(problem: UnicodeError) -> tuple[str, int]:
    if not isinstance(problem, UnicodeEncodeError):
        raise problem
    lacking = problem.object[problem.start : problem.end]
    return "".join(_PLAIN.get(character, "?") for character in lacking), problem.end


def open_missing_streams() -> None:
    """Refuse to run without standard output. Without standard error, what would go there goes nowhere.

    A file that is opened later would otherwise get the number of a stream that is closed, and what a library prints.

    Raises:
        OutputError: If standard output is closed.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free
    sys.stderr = sys.stderr or open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115
        raise OutputError("Standard output is closed. Send it to a file or to /dev/null.")


def describe_system_error(problem: OSError) -> str:
    """What the system refused, in a sentence; also that standard output cannot be written, which is given up then."""
    reason = problem.strerror or str(problem)
    name = str(problem.filename or "")
    if name:
        shown = name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}..."
        return f"{shown} cannot be used: {reason}."
    try:
        sys.stdout.write("\n")  # what did not fit before is forgotten, so that flushing alone tells nothing
        sys.stdout.flush()
    except OSError:
        give_up(sys.stdout)
        return f"Standard output cannot be written: {reason}. What the command has saved in files stays."
    return f"The system refused: {reason}."


def give_up(stream: TextIO) -> None:
    """Let what a stream still holds go nowhere; Python would complain once more when it flushes that at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def leave_without_reader() -> NoReturn:
    """Leave without a word: the reader of our output is gone, as in ``evenhand ... | head -1``."""
    give_up(sys.stdout)
    raise SystemExit(READER_GONE)


def show_cursor() -> None:
    """Give back the cursor that a bar has hidden."""
    if sys.stderr.isatty():
        os.write(sys.stderr.fileno(), _SHOW_CURSOR)
