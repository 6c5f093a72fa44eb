"""How long an epoch of equalising takes and how much memory, against another version of the package.

    git worktree add ../evenhand-0.1.0 bab8e03b^
    python benchmarks/equalising.py --model FOLDER --corpus novels/ --against ../evenhand-0.1.0
        --epochs 3 --seeds 0 1 2

The commit is the last of version 0.1.0. Both versions run ``evenhand mitigate equalise`` on the same model, corpus and
device, one after the other, each in a process of its own, once per seed. Told are the seconds from the first step to
the end of each epoch, reading MALoR and perplexity included, the most memory that was allocated on the GPU, MALoR and
perplexity as printed, and the mean and range over seeds of every figure after the last epoch.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

MEMORY_LINE = "most GPU memory: "

RUN = f"""
import sys
from evenhand.cli import main
try:
    main()
except SystemExit as stopped:
    code = stopped.code
import torch
if torch.cuda.is_available():
    allocated, reserved = (most() / 2**30 for most in (torch.cuda.max_memory_allocated, torch.cuda.max_memory_reserved))
    print(f"{MEMORY_LINE}{{allocated:.1f}} GB allocated, {{reserved:.1f}} GB reserved", file=sys.stderr)
sys.exit(code)
"""

HERE = Path(__file__).parents[1]


@dataclass
class Timed:
    """What a run printed, and when."""

    seconds: list[float] = field(default_factory=list)
    """Of each epoch."""
    told: list[str] = field(default_factory=list)


def mitigate(checkout: Path, arguments: list[str]) -> Timed:
    """Run a version of the package and time its epochs by what it prints."""
    search = os.pathsep.join([str(checkout / "src"), *filter(None, [os.environ.get("PYTHONPATH")])])
    process = subprocess.Popen(
        [sys.executable, "-c", RUN, "mitigate", "equalise", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "PYTHONPATH": search, "COLUMNS": "300", "TERM": "dumb"},
    )
    timed, began, last = Timed(), None, ""
    for line in process.stdout or ():
        now, last = time.perf_counter(), line.strip()
        if re.match(r"(original|epoch \d+): ", last):  # the original is read before the first step
            timed.seconds += [] if began is None else [now - began]
            began = now
            timed.told.append(last)
        elif last.startswith(MEMORY_LINE):
            timed.told.append(last)
    if process.wait() != 0:
        raise SystemExit(f"{checkout}: exit code {process.returncode}: {last}")
    return timed


def version_of(checkout: Path) -> str:
    """The version that a checkout says it is, and its commit."""
    version = tomllib.loads((checkout / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    commit = subprocess.run(
        ["git", "-C", str(checkout), "rev-parse", "--short", "HEAD"],  # noqa: S607
        capture_output=True,
        text=True,
        check=False,
    )
    return f"version {version}, commit {commit.stdout.strip() or 'unknown'}"


def last_figures(runs: Sequence[Timed]) -> dict[str, list[float]]:
    """The figures of the last epoch of every run, by name: what stands before a number in its line."""
    found: dict[str, list[float]] = {}
    for timed in runs:
        epochs = [line for line in timed.told if line.startswith("epoch ")]
        _, _, figures = epochs[-1].partition(": ")
        for name, value in re.findall(r"([^\d,;:()]*[A-Za-z)])[ =:]+(-?\d+(?:\.\d+)?)", figures):
            found.setdefault(name.strip(), []).append(float(value))
    return found


def main() -> None:
    """Run both, tell the ratio."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", required=True)
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--against", type=Path, required=True, help="a checkout of the other version")
    parser.add_argument("--experiment", default="he-she")
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0], help="one training per seed and version")
    chosen = parser.parse_args()
    means = []
    for checkout in (chosen.against, HERE):
        print(f"{checkout}: {version_of(checkout)}", flush=True)
    with tempfile.TemporaryDirectory() as scratch:
        for number, checkout in enumerate((chosen.against, HERE)):
            runs = []
            for seed in chosen.seeds:
                timed = mitigate(
                    checkout,
                    [
                        chosen.model, "--corpus", str(chosen.corpus), "--experiment", chosen.experiment,
                        "--epochs", str(chosen.epochs), "--seed", str(seed), "--out", f"{scratch}/{number}-{seed}",
                    ],
                )  # fmt: skip
                print(f"{checkout}, seed {seed}", *timed.told, sep="\n  ", flush=True)
                print(f"  seconds per epoch: {', '.join(f'{one:.1f}' for one in timed.seconds)}", flush=True)
                runs.append(timed)
            for name, values in last_figures(runs).items():
                mean = sum(values) / len(values)
                print(f"  {name}: mean {mean:.3f}, {min(values):.3f} to {max(values):.3f}", flush=True)
            seconds = [one for timed in runs for one in timed.seconds]
            means.append(sum(seconds) / len(seconds))
    print(f"ratio: {means[0] / means[1]:.2f}")


if __name__ == "__main__":
    main()
