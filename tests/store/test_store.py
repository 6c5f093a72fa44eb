"""The store: nothing lost, nothing mixed, on any disk."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from store_jobs import ONE, OTHER, fingerprint_at, finish, interrupt, make, refuse_with, start

from evenhand.core.errors import OutputError, RunError
from evenhand.store.jobs import Parts, leftovers, open_job


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


@pytest.mark.parametrize(
    ("number", "advice"),
    [(errno.ENOSPC, "Free space"), (errno.EROFS, "Choose another"), (errno.EACCES, "Choose")],
)
def test_a_place_that_cannot_be_written_is_said_with_advice_that_fits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, advice: str
) -> None:
    monkeypatch.setattr(Path, "symlink_to", refuse_with(number))

    with pytest.raises(OutputError, match=f"{os.strerror(number)}.*{advice}"):
        start(tmp_path / "run", ONE)


def test_a_result_can_be_a_file(tmp_path: Path) -> None:
    with open_job(tmp_path / "pairs.jsonl", ONE, fingerprint_at=lambda _: None) as job:
        with job.result_file() as stream:
            stream.write(b"pairs")
        assert not job.folder.exists()
    assert (tmp_path / "pairs.jsonl").read_bytes() == b"pairs"


@pytest.mark.parametrize("block", ["result_folder", "result_file"])
def test_a_process_that_is_killed_while_it_writes_the_result_leaves_nothing_for_long(
    tmp_path: Path, block: str
) -> None:
    script = f"""
import os, sys
from evenhand.store.jobs import open_job
with open_job(sys.argv[1], "1" * 64, fingerprint_at=lambda place: None) as job:
    with job.{block}() as result:
        os.kill(os.getpid(), {int(signal.SIGKILL)})
"""
    subprocess.run([sys.executable, "-c", script, str(tmp_path / "run")], check=False)
    assert not (tmp_path / "run").exists()
    assert {path.name for path in tmp_path.iterdir()} == {".run.claim", f".run.{ONE[:16]}.unfinished"}

    make(tmp_path / "run", ONE)

    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_starting_afresh_leaves_alone_what_belongs_to_a_longer_name(tmp_path: Path) -> None:
    for name in ("model", "model.v2", f"model.{OTHER[:16]}"):
        with pytest.raises(KeyboardInterrupt):
            interrupt(tmp_path / name, name.encode())

    with open_job(tmp_path / "model", ONE, fingerprint_at=fingerprint_at, replace=True) as job:
        finish(job)

    for name in ("model.v2", f"model.{OTHER[:16]}"):
        with open_job(tmp_path / name, ONE, fingerprint_at=fingerprint_at) as job:
            assert job.parts("scores").get("0") == name.encode()


def test_a_link_is_replaced_and_what_it_points_to_stays(tmp_path: Path) -> None:
    make(tmp_path / "archive", ONE)
    (tmp_path / "run").symlink_to("archive")

    with open_job(tmp_path / "run", OTHER, fingerprint_at=fingerprint_at, replace=True) as job:
        finish(job)

    assert not (tmp_path / "run").is_symlink()
    assert fingerprint_at(tmp_path / "run") == OTHER
    assert fingerprint_at(tmp_path / "archive") == ONE
    assert sorted(path.name for path in tmp_path.iterdir()) == ["archive", "run"]


def test_a_link_to_a_file_is_replaced_and_the_file_stays(tmp_path: Path) -> None:
    (tmp_path / "archive.jsonl").write_bytes(b"old")
    (tmp_path / "pairs.jsonl").symlink_to("archive.jsonl")

    with (
        open_job(tmp_path / "pairs.jsonl", ONE, fingerprint_at=lambda _: None) as job,
        job.result_file() as stream,
    ):
        stream.write(b"new")

    assert (tmp_path / "pairs.jsonl").read_bytes() == b"new"
    assert (tmp_path / "archive.jsonl").read_bytes() == b"old"


def test_a_link_to_a_disk_that_is_not_there_is_refused_and_replaced_on_demand(tmp_path: Path) -> None:
    (tmp_path / "run").symlink_to("unmounted/run")

    with pytest.raises(RunError, match=r"link to unmounted/run.*mount it"):
        start(tmp_path / "run", ONE)
    with open_job(tmp_path / "run", ONE, fingerprint_at=fingerprint_at, replace=True) as job:
        finish(job)

    assert fingerprint_at(tmp_path / "run") == ONE
    assert not (tmp_path / "unmounted").exists()


def on_disk_of(size: str, folder: Path, script: str) -> subprocess.CompletedProcess[str]:
    """Run a script on a small disk of its own, which nobody else sees and which is gone afterwards."""
    mounting = f'mount -t tmpfs -o size={size} none "$1" && shift && exec "$@"'
    if shutil.which("unshare") is None or os.getuid() != 0:
        pytest.skip("disks can be mounted only by root")
    command = ["unshare", "-m", "sh", "-c", mounting, "sh", str(folder)]
    if subprocess.run([*command, "true"], capture_output=True, check=False).returncode:
        pytest.skip("disks cannot be mounted here")
    return subprocess.run(
        [*command, sys.executable, "-c", script, str(folder)], capture_output=True, text=True, check=False
    )


def test_on_a_full_disk_what_was_finished_is_kept_and_the_same_command_goes_on(tmp_path: Path) -> None:
    script = """
