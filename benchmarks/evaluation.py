"""How long evaluating one file takes, against a plain bootstrap, as a ratio in one run.

    python benchmarks/evaluation.py PREDICTIONS DATASET

The plain way draws target terms with replacement and computes every measure anew in a Python loop, for
the same groups; it is run with fewer resamples and scaled up.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np

import evenhand as eh
from evenhand.instruments.association.estimation import ScoredItems, tasks_of
from evenhand.instruments.association.measures import MEASURES, ClusterTotals

PLAIN_RESAMPLES = 200
RESAMPLES = 10_000


def plain_bootstrap(run: eh.Run) -> float:
    """Seconds for all measures and groups, one resample at a time, scaled to the full number."""
    started = time.perf_counter()
    generator = np.random.default_rng(0)
    for frame in tasks_of(run.items()).values():
        groups = [frame, *frame.partition_by("bias_type")]
        for group in groups:
            totals = ScoredItems.from_frame(group, eh.PROTOCOLS["evenhand.v2"]).totals()
            for _ in range(PLAIN_RESAMPLES):
                drawn = generator.integers(0, len(totals), len(totals))
                resampled = ClusterTotals(
                    names=tuple(totals.names[index] for index in drawn),
                    items=totals.items[drawn],
                    stereotype=totals.stereotype[drawn],
                    meaningful=totals.meaningful[drawn],
                    log_ratio=totals.log_ratio[drawn],
                )
                for measure in MEASURES.values():
                    measure.value(resampled)
    return (time.perf_counter() - started) * RESAMPLES / PLAIN_RESAMPLES


def main(predictions: Path, dataset: Path) -> None:
    """Print the times and their ratio."""
    benchmark = eh.load_dataset(dataset)
    started = time.perf_counter()
    run = eh.evaluate(predictions, benchmark, resampling=eh.Resampling(resamples=RESAMPLES))
    ours = time.perf_counter() - started
    plain = plain_bootstrap(run)
    print(f"evaluate, all measures, groups, tests and data checks: {ours:.2f} s")
    print(
        f"plain bootstrap of the same measures and groups alone: {plain:.1f} s (scaled from {PLAIN_RESAMPLES})"
    )
    print(f"ratio: {plain / ours:.1f}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
