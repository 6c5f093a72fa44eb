"""Claims: of all who work on one place, one works and the others are told."""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest
from store_jobs import ONE, OTHER, fingerprint_at, finish, interrupt, make, refuse_with, start

from evenhand.core.errors import RunError
from evenhand.store import claims
from evenhand.store.claims import BusyError
from evenhand.store.jobs import claim_place, leftovers, open_job

_HOLD = """
import sys, time
from pathlib import Path
from evenhand.store.jobs import open_job
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


_RACE = """
import sys, time
from pathlib import Path
from evenhand.store.claims import BusyError
from evenhand.store.jobs import open_job
folder, number = Path(sys.argv[1]), sys.argv[2]
print("ready", flush=True)
sys.stdin.readline()
for _ in range(25):
    try:
        with open_job(folder / "run", "1" * 64, fingerprint_at=lambda place: None):
            (folder / "inside").touch(exist_ok=False)
            time.sleep(0.001)
            (folder / "inside").unlink()
            print("alone", flush=True)
    except BusyError:
        pass
    # A claim of a process that is gone, which all others find at about the same moment.
    try:
        (folder / ".run.claim").symlink_to(sys.argv[3])
    except FileExistsError:
        pass
"""


@pytest.fixture
def dead_process() -> int:
    """The number of a process that has ended."""
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    return process.pid


def test_of_processes_that_start_at_the_same_moment_one_works_and_the_others_are_told(
    tmp_path: Path, dead_process: int
) -> None:
    dead = f"{socket.gethostname()} {dead_process}"
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", _RACE, str(tmp_path), str(number), dead],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(8)
    ]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    ends = [process.communicate() for process in processes]

    assert [errors for _, errors in ends if errors] == []
    assert sum(out.count("alone") for out, _ in ends) >= 1
    assert {path.name for path in tmp_path.iterdir()} <= {".run.claim"}


def test_of_two_that_find_the_same_void_claim_only_one_takes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dead_process: int
) -> None:
    (tmp_path / ".run.claim").symlink_to(f"{socket.gethostname()} {dead_process}")
    both_look, one_has_it = threading.Barrier(2), threading.Event()
    is_dead, symlink_to = vars(claims._Holder)["is_dead"].fget, Path.symlink_to

    def look_slowly(holder: claims._Holder) -> bool:
        """Let the other one look too, if nothing keeps it from that; and let one be faster."""
        dead: bool = is_dead(holder)
        with suppress(threading.BrokenBarrierError):
            if dead and both_look.wait(timeout=1) == 1:
                one_has_it.wait(timeout=10)
        return dead

    def symlink_and_tell(path: Path, target: str) -> None:
        symlink_to(path, target)
        one_has_it.set()

    monkeypatch.setattr(claims._Holder, "is_dead", property(look_slowly))
    monkeypatch.setattr(Path, "symlink_to", symlink_and_tell)
    over = threading.Barrier(2)

    def claim() -> bool:
        try:
            with open_job(tmp_path / "run", ONE, fingerprint_at=fingerprint_at):
                over.wait(timeout=10)
        except BusyError:
            over.wait(timeout=10)
            return False
        return True

    with ThreadPoolExecutor(2) as pool:
        holders = [pool.submit(claim) for _ in range(2)]

    assert sorted(holder.result() for holder in holders) == [False, True]


@pytest.mark.parametrize("number", [errno.EPERM, errno.ENOTSUP, errno.ENOSYS])
def test_a_claim_holds_on_a_disk_without_links_and_locks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    monkeypatch.setattr(Path, "symlink_to", refuse_with(number))
    monkeypatch.setattr(os, "link", refuse_with(number))
    monkeypatch.setattr(fcntl, "flock", refuse_with(number))

    with open_job(tmp_path / "run", ONE, fingerprint_at=fingerprint_at) as job:
        with pytest.raises(BusyError, match=str(os.getpid())):
            start(tmp_path / "run", ONE)
        finish(job)
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_the_claim_of_an_earlier_process_with_the_same_number_is_void(tmp_path: Path) -> None:
    """As in a container that is started again: same host, same number, another process."""
    (tmp_path / ".run.claim").symlink_to(f"{socket.gethostname()} {os.getpid()} 1")

    make(tmp_path / "run", ONE)

    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_the_claim_of_a_process_whose_end_nobody_has_noticed_is_void(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        (tmp_path / ".run.claim").symlink_to(f"{socket.gethostname()} {process.pid}")

        make(tmp_path / "run", ONE)

    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_what_a_process_left_that_was_killed_after_its_result_was_in_place_is_removed(
    tmp_path: Path, dead_process: int
) -> None:
    make(tmp_path / "run", ONE)
    (tmp_path / ".run.claim").symlink_to(f"{socket.gethostname()} {dead_process}")
    with pytest.raises(KeyboardInterrupt):
        interrupt(tmp_path / "other", b"piece")
    (unfinished,) = leftovers(tmp_path / "other")
    unfinished.rename(tmp_path / unfinished.name.replace("other", "run"))

    with open_job(tmp_path / "run", ONE, fingerprint_at=fingerprint_at) as job:
        assert job.is_done
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_opening_a_finished_result_leaves_alone_who_is_making_it_anew(tmp_path: Path) -> None:
    make(tmp_path / "run", ONE)

    with open_job(tmp_path / "run", ONE, fingerprint_at=fingerprint_at, replace=True) as anew:
        anew.parts("scores").put("0", b"new")
        with open_job(tmp_path / "run", ONE, fingerprint_at=fingerprint_at) as job:
            assert job.is_done
        assert anew.parts("scores").get("0") == b"new"


def test_another_result_that_comes_between_the_look_and_the_claim_is_not_replaced(
    tmp_path: Path,
) -> None:
    looks = iter([None, OTHER])

    with (
        pytest.raises(RunError, match="another result"),
        open_job(tmp_path / "run", ONE, fingerprint_at=lambda _: next(looks)),
    ):
        pass


def test_the_claim_of_another_machine_is_believed(tmp_path: Path) -> None:
    (tmp_path / ".run.claim").write_text("elsewhere 1", encoding="utf-8")

    with pytest.raises(BusyError, match="1 on elsewhere"):
        start(tmp_path / "run", ONE)


def test_a_place_can_be_claimed_before_the_fingerprint_is_known(tmp_path: Path) -> None:
    place = tmp_path / "runs" / "run"
    with claim_place(place, fingerprint_at=fingerprint_at) as claim:
        with pytest.raises(BusyError, match=str(os.getpid())):
            start(place, ONE)
        with pytest.raises(BusyError), claim_place(place, fingerprint_at=fingerprint_at):
            pass
        with open_job(place, ONE, fingerprint_at=fingerprint_at, claim=claim) as job:
            finish(job)
    assert [path.name for path in place.parent.iterdir()] == ["run"]


def test_a_claim_on_another_place_does_not_serve_for_a_job(tmp_path: Path) -> None:
    with claim_place(tmp_path / "run", fingerprint_at=fingerprint_at) as claim:
        with open_job(tmp_path / "other", ONE, fingerprint_at=fingerprint_at, claim=claim):
            assert {path.name for path in tmp_path.iterdir()} == {".run.claim", ".other.claim"}
        assert [path.name for path in tmp_path.iterdir()] == [".run.claim"]
    assert list(tmp_path.iterdir()) == []


def test_a_place_with_a_result_is_claimed_only_to_replace_it(tmp_path: Path) -> None:
    make(tmp_path / "run", ONE)
    with claim_place(tmp_path / "run", fingerprint_at=fingerprint_at) as claim:
        assert claim is None
        assert [path.name for path in tmp_path.iterdir()] == ["run"]
    with claim_place(tmp_path / "run", fingerprint_at=fingerprint_at, replace=True) as claim:
        assert claim is not None
        with open_job(
            tmp_path / "run", OTHER, fingerprint_at=fingerprint_at, replace=True, claim=claim
        ) as job:
            finish(job)
    assert fingerprint_at(tmp_path / "run") == OTHER


def test_a_claim_that_came_to_nothing_leaves_nothing(tmp_path: Path) -> None:
    with (
        pytest.raises(KeyboardInterrupt),
        claim_place(tmp_path / "runs" / "run", fingerprint_at=fingerprint_at),
    ):
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []
