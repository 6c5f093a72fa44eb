"""Worlds of two models that are asked the same: a mitigated model keeps much of what its original says.

Occupations and structures move both models alike, and so does most of the noise. ``interval_coverage.py`` counts how
often intervals hold the truth here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from interval_worlds import RESAMPLING, Ends, Floats, Leans, World, difference_interval

from evenhand.instruments.knowledge.quality import kept_evidence
from evenhand.instruments.malor.comparison import BASE_RATE, MALOR_MEASURE, SPREAD
from evenhand.instruments.malor.estimates import LogRatios
from evenhand.stats.score_intervals import score_interval


@dataclass(frozen=True)
class Shrunk:
    """A model, and another that has a part of its base rate, of its leans of occupations and of the rest."""

    before: Leans
    mean: float
    occupation: float
    rest: float
    noise_in_common: float = 0.8

    def __call__(self, generator: np.random.Generator) -> tuple[LogRatios, LogRatios]:
        """Answers of both."""
        own = self.before
        occupations = own.occupation * generator.normal(size=(own.occupations, 1))
        structures = own.structure * generator.normal(size=(1, own.structures))
        noise, other = own.noise * generator.normal(size=(2, own.occupations, own.structures))
        kept = np.sqrt(self.noise_in_common) * noise + np.sqrt(1 - self.noise_in_common) * other
        return (
            LogRatios(own.mean + occupations + structures + noise),
            LogRatios(self.mean * own.mean + self.occupation * occupations + self.rest * (structures + kept)),
        )

    @property
    def after(self) -> Leans:
        """The second model by itself."""
        own = self.before
        return replace(own, mean=self.mean * own.mean, occupation=self.occupation * own.occupation)

    def __str__(self) -> str:
        return (
            f"{self.before}; the second has {self.mean:g} of the mean, {self.occupation:g} of occupations, "
            f"{self.rest:g} of the rest, most noise in common"
        )


def shrunk_worlds(*sizes: tuple[int, int]) -> Iterator[World[tuple[LogRatios, LogRatios]]]:
    """Differences of MALoR and its parts where a mitigation shrinks what there was, or leaves it."""
    for measure in (MALOR_MEASURE, BASE_RATE, SPREAD):
        for structures, occupations in sizes:
            for mean, occupation, structure, shares in (
                (1.2, 0.5, 1.0, (0.1, 0.2, 0.3)),
                (0.3, 0.3, 1.0, (1.0, 1.0, 1.0)),
                (0.3, 0.3, 1.0, (0.5, 0.5, 0.5)),
                (0.05, 0.6, 0.5, (1.0, 0.15, 0.5)),
                (1.2, 0.5, 1.0, (0.1, 1.0, 1.0)),
            ):
                pair = Shrunk(Leans(mean, occupation, structure, structures, occupations), *shares)
                yield World(
                    f"{measure.row_name}, difference of paired models",
                    str(pair),
                    pair.after.truth(measure) - pair.before.truth(measure),
                    pair,
                    difference_interval(measure),
                    group=f"{structures} structures, {occupations} occupations, five kinds of change",
                )


PAIRED_SIZES = ((8, 10), (27, 30), (54, 60))


@dataclass(frozen=True)
class Gaps:
    """Evidence gaps of two models over pairs of twins: the second has a part of the first one's, and noise."""

    pairs: int
    kept: float
    mean: float = 5.0
    deviation: float = 4.0
    noise: float = 1.5

    def __call__(self, generator: np.random.Generator) -> tuple[Floats, Floats]:
        """Gaps of both."""
        shape = (self.mean / self.deviation) ** 2
        first = generator.gamma(shape, self.mean / shape, self.pairs)
        return first, self.kept * first + self.noise * generator.normal(size=self.pairs)


def evidence_worlds() -> Iterator[World[tuple[Floats, Floats]]]:
    """The share of the evidence gap that was kept."""
    for pairs in (60, 128, 300):
        for kept in (0.3, 0.75, 1.0):
            yield World(
                "evidence kept",
                f"{pairs} pairs of twins, {100 * kept:g}% kept",
                kept,
                Gaps(pairs, kept),
                evidence_interval,
            )


def evidence_interval(gaps: tuple[Floats, Floats]) -> Ends:
    """The interval as a certificate has it."""
    found = kept_evidence(*gaps, sentences=2 * len(gaps[0]), resampling=RESAMPLING)
    return found.low, found.high


def knowledge_worlds() -> Iterator[World[Floats]]:
    """The difference of shares right over pairs of twins, which change together or apart."""
    for pairs in (165, 300):
        for loss, gain in ((0.0, 0.0), (0.01, 0.01), (0.04, 0.01), (0.2, 0.05)):
            for together in (0.0, 0.5, 1.0):
                yield World(
                    "knowledge, difference",
                    f"{pairs} pairs of twins, {100 * loss:g}% lost, {100 * gain:g}% gained, {together:g} together",
                    100 * (gain - loss),
                    changed_pairs(pairs, loss, gain, together),
                    knowledge_interval,
                    group=f"{pairs} pairs of twins, {100 * loss:g}% lost, {100 * gain:g}% gained",
                )


def changed_pairs(
    pairs: int, loss: float, gain: float, together: float
) -> Callable[[np.random.Generator], Floats]:
    """Changes of the share right of each pair."""

    def draw(generator: np.random.Generator) -> Floats:
        first = generator.random(pairs)
        second = np.where(generator.random(pairs) < together, first, generator.random(pairs))
        changes: Floats = sum(
            (np.where(own < loss, -0.5, np.where(own > 1 - gain, 0.5, 0.0)) for own in (first, second)),
            np.zeros(pairs),
        )
        return changes

    return draw


def knowledge_interval(changes: Floats) -> Ends:
    """The interval as a certificate has it."""
    found = score_interval(changes, confidence=RESAMPLING.confidence)
    return 100 * found.low, 100 * found.high
