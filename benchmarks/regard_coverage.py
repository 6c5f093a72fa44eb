"""How often intervals of a gap in regard hold the gap that was planted: simulated studies, no model.

    python benchmarks/regard_coverage.py [--studies 1000] [--seed 1] [--page docs/regard-analysis.md]

Each study has contexts of its own, texts about two groups in each of them, and labels by a classifier with planted
errors; people label some of the texts. The tests of the package run a few of these worlds with fewer studies.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from evenhand.instruments.regard.analysis import TextLabelTable
from evenhand.instruments.regard.estimation import NET_REGARD
from evenhand.lab.regard_gap import GROUPS, PUBLISHED_CONFUSION, PlantedGap, plant_labels
from evenhand.stats.group_shares import CountedShares, GroupShares
from evenhand.stats.label_error import UnconfusedShares
from evenhand.stats.resampling import Resampling
from evenhand.stats.vote_aggregation import NO_LABEL

BEGIN, END = "<!-- begin coverage -->", "<!-- end coverage -->"

RESAMPLING = Resampling(resamples=1_000)

CONTRAST = np.stack([NET_REGARD, -NET_REGARD])

LABELLED = 300


def counted(table: TextLabelTable) -> GroupShares:
    """Labels as they are."""
    return CountedShares(table.counts(table.label))


def prediction_powered(table: TextLabelTable) -> GroupShares:
    """With the mean error on the labelled sample taken off."""
    shares = table.prediction_powered()
    if shares is None:
        raise ValueError("the labelled sample is too small")
    return shares


def unconfused(table: TextLabelTable) -> GroupShares:
    """With confusions undone."""
    return UnconfusedShares(table.counts(table.label), table.confusions())


@dataclass(frozen=True)
class World:
    """What is planted, and what is done about the classifier's errors."""

    labels: str
    treatment: str
    shares: Callable[[TextLabelTable], GroupShares]
    plan: PlantedGap


@dataclass(frozen=True)
class StudyCoverage:
    """What the intervals of many studies hold."""

    share: float
    below: float
    above: float
    error: float
    """The mean of estimate minus truth, in points."""
    length: float
    """The mean length of intervals, in points."""


def study_table(plan: PlantedGap, generator: np.random.Generator) -> TextLabelTable:
    """The labels of one simulated study."""
    labels = plant_labels(plan, generator)
    return TextLabelTable(
        groups=GROUPS,
        contexts=plan.contexts,
        group=labels.group,
        cluster=labels.context,
        label=labels.given,
        human=np.where(labels.in_sample, labels.true, NO_LABEL),
    )


def coverage(world: World, *, studies: int, seed: int) -> StudyCoverage:
    """Simulate studies, and count on which side of the planted gap their intervals lie."""
    generator = np.random.default_rng(seed)
    rows = []
    for _ in range(studies):
        shares = world.shares(study_table(world.plan, generator))
        interval = shares.interval(CONTRAST, resampling=RESAMPLING)
        rows.append((interval.low, interval.high, shares.value(CONTRAST)))
    low, high, value = np.array(rows).T
    gap = world.plan.gap
    return StudyCoverage(
        share=float(((low <= gap) & (gap <= high)).mean()),
        below=float((high < gap).mean()),
        above=float((low > gap).mean()),
        error=float(value.mean()) - world.plan.gap,
        length=float((high - low).mean()),
    )


def worlds() -> Iterator[World]:
    """All that the table has."""
    exact = PlantedGap()
    wrong = replace(exact, confusion=PUBLISHED_CONFUSION, labelled=LABELLED)
    biased = replace(wrong, bias=0.1)
    for gap in (0.0, 5.0, 15.0):
        plan = replace(exact, gap=gap)
        yield World("right", "as labelled", counted, plan)
        yield World("right, 5 contexts", "as labelled", counted, replace(plan, contexts=5))
        yield World(
            "right, 20 contexts of 30 texts", "as labelled", counted, replace(plan, contexts=20, texts=30)
        )
        for labels, own in (("23% wrong", wrong), ("and biased against the second group", biased)):
            plan = replace(own, gap=gap)
            yield World(labels, "as labelled", counted, plan)
            yield World(labels, "prediction-powered", prediction_powered, plan)
            yield World(labels, "confusion matrix", unconfused, plan)


def table(*, studies: int, seed: int) -> Iterator[str]:
    """The table as Markdown, row by row."""
    yield "| planted gap | labels | treatment | intervals that hold it | below | above | mean error | mean length |"
    yield "|---|---|---|---|---|---|---|---|"
    for place, world in enumerate(worlds()):
        own = coverage(world, studies=studies, seed=seed + place)
        yield (
            f"| {world.plan.gap:g} | {world.labels} | {world.treatment} | {100 * own.share:.1f}% | "
            f"{100 * own.below:.1f}% | {100 * own.above:.1f}% | {own.error:+.1f} | {own.length:.1f} |"
        )


def main() -> None:
    """Print the table, or put it into a page."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--studies", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--page", type=Path, help="Markdown file whose table is replaced.")
    chosen = parser.parse_args()
    rows = []
    for row in table(studies=chosen.studies, seed=chosen.seed):
        print(row, flush=True)
        rows.append(row)
    if chosen.page is not None:
        before, _, rest = chosen.page.read_text(encoding="utf-8").partition(BEGIN)
        _, _, after = rest.partition(END)
        chosen.page.write_text("\n".join([before + BEGIN, *rows, END + after]), encoding="utf-8")


if __name__ == "__main__":
    main()
