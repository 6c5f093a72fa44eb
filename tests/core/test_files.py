"""Files and folders are written whole or not at all."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenhand.core.errors import OutputError
from evenhand.core.files import ends_early, folder_written_whole, sha256_of, write_bytes, write_text


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_text_is_written_into_folders_that_do_not_exist_yet(tmp_path: Path) -> None:
    write_text(tmp_path / "a" / "b" / "file.txt", "Brötchen\n")

    assert (tmp_path / "a" / "b" / "file.txt").read_text(encoding="utf-8") == "Brötchen\n"
    assert names_in(tmp_path / "a" / "b") == ["file.txt"]


def test_an_existing_file_is_replaced(tmp_path: Path) -> None:
    write_bytes(tmp_path / "file", b"old and longer")
    write_bytes(tmp_path / "file", b"new")

    assert (tmp_path / "file").read_bytes() == b"new"


def test_a_file_has_the_permissions_that_the_user_asked_for(tmp_path: Path) -> None:
    mask = os.umask(0o027)
    try:
        write_bytes(tmp_path / "file", b"x")
    finally:
        os.umask(mask)

    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("interruption", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_failed_write_keeps_the_old_file_and_leaves_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, interruption: BaseException
) -> None:
    (tmp_path / "file").write_bytes(b"old")

    def fail(_: int) -> None:
        raise interruption

    monkeypatch.setattr(os, "fsync", fail)

    with pytest.raises((OutputError, KeyboardInterrupt)):
        write_bytes(tmp_path / "file", b"new")
    assert names_in(tmp_path) == ["file"]
    assert (tmp_path / "file").read_bytes() == b"old"


def test_a_place_that_cannot_be_written_is_an_error_with_a_next_step(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x")

    with pytest.raises(OutputError, match=r"cannot be written.*another place with --out"):
        write_bytes(tmp_path / "file" / "below", b"y")


def test_a_folder_appears_when_all_of_it_is_written(tmp_path: Path) -> None:
    folder = tmp_path / "runs" / "one"

    with folder_written_whole(folder) as scratch:
        (scratch / "part").write_text("x")
        assert not folder.exists()

    assert names_in(tmp_path / "runs") == ["one"]
    assert names_in(folder) == ["part"]


@pytest.mark.parametrize("problem", [ValueError, KeyboardInterrupt])
def test_a_folder_that_fails_leaves_nothing(tmp_path: Path, problem: type[BaseException]) -> None:
    def write_half() -> None:
        with folder_written_whole(tmp_path / "one") as scratch:
            (scratch / "part").write_text("x")
            raise problem

    with pytest.raises(problem):
        write_half()
    assert names_in(tmp_path) == []


def test_a_failed_write_into_a_folder_is_an_output_error(tmp_path: Path) -> None:
    def write_half() -> None:
        with folder_written_whole(tmp_path / "one") as scratch:
            (scratch / "missing" / "part").write_text("x")

    with pytest.raises(OutputError, match="cannot be written"):
        write_half()
    assert names_in(tmp_path) == []


def test_a_folder_in_a_place_that_cannot_be_written_is_an_output_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x")

    with (
        pytest.raises(OutputError, match="cannot be written"),
        folder_written_whole(tmp_path / "file" / "one"),
    ):
        pytest.fail("the block must not run")


def test_an_earlier_folder_gives_way_when_its_successor_is_whole(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "old").write_text("x")

    with folder_written_whole(tmp_path / "one") as scratch:
        (scratch / "new").write_text("y")
        assert names_in(tmp_path / "one") == ["old"]

    assert names_in(tmp_path / "one") == ["new"]
    assert names_in(tmp_path) == ["one"]


def test_an_earlier_folder_stays_when_its_successor_fails(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "old").write_text("x")

    def write_half() -> None:
        with folder_written_whole(tmp_path / "one") as scratch:
            (scratch / "new").write_text("y")
            raise OSError(28, "No space left on device")

    with pytest.raises(OutputError, match="No space left on device"):
        write_half()
    assert names_in(tmp_path / "one") == ["old"]
    assert names_in(tmp_path) == ["one"]


def test_an_earlier_folder_is_put_back_when_its_successor_cannot_take_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "old").write_text("x")
    rename = Path.rename

    def fail_for_the_successor(self: Path, target: Path) -> Path:
        if (self / "new").exists():
            raise OSError(5, "Input/output error")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", fail_for_the_successor)

    with (
        pytest.raises(OutputError, match="Input/output error"),
        folder_written_whole(tmp_path / "one") as scratch,
    ):
        (scratch / "new").write_text("y")
    assert names_in(tmp_path / "one") == ["old"]
    assert names_in(tmp_path) == ["one"]


def dead_process() -> int:
    finished = subprocess.Popen([sys.executable, "-c", ""])
    finished.wait()
    return finished.pid


def test_what_dead_processes_left_is_removed_and_what_live_ones_write_is_kept(tmp_path: Path) -> None:
    prefix = f".one.unfinished-{socket.gethostname()}-"
    dead, alive, elsewhere = (
        tmp_path / f"{prefix}{dead_process()}",
        tmp_path / f"{prefix}{os.getppid()}",
        tmp_path / f".one.unfinished-another-host-{dead_process()}",
    )
    for leftover in (dead, alive, elsewhere):
        leftover.mkdir()
        (leftover / "part").write_text("x")

    with folder_written_whole(tmp_path / "one"):
        pass

    assert names_in(tmp_path) == sorted(["one", alive.name, elsewhere.name])


def test_what_an_earlier_process_of_the_same_number_left_is_removed(tmp_path: Path) -> None:
    """In a container the same process number comes back every time."""
    leftover = tmp_path / f".one.unfinished-{socket.gethostname()}-{os.getpid()}"
    leftover.mkdir()
    (leftover / "part").write_text("old")

    with folder_written_whole(tmp_path / "one") as scratch:
        (scratch / "new").write_text("x")

    assert names_in(tmp_path / "one") == ["new"]


def test_names_with_pattern_characters_do_not_touch_other_folders(tmp_path: Path) -> None:
    other = tmp_path / f".one.unfinished-{socket.gethostname()}-{dead_process()}"
    other.mkdir()

    with folder_written_whole(tmp_path / "[o]n*"):
        pass

    assert names_in(tmp_path) == sorted([other.name, "[o]n*"])


def test_the_digest_is_sha_256() -> None:
    # The published test vector of the empty message.
    assert sha256_of(b"") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


@given(
    st.recursive(
        st.booleans() | st.none() | st.text(), lambda own: st.lists(own) | st.dictionaries(st.text(), own)
    )
)
def test_json_is_told_to_be_cut_wherever_it_is_cut(value: object) -> None:
    text = json.dumps([value])
    for size in range(1, len(text)):
        with pytest.raises(json.JSONDecodeError) as caught:
            json.loads(text[:size])
        assert ends_early(caught.value), text[:size]


@pytest.mark.parametrize("text", ["", "  ", "{broken", '{"a": 1]', '{"a" 1}', "nul1", '["a", ]'])
def test_json_with_a_fault_of_its_own_is_not_told_to_be_cut(text: str) -> None:
    with pytest.raises(json.JSONDecodeError) as caught:
        json.loads(text)
    assert not ends_early(caught.value)
