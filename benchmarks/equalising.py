"""How long an epoch of equalising takes and how much memory, against another version of the package.

    python benchmarks/equalising.py --model FOLDER --corpus novels/ --against ../evenhand-0.1.0 [--epochs 1]

Both versions run ``evenhand mitigate equalise`` on the same model, corpus and device, one after the other, each in a
process of its own. Told are the seconds from the first step to the end of each epoch, reading MALoR and perplexity
included, the most memory that was allocated on the GPU, and MALoR and perplexity as printed.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
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
    chosen = parser.parse_args()
    means = []
    with tempfile.TemporaryDirectory() as scratch:
        for number, checkout in enumerate((chosen.against, HERE)):
            timed = mitigate(
                checkout,
                [
                    chosen.model, "--corpus", str(chosen.corpus), "--experiment", chosen.experiment,
                    "--epochs", str(chosen.epochs), "--out", f"{scratch}/{number}",
                ],
            )  # fmt: skip
            print(checkout, *timed.told, sep="\n  ", flush=True)
            print(f"  seconds per epoch: {', '.join(f'{one:.1f}' for one in timed.seconds)}", flush=True)
            means.append(sum(timed.seconds) / len(timed.seconds))
    print(f"ratio: {means[0] / means[1]:.2f}")


if __name__ == "__main__":
    main()
