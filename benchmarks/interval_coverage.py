"""How often intervals hold the truth, where the truth is known: simulated scores, no model.

    python benchmarks/interval_coverage.py [--draws 1000] [--page docs/intervals.md]

Each row of the table is a world: scores are drawn from it many times, and each time the package computes its interval.
Beside it stands what a plain bootstrap over the same terms, or over occupations and structures, would have held. The
tests of the package run some of these worlds with fewer draws.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Generic, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from evenhand.instruments.association.measures import MEASURES, ClusterTotals
from evenhand.instruments.malor.comparison import malor_difference
from evenhand.instruments.malor.estimates import LogRatios, malor, malor_estimate
from evenhand.stats.intervals import cluster_interval
from evenhand.stats.resampling import Resampling
from evenhand.stats.significance import clustered_sign_flip, exact_binomial

Floats: TypeAlias = npt.NDArray[np.float64]
Ends: TypeAlias = tuple[float, float]

RESAMPLING = Resampling(resamples=1_000)
PLAIN = 400
"""Resamples of the plain bootstrap of MALoR."""

BEGIN, END = "<!-- begin table -->", "<!-- end table -->"


@dataclass(frozen=True)
class Coverage:
    """How often intervals held the truth, and on which side they missed it."""

    draws: int
    below: int
    """Intervals that end below the truth."""
    above: int
    """Intervals that start above the truth."""

    @property
    def share(self) -> float:
        """Intervals that held the truth."""
        return 1 - (self.below + self.above) / self.draws


Scores = TypeVar("Scores")


@dataclass(frozen=True)
class World(Generic[Scores]):
    """Scores whose truth is known, and how an interval is computed from them."""

    measure: str
    scores: str
    truth: float
    draw: Callable[[np.random.Generator], Scores]
    interval: Callable[[Scores], Ends]
    plain: Callable[[Scores], Ends] | None = None
    group: str = ""
    """Worlds of one measure and group share a row of the table; each has its own if this is empty."""


def coverage(
    world: World[Scores], interval: Callable[[Scores], Ends], *, draws: int, seed: int = 1
) -> Coverage:
    """Draw scores, and count on which side of the truth their intervals lie."""
    generator = np.random.default_rng(seed)
    ends = np.array([interval(world.draw(generator)) for _ in range(draws)])
    slack = 1e-9
    below = int(np.count_nonzero(ends[:, 1] < world.truth - slack))
    return Coverage(draws, below, int(np.count_nonzero(ends[:, 0] > world.truth + slack)))


# Association items


@dataclass(frozen=True)
class Terms:
    """Items about target terms whose true shares are drawn anew each time."""

    sizes: tuple[int, ...]
    shares: Callable[[np.random.Generator, int], Floats]
    """True share of stereotypes of each term."""
    lms: float = 0.9

    def __call__(self, generator: np.random.Generator) -> ClusterTotals:
        """Totals of one run."""
        sizes = np.array(self.sizes)
        return ClusterTotals(
            names=tuple(f"term {number:03}" for number in range(len(sizes))),
            items=sizes.astype(np.float64),
            stereotype=generator.binomial(sizes, self.shares(generator, len(sizes))).astype(np.float64),
            meaningful=generator.binomial(2 * sizes, self.lms) / 2,
            log_ratio=np.zeros(len(sizes)),
        )


def beta(mean: float, correlation: float) -> Callable[[np.random.Generator, int], Floats]:
    """True shares with this mean, and this correlation of items of one term."""
    if correlation == 0:
        return lambda _, terms: np.full(terms, mean)
    total = 1 / correlation - 1
    return lambda generator, terms: generator.beta(mean * total, (1 - mean) * total, terms)


STEREOSET = tuple(20 + term % 14 for term in range(79))


def term_intervals(name: str) -> Callable[[ClusterTotals], Ends]:
    """The interval of a measure as a run has it."""

    def interval(totals: ClusterTotals) -> Ends:
        found = MEASURES[name].interval(totals, resampling=RESAMPLING)
        return (found.low, found.high) if math.isfinite(found.low) else (-math.inf, math.inf)

    return interval


def plain_intervals(name: str) -> Callable[[ClusterTotals], Ends]:
    """The interval of a measure from a bootstrap over terms alone."""

    def interval(totals: ClusterTotals) -> Ends:
        compute = partial(MEASURES[name].compute, totals)
        found = cluster_interval(compute, len(totals), resampling=RESAMPLING, lowest=0, highest=100)
        return (found.low, found.high) if math.isfinite(found.low) else (-math.inf, math.inf)

    return interval


def icat_worlds() -> Iterator[World[ClusterTotals]]:
    """ICAT at SS 50, where it has a kink, and away from it."""
    for title, sizes in (
        ("79 terms of 20-33", STEREOSET),
        ("24 terms of 8", (8,) * 24),
        ("12 terms of 8", (8,) * 12),
    ):
        for ss, correlation, lms in (
            (0.5, 0.0, 0.9),
            (0.5, 0.1, 0.9),
            (0.5, 0.0, 0.7),
            (0.52, 0.0, 0.9),
            (0.6, 0.1, 0.9),
        ):
            yield World(
                "ICAT",
                f"{title}, SS {100 * ss:g}, LMS {100 * lms:g}, correlation {correlation:g}",
                200 * lms * min(ss, 1 - ss),
                Terms(sizes, beta(ss, correlation), lms),
                term_intervals("ICAT"),
                plain_intervals("ICAT"),
            )


SPREADS: dict[str, Callable[[np.random.Generator, int], Floats]] = {
    "all terms at 50": beta(0.5, 0),
    "SS of terms 50, sd 8": beta(0.5, 1 / 41),
    "SS of terms 50, sd 22": beta(0.5, 0.2),
    "SS of terms 60, sd 15": beta(0.6, 1 / 11),
    "all terms at 60": beta(0.6, 0),
    "half the terms at 30, half at 70": lambda generator, terms: generator.choice([0.3, 0.7], terms),
    "most terms at 50, some at 90": lambda generator, terms: np.where(
        generator.random(terms) < 0.7, 0.5, 0.9
    ),
}


def macro_icat_worlds() -> Iterator[World[ClusterTotals]]:
    """Macro ICAT corrected, against what macro ICAT would be with endless items."""
    for title, sizes in (("79 terms of 20-33", STEREOSET), ("24 terms of 8", (8,) * 24)):
        for spread, shares in SPREADS.items():
            endless = shares(np.random.default_rng(0), 1_000_000)
            yield World(
                "macro ICAT corrected",
                f"{title}, {spread}",
                180 * float(np.minimum(endless, 1 - endless).mean()),
                Terms(sizes, shares),
                term_intervals("macro_ICAT_corrected"),
                plain_intervals("macro_ICAT"),
            )


def share_worlds() -> Iterator[World[ClusterTotals]]:
    """A share of 97%, of which few items say anything."""
    for terms, items in ((8, 8), (8, 26), (16, 12), (24, 8), (40, 6), (40, 26)):
        for correlation in (0.0, 0.1, 0.3):
            yield World(
                "SS",
                f"{terms} terms of {items}, SS 97, correlation {correlation:g}",
                97.0,
                Terms((items,) * terms, beta(0.97, correlation)),
                term_intervals("SS"),
                plain_intervals("SS"),
            )


# Occupations and structures


@dataclass(frozen=True)
class Leans:
    """Log-ratios with an effect of each occupation, one of each structure that all occupations share, and noise."""

    mean: float
    occupation: float
    structure: float
    structures: int
    occupations: int
    noise: float = 0.5
    skewed: bool = False

    def __call__(self, generator: np.random.Generator) -> LogRatios:
        """Answers of one model."""
        rows, columns = (self.occupations, 1), (1, self.structures)
        effects = generator.exponential(size=rows) - 1 if self.skewed else generator.normal(size=rows)
        return LogRatios(
            self.mean
            + self.occupation * effects
            + self.structure * generator.normal(size=columns)
            + self.noise * generator.normal(size=(self.occupations, self.structures))
        )

    @property
    def truth(self) -> float:
        """MALoR over endless occupations and structures."""
        if self.skewed:
            endless = np.random.default_rng(0).exponential(size=1_000_000) - 1
            return float(np.abs(self.mean + self.occupation * endless).mean())
        ratio = self.mean / self.occupation
        return self.occupation * math.sqrt(2 / math.pi) * math.exp(-(ratio**2) / 2) + self.mean * math.erf(
            ratio / math.sqrt(2)
        )

    def __str__(self) -> str:
        words = (
            f"{self.structures} structures, {self.occupations} occupations, mean {self.mean:g}, sd of occupations "
            f"{self.occupation:g}, of structures {self.structure:g}, noise {self.noise:g}"
        )
        return f"{words}, skewed" if self.skewed else words


def malor_interval(ratios: LogRatios) -> Ends:
    """The interval of MALoR as a run has it."""
    found = malor_estimate(ratios, resampling=RESAMPLING)
    return found.low, found.high


def plain_malor_interval(ratios: LogRatios) -> Ends:
    """The basic bootstrap over occupations and structures."""
    generator = np.random.default_rng(2)
    rows, columns = (
        generator.multinomial(count, np.full(count, 1 / count), size=PLAIN)
        for count in (ratios.occupations, ratios.structures)
    )
    leans = np.abs(ratios.leans(columns.astype(np.float64)))
    low, high = np.quantile((leans * rows).sum(axis=1) / ratios.occupations, [0.025, 0.975])
    return max(0.0, 2 * malor(ratios) - float(high)), 2 * malor(ratios) - float(low)


MALOR_GRID = tuple(
    Leans(mean, occupation, structure, structures, occupations)
    for mean in (0.0, 0.3, 1.0)
    for occupation in (0.05, 0.3, 1.0)
    for structure in (0.3, 1.0)
    for structures, occupations in ((8, 10), (8, 60), (20, 30), (54, 10), (54, 60))
)

MALOR_OTHERS = (
    Leans(0.3, 0.3, 0.3, 20, 30, noise=1.5),
    Leans(0.0, 0.05, 1.0, 8, 60, noise=1.5),
    Leans(0.3, 1.0, 0.3, 54, 10, skewed=True),
    Leans(0.3, 0.3, 0.3, 54, 60, skewed=True),
)


def malor_worlds(*grid: Leans) -> Iterator[World[LogRatios]]:
    """MALoR with an effect of structures that all occupations share."""
    for leans in grid:
        shared = f"{leans.structures} structures, {leans.occupations} occupations, sd of structures {leans.structure:g}"
        group = shared if leans in MALOR_GRID else ""
        yield World("MALoR", str(leans), leans.truth, leans, malor_interval, plain_malor_interval, group)


def mitigated(before: Leans, after: Leans) -> Callable[[np.random.Generator], tuple[LogRatios, LogRatios]]:
    """Answers of a model before and after, the noise of each its own."""
    return lambda generator: (before(generator), after(generator))


def malor_difference_worlds() -> Iterator[World[tuple[LogRatios, LogRatios]]]:
    """MALoR of two models."""

    def interval(pair: tuple[LogRatios, LogRatios]) -> Ends:
        found = malor_difference(*pair, resampling=RESAMPLING)
        return found.low, found.high

    for structures, occupations in ((8, 10), (20, 30), (54, 60)):
        for before, after in (
            (Leans(1.0, 0.5, 1.0, structures, occupations), Leans(0.1, 0.1, 0.3, structures, occupations)),
            (Leans(0.3, 0.3, 1.0, structures, occupations), Leans(0.3, 0.3, 1.0, structures, occupations)),
        ):
            yield World(
                "MALoR, difference",
                f"{before}; then mean {after.mean:g}, sd {after.occupation:g} and {after.structure:g}",
                after.truth - before.truth,
                mitigated(before, after),
                interval,
            )


def false_alarms(correlation: float, *, draws: int, seed: int = 1) -> tuple[float, float]:
    """How often p < 0.05 for a neutral model: the exact binomial test, and the test that respects terms."""
    generator = np.random.default_rng(seed)
    world = Terms(STEREOSET, beta(0.5, correlation))
    alarms = np.zeros(2)
    for _ in range(draws):
        totals = world(generator)
        wins, items = int(totals.stereotype.sum()), int(totals.items.sum())
        net = 2 * totals.stereotype - totals.items
        p_values = exact_binomial(wins, items - wins), clustered_sign_flip(net, resampling=RESAMPLING)
        alarms += np.array(p_values) < 0.05
    binomial, clustered = (alarms / draws).tolist()
    return binomial, clustered


def table(draws: int) -> str:
    """All worlds as Markdown."""
    worlds: tuple[World[Any], ...] = (
        *icat_worlds(),
        *macro_icat_worlds(),
        *share_worlds(),
        *malor_worlds(*MALOR_GRID, *MALOR_OTHERS),
        *malor_difference_worlds(),
    )
    rows: dict[tuple[str, str], list[tuple[Coverage, Coverage | None]]] = {}
    for seed, world in enumerate(worlds):
        found = coverage(world, world.interval, draws=draws, seed=seed)
        plain = coverage(world, world.plain, draws=draws, seed=seed) if world.plain else None
        rows.setdefault((world.measure, world.group or world.scores), []).append((found, plain))
    lines = [
        "| interval of | scores | held | ends below | starts above | plain bootstrap held |",
        "| --- | --- | ---: | ---: | ---: | ---: |",
    ]
    for (measure, scores), pairs in rows.items():
        columns = (
            [found.share for found, _ in pairs],
            [found.below / draws for found, _ in pairs],
            [found.above / draws for found, _ in pairs],
            [plain.share for _, plain in pairs if plain],
        )
        lines.append(f"| {measure} | {scores} | {' | '.join(map(_percent, columns))} |")
    lines += [
        "",
        "| correlation of items of one term | exact binomial p < 0.05 | clustered p < 0.05 |",
        "| ---: | ---: | ---: |",
    ]
    for correlation in (0.0, 0.05, 0.1, 0.2):
        binomial, clustered = false_alarms(correlation, draws=draws)
        lines.append(f"| {correlation:g} | {_percent([binomial])} | {_percent([clustered])} |")
    return "\n".join(lines)


def _percent(shares: list[float]) -> str:
    """One share, or the smallest and the largest of several."""
    if not shares:
        return "–"
    ends = [f"{100 * share:.1f}" for share in (min(shares), max(shares))]
    return f"{ends[0]}%" if len(shares) == 1 else f"{ends[0]}–{ends[1]}%"


def main() -> None:
    """Print the table, or put it into a page."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--draws", type=int, default=1_000)
    parser.add_argument("--page", type=Path)
    options = parser.parse_args()
    found = f"{options.draws:,} draws of each world.\n\n{table(options.draws)}"
    if options.page is None:
        print(found)
        return
    text = options.page.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    options.page.write_text(f"{before}{BEGIN}\n{found}\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
