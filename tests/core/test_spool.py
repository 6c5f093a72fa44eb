"""Objects that wait on disk come back as they were, in any order, and leave nothing behind."""

from __future__ import annotations

import errno
import gc
import pickle
from pathlib import Path

import pytest

from evenhand.core.errors import OutputError
from evenhand.core.spool import Spool


def test_objects_come_back_in_any_order() -> None:
    spool = Spool()
    entries: list[object] = [[1, 2], "x" * 100_000, None, {"a": (1.5,)}]
    numbers = [spool.append(entry) for entry in entries]
    assert numbers == [0, 1, 2, 3]
    assert [spool[number] for number in (3, 0, 2, 1)] == [entries[number] for number in (3, 0, 2, 1)]
    assert spool.append("late") == 4
    assert spool[4] == "late"
    assert spool.end(1) > 100_000 > spool.end(0)


def test_nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    spool = Spool()
    spool.append("something")
    file = spool._file
    del spool
    gc.collect()
    assert file.closed
    assert not list(tmp_path.iterdir())


def test_a_full_disk_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(pickle, "dump", full)
    with pytest.raises(
        OutputError, match=r"No space left on device\. Free space there, or name another folder"
    ):
        Spool().append(1)
