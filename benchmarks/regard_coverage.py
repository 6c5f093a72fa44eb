"""How often intervals of a gap in regard hold the gap that was planted: simulated studies, no model.

    python benchmarks/regard_coverage.py [--studies 1000] [--seed 1] [--page docs/regard-analysis.md]

Each study has contexts of its own, texts about two groups in each of them, and labels by a classifier with planted
errors; people label some of the texts. The tests of the package run a few of these worlds with fewer studies.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from simulation_tables import print_simulation

from evenhand.lab.regard_coverage import (
    LABELLED,
    RegardWorld,
    counted,
    coverage,
    prediction_powered,
    unconfused,
)
from evenhand.lab.regard_gap import PUBLISHED_CONFUSION, GapShape, PlantedGap

SKEWED = PlantedGap(gap=5.0, texts=400, spread=15.0)
"""Contexts whose gaps are skewed, which many texts show: standard deviation 15 points, and gaps of up to 5."""


def worlds() -> Iterator[RegardWorld]:
    """All that the table has."""
    exact = PlantedGap()
    wrong = replace(exact, confusion=PUBLISHED_CONFUSION, labelled=LABELLED)
    biased = replace(wrong, bias=0.1)
    for gap in (0.0, 5.0, 15.0):
        plan = replace(exact, gap=gap)
        yield RegardWorld("right", "as labelled", counted, plan)
        yield RegardWorld("right, 5 contexts", "as labelled", counted, replace(plan, contexts=5))
        yield RegardWorld(
            "right, 20 contexts of 30 texts", "as labelled", counted, replace(plan, contexts=20, texts=30)
        )
        for shape in (GapShape.EXPONENTIAL, GapShape.ONE_IN_TEN) if gap <= SKEWED.gap else ():
            for contexts in (10, 30, 60):
                drawn = replace(SKEWED, gap=gap, contexts=contexts, shape=shape)
                yield RegardWorld(f"right, {contexts} contexts, {shape}", "as labelled", counted, drawn)
        for labels, own in (("23% wrong", wrong), ("and biased against the second group", biased)):
            plan = replace(own, gap=gap)
            yield RegardWorld(labels, "as labelled", counted, plan)
            yield RegardWorld(labels, "prediction-powered", prediction_powered, plan)
            yield RegardWorld(labels, "confusion matrix", unconfused, plan)


def table(studies: int, seed: int) -> Iterator[str]:
    """The table as Markdown, row by row."""
    yield (
        "| planted gap | labels | treatment | intervals that hold it | below | above | mean error | mean length | test "
        "below 5% | shown |"
    )
    yield "|---|---|---|---|---|---|---|---|---|---|"
    for place, world in enumerate(worlds()):
        own = coverage(world, studies=studies, seed=seed + place)
        yield (
            f"| {world.plan.gap:g} | {world.labels} | {world.treatment} | {100 * own.share:.1f}% | "
            f"{100 * own.below:.1f}% | {100 * own.above:.1f}% | {own.error:+.1f} | {own.length:.1f} | "
            f"{100 * own.rejected:.1f}% | {100 * own.shown:.1f}% |"
        )


if __name__ == "__main__":
    print_simulation(table, description=__doc__, marker="coverage", studies=1_000)
