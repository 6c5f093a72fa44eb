"""The command line: one file a command. It parses and prints; it decides nothing."""

from __future__ import annotations

import atexit
import gc
import signal
import sys
from types import FrameType
from typing import NoReturn

from evenhand.cli.app import app
from evenhand.cli.output import USER_ERROR, say
from evenhand.cli.streams import (
    describe_system_error,
    leave_without_reader,
    open_missing_streams,
    show_cursor,
    write_in_any_encoding,
)
from evenhand.core.errors import EvenhandError, missing_extra


def main() -> None:
    """Entry point of ``evenhand``: user errors print without a traceback and exit with code 2."""
    signal.signal(signal.SIGTERM, _leave)
    atexit.unregister(gc.freeze)
    atexit.register(gc.freeze)  # otherwise Python looks through all objects of PyTorch as it ends, in silence
    try:
        open_missing_streams()
        write_in_any_encoding()
        _run()
    except EvenhandError as error:
        message = f"Error: {error}"
    except ModuleNotFoundError as problem:
        missing = missing_extra(problem, purpose="This command")
        if missing is None:
            raise
        message = f"Error: {missing}"
    except BrokenPipeError:
        leave_without_reader()
    except OSError as problem:
        message = f"Error: {describe_system_error(problem)}"
    else:
        return
    # Out here, because a bar that was left behind is only gone when the error's frames are.
    say(message)
    sys.exit(USER_ERROR)


def _run() -> None:
    """The command; what it has printed is written out here, because at exit Python only complains if it cannot be."""
    try:
        app()
    finally:
        sys.stdout.flush()


def _leave(number: int, _frame: FrameType | None) -> NoReturn:
    """End as from an exception, so that bars and claims are taken down; a bar that was just being put up cannot be."""
    show_cursor()
    sys.exit(128 + number)