import sys
from pathlib import Path
from evenhand.core.errors import OutputError
from evenhand.store.jobs import open_job
place = Path(sys.argv[1]) / "run"
ballast = Path(sys.argv[1]) / "ballast"
ballast.write_bytes(bytes(200_000))
def work():
    with open_job(place, "1" * 64, fingerprint_at=lambda _: None) as job:
        parts = job.parts("scores")
        made = 0
        for number in range(4):
            if parts.get(str(number)) is None:
                parts.put(str(number), bytes([number]) * 40_000)
                made += 1
        with job.result_file() as stream:
            for key in parts:
                stream.write(parts.get(key))
        return made
try:
    work()
except OutputError as problem:
    print(problem)
kept = len(list(place.parent.glob(".run.*.unfinished/scores/[!.]*")))
ballast.unlink()
assert 0 < kept < 4, kept
assert work() == 4 - kept
assert place.read_bytes() == b"".join(bytes([number]) * 40_000 for number in range(4))
assert [path.name for path in place.parent.iterdir()] == ["run"]
"""
    finished = on_disk_of("320k", tmp_path, script)

    assert finished.returncode == 0, finished.stderr
    assert "No space left on device" in finished.stdout
    assert "Free space" in finished.stdout
    assert "give the same command again to go on" in finished.stdout


def test_on_a_read_only_disk_a_finished_result_opens_and_a_new_one_is_refused(tmp_path: Path) -> None:
    script = """
import subprocess, sys
from pathlib import Path
from evenhand.core.errors import OutputError
from evenhand.store.jobs import open_job
place = Path(sys.argv[1]) / "run"
def fingerprint_at(place):
    return place.read_text() if place.exists() else None
with open_job(place, "1" * 64, fingerprint_at=fingerprint_at) as job, job.result_file() as stream:
    stream.write(b"1" * 64)
(place.parent / ".run.claim").symlink_to("nobody 1")
subprocess.run(["mount", "-o", "remount,ro", sys.argv[1]], check=True)
with open_job(place, "1" * 64, fingerprint_at=fingerprint_at) as job:
    assert job.is_done
try:
    with open_job(place.with_name("new"), "1" * 64, fingerprint_at=fingerprint_at):
        pass
except OutputError as problem:
    print(problem)
"""
    finished = on_disk_of("1m", tmp_path, script)

    assert finished.returncode == 0, finished.stderr
    assert "new cannot be written: Read-only file system" in finished.stdout


def test_a_place_within_the_folder_of_another_job(tmp_path: Path) -> None:
    """Certificates keep the runs of both models as jobs within their own folder."""
    with open_job(tmp_path / "certificate.json", ONE, fingerprint_at=lambda _: None) as outer:
        make(outer.subfolder("before") / "malor", OTHER)
        assert fingerprint_at(outer.folder / "before" / "malor") == OTHER


def test_an_interruption_after_the_result_is_in_place_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "result"
    remove, stops = shutil.rmtree, ["one"]

    def interrupted_once(path: Path, **options: bool) -> None:
        if place.exists() and path.name.endswith(".unfinished") and stops:
            stops.pop()
            raise KeyboardInterrupt
        remove(path, **options)  # type: ignore[arg-type]

    def finish_and_stop() -> None:
        with open_job(place, ONE, fingerprint_at=fingerprint_at) as job:
            job.parts("answers").put("one", b"piece")
            finish(job)

    monkeypatch.setattr(shutil, "rmtree", interrupted_once)
    with pytest.raises(KeyboardInterrupt):
        finish_and_stop()
    assert not stops
    assert [path.name for path in tmp_path.iterdir()] == ["result"]
