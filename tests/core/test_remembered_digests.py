"""Digests of large files: read once, read again when the file changed, and never trusted when damaged."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from evenhand.core import remembered_digests
from evenhand.core.files import HOME_VARIABLE, home
from evenhand.core.remembered_digests import remembered_sha256

LARGE = b"weights " * 2**18
LONG_AGO = 10**18


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of its own, and a clock by which every file is old."""
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path / "home"))
    monkeypatch.setattr("evenhand.core.remembered_digests.time.time_ns", lambda: 4 * LONG_AGO)
    return tmp_path


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The files whose content was read."""
    read: list[Path] = []

    def reading(path: Path) -> str:
        read.append(path)
        return sha256(path.read_bytes())

    monkeypatch.setattr(remembered_digests, "sha256_of_file", reading)
    return read


def written(path: Path, content: bytes = LARGE) -> Path:
    path.write_bytes(content)
    return path


def test_a_large_file_is_read_once(place: Path, reads: list[Path]) -> None:
    path = written(place / "model.safetensors")
    assert remembered_sha256(path) == remembered_sha256(path) == sha256(LARGE)
    assert reads == [path]


def test_a_file_that_changed_is_read_again(place: Path, reads: list[Path]) -> None:
    path = written(place / "model.safetensors")
    remembered_sha256(path)
    other = b"W" + LARGE[1:]
    written(path, other)
    assert remembered_sha256(path) == sha256(other)
    assert len(reads) == 2


def test_a_change_is_noticed_though_the_time_was_put_back(place: Path, reads: list[Path]) -> None:
    path = written(place / "model.safetensors")
    os.utime(path, ns=(LONG_AGO, LONG_AGO))
    remembered_sha256(path)
    other = b"W" + LARGE[1:]
    written(path, other)
    os.utime(path, ns=(LONG_AGO, LONG_AGO))
    assert remembered_sha256(path) == sha256(other)
    assert len(reads) == 2


def test_another_file_in_the_same_place_is_read(place: Path, reads: list[Path]) -> None:
    path = written(place / "model.safetensors")
    remembered_sha256(path)
    written(place / "new", LARGE[::-1]).replace(path)
    assert remembered_sha256(path) == sha256(LARGE[::-1])
    assert len(reads) == 2


def test_a_file_that_was_written_a_moment_ago_is_not_remembered(
    place: Path, reads: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(place / "model.safetensors")
    monkeypatch.setattr("evenhand.core.remembered_digests.time.time_ns", lambda: path.stat().st_ctime_ns + 1)
    assert remembered_sha256(path) == remembered_sha256(path) == sha256(LARGE)
    assert len(reads) == 2
    assert not home().exists()


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b"null", b'{"stamp": 1}', b"\xff\xfe"])
def test_a_damaged_note_is_ignored_and_replaced(place: Path, reads: list[Path], damage: bytes) -> None:
    path = written(place / "model.safetensors")
    remembered_sha256(path)
    (note,) = (home() / "digests").iterdir()
    note.write_bytes(damage)
    assert [remembered_sha256(path) for _ in range(2)] == [sha256(LARGE)] * 2
    assert len(reads) == 2


def test_a_home_that_cannot_be_written_does_not_matter(place: Path, reads: list[Path]) -> None:
    written(place / "home", b"a file, where a folder is needed")
    path = written(place / "model.safetensors")
    assert [remembered_sha256(path) for _ in range(2)] == [sha256(LARGE)] * 2
    assert len(reads) == 2


def test_nothing_is_kept_of_a_small_file(place: Path) -> None:
    path = written(place / "config.json", b"{}")
    assert remembered_sha256(path) == sha256(b"{}")
    assert not home().exists()
