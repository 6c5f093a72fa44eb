"""Killed and started again: finished files are not read again, the bytes are the same. A full disk costs nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from plain_swapper import PlainSwapper
from running import HANG
from small_corpus import options, write_corpus

from evenhand.core.errors import DatasetError, EvenhandError
from evenhand.core.progress import Progress
from evenhand.data.corpus_sources import corpus_sources
from evenhand.mitigation.pairs.building import build_pairs, counts_path
from evenhand.mitigation.pairs.searching import SearchJob, _Worker, in_processes, in_this_process
from evenhand.mitigation.pairs.twin_pairs import read_twin_pairs
from evenhand.store.claims import BusyError
from evenhand.store.jobs import leftovers, open_job
from evenhand.text.swappers import Rejected, Twin

TESTS = Path(__file__).parents[2]

# The swapper waits at a sentence of the last file until it is killed; the pid of each worker that gets there is noted.
KILLED = """
import os, sys, time
from pathlib import Path
from plain_swapper import PlainSwapper
from small_corpus import options
from evenhand.data.corpus_sources import corpus_sources
from evenhand.mitigation.pairs.building import build_pairs
from evenhand.mitigation.pairs.searching import in_processes, in_this_process

class PlainSwapperThatWaits(PlainSwapper):
    def twin(self, sentence):
        if "waits" in sentence:
            Path(sys.argv[1], f"reached-{os.getpid()}").touch()
            time.sleep(600)
        return super().twin(sentence)

PlainSwapperThatWaits.__module__, PlainSwapperThatWaits.__qualname__ = PlainSwapper.__module__, "PlainSwapper"

def make():
    return PlainSwapperThatWaits()

if __name__ == "__main__":
    place, workers = Path(sys.argv[1]), int(sys.argv[2])
    sources = corpus_sources(sorted((place / "corpus").iterdir())).sources
    searcher = in_processes(workers) if workers > 1 else in_this_process
    build_pairs(sources, place / "pairs.jsonl", options=options(make_swapper=make), searcher=searcher)
"""


def tallies(out: Path) -> list[Path]:
    """The tallies of finished sources that an unfinished run left behind."""
    return [tally for folder in leftovers(out) for tally in (folder / "tallies").glob("[!.]*")]


def is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def wait_until(condition: Callable[[], object]) -> None:
    end = time.monotonic() + HANG
    while not condition():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.05)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_killed_run_goes_on_and_ends_with_the_same_bytes(tmp_path: Path, workers: int) -> None:
    paths = write_corpus(tmp_path / "corpus")
    (tmp_path / "corpus" / "d.txt").write_text("The doctor waits, said James.\n")
    (tmp_path / "waiting.py").write_text(KILLED)
    started = subprocess.Popen(
        [sys.executable, tmp_path / "waiting.py", tmp_path, str(workers)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([*filter(None, sys.path), str(TESTS)])},
    )
    out = tmp_path / "pairs.jsonl"
    try:
        wait_until(lambda: list(tmp_path.glob("reached-*")) and len(tallies(out)) == len(paths))
    finally:
        started.send_signal(signal.SIGKILL)
        started.wait()
    (reached,) = (int(path.name.removeprefix("reached-")) for path in tmp_path.glob("reached-*"))

    assert not (tmp_path / "pairs.jsonl").exists()
    wait_until(lambda: not is_alive(reached))
    sources = corpus_sources(sorted((tmp_path / "corpus").iterdir())).sources
    told: list[int] = []
    build_pairs(
        sources, tmp_path / "pairs.jsonl", options=options(), report=lambda done, _: told.append(done)
    )
    build_pairs(sources, tmp_path / "anew.jsonl", options=options())

    assert told[0] == sum(path.stat().st_size for path in paths) + sources[-1].size
    assert (tmp_path / "pairs.jsonl").read_bytes() == (tmp_path / "anew.jsonl").read_bytes()
    assert (
        counts_path(tmp_path / "pairs.jsonl").read_bytes()
        == counts_path(tmp_path / "anew.jsonl").read_bytes()
    )
    assert not leftovers(out)


class DyingSwapper(PlainSwapper):
    """Dies as a process does that takes too much memory."""

    def twin(self, sentence: str) -> Twin | Rejected:
        os.kill(os.getpid(), signal.SIGKILL)
        return super().twin(sentence)


class WaitingSwapper(PlainSwapper):
    """Waits until its process is told to stop, and counts the sentences that it swaps nevertheless."""

    def twin(self, sentence: str) -> Twin | Rejected:
        wait_until(lambda: _Worker.stop.value)
        with Path(os.environ["SWAPPED"]).open("a", encoding="utf-8") as counted:
            counted.write("1\n")
        return super().twin(sentence)


def test_a_process_that_dies_is_said_and_does_not_hang(tmp_path: Path) -> None:
    sources = corpus_sources(write_corpus(tmp_path / "corpus")).sources

    with pytest.raises(EvenhandError, match=r"One of the processes died.*fewer --workers"):
        build_pairs(
            sources,
            tmp_path / "pairs.jsonl",
            options=options(make_swapper=DyingSwapper),
            searcher=in_processes(2),
        )


def test_processes_stop_in_the_middle_of_a_file_when_another_cannot_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    swapped = tmp_path / "swapped"
    swapped.touch()
    monkeypatch.setenv("SWAPPED", str(swapped))
    sentence = "He was the doctor of number {}. " + "It rained. " * 30_000 + "\n"
    (tmp_path / "long.txt").write_text("".join(sentence.format(number) for number in range(20)))
    (tmp_path / "bad.txt").write_bytes(b"\xff")
    sources = corpus_sources([tmp_path / "long.txt", tmp_path / "bad.txt"]).sources

    with pytest.raises(DatasetError, match=r"bad\.txt is not UTF-8"):
        build_pairs(
            sources,
            tmp_path / "pairs.jsonl",
            options=options(make_swapper=WaitingSwapper),
            searcher=in_processes(2),
        )
    assert len(swapped.read_text().splitlines()) < 20
    assert not leftovers(tmp_path / "pairs.jsonl")


def stopped(tmp_path: Path) -> list[Path]:
    """A run that stopped at its last file, which was not UTF-8 and is mended since."""
    paths = write_corpus(tmp_path / "corpus")
    bad = tmp_path / "corpus" / "d.txt"
    bad.write_bytes(b"\xff")
    with pytest.raises(DatasetError):
        build_pairs(corpus_sources([*paths, bad]).sources, tmp_path / "pairs.jsonl", options=options())
    bad.write_text("Nobody came.\n")
    return [*paths, bad]


def test_finished_files_are_not_read_again(tmp_path: Path) -> None:
    paths = stopped(tmp_path)
    times = [path.stat() for path in paths]
    for path, stat in zip(paths[:3], times, strict=False):
        path.write_bytes(b"?" * stat.st_size)  # unreadable for the purpose, yet of the same size and time
        os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))

    counts = build_pairs(corpus_sources(paths).sources, tmp_path / "pairs.jsonl", options=options())

    assert counts.pairs == 12


@pytest.mark.parametrize(
    "damage", ["another time", "another search", "a lost part", "a damaged part", "a damaged tally"]
)
def test_files_are_read_again_when_they_or_the_search_changed(tmp_path: Path, damage: str) -> None:
    paths = stopped(tmp_path)
    (parts,) = leftovers(tmp_path / "pairs.jsonl")
    chosen = options()
    match damage:
        case "another time":
            os.utime(paths[0], ns=(1, 1))
        case "another search":
            chosen = options(limit=1_000)
        case "a lost part":
            (parts / "pairs" / "00000.jsonl").unlink()
        case "a damaged part":
            (parts / "pairs" / "00000.jsonl").write_text("{")
        case "a damaged tally":
            (parts / "tallies" / "00000").write_text("{")
    stat = paths[0].stat()
    paths[0].write_text("She was the doctor.".ljust(stat.st_size))
    os.utime(paths[0], ns=(stat.st_atime_ns, stat.st_mtime_ns))

    counts = build_pairs(corpus_sources(paths).sources, tmp_path / "pairs.jsonl", options=chosen)

    assert counts.sources[0].sentences == 1
    assert next(read_twin_pairs(tmp_path / "pairs.jsonl")).female == "She was the doctor."


# A limit on the size of files makes the system refuse the write, as a full disk does.
LIMITED = """
import resource, signal, sys
from pathlib import Path
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
from small_corpus import options
from evenhand.core.errors import OutputError
from evenhand.data.corpus_sources import corpus_sources
from evenhand.mitigation.pairs.building import build_pairs
place = Path(sys.argv[1])
sources = corpus_sources([place / "corpus"]).sources
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]),) * 2)
try:
    build_pairs(sources, place / "pairs.jsonl", options=options(seed=7), replace=True)
