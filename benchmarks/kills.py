"""Kill runs at random moments and go on with them: nothing may be lost, and no byte may differ.

    python benchmarks/kills.py [--kills 200] [--seed 0] [--only audit --only probe]

Each workflow runs once undisturbed. Then it is started again and again in a new place, and its whole process group is
killed (SIGKILL) after a random time, up to five times in a row. At last it is left to finish, and its results are
compared with those of the undisturbed run, byte by byte. The table says for each workflow

- kills: how often it was killed, and how many results were finished in spite of that;
- refused: commands that ended with an error after a kill;
- lost: pieces that an earlier process had kept and that are gone, though the result was not in place;
- different: results with other bytes than the undisturbed run;
- left behind: hidden files that are still there when the result is.

The exit code is 1 if any of the last four is not 0. Commands run in forked processes that have the libraries in memory
already, so that kills hit the work and not the imports.
"""

from __future__ import annotations

import argparse
import csv
import json
import multiprocessing
import os
import random
import re
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from multiprocessing.context import ForkServerContext
from pathlib import Path
from typing import Any

LONGEST_SERIES = 5
"""Kills in a row before a run is left to finish."""

PATIENCE = 1800.0
"""Seconds after which a command that was not killed counts as hanging."""

LIBRARIES = (
    "evenhand.cli.app", "evenhand.api.measure", "evenhand.api.pairs", "evenhand.api.certify",
    "evenhand.mitigation.mitigate", "evenhand.mitigation.equalising.equalise",
    "evenhand.api.defaults", "evenhand.models.language_model",
    "transformers.models.bert.modeling_bert", "transformers.trainer", "peft", "altair", "vl_convert", "lemminflect",
)  # fmt: skip

UNFINISHED = re.compile(r"\.(.+)\.[0-9a-f]{16}\.unfinished")

Results = Mapping[str, bytes]


@dataclass(frozen=True, slots=True)
class Workflow:
    """A command, and what is compared of its results."""

    name: str
    arguments: tuple[str, ...]
    """``{out}`` stands for the folder of the results."""
    results: Callable[[Path], Results]

    def command(self, out: Path) -> list[str]:
        """The arguments with the folder in its place."""
        return [argument.replace("{out}", str(out)) for argument in self.arguments]


@dataclass(slots=True)
class Tally:
    """What became of one workflow."""

    kills: int = 0
    finished: int = 0
    refused: int = 0
    lost: int = 0
    different: int = 0
    left_behind: int = 0
    notes: list[str] = field(default_factory=list)

    @property
    def faults(self) -> int:
        """How much went wrong."""
        return self.refused + self.lost + self.different + self.left_behind


def files_named(*names: str) -> Callable[[Path], Results]:
    """Reads all files of these names, wherever they are."""
    return lambda out: {
        str(path.relative_to(out)): path.read_bytes() for name in names for path in sorted(out.rglob(name))
    }


def json_fields(name: str, *fields: str) -> Callable[[Path], Results]:
    """Reads fields of a JSON file."""

    def read(out: Path) -> Results:
        document: dict[str, Any] = json.loads((out / name).read_bytes())
        return {field: json.dumps(document[field]).encode() for field in fields}

    return read


def both(first: Callable[[Path], Results], second: Callable[[Path], Results]) -> Callable[[Path], Results]:
    """Reads what two readers read."""
    return lambda out: {**first(out), **second(out)}


def workflows(data: Path) -> list[Workflow]:
    """Every long workflow, on small models and small data."""
    scores = ("scores.parquet", "estimates.json", "predictions.json")
    corpus, pairs = write_corpus(data / "corpus"), write_pairs(data / "pairs_en.csv")
    few = ("--resamples", "1000")
    return [
        Workflow("audit", ("audit", "lab:masked", "--max-tokens", "256", *few, "--out", "{out}"), files_named(*scores)),
        Workflow(
            "probe",
            ("probe", "lab:decoder", "--direction", "both", "--max-tokens", "2048", *few, "--out", "{out}"),
            files_named(*scores),
        ),
        Workflow(
            "CrowS-Pairs",
            (
                "probe", "lab:masked", "--test", "crows-pairs", "--data", str(pairs), "--max-tokens", "1024", *few,
                "--out", "{out}",
            ),
            files_named(*scores),
        ),
        Workflow(
            "direct bias",
            ("probe", "lab:masked", "--test", "direct-bias", "--corpus", str(corpus), *few, "--out", "{out}"),
            files_named(*scores),
        ),
        Workflow(
            "counterfactual",
            ("data", "counterfactual", "--corpus", str(corpus), "--workers", "2", "--out", "{out}/pairs.jsonl"),
            files_named("pairs.jsonl", "pairs.counts.json"),
        ),
        Workflow(
            "equalise",
            ("mitigate", "equalise", "lab:masked", "--epochs", "3", "--out", "{out}/model"),
            both(
                files_named("model.safetensors"),
                json_fields("model/mitigation.json", "seeds", "before", "after", "chosen_seed"),
            ),
        ),
        Workflow(
            "certify",
            (
                "certify", "lab:masked", "lab:masked-neutral", "--crows-pairs", str(pairs), "--sentences", "200", *few,
                "--out", "{out}/certificate.html",
            ),
            both(
                files_named(*scores),
                json_fields("certificate.json", "verdict", "trained", "untrained", "quality", "flipped", "occupations"),
            ),
        ),
    ]  # fmt: skip


def write_corpus(folder: Path) -> Path:
    """Files of sentences with occupations and pronouns."""
    folder.mkdir()
    chance = random.Random(0)  # noqa: S311
    occupations = ("doctor", "nurse", "teacher", "lawyer", "carpenter", "librarian", "engineer", "secretary")
    ends = ("in the city", "for many years", "without a word", "on Monday", "near the river", "as planned")
    for number in range(24):
        sentences = []
        for _ in range(150):
            pronoun = chance.choice(("He", "She"))
            occupation, end = chance.choice(occupations), chance.choice(ends)
            sentences += [
                f"{pronoun} was a {occupation} {end} until {pronoun.lower()} left in {chance.randint(1900, 2000)}.",
                f"The {occupation} worked {end}.",
            ]
        (folder / f"{number:02d}.txt").write_text(" ".join(sentences), encoding="utf-8")
    return folder


def write_pairs(path: Path) -> Path:
    """The lab's items in the layout of CrowS-Pairs, in words that its models know."""
    from evenhand.lab.items import lab_benchmark

    with path.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(("id", "sent_more", "sent_less", "stereo_antistereo", "bias_type"))
        for item in lab_benchmark("en").items:
            more, less, _ = (candidate.text for candidate in item.candidates)
            rows.writerow((item.id, more, less, "stereo", item.bias_type))
    return path


class Commands:
    """Runs commands in processes that can be killed."""

    def __init__(self, log: Path) -> None:
        self.log = log
        self._context: ForkServerContext = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(list(LIBRARIES))

    def run(self, arguments: list[str], *, seconds: float) -> int | None:
        """Run a command; None if it was killed because the time was over, else its exit code."""
        process = self._context.Process(target=run_command, args=(arguments, self.log))
        process.start()
        process.join(seconds)
        if process.exitcode is not None:
            return process.exitcode
        try:
            os.killpg(process.pid or 0, signal.SIGKILL)
        except ProcessLookupError:  # not the leader of a group yet, or gone just now
            process.kill()
        process.join()
        return None if process.exitcode == -signal.SIGKILL else process.exitcode


def run_command(arguments: list[str], log: Path) -> None:
    """What a process does: one command of Evenhand, as the leader of a group of its own."""
    os.setsid()
    with log.open("ab") as stream:
        os.dup2(stream.fileno(), 1)
        os.dup2(stream.fileno(), 2)
    sys.argv = ["evenhand", *arguments]
    from evenhand.cli import main

    main()


def kept_pieces(out: Path) -> set[Path]:
    """The pieces that unfinished jobs have kept. Checkpoints are not among them: they replace each other."""
    pieces = set()
    for path in out.rglob("*"):
        inside = path.relative_to(out).parts
        job = next((number for number, part in enumerate(inside) if UNFINISHED.fullmatch(part)), None)
        if job is None or any(part.startswith((".", "epoch-", "result")) for part in inside[job + 1 :]):
            continue
        if path.is_file() and "seed-" not in str(path.relative_to(out)):
            pieces.add(path)
    return pieces


def pieces_lost(before: set[Path], out: Path) -> list[Path]:
    """Pieces that are gone, though the result that they were kept for is not in place."""
    return sorted(path for path in before - kept_pieces(out) if not is_in_place(path))


