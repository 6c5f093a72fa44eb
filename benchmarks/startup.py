"""From the command to the first batch: the seconds before a model is asked, and where they go.

    python benchmarks/startup.py audit MODEL --language en --limit 20
    python benchmarks/startup.py --runs 5 probe MODEL -e he-she --limit 5

The command runs in a process of its own, with a folder for results that is thrown away. It ends where the first batch
of the measurement would go through the model. The table has seconds of the clock and of the processor, all threads
together; on a machine that others use as well, only the latter say much. Of several runs, the one that took the
processor least is shown, so files and digests are warm.

Each moment belongs to one stage, the innermost: what is imported while a model loads is imports.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import wraps
from typing import Any

IMPORTS = "imports"
REST = "options and data"
STAGES = {
    "evenhand.models.backends.local": {"LocalBackend.load": "loading"},
    "evenhand.models.description": {"weights_digest": "hashing"},
    "evenhand.models.engine.self_check": {
        "SelfCheck.__init__": "self-check", "SelfCheck._agrees": "self-check", "SelfCheck._values": "self-check",
    },
    "evenhand.instruments.instrument": {"keep_run": "planning"},
}  # fmt: skip
"""The stage that a function begins, by its module. It is replaced before another module imports it."""

FIRST_BATCH = ("evenhand.models.engine.execution", "_start")


@dataclass(slots=True)
class Ledger:
    """Whose account the time goes to."""

    wall: dict[str, float] = field(default_factory=dict)
    cpu: dict[str, float] = field(default_factory=dict)
    stack: list[str] = field(default_factory=lambda: [REST])
    at: tuple[float, float] = (0.0, 0.0)

    def settle(self) -> None:
        """Put the time since the last call on the account of the stage that is on."""
        now = (time.monotonic(), time.process_time())
        stage = self.stack[-1]
        self.wall[stage] = self.wall.get(stage, 0.0) + now[0] - self.at[0]
        self.cpu[stage] = self.cpu.get(stage, 0.0) + now[1] - self.at[1]
        self.at = now

    def timed(self, function: Callable[..., Any], stage: str) -> Callable[..., Any]:
        """The function, on the account of a stage."""

        @wraps(function)
        def call(*arguments: Any, **options: Any) -> Any:
            self.settle()
            self.stack.append(stage)
            try:
                return function(*arguments, **options)
            finally:
                self.settle()
                self.stack.pop()

        return call


def run_to_first_batch(arguments: list[str], began: float) -> None:
    """What the process does: the command, with its stages timed, up to the first batch."""
    ledger = Ledger(at=(began, 0.0))
    watch_imports(ledger)
    sys.argv = ["evenhand", *arguments]
    from evenhand.cli import main

    main()


def watch_imports(ledger: Ledger) -> None:
    """Time imports, and the functions of the modules that come with them."""
    machinery: Any = importlib._bootstrap
    load = ledger.timed(machinery._find_and_load, IMPORTS)
    waiting = {*STAGES, FIRST_BATCH[0]}

    def find_and_load(name: str, import_: Any) -> Any:
        module = load(name, import_)
        if name in waiting:
            waiting.discard(name)
            for path, stage in STAGES.get(name, {}).items():
                *owners, last = path.split(".")
                owner = getattr(module, owners[0]) if owners else module
                setattr(owner, last, ledger.timed(getattr(owner, last), stage))
            if name == FIRST_BATCH[0]:
                setattr(module, FIRST_BATCH[1], lambda *_: finish(ledger))
        return module

    machinery._find_and_load = find_and_load


def finish(ledger: Ledger) -> None:
    """Tell the times, and end without another word."""
    ledger.settle()
    sys.stdout.write(json.dumps({"wall": ledger.wall, "cpu": ledger.cpu}) + "\n")
    sys.stdout.flush()
    os._exit(0)


def measured(arguments: list[str]) -> dict[str, Any]:
    """The times of one run of a command."""
    with tempfile.TemporaryDirectory(prefix="startup") as folder:
        command = [sys.executable, __file__, "--from", repr(time.monotonic()), *arguments, "--out", folder]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        times: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    except (IndexError, ValueError):
        raise SystemExit(f"The command did not come to a first batch:\n{done.stderr}") from None
    return times


def main() -> None:
    """Run a command a few times and print its table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--from", dest="began", type=float, help=argparse.SUPPRESS)
    parser.add_argument("command", nargs=argparse.REMAINDER, help="a command of evenhand, without --out")
    options = parser.parse_args()
    if options.began is not None:
        run_to_first_batch(options.command, options.began)
        return
    runs = [measured(options.command) for _ in range(options.runs)]
    best = min(runs, key=lambda run: sum(run["cpu"].values()))
    print(f"{'stage':<20}{'wall, s':>10}{'CPU, s':>10}")
    for stage in sorted(best["cpu"], key=lambda stage: -best["cpu"][stage]):
        print(f"{stage:<20}{best['wall'][stage]:>10.2f}{best['cpu'][stage]:>10.2f}")
    print(f"{'all':<20}{sum(best['wall'].values()):>10.2f}{sum(best['cpu'].values()):>10.2f}")


if __name__ == "__main__":
    main()
