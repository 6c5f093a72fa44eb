"""Before anything is measured: what loss would data exclude, if there is none?

A quality is called kept where the whole interval of its change is within the margin. Its power is how often that
happens when nothing was lost. It follows from how many units there are and how much they vary, which is assumed here.

Shares are judged by the score interval (``score_intervals``). If a share c of the units changes, half of them for
better and half for worse, the mean difference d of n units has variance c / n, and the lower end lies above -m where

    (m + d)^2 >= z^2 / n (c + m - m^2) + r^2

with r for what the seeds of classifiers add. Means are judged by a t interval, so their power is a share of the
noncentral t distribution.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeAlias

from scipy import special

from evenhand.stats.score_intervals import FEWEST_SEEDS

WANTED_POWER = 0.8
"""How often a harmless mitigation should be called kept."""

_MOST_UNITS = 10_000_000


@dataclass(frozen=True, slots=True)
class ShareTest:
    """A difference of shares, judged by the score interval."""

    changed: float
    """The share of units that change, as many for better as for worse."""
    confidence: float
    seeds: int = 1
    seed_deviation: float = 0.0
    """Standard deviation of the difference between seeds, beyond what chance gives to so many units."""

    def power(self, units: float, margin: float) -> float:
        """How often the lower end stays above the margin, of a quality without any loss.

        Args:
            units: How many independent ones there are.
            margin: What is tolerated; a fraction, above 0.
        """
        if self.seed_deviation and self.seeds < FEWEST_SEEDS:
            return 0.0  # there is no interval
        z = float(special.ndtri((1 + self.confidence) / 2))
        of_seeds = self.seed_deviation / math.sqrt(self.seeds)
        reach = (
            of_seeds * float(special.stdtrit(self.seeds - 1, (1 + self.confidence) / 2)) if of_seeds else 0.0
        )
        length = math.sqrt(z * z / units * (self.changed + margin - margin * margin) + reach * reach)
        error = math.hypot(math.sqrt(self.changed / units), of_seeds)
        if not error:
            return float(length <= margin)
        return float(special.ndtr((margin - length) / error))


@dataclass(frozen=True, slots=True)
class MeanTest:
    """A mean change, judged by a t interval."""

    deviation: float
    """Standard deviation of the change between units."""
    confidence: float

    def power(self, units: float, margin: float) -> float:
        """How often the end of the interval stays within the margin."""
        freedom = units - 1
        if freedom < 1:
            return 0.0
        limit = float(special.stdtrit(freedom, (1 + self.confidence) / 2))
        # The noncentral t distribution is that of (mean + margin) / error, which must exceed the limit.
        noncentrality = margin * math.sqrt(units) / self.deviation
        share = 1 - float(special.nctdtr(freedom, noncentrality, limit))
        # Far in its tail the function of scipy has no value: there the interval is a sliver of the margin.
        return share if math.isfinite(share) else float(noncentrality > limit)


MarginTest: TypeAlias = ShareTest | MeanTest
"""How a quality is held against its margin."""


def provable_margin(test: MarginTest, units: float, *, highest: float, power: float = WANTED_POWER) -> float:
    """The smallest margin within which a quality without any loss is called kept often enough; NaN if none is.

    Args:
        test: How the quality is judged.
        units: How many independent ones there are.
        highest: The largest margin to try.
        power: How often it should be called kept.
    """
    if test.power(units, highest) < power:
        return math.nan
    low, high = 0.0, highest
    while high - low > 1e-5 * highest:
        middle = (low + high) / 2
        low, high = (low, middle) if test.power(units, middle) >= power else (middle, high)
    return high


def needed_units(test: MarginTest, margin: float, *, power: float = WANTED_POWER) -> int | None:
    """The fewest independent units of which a quality without any loss is called kept often enough; None if none are.

    Args:
        test: How the quality is judged.
        margin: What is tolerated; a fraction.
        power: How often it should be called kept.
    """
    low, high = 1, 2
    while test.power(high, margin) < power:
        low, high = high, 2 * high
        if low > _MOST_UNITS:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if test.power(middle, margin) >= power else (middle, high)
    return high
