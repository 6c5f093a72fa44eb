"""Progress of long work."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

Progress: TypeAlias = Callable[[int, int], None]
"""Called with how much is done and how much there is in all."""


def no_progress(_done: int, _total: int) -> None:
    """For whoever does not want to know."""