def is_in_place(piece: Path) -> bool:
    """Whether the result of the job that kept a piece, or of a job around it, is there."""
    for folder in piece.parents:
        match = UNFINISHED.fullmatch(folder.name)
        if match and (folder.parent / match[1]).exists():
            return True
    return False


def left_behind(out: Path) -> list[Path]:
    """Hidden files and folders among the results."""
    return [path for path in out.rglob(".*") if not any(part.startswith(".") for part in path.parent.parts)]


def torment(
    workflow: Workflow, commands: Commands, *, folder: Path, kills: int, chance: random.Random
) -> Tally:
    """Kill a workflow so many times and compare what comes out."""
    undisturbed = folder / f"{workflow.name} undisturbed"
    undisturbed.mkdir()
    begin = time.monotonic()
    if commands.run(workflow.command(undisturbed), seconds=PATIENCE) != 0:
        raise SystemExit(
            f"{workflow.name} fails undisturbed:\n{commands.log.read_text(errors='replace')[-3000:]}"
        )
    duration = time.monotonic() - begin
    expected = workflow.results(undisturbed)
    print(
        f"{workflow.name}: {duration:.1f} s undisturbed, {len(expected)} results", file=sys.stderr, flush=True
    )
    tally = Tally()
    while tally.kills < kills:
        out = folder / f"{workflow.name} {tally.finished + tally.refused}"
        out.mkdir()
        code = None
        for _ in range(min(chance.randint(1, LONGEST_SERIES), kills - tally.kills)):
            before = kept_pieces(out)
            code = commands.run(workflow.command(out), seconds=chance.uniform(0, duration))
            count_lost(tally, before, out)
            if code is not None:
                break
            tally.kills += 1
        if code is None:
            before = kept_pieces(out)
            code = commands.run(workflow.command(out), seconds=PATIENCE)
            count_lost(tally, before, out)
        if code != 0:
            tally.refused += 1
            tally.notes.append(f"{out}: exit code {code}: {commands.log.read_text(errors='replace')[-1500:]}")
            continue
        tally.finished += 1
        compare(tally, expected, workflow.results(out), out)
        print(f"{workflow.name}: {tally.kills} of {kills} kills", file=sys.stderr, flush=True)
    return tally


def count_lost(tally: Tally, before: set[Path], out: Path) -> None:
    """Count the pieces that a process lost which another one had kept."""
    lost = pieces_lost(before, out)
    tally.lost += len(lost)
    tally.notes += [f"lost: {path}" for path in lost]


def compare(tally: Tally, expected: Results, results: Results, out: Path) -> None:
    """Count a result that differs, and what lies about beside it."""
    names = [name for name in {*expected, *results} if expected.get(name) != results.get(name)]
    tally.different += bool(names)
    tally.notes += [f"{out}: {name} differs" for name in sorted(names)]
    hidden = left_behind(out)
    tally.left_behind += bool(hidden)
    tally.notes += [f"left behind: {path}" for path in hidden]


def main() -> None:
    """Torment all workflows, and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=200, help="in all, spread over the workflows")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", action="append", help="name of a workflow; may be repeated")
    options = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    with tempfile.TemporaryDirectory(prefix="kills") as name:
        folder = Path(name)
        commands = Commands(folder / "log")
        commands.run(["--version"], seconds=PATIENCE)  # the libraries are loaded now
        chosen = [each for each in workflows(folder) if not options.only or each.name in options.only]
        tallies = {}
        for number, workflow in enumerate(chosen):
            share = options.kills // len(chosen) + (number < options.kills % len(chosen))
            chance = random.Random(f"{options.seed} {workflow.name}")  # noqa: S311
            tallies[workflow.name] = torment(workflow, commands, folder=folder, kills=share, chance=chance)
    columns = ("kills", "finished", "refused", "lost", "different", "left_behind")
    print(f"{'workflow':<16}" + "".join(f"{column.replace('_', ' '):>13}" for column in columns))
    for workflow_name, tally in tallies.items():
        print(f"{workflow_name:<16}" + "".join(f"{getattr(tally, column):>13}" for column in columns))
    totals = [sum(getattr(tally, column) for tally in tallies.values()) for column in columns]
    print(f"{'all':<16}" + "".join(f"{total:>13}" for total in totals))
    for tally in tallies.values():
        for note in tally.notes:
            print(note)
    sys.exit(any(tally.faults for tally in tallies.values()))


if __name__ == "__main__":
    main()
