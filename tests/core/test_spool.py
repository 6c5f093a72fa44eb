"""What waits on disk comes back as it was, in any order, and leaves nothing behind."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest

from evenhand.core.errors import OutputError
from evenhand.core.spool import Spool


def test_entries_come_back_in_any_order() -> None:
    spool = Spool()
    entries = [b"\x00\x01", b"x" * 100_000, b"", b'{"a": 1}']
    numbers = [spool.append(entry) for entry in entries]
    assert numbers == [0, 1, 2, 3]
    assert [spool[number] for number in (3, 0, 2, 1)] == [entries[number] for number in (3, 0, 2, 1)]
    assert spool.append(b"late") == 4
    assert spool[4] == b"late"
    assert spool.end(1) > 100_000 > spool.end(0)


def test_nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    spool = Spool()
    spool.append(b"something")
    file = spool._file
    del spool
    gc.collect()
    assert file.closed
    assert not list(tmp_path.iterdir())


def test_a_full_disk_is_told() -> None:
    spool = Spool()
    spool._file.close()
    with Path("/dev/full").open("r+b", buffering=0) as full:
        spool._file = full
        with pytest.raises(
            OutputError, match=r"No space left on device\. Free space there, or name another folder"
        ):
            spool.append(b"1")
