"""Digests of large files, which are read once and not again until they change."""

from __future__ import annotations

import json
import os
import time
from contextlib import suppress
from pathlib import Path

from evenhand.core.errors import OutputError
from evenhand.core.files import home, sha256_of, sha256_of_file, write_text

_SMALL = 2**20
"""Bytes that are read sooner than it is found out whether they were read before."""
_SETTLED = 2 * 10**9
"""Nanoseconds after which another change of a file is sure to change its times: clocks of file systems are coarse."""


def remembered_sha256(path: Path) -> str:
    """Hex digest of a large file's content, which is read once and not again until the file changes.

    Digests are kept below ``home()``, one small file for each path, with the size, the times and the inode of the file
    that was read. A kept digest that is damaged is ignored, and a home that cannot be written costs nothing but time.
    """
    state = path.stat()
    if state.st_size <= _SMALL:
        return sha256_of_file(path)
    stamp = [state.st_size, state.st_mtime_ns, state.st_ctime_ns, state.st_ino]
    note = home() / "digests" / f"{sha256_of(os.fsencode(path.resolve()))}.json"
    digest = _noted_digest(note, stamp)
    if digest is None:
        digest = sha256_of_file(path)
        if time.time_ns() - max(state.st_mtime_ns, state.st_ctime_ns) > _SETTLED:
            with suppress(OutputError):
                write_text(note, json.dumps({"path": str(path), "stamp": stamp, "sha256": digest}))
    return digest


def _noted_digest(note: Path, stamp: list[int]) -> str | None:
    try:
        content = json.loads(note.read_bytes())
        return str(content["sha256"]) if content["stamp"] == stamp else None
    except (OSError, ValueError, KeyError, TypeError):
        return None
