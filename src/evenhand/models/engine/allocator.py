"""Memory that the C library keeps between batches, instead of asking the system for it anew.

Every block of scores on a CPU has tens of megabytes. By default glibc fetches each from the system and gives it back
when it is freed, so that the system clears the same pages again and again: copying such a block takes ten times as long
as it has to, and a step of training a fifth longer. Kept, a block is there for the next tensor of that size.
"""

from __future__ import annotations

import ctypes
import os
import platform
from functools import cache

KEPT = 2**30
"""Most freed bytes at the end of the heap that are kept; what is beyond goes back to the system."""

_TRIM_THRESHOLD = -1
_MMAP_MAX = -4
"""Numbers of the two settings in glibc's malloc.h."""

_OWN_SETTINGS = ("MALLOC_MMAP_MAX_", "MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_", "GLIBC_TUNABLES")
"""Variables by which somebody has set the allocator; they are left as they are."""


@cache
def keep_freed_memory() -> bool:
    """Let the allocator keep what is freed, for the rest of this process.

    Returns:
        Whether it does: on Linux with glibc, where nobody has set the allocator otherwise.
    """
    library = _glibc()
    if library is None or any(name in os.environ for name in _OWN_SETTINGS):
        return False
    return bool(library.mallopt(_MMAP_MAX, 0) and library.mallopt(_TRIM_THRESHOLD, KEPT))


def give_back_freed_memory() -> None:
    """Give back what is kept, where memory is short."""
    if library := _glibc():
        library.malloc_trim(0)


def _glibc() -> ctypes.CDLL | None:
    return ctypes.CDLL(None) if platform.libc_ver()[0] == "glibc" else None