except OutputError as problem:
    print(problem)
else:
    sys.exit("the write went through")
"""


@pytest.mark.parametrize("limit", [500, 2_000], ids=["a part", "the pairs"])
def test_a_full_disk_leaves_the_old_pairs_and_counts_intact(tmp_path: Path, limit: int) -> None:
    write_corpus(tmp_path / "corpus")
    out = tmp_path / "pairs.jsonl"
    build_pairs(corpus_sources([tmp_path / "corpus"]).sources, out, options=options())
    before = (out.read_bytes(), counts_path(out).read_bytes())

    finished = subprocess.run(
        [sys.executable, "-c", LIMITED, str(tmp_path), str(limit)],
        cwd=TESTS, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert finished.returncode == 0, finished.stderr
    assert "cannot be written: File too large" in finished.stdout
    assert (out.read_bytes(), counts_path(out).read_bytes()) == before
    counts = build_pairs(
        corpus_sources([tmp_path / "corpus"]).sources, out, options=options(seed=7), replace=True
    )
    assert counts.seed == 7


def test_what_another_search_left_behind_stays_out_of_the_way(tmp_path: Path) -> None:
    paths = stopped(tmp_path)
    out = tmp_path / "pairs.jsonl"
    (others,) = leftovers(out)

    build_pairs(corpus_sources(paths).sources, out, options=options(limit=1_000))

    assert leftovers(out) == [others]
    assert len(tallies(out)) == 3


def test_a_mended_file_and_a_new_seed_do_not_cost_the_other_files(tmp_path: Path) -> None:
    paths = stopped(tmp_path)
    out = tmp_path / "pairs.jsonl"
    searched: list[str] = []

    def searcher(job: SearchJob, report: Progress) -> None:
        searched.extend(source.name for _, source in job.sources)
        in_this_process(job, report)

    build_pairs(corpus_sources(paths).sources, out, options=options(seed=7), searcher=searcher)

    assert searched == [str(paths[-1])]


def test_two_processes_do_not_write_the_same_pairs(tmp_path: Path) -> None:
    sources = corpus_sources(write_corpus(tmp_path / "corpus")).sources
    out = tmp_path / "pairs.jsonl"
    with (
        open_job(out, "of another search", fingerprint_at=lambda _: None),
        pytest.raises(BusyError, match="is being made by another process"),
    ):
        build_pairs(sources, out, options=options())
