"""Whether processes are alive."""

from __future__ import annotations

import os
from pathlib import Path

_DEAD = {"Z", "X"}
"""States of a process that has ended, and whose parent has not asked how."""


def is_alive(process: int) -> bool:
    """Whether a process of this number runs on this machine."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    state, _ = _process_state(process)
    return state not in _DEAD


def started_at(process: int) -> str:
    """When a process began, in the system's own count: another process of the same number has another.

    Empty where the system does not tell.
    """
    return _process_state(process)[1]


def _process_state(process: int) -> tuple[str, str]:
    """The state and the beginning of a process, where the system has them in /proc; see proc(5)."""
    try:
        content = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return "", ""
    # The name of the program is in parentheses, and may hold anything.
    fields = content.rpartition(")")[2].split()
    return fields[0], fields[19]
