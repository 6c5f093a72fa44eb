"""The command line: one file a command. It parses and prints; it decides nothing."""

from __future__ import annotations

import sys

from evenhand.cli.app import app
from evenhand.cli.output import USER_ERROR, say, write_in_any_encoding
from evenhand.core.errors import EvenhandError, missing_extra


def main() -> None:
    """Entry point of ``evenhand``: user errors print without a traceback and exit with code 2."""
    write_in_any_encoding()
    try:
        app()
    except EvenhandError as error:
        message = f"Error: {error}"
    except ModuleNotFoundError as problem:
        missing = missing_extra(problem, purpose="This command")
        if missing is None:
            raise
        message = f"Error: {missing}"
    else:
        return
    # Out here, because a bar that was left behind is only gone when the error's frames are.
    say(message)
    sys.exit(USER_ERROR)
