"""Record every kind of result in one checkout, and compare it with another: numbers that must survive a rebuild.

    python benchmarks/golden.py record DIR [--only NAME ...] [--workers 2]
    python benchmarks/golden.py compare DIR [OTHER] [--only NAME ...] [--workers 2]

``record`` runs every case of ``golden_cases.py`` with the package of this checkout and writes one file per case:
figures with their intervals, scores by item, and texts (exports, pair files) as digests. ``compare`` runs them again
and says where the two differ, or compares two records without running anything. To compare with an earlier commit,
record in a worktree of it.

Figures may differ by 1e-9, relative or absolute. Scores must be equal; where batches changed, by 1e-6 at most, which
is counted. Cases that need ``../shared/data`` or a real model are skipped, with the reason, where these are missing.
The exit code is 1 if anything differs, is missing or fails.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import sys
import tempfile
import time
import traceback
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from golden_cases import CASES, MissingInputError, Recorded

FIGURE_TOLERANCE = 1e-9
SCORE_TOLERANCE = 1e-6
MAX_SHOWN = 5


@dataclass(slots=True)
class Differences:
    """Where two records of a case differ."""

    figures: list[str] = field(default_factory=list)
    scores: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    values: int = 0
    rounded: int = 0
    """Scores that differ by no more than rounding."""

    @property
    def lines(self) -> list[str]:
        """All of them, in words."""
        return [*self.figures, *self.scores, *self.texts]


def record_case(name: str, folder: Path) -> str:
    """Run a case and write its file; returns why it was not run, or nothing."""
    place = folder / f"{name}.json"
    with tempfile.TemporaryDirectory() as scratch:
        try:
            recorded = CASES[name](Path(scratch))
        except MissingInputError as missing:
            place.with_suffix(".missing").write_text(f"{missing}\n", encoding="utf-8")
            return str(missing)
    text = json.dumps(
        {"figures": recorded.figures, "scores": recorded.scores, "texts": recorded.texts}, indent=0
    )
    place.write_text(text + "\n", encoding="utf-8")
    return ""


def record(folder: Path, names: Sequence[str], workers: int) -> list[str]:
    """Run cases in processes; returns the names of those that failed."""
    folder.mkdir(parents=True, exist_ok=True)
    failed: list[str] = []
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context, initializer=one_thread) as pool:
        began = time.monotonic()
        waiting = {pool.submit(record_case, name, folder): name for name in names}
        for number, done in enumerate(as_completed(waiting), start=1):
            name = waiting[done]
            try:
                missing = done.result()
            except Exception:  # a case that fails is a finding, and the others go on
                failed.append(name)
                missing = traceback.format_exc(limit=-3)
            seconds = time.monotonic() - began
            print(f"{number}/{len(names)} {seconds:6.0f} s  {name}  {missing}".rstrip(), flush=True)
    return failed


def one_thread() -> None:
    """Each process has a core; results of several threads depend on their number."""
    import torch

    torch.set_num_threads(1)


def read(folder: Path, name: str) -> Recorded | None:
    """A recorded case; None where it was not run."""
    place = folder / f"{name}.json"
    if not place.exists():
        return None
    document: dict[str, Any] = json.loads(place.read_text(encoding="utf-8"))
    return Recorded(document["figures"], document["scores"], document["texts"])


def differences(before: Recorded, after: Recorded) -> Differences:
    """Compare two records of a case. What the later one has in addition is no difference."""
    found = Differences()
    for key, numbers in before.figures.items():
        found.values += len(numbers)
        other = after.figures.get(key)
        if other is None:
            found.figures.append(f"figure {key} is gone")
        elif not all(map(is_close, numbers, other)):
            found.figures.append(f"figure {key}: {numbers} became {other}")
    for key, scores in before.scores.items():
        found.values += len(scores)
        others = after.scores.get(key)
        if others is None or others.keys() != scores.keys():
            found.scores.append(f"scores {key} are of other items")
            continue
        apart = [abs_difference(scores[item], others[item]) for item in scores]
        found.rounded += sum(0 < gap <= SCORE_TOLERANCE for gap in apart)
        if (worst := max(apart, default=0.0)) > SCORE_TOLERANCE:
            found.scores.append(f"scores {key} differ by up to {worst:.3g}")
    for key, text in before.texts.items():
        found.values += 1
        if after.texts.get(key) != text:
            found.texts.append(f"text {key} differs")
    return found


def is_close(one: float | None, other: float | None) -> bool:
    """Whether two figures are the same but for the order of arithmetic."""
    if one is None or other is None:
        return one is other
    return math.isclose(one, other, rel_tol=FIGURE_TOLERANCE, abs_tol=FIGURE_TOLERANCE)


def abs_difference(one: float | None, other: float | None) -> float:
    """How far apart two scores are, relative to their size where that is above 1."""
    if one is None or other is None:
        return 0.0 if one is other else math.inf
    return abs(one - other) / max(1.0, abs(one))


def compare(first: Path, second: Path, names: Sequence[str]) -> bool:
    """Print what differs; whether nothing does."""
    same, values, rounded, compared = True, 0, 0, 0
    for name in names:
        before, after = read(first, name), read(second, name)
        if before is None and after is None:
            print(f"{name}: not recorded in either")
            continue
        if before is None or after is None:
            same = False
            print(f"{name}: only in the {'first' if after is None else 'second'} record")
            continue
        found = differences(before, after)
        compared, values, rounded = compared + 1, values + found.values, rounded + found.rounded
        for line in found.lines[:MAX_SHOWN]:
            print(f"{name}: {line}")
        if len(found.lines) > MAX_SHOWN:
            print(f"{name}: {len(found.lines) - MAX_SHOWN} more")
        same = same and not found.lines
    verdict = "same" if same else "DIFFERENT"
    print(f"{compared} cases, {values:,} values compared, {rounded:,} scores differ by rounding: {verdict}")
    return same


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("action", choices=("record", "compare"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("other", type=Path, nargs="?")
    parser.add_argument("--only", action="append", help="beginning of the names of cases")
    parser.add_argument("--workers", type=int, default=2)
    given = parser.parse_args()
    names = [name for name in CASES if not given.only or name.startswith(tuple(given.only))]
    if given.action == "record":
        failed = record(given.folder, names, given.workers)
        sys.exit(f"failed: {', '.join(failed)}" if failed else 0)
    failed = []
    with tempfile.TemporaryDirectory() as scratch:
        if given.other is None:
            failed = record(Path(scratch), names, given.workers)
        same = compare(given.folder, given.other or Path(scratch), names)
    sys.exit(0 if same and not failed else 1)


if __name__ == "__main__":
    main()
