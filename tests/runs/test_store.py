"""The store: nothing lost, nothing mixed, nobody in anybody's way."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from evenhand.core.errors import OutputError, RunError
from evenhand.runs.store import BusyError, Job, Parts, leftovers, open_job

ONE, OTHER = "1" * 64, "2" * 64


def fingerprint_at(place: Path) -> str | None:
    """Results here are folders with their fingerprint in a file."""
    return (place / "fingerprint").read_text(encoding="utf-8") if place.exists() else None


def finish(job: Job) -> None:
    with job.result_folder() as scratch:
        (scratch / "fingerprint").write_text(job.fingerprint, encoding="utf-8")


def make(place: Path, fingerprint: str) -> None:
    with open_job(place, fingerprint, fingerprint_at=fingerprint_at) as job:
        finish(job)


def interrupt(place: Path, piece: bytes) -> None:
    """Keep a piece and stop before the result is there."""
    with open_job(place, ONE, fingerprint_at=fingerprint_at) as job:
        job.parts("scores").put("0", piece)
        raise KeyboardInterrupt


def start(place: Path, fingerprint: str) -> None:
    """Start a job that must be refused."""
    with open_job(place, fingerprint, fingerprint_at=fingerprint_at):
        pass


def half_replace(place: Path) -> None:
    with (
        open_job(place, OTHER, fingerprint_at=fingerprint_at, replace=True) as job,
        job.result_folder() as scratch,
    ):
        (scratch / "fingerprint").write_text("half", encoding="utf-8")
        raise KeyboardInterrupt


def test_a_finished_result_is_found_and_its_parts_are_gone(tmp_path: Path) -> None:
    with open_job(tmp_path / "run", ONE, fingerprint_at=fingerprint_at) as job:
        assert not job.is_done
        job.parts("scores").put("0", b"content")
        finish(job)

    assert sorted(path.name for path in tmp_path.iterdir()) == ["run"]
    with open_job(tmp_path / "run", ONE, fingerprint_at=fingerprint_at) as job:
        assert job.is_done


def test_parts_outlive_the_process_that_made_them(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        interrupt(tmp_path / "run", b"first")

    with open_job(tmp_path / "run", ONE, fingerprint_at=fingerprint_at) as job:
        assert job.parts("scores").get("0") == b"first"
        assert job.parts("scores").get("1") is None
        assert list(job.parts("scores")) == ["0"]


def test_what_another_job_left_behind_never_stands_in_the_way(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        interrupt(tmp_path / "run", b"of one")

    with open_job(tmp_path / "run", OTHER, fingerprint_at=fingerprint_at) as job:
        assert job.parts("scores").get("0") is None
        finish(job)
    assert fingerprint_at(tmp_path / "run") == OTHER


def test_another_result_is_refused_and_replaced_on_demand(tmp_path: Path) -> None:
    make(tmp_path / "run", ONE)

    with pytest.raises(RunError, match="--fresh"):
        start(tmp_path / "run", OTHER)
    with open_job(tmp_path / "run", OTHER, fingerprint_at=fingerprint_at, replace=True) as job:
        assert not job.is_done
        finish(job)
    assert fingerprint_at(tmp_path / "run") == OTHER


def test_starting_afresh_forgets_what_was_kept(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        interrupt(tmp_path / "r", b"old")
    assert leftovers(tmp_path / "r")

    with open_job(tmp_path / "r", ONE, fingerprint_at=fingerprint_at, replace=True) as job:
        assert job.parts("scores").get("0") is None


def test_an_old_result_stays_until_its_successor_is_whole(tmp_path: Path) -> None:
    make(tmp_path / "run", ONE)

    with pytest.raises(KeyboardInterrupt):
        half_replace(tmp_path / "run")

    assert fingerprint_at(tmp_path / "run") == ONE


@pytest.mark.parametrize("damage", [b"", b"short", b"\0" * 64])
def test_a_damaged_part_counts_as_missing(tmp_path: Path, damage: bytes) -> None:
    parts = Parts(tmp_path)
    parts.put("0", b"content")
    (tmp_path / "0").write_bytes(damage)

    assert parts.get("0") is None


def test_arrays_come_back_as_they_were_or_not_at_all(tmp_path: Path) -> None:
    parts = Parts(tmp_path)
    values = np.array([0.1, -np.inf, np.nan])
    parts.put_array("0", values)

    back = parts.get_array("0", (3,))
    assert back is not None
    np.testing.assert_array_equal(back, values)
    assert parts.get_array("0", (4,)) is None


@pytest.mark.parametrize("key", ["", "a/b", ".hidden"])
def test_a_key_stays_within_its_folder(tmp_path: Path, key: str) -> None:
    with pytest.raises(ValueError, match="cannot be the key"):
        Parts(tmp_path).put(key, b"")


_HOLD = """
import sys, time
from pathlib import Path
from evenhand.runs.store import open_job
with open_job(sys.argv[1], "1" * 64, fingerprint_at=lambda place: None) as job:
    job.parts("scores").put("0", b"kept")
    print("holding", flush=True)
    time.sleep(600)
