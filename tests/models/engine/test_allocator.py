"""Blocks that are freed and needed again are not fetched from the system anew."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(
    platform.libc_ver()[0] != "glibc", reason="the allocator of another C library has other settings"
)

BLOCK = 64 * 2**20
PAGES = BLOCK // 4096

MEASURE = f"""
import ctypes, resource, sys
from evenhand.models.engine.allocator import give_back_freed_memory, keep_freed_memory

library = ctypes.CDLL(None)
library.malloc.restype, library.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
library.free.argtypes = [ctypes.c_void_p]
library.memset.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t]

def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

def use_block():
    before, block = faults(), library.malloc({BLOCK})
    library.memset(block, 1, {BLOCK})
    library.free(block)
    return faults() - before

kept = keep_freed_memory() if sys.argv[1] == "keep" else False
use_block()
again = use_block()
give_back_freed_memory()
print(int(kept), again, use_block())
"""


def measured(mode: str, **environment: str) -> tuple[bool, int, int]:
    """Whether blocks are kept, and pages that a block needs when it is used again, and once more after a trim."""
    finished = subprocess.run(
        [sys.executable, "-c", MEASURE, mode], check=True, capture_output=True, text=True, env=environment
    )
    kept, again, trimmed = map(int, finished.stdout.split())
    return bool(kept), again, trimmed


def test_a_freed_block_is_used_again_until_it_is_given_back() -> None:
    kept, again, trimmed = measured("keep")

    assert kept
    assert again < PAGES // 100
    assert trimmed > PAGES // 2


def test_without_it_the_system_brings_every_page_anew() -> None:
    _, again, _ = measured("leave")

    assert again > PAGES // 2


@pytest.mark.parametrize("variable", ["MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_"])
def test_settings_of_the_user_are_left_alone(variable: str) -> None:
    kept, again, _ = measured("keep", **{variable: "131072"})

    assert not kept
    assert again > PAGES // 2
