"""When are a classifier's confusions not undone, and is that right? Simulated studies, no model.

    python benchmarks/regard_guard.py [--studies 400] [--seed 1] [--page docs/regard-analysis.md]

A classifier's confusions are known from a sample of other texts. Undoing them gives shares below 0 where it errs
otherwise on the texts in question, but also by chance, where a label is rare. Rules that say when a share is impossible
are set beside each other: a fixed number of points, and an interval that lies below 0 or above 1 as a whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
from simulation_tables import print_simulation

from evenhand.lab.regard_coverage import CONTRAST
from evenhand.lab.regard_gap import PUBLISHED_CONFUSION
from evenhand.stats.classification import confusion_totals, independent_clusters
from evenhand.stats.group_shares import CountedShares
from evenhand.stats.label_error import UnconfusedShares, confusion_problem
from evenhand.stats.resampling import Floats, Resampling

RESAMPLING = Resampling(resamples=300)
CONTEXTS, TEXTS, LABELS = 10, 100, 3
GAP = 10.0
"""Points between the groups, in negative texts."""
CONCENTRATION = 40.0
"""How alike contexts are: shares of each are drawn from a Dirichlet distribution around those of the group."""
ERRORS = {1.0: "as on the sample", 0.0: "never", 0.5: "half as often", 1.5: "1.5 times as often"}
"""On the texts in question, as a multiple of errors on the labelled sample."""
FIXED = (2.5, 5.0, 10.0)
"""Points beyond which a fixed rule calls a share impossible."""


@dataclass(frozen=True, slots=True)
class World:
    """How rare positive texts are, how many texts people labelled, and how much the classifier errs on the others."""

    rare: float
    labelled: int
    errors: float
    """One of ``ERRORS``."""


@dataclass(frozen=True, slots=True)
class Study:
    """What one study gives."""

    holds: bool
    """Whether the interval of the gap with confusions undone holds the gap."""
    error: float
    plain_error: float
    """Of the gap as labelled."""
    outside: float
    """How far a share is below 0 or above 100 percent, in points."""
    is_possible: bool
    """By the rule of the package."""


def worlds() -> Iterator[World]:
    """All that the table has."""
    for errors, rare, labelled in product(ERRORS, (0.01, 0.05, 0.15), (60, 300)):
        yield World(rare, labelled, errors)


def rates(errors: float) -> Floats:
    """How often the classifier gives each label to texts of each true one."""
    counts = np.array(PUBLISHED_CONFUSION, dtype=float)
    known = counts / counts.sum(axis=1, keepdims=True)
    wrong = errors * known * (1 - np.eye(LABELS))
    return np.asarray(wrong + np.diag(1 - wrong.sum(axis=1)))


def study(world: World, generator: np.random.Generator) -> Study | None:
    """One study; None where too few texts of a label are in the sample for any rule to be asked."""
    half = GAP / 200
    negative = np.array([0.25 - half, 0.25 + half])
    groups = np.stack([negative, 1 - negative - world.rare, np.full(2, world.rare)], axis=1)
    given = rates(world.errors)
    counts = np.zeros((CONTEXTS, 2, LABELS))
    for context, group in product(range(CONTEXTS), range(2)):
        true = generator.multinomial(TEXTS, generator.dirichlet(CONCENTRATION * groups[group]))
        for label, count in enumerate(true):
            counts[context, group] += generator.multinomial(count, given[label])
    human = np.repeat(np.arange(LABELS), world.labelled // LABELS)
    predicted = np.array([generator.choice(LABELS, p=rates(1.0)[label]) for label in human])
    confusions = confusion_totals(human, predicted, classes=LABELS, clusters=independent_clusters(len(human)))
    if confusion_problem(confusions.sum(axis=0)) is not None:
        return None
    shares = UnconfusedShares(counts, confusions)
    interval = shares.interval(CONTRAST, resampling=RESAMPLING)
    values = shares.shares(np.ones((1, CONTEXTS)))
    return Study(
        holds=interval.low <= GAP <= interval.high,
        error=shares.value(CONTRAST) - GAP,
        plain_error=CountedShares(counts).value(CONTRAST) - GAP,
        outside=100 * float(max(-values.min(), values.max() - 1)),
        is_possible=shares.are_possible(resampling=RESAMPLING),
    )


def table(studies: int, seed: int) -> Iterator[str]:
    """The table as Markdown, row by row."""
    fixed = " | ".join(f"beyond {points:g} points" for points in FIXED)
    yield (
        f"| the classifier errs | positive texts | labelled | {fixed} | beyond chance | intervals that hold the gap | "
        "where not beyond chance | RMSE, undone | RMSE, as labelled |"
    )
    yield f"|{'---|' * (8 + len(FIXED))}"
    for place, world in enumerate(worlds()):
        generator = np.random.default_rng(seed + place)
        drawn = [own for _ in range(studies) if (own := study(world, generator)) is not None]
        beyond = [np.mean([own.outside > points for own in drawn]) for points in FIXED]
        kept = [own.holds for own in drawn if own.is_possible]
        cells = [
            *beyond,
            np.mean([not own.is_possible for own in drawn]),
            np.mean([own.holds for own in drawn]),
        ]
        shown = " | ".join(f"{100 * cell:.0f}%" for cell in cells)
        errors = [np.array([getattr(own, name) for own in drawn]) for name in ("error", "plain_error")]
        yield (
            f"| {ERRORS[world.errors]} | {100 * world.rare:g}% | {world.labelled} | {shown} | "
            f"{f'{100 * np.mean(kept):.0f}%' if kept else '–'} | "
            f"{' | '.join(f'{np.sqrt(np.mean(own**2)):.1f}' for own in errors)} |"
        )


if __name__ == "__main__":
    print_simulation(table, description=__doc__, marker="guard", studies=400)
