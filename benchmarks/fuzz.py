"""Damage files of every kind and read them: each is read, or refused with a message, and nothing else happens.

    python benchmarks/fuzz.py [--mutations 10000] [--seed 0] [--only "run folders"] [--workers 2] [--show 20]

Every mutation damages a copy of an intact input in one way, chosen from the seed, the reader and the number of the
mutation alone. ``--case "run folders" 123`` repeats a single one. The table says for each reader

- accepted, refused: how often the input was read, and how often an ``EvenhandError`` told what is wrong with it;
- tracebacks: any other exception, a library's panic that reached the terminal, and processes that died;
- hangs: inputs that took longer than 20 seconds of computing, or three minutes in all;
- half-written: results that were there although the input was refused, or that cannot be opened.

The exit code is 1 if any of the last three is not 0. Mutations run one after the other in worker processes with bounded
memory, which are replaced when they hang or die.
"""

from __future__ import annotations

import argparse
import io
import multiprocessing
import os
import random
import resource
import shutil
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, BinaryIO

PATIENCE = 20.0
"""Seconds of computing after which a mutation counts as hanging, so that a busy machine is not blamed on it."""

LONGEST_WAIT = 180.0
"""Seconds after which it counts as hanging whether it computes or not."""

STARTING = 120.0
"""Further seconds for the first case of a process, in which it loads the libraries."""

MOST_MEMORY = 12 * 2**30
"""Bytes of address space of a worker; whoever asks for more is told that there is no more."""

KEPT = 0.25
"""The share of mutations whose results are written, with their pages."""

ACCEPTED, REFUSED, TRACEBACK, HANG, HALF_WRITTEN = OUTCOMES = (
    "accepted", "refused", "traceback", "hang", "half-written",
)  # fmt: skip
FAULTS = (TRACEBACK, HANG, HALF_WRITTEN)


@dataclass(frozen=True, slots=True)
class Case:
    """One mutation of one reader's input."""

    reader: str
    number: int
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a mutation."""

    case: Case
    kind: str
    damage: str
    details: str = ""
    seconds: float = 0.0


def make_inputs(folder: Path, readers: Iterable[str]) -> None:
    """Write the intact inputs of readers, each into a folder of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    from fuzz_readers import READERS

    with redirect_stdout(io.StringIO()):  # commands print what they did
        for reader in READERS:
            if reader.name in readers:
                reader.make(folder / reader.name)


def try_case(case: Case, inputs: Path, scratch: Path) -> Outcome:
    """Damage an input, read it, and say what happened."""
    from damage import damage
    from fuzz_readers import READERS

    from evenhand.core.errors import EvenhandError

    reader = next(reader for reader in READERS if reader.name == case.reader)
    chance = random.Random(f"{case.seed} {case.reader} {case.number}")  # noqa: S311
    intact = chance.choice(sorted((inputs / reader.name).iterdir()))
    folder, out = scratch / "input" / intact.name, scratch / "results"
    for stale in (scratch / "input", out):
        shutil.rmtree(stale, ignore_errors=True)
    shutil.copytree(intact, folder)
    out.mkdir()
    others = sorted(path for path in inputs.rglob("*") if path.is_file() and path.stat().st_size < 2**21)
    done = ""
    try:
        done = damage(folder, chance, others=others)
        if reader.seal and chance.random() < 0.8:
            reader.seal(folder)
            done += ", sealed"
        reader.read(folder, intact, out if chance.random() < KEPT else None)
    except EvenhandError as error:
        leftovers = [str(path.relative_to(out)) for path in visible_files(out)]
        kind = HALF_WRITTEN if leftovers and "page.html" not in leftovers else REFUSED
        return Outcome(case, kind, done, f"{error}\n{leftovers}" if kind == HALF_WRITTEN else str(error))
    except BaseException:  # a panic of a library written in Rust is no Exception
        return Outcome(case, TRACEBACK, done, traceback.format_exc())
    return Outcome(case, ACCEPTED, done)


def visible_files(out: Path) -> list[Path]:
    """What is there of results; an unfinished job keeps its own files in a hidden folder."""
    return [
        path
        for path in out.rglob("*")
        if path.is_file() and not any(part.endswith(".unfinished") for part in path.relative_to(out).parts)
    ]


def work(connection: Connection, inputs: Path, scratch: Path) -> None:
    """What a worker does: one case after the other, until there is none."""
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    warnings.simplefilter("ignore")
    sys.stdout = sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115
    terminal = (scratch / "terminal").open("w+b")
    os.dup2(terminal.fileno(), 2)
    while (case := connection.recv()) is not None:
        begin = time.monotonic()
        outcome = without_panic(try_case(case, inputs, scratch), terminal)
        connection.send(replace(outcome, seconds=time.monotonic() - begin))


def without_panic(outcome: Outcome, terminal: BinaryIO) -> Outcome:
    """The outcome, or a traceback where a library printed one past Python; what it printed is gone then."""
    terminal.seek(0)
    printed = terminal.read()
    terminal.seek(0)
    terminal.truncate()
    if b"panicked" not in printed:
        return outcome
    return replace(outcome, kind=TRACEBACK, details=printed.decode("utf-8", "replace"))


class Worker:
    """A process that tries one case at a time, and is replaced when it hangs or dies."""

    def __init__(self, context: Any, inputs: Path, scratch: Path) -> None:
        self._context, self._inputs, self._scratch = context, inputs, scratch
        self._start()

    def _start(self) -> None:
        self._scratch.mkdir(parents=True, exist_ok=True)
        self.connection, theirs = self._context.Pipe()
        self._process = self._context.Process(
            target=work, args=(theirs, self._inputs, self._scratch), daemon=True
        )
        self._process.start()
        theirs.close()
        self.case: Case | None = None
        self._slack = STARTING

    def begin(self, case: Case) -> None:
        """Send a case."""
        self.case = case
        self._computed, self._began = self._computing(), time.monotonic()
        self.connection.send(case)

    @property
    def hangs(self) -> bool:
        """Whether the case takes too long."""
        computed, waited = self._computing() - self._computed, time.monotonic() - self._began
        return computed > PATIENCE + self._slack or waited > LONGEST_WAIT + self._slack

    def _computing(self) -> float:
        """Seconds that the process has computed; see proc(5)."""
        try:
            fields = (
                Path(f"/proc/{self._process.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
            )
        except OSError:
            return 0.0
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def end(self) -> Outcome:
        """What became of the case, also if there is no answer."""
        assert self.case  # noqa: S101
        self._slack = 0.0
        try:
            outcome: Outcome = self.connection.recv()
        except EOFError:
            self._process.join()
            outcome = Outcome(self.case, TRACEBACK, "?", f"the process died: {self._process.exitcode}")
            self._start()
        return outcome

    def give_up(self) -> Outcome:
        """Kill a worker that hangs, and start another one."""
        assert self.case  # noqa: S101
        outcome = Outcome(self.case, HANG, "?")
        self.stop()
        self._start()
        return outcome

    def stop(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.join()
        self.connection.close()


def try_all(cases: Sequence[Case], inputs: Path, scratch: Path, *, workers: int) -> list[Outcome]:
    """Try cases in several processes."""
    context = multiprocessing.get_context("spawn")
    crew = [
        Worker(context, inputs, scratch / f"worker-{number}") for number in range(min(workers, len(cases)))
    ]
    waiting, outcomes = list(reversed(cases)), []
    for worker in crew:
        worker.begin(waiting.pop())
    while busy := [worker for worker in crew if worker.case]:
        wait([worker.connection for worker in busy], timeout=1.0)
        for worker in busy:
            if worker.connection.poll():
                outcome = worker.end()
            elif worker.hangs:
                outcome = worker.give_up()
            else:
                continue
            outcomes.append(outcome)
            worker.case = None
            if waiting:
                worker.begin(waiting.pop())
            if len(outcomes) % 500 == 0:
                print(f"{len(outcomes):,} of {len(cases):,}", file=sys.stderr, flush=True)
    for worker in crew:
        worker.stop()
    return outcomes


def cases_of(mutations: int, *, seed: int, only: Sequence[str] = ()) -> list[Case]:
    """So many cases, spread over the readers by their shares."""
    from fuzz_readers import READERS

    chosen = [reader for reader in READERS if not only or reader.name in only]
    total = sum(reader.share for reader in chosen)
    counts = [mutations * reader.share // total for reader in chosen]
    for number in range(mutations - sum(counts)):
        counts[number % len(counts)] += 1
    return [
        Case(reader.name, n, seed) for reader, count in zip(chosen, counts, strict=True) for n in range(count)
    ]


def table_of(outcomes: Iterable[Outcome]) -> str:
    """One row per reader, and one for all."""
    counts: dict[str, Counter[str]] = {}
    seconds: dict[str, float] = {}
    for outcome in outcomes:
        counts.setdefault(outcome.case.reader, Counter())[outcome.kind] += 1
        seconds[outcome.case.reader] = seconds.get(outcome.case.reader, 0.0) + outcome.seconds
    ordered = dict(sorted(counts.items()))
    ordered["all"] = sum(counts.values(), Counter())
    seconds["all"] = sum(seconds.values())
    lines = [f"{'reader':<20}" + "".join(f"{column:>14}" for column in ("mutations", *OUTCOMES, "seconds"))]
    for name, row in ordered.items():
        figures = (row.total(), *(row[kind] for kind in OUTCOMES), round(seconds[name]))
        lines.append(f"{name:<20}" + "".join(f"{figure:>14,}" for figure in figures))
    return "\n".join(lines)


def main() -> None:
    """Try all cases, and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--mutations", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", action="append", default=[], help="name of a reader; may be repeated")
    parser.add_argument("--case", nargs=2, metavar=("READER", "NUMBER"), help="a single mutation")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--show", type=int, default=20, help="failures that are printed")
    options = parser.parse_args()
    os.environ |= {"OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false", "HF_HUB_OFFLINE": "1"}
    os.environ |= {"POLARS_MAX_THREADS": "1", "EVENHAND_OFFLINE": "1"}
    if options.case:
        cases = [Case(options.case[0], int(options.case[1]), options.seed)]
    else:
        cases = cases_of(options.mutations, seed=options.seed, only=options.only)
    with tempfile.TemporaryDirectory(prefix="fuzz") as name:
        os.environ["EVENHAND_HOME"] = str(Path(name, "home"))
        inputs, scratch = Path(name, "inputs"), Path(name, "scratch")
        make_inputs(inputs, {case.reader for case in cases})
        outcomes = try_all(cases, inputs, scratch, workers=options.workers)
    failures = [outcome for outcome in outcomes if outcome.kind in FAULTS]
    for outcome in (outcomes if options.case else failures)[: options.show]:
        print(f"{outcome.case}: {outcome.kind}: {outcome.damage}\n{outcome.details[-3000:]}\n")
    print(table_of(outcomes))
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