"""


@pytest.fixture
def holder(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that is at work on the same place."""
    command = [sys.executable, "-c", _HOLD, str(tmp_path / "run")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "holding\n"
        yield process
        process.kill()


def test_of_two_processes_on_one_place_the_second_is_told(
    tmp_path: Path, holder: subprocess.Popen[str]
) -> None:
    with pytest.raises(BusyError, match=str(holder.pid)):
        start(tmp_path / "run", OTHER)


def test_a_killed_process_leaves_its_parts_and_no_claim(
    tmp_path: Path, holder: subprocess.Popen[str]
) -> None:
    os.kill(holder.pid, signal.SIGKILL)
    holder.wait()

    with open_job(tmp_path / "run", ONE, fingerprint_at=fingerprint_at) as job:
        assert job.parts("scores").get("0") == b"kept"
        finish(job)
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_many_processes_at_once_finish_once(tmp_path: Path) -> None:
    script = _HOLD.replace("time.sleep(600)", "time.sleep(0.2)")
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", script, str(tmp_path / "run")],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(4)
    ]
    ends = [process.communicate() for process in processes]

    assert any(out == "holding\n" for out, _ in ends)
    assert all(out == "holding\n" or "BusyError" in err for out, err in ends)
    assert not list(tmp_path.glob(".run.claim*"))


def test_a_claim_without_hard_links_holds_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "link", refuse)

    with open_job(tmp_path / "run", ONE, fingerprint_at=fingerprint_at):
        assert (tmp_path / ".run.claim").exists()
    assert not (tmp_path / ".run.claim").exists()


def test_the_claim_of_another_machine_is_believed(tmp_path: Path) -> None:
    (tmp_path / ".run.claim").write_text("elsewhere 1", encoding="utf-8")

    with pytest.raises(BusyError, match="1 on elsewhere"):
        start(tmp_path / "run", ONE)


@pytest.mark.parametrize(
    ("number", "advice"),
    [(errno.ENOSPC, "Free space"), (errno.EROFS, "Choose another"), (errno.EACCES, "Choose")],
)
def test_a_place_that_cannot_be_written_is_said_with_advice_that_fits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, advice: str
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(Path, "write_text", refuse)

    with pytest.raises(OutputError, match=f"{os.strerror(number)}.*{advice}"):
        start(tmp_path / "run", ONE)


def test_a_result_can_be_a_file(tmp_path: Path) -> None:
    with open_job(tmp_path / "pairs.jsonl", ONE, fingerprint_at=lambda _: None) as job:
        with job.result_file() as stream:
            stream.write(b"pairs")
        assert not job.folder.exists()
    assert (tmp_path / "pairs.jsonl").read_bytes() == b"pairs"


def test_a_place_within_the_folder_of_another_job(tmp_path: Path) -> None:
    """Certificates keep the runs of both models as jobs within their own folder."""
    with open_job(tmp_path / "certificate.json", ONE, fingerprint_at=lambda _: None) as outer:
        make(outer.subfolder("before") / "malor", OTHER)
        assert fingerprint_at(outer.folder / "before" / "malor") == OTHER
