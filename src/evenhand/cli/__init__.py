"""The command line: one file a command. It parses and prints; it decides nothing."""

from __future__ import annotations

import os
import sys

from evenhand.cli.app import app
from evenhand.cli.exit_codes import USER_ERROR
from evenhand.core.errors import EvenhandError


def main() -> None:
    """Entry point of ``evenhand``: user errors print without a traceback and exit with code 2."""
    try:
        app()
    except EvenhandError as error:
        print(f"Error: {error}", file=sys.stderr)  # noqa: T201
        sys.exit(USER_ERROR)
    except BrokenPipeError:
        # The reader of our output is gone, as in "evenhand ... | head". Python would complain once more
        # when it flushes standard output at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
