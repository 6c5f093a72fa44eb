"""Worlds in which the truth is known: scores that are drawn from them, and the intervals that the package computes.

``interval_coverage.py`` counts how often these hold the truth.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Generic, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
from scipy import special

from evenhand.certificate.quality_figures import perplexity_row
from evenhand.instruments.association.measures import MEASURES, ClusterTotals
from evenhand.instruments.malor.comparison import BASE_RATE, MALOR_MEASURE, SPREAD, LeanMeasure
from evenhand.instruments.malor.estimates import LogRatios, malor
from evenhand.stats.intervals import cluster_interval
from evenhand.stats.resampling import Resampling
from evenhand.store.held_out_losses import HeldOutLoss

Floats: TypeAlias = npt.NDArray[np.float64]
Ends: TypeAlias = tuple[float, float]

RESAMPLING = Resampling(resamples=1_000)
PLAIN = 400
"""Resamples of the plain bootstrap of MALoR."""

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


# Documents


@dataclass(frozen=True)
class Documents:
    """Held-out text whose perplexity rises by a share on average, in some documents more than in others."""

    count: int
    effects: str
    """How documents differ: ``normal``, ``exponential``, ``one in ten`` of which all bear the loss, or not at all."""
    unequal: float = 0.0
    """Standard deviation of the logarithm of their lengths."""
    loss: float = 1.0
    """The rise, in percent."""
    sentences: int = 40

    def __call__(self, generator: np.random.Generator) -> Losses:
        """What two models make of it."""
        rise = {
            "none": np.zeros(self.count),
            "normal": generator.normal(size=self.count),
            "exponential": generator.exponential(size=self.count) - 1,
            "one in ten": np.where(generator.random(self.count) < 0.1, 9.0, -1.0),
        }[self.effects]
        sizes = np.maximum(2, self.sentences * generator.lognormal(0, self.unequal, self.count)).astype(int)
        documents = np.repeat(np.arange(self.count), sizes)
        tokens = generator.integers(3, 12, len(documents))
        mean = math.log1p(self.loss / 100) + (0.01 * rise)[documents]
        changes = tokens * mean + np.sqrt(tokens) * generator.normal(0, 0.1, len(tokens))
        return HeldOutLoss(np.zeros(len(tokens)), tokens), HeldOutLoss(changes, tokens), documents

    def __str__(self) -> str:
        return f"{documents_words(self.count, self.unequal)}, effects: {self.effects}"


def documents_words(count: int, unequal: float) -> str:
    """How many documents there are, and how unequal."""
    few_long = unequal > 1
    lengths = ", a few of them very long" if few_long else " of very unequal length" if unequal else ""
    return f"{count} documents{lengths}"


Losses: TypeAlias = tuple[HeldOutLoss, HeldOutLoss, npt.NDArray[np.int64]]


def perplexity_interval(losses: Losses) -> Ends:
    """The interval as a certificate has it, in percent."""
    before, after, documents = losses
    found = perplexity_row(before, after, margin=1.0, resampling=RESAMPLING, documents=documents).difference
    return found.low, found.high


def plain_perplexity_interval(losses: Losses) -> Ends:
    """The t interval of the mean over documents, which takes them for normal."""
    _, after, documents = losses
    tops, sizes = (np.bincount(documents, weights=values) for values in (after.nats, after.tokens))
    value = tops.sum() / sizes.sum()
    deviations = (tops.sum() - tops) / (sizes.sum() - sizes) - value
    error = math.sqrt((len(tops) - 1) / len(tops) * float(deviations @ deviations))
    reach = error * float(special.stdtrit(sizes.sum() ** 2 / (sizes @ sizes) - 1, 0.975))
    low, high = 100 * np.expm1([value - reach, value + reach])
    return float(low), float(high)


DOCUMENTS = (
    (5, 0.0),
    (12, 0.0),
    (12, 0.7),
    (30, 0.0),
    (60, 0.0),
    (60, 0.7),
    (100, 0.0),
    (100, 0.7),
    (60, 1.3),
)
"""How many there are, and how unequal their lengths are."""


def document_worlds() -> Iterator[World[Losses]]:
    """Perplexity that rises by the margin of 1% exactly: an interval that ends below says that it was kept."""
    # Worlds that are added come last, so that the others keep their random numbers.
    for place in (DOCUMENTS[:-1], DOCUMENTS[-1:]):
        for effects, (count, unequal) in product(("normal", "exponential", "one in ten"), place):
            drawn = Documents(count, effects, unequal)
            yield World("perplexity", str(drawn), 1.0, drawn, perplexity_interval, plain_perplexity_interval)


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

    def truth(self, measure: LeanMeasure) -> float:
        """The measure over endless occupations and structures."""
        if measure is BASE_RATE:
            return self.mean
        mean = 0.0 if measure is SPREAD else self.mean
        if self.skewed:
            endless = np.random.default_rng(0).exponential(size=1_000_000) - 1
            return float(np.abs(mean + self.occupation * endless).mean())
        ratio = mean / self.occupation
        return self.occupation * math.sqrt(2 / math.pi) * math.exp(-(ratio**2) / 2) + mean * math.erf(
            ratio / math.sqrt(2)
        )

    @property
    def group(self) -> str:
        """What worlds that share a row have in common."""
        return f"{self.structures} structures, {self.occupations} occupations, sd of structures {self.structure:g}"

    def __str__(self) -> str:
        words = (
            f"{self.structures} structures, {self.occupations} occupations, mean {self.mean:g}, sd of occupations "
            f"{self.occupation:g}, of structures {self.structure:g}, noise {self.noise:g}"
        )
        return f"{words}, skewed" if self.skewed else words


def lean_interval(measure: LeanMeasure) -> Callable[[LogRatios], Ends]:
    """The interval of a measure as a run has it."""

    def interval(ratios: LogRatios) -> Ends:
        found = measure.estimate(ratios, resampling=RESAMPLING)
        return found.low, found.high

    return interval


def plain_malor_interval(ratios: LogRatios) -> Ends:
    """The basic bootstrap over occupations and structures."""
    generator = np.random.default_rng(2)
    rows, columns = (
        generator.multinomial(count, np.full(count, 1 / count), size=PLAIN)
        for count in (ratios.occupations, ratios.structures)
    )
    leans = np.abs(columns @ ratios.values.T) / ratios.structures
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


PART_GRID = tuple(
    Leans(0.3, occupation, structure, structures, occupations)
    for occupation in (0.05, 0.3, 1.0)
    for structure in (0.3, 1.0)
    for structures, occupations in ((8, 10), (8, 60), (20, 30), (54, 10), (54, 60))
)


def malor_worlds(*grid: Leans) -> Iterator[World[LogRatios]]:
    """MALoR with an effect of structures that all occupations share."""
    for leans in grid:
        yield World(
            "MALoR",
            str(leans),
            leans.truth(MALOR_MEASURE),
            leans,
            lean_interval(MALOR_MEASURE),
            plain_malor_interval,
            leans.group if leans in MALOR_GRID else "",
        )


def part_worlds(*grid: Leans) -> Iterator[World[LogRatios]]:
    """The two parts of MALoR."""
    for measure in (BASE_RATE, SPREAD):
        for leans in grid:
            yield World(
                measure.row_name,
                str(leans),
                leans.truth(measure),
                leans,
                lean_interval(measure),
                None,
                leans.group,
            )


def mitigated(before: Leans, after: Leans) -> Callable[[np.random.Generator], tuple[LogRatios, LogRatios]]:
    """Answers of a model before and after, the noise of each its own."""
    return lambda generator: (before(generator), after(generator))


def difference_worlds() -> Iterator[World[tuple[LogRatios, LogRatios]]]:
    """MALoR and its parts of two models."""
    for measure in (MALOR_MEASURE, BASE_RATE, SPREAD):
        for structures, occupations in ((8, 10), (20, 30), (54, 60)):
            for before, after in (
                (
                    Leans(1.0, 0.5, 1.0, structures, occupations),
                    Leans(0.1, 0.1, 0.3, structures, occupations),
                ),
                (
                    Leans(0.3, 0.3, 1.0, structures, occupations),
                    Leans(0.3, 0.3, 1.0, structures, occupations),
                ),
            ):
                yield World(
                    f"{measure.row_name}, difference",
                    f"{before}; then mean {after.mean:g}, sd {after.occupation:g} and {after.structure:g}",
                    after.truth(measure) - before.truth(measure),
                    mitigated(before, after),
                    difference_interval(measure),
                )


def difference_interval(measure: LeanMeasure) -> Callable[[tuple[LogRatios, LogRatios]], Ends]:
    """The interval of a measure's difference as a comparison has it."""

    def interval(pair: tuple[LogRatios, LogRatios]) -> Ends:
        found = measure.difference(*pair, resampling=RESAMPLING)
        return found.low, found.high

    return interval
