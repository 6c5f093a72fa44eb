"""Interval of a mean absolute row mean, over rows (occupations) that are asked in columns (structures).

An absolute value folds. Noise can only raise it where rows are close to 0, a column effect moves all rows at once, and
the value is never below 0. So there is no estimate with an error of its own that an interval could be put around. The
interval is instead made of all values that a test does not reject.

With row means standardised to z, the mean absolute value is ``s h(m / s)``, where m is the true mean of rows, s their
true standard deviation and ``h(x)`` the mean of ``|x + z|``. A value fixes a curve of pairs (m, s). The test asks how
far the data are from the nearest pair of that curve, and how far from the nearest of all pairs; the difference of the
two squares is about the likelihood-ratio statistic. Distances are in standard errors: of the mean of rows, which has a
part from rows and one from columns, and of the variance of rows, noise included, by the root of its own likelihood
ratio.

Far from 0 the statistic has about a chi-squared distribution with one degree of freedom. Close to 0 it has not: the
curve is bent, and s ends at 0. So its distribution is simulated at the nearest pair of the curve (the parametric
bootstrap of a test; Chuang and Lai 2000, "Hybrid resampling methods for confidence intervals"). Ordering data by their
likelihood ratio lets all misses of an interval lie on one side where the value cannot be on the other (Feldman and
Cousins 1998, "Unified approach to the classical statistical analysis of small signals"), so that it misses as often
close to 0 as elsewhere.

Rows need not be normal. Heavy tails make their variance less sure (Bonett 2006, "Approximate confidence interval for
standard deviation of nonnormal distributions"), and of skewed rows mean and variance go together. Ten rows hardly show
how skewed they are, so the more skewed they look, the more the ends move to those of a t interval over rows, where
these are wider.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache

import numpy as np
from scipy import special

from evenhand.stats.crossed import TOO_FEW, CrossedVariance, t_quantile
from evenhand.stats.intervals import Interval
from evenhand.stats.resampling import Floats

ABSOLUTE_MEAN = "simulated likelihood ratio over occupations and structures"

_SHAPE_DOUBT = math.sqrt(math.pi - 2)
"""Errors of s are longer by this, because z is a sample. For normal rows, the part of the mean of |z| that s does not
explain has pi - 3 times the variance of the part that it does."""

_CURVE_POINTS = 48

_FARTHEST = 9.0
"""Standard errors from the data beyond which nothing is simulated."""

_TOLERANCE = 0.02
"""How exactly the ends are found, in standard errors of the mean of rows."""

_FEWEST_SKEWED = 3
"""Of fewer rows the skewness is always 0."""

_MOST_CORRELATED = 0.9

_FIBONACCI = 610, 377
"""Two numbers of Fibonacci in a row: how many points are spread over a square, and by which step."""

_TINY = 1e-12
"""Relative to the size of what is asked, nothing."""


def absolute_mean_interval(table: Floats, *, confidence: float) -> Interval:
    """Interval of the mean absolute row mean, without the noise and the column effects that move row means.

    Args:
        table: One row per occupation and one column per structure; NaN where nothing was asked.
        confidence: The confidence level.
    """
    if min(table.shape) < 2:
        return Interval.missing(TOO_FEW)
    variance = CrossedVariance.of(table)
    if variance.between_rows + variance.shared + variance.mean**2 == 0:
        return Interval(0.0, 0.0, ABSOLUTE_MEAN)
    test = _Test.of(variance, confidence=confidence)
    low, high = test.accepted()
    leans = np.abs(variance.without_noise)
    value = float(leans.mean())
    reach = t_quantile(variance.rows, confidence) * float(leans.std(ddof=1)) / math.sqrt(variance.rows)
    trust = test.shape.evidence_of_skewness
    low -= trust * max(0.0, low - max(0.0, value - reach))
    high += trust * max(0.0, value + reach - high)
    return Interval(low, high, ABSOLUTE_MEAN)


@dataclass(frozen=True, slots=True)
class _Shape:
    """How row means are distributed about their mean, whatever their mean and variance."""

    standardised: Floats
    knots: Floats
    """Where h bends, in ascending order."""
    heights: Floats
    """h at its knots."""

    @classmethod
    def of(cls, variance: CrossedVariance) -> _Shape:
        """Of row means; normal where they do not differ."""
        if variance.between_rows <= _TINY * variance.mean**2:
            standardised = special.ndtri((np.arange(variance.rows) + 0.5) / variance.rows)
        else:
            # Rows are closer to their own mean than to the true one, by the root of (n - 1) / n.
            standardised = (variance.row_means - variance.mean) / float(variance.row_means.std())
        knots = np.sort(-standardised)
        return cls(standardised, knots, np.abs(knots[:, None] + standardised).mean(axis=1))

    @property
    def skewness(self) -> float:
        """The third standardised moment."""
        return float(np.mean(self.standardised**3))

    @property
    def kurtosis(self) -> float:
        """The fourth standardised moment; 3 for normal rows."""
        return float(np.mean(self.standardised**4))

    @property
    def inflation(self) -> float:
        """How many times longer errors of the variance of rows are than those of normal rows.

        Few rows hide a long tail from their kurtosis more than from their skewness. So they are taken to have at least
        the kurtosis that a gamma distribution of their skewness has, and never less than normal ones.
        """
        count = len(self.standardised)
        if count < _FEWEST_SKEWED:
            return 1.0
        unbiased = self.skewness * math.sqrt(count * (count - 1)) / (count - 2)
        return math.sqrt((max(3 + 1.5 * unbiased**2, self.kurtosis) - 1) / 2)

    @property
    def evidence_of_skewness(self) -> float:
        """From 0, which is a skewness that normal rows have in half of all cases, to 1: one of twenty."""
        count = len(self.standardised)
        if count < _FEWEST_SKEWED:
            return 0.0
        error = math.sqrt(6 * (count - 2) / ((count + 1) * (count + 3)))
        none, full = special.ndtri([0.75, 0.975])
        return float(np.clip((abs(self.skewness) / error - none) / (full - none), 0.0, 1.0))

    def pairs(self, value: float, spreads: Floats) -> tuple[Floats, Floats]:
        """Means and spreads that give a mean absolute value: for each spread, up to the largest, one on either side."""
        lowest = int(self.heights.argmin())
        largest = value / float(self.heights[lowest])
        bent = largest * np.sin(np.linspace(0, np.pi / 2, _CURVE_POINTS))
        # A spread of 0 would leave nothing to divide by.
        spreads = np.clip(np.sort(np.append(spreads, bent)), _TINY * largest, largest)
        heights, knots = self.heights, self.knots
        wanted = value / spreads
        # Beyond the outermost knots nothing is folded, and h(x) is |x|.
        above = np.where(wanted < heights[-1], np.interp(wanted, heights[lowest:], knots[lowest:]), wanted)
        below = np.where(
            wanted < heights[0], np.interp(wanted, heights[lowest::-1], knots[lowest::-1]), -wanted
        )
        means = np.concatenate([above * spreads, (below * spreads)[::-1]])
        return means, np.concatenate([spreads, spreads[::-1]])


@dataclass(frozen=True, slots=True)
class _Test:
    """The test that the mean absolute row mean has a value, and what it knows of the table."""

    shape: _Shape
    rows: int
    mean: float
    between_rows: float
    """Variance of row means, noise included."""
    noise: float
    shared: float
    """Variance that column effects give the mean of rows; larger for few columns, as a t quantile is."""
    inflation: float
    """How many times longer errors of the variance of rows are than those of normal rows that are all known."""
    correlation: float
    """Of the errors of mean and variance of rows."""
    simulated: tuple[Floats, Floats]
    """Errors of the mean in standard errors, and of the variance as ratios to the true one."""
    confidence: float

    @classmethod
    def of(cls, variance: CrossedVariance, *, confidence: float) -> _Test:
        """From the parts of a table's variance."""
        shape = _Shape.of(variance)
        inflation = _SHAPE_DOUBT * shape.inflation
        by_rows = variance.between_rows / variance.rows
        total = by_rows + variance.shared
        # The square of a skewness is at most the kurtosis less 1, of samples too.
        together = shape.skewness / math.sqrt(max(1.0, shape.kurtosis - 1))
        correlation = together * math.sqrt(by_rows / total) if total else 0.0
        correlation = min(_MOST_CORRELATED, max(-_MOST_CORRELATED, correlation))
        normal = float(special.ndtri((1 + confidence) / 2))
        nothing = _TINY * (variance.between_rows + variance.shared + variance.mean**2)
        first, second = _normal_pairs()
        scores = correlation * first + math.sqrt(1 - correlation**2) * second
        freedom = variance.rows - 1
        return cls(
            shape=shape,
            rows=variance.rows,
            mean=variance.mean,
            between_rows=max(variance.between_rows, nothing),
            noise=max(variance.noise, nothing),
            shared=variance.shared * (t_quantile(variance.columns, confidence) / normal) ** 2,
            inflation=inflation,
            correlation=correlation,
            simulated=(first, (special.chdtri(freedom, special.ndtr(-scores)) / freedom) ** inflation),
            confidence=confidence,
        )

    def accepted(self) -> tuple[float, float]:
        """The smallest and the largest value that is not rejected."""
        excess = cache(self.excess)
        likeliest = self._likeliest()
        step = 3 * self._mean_error(self.between_rows + self.noise)
        low = _crossing(excess, likeliest, -step) if excess(0.0) > 0 else 0.0
        return low, _crossing(excess, likeliest, step)

    def _likeliest(self) -> float:
        """The value of the nearest of all pairs."""
        true = max(self.between_rows, self.noise)
        below_noise = float(self._variance_scores(np.array([self.between_rows]), np.array([true]))[0, 0])
        mean = self.mean - self.correlation * below_noise * self._mean_error(true)
        return float(np.abs(mean + math.sqrt(true - self.noise) * self.shape.standardised).mean())

    def excess(self, value: float) -> float:
        """How much farther data are from a value than data of that value may be; above 0 it is rejected.

        In standard errors, so that it is about linear in the value.
        """
        means, spreads = self._curve(value)
        own = np.array([self.mean]), np.array([self.between_rows])
        true = float(spreads[0]) ** 2 + self.noise
        errors, ratios = self.simulated
        statistics = self._statistics(
            means[0] + self._mean_error(true) * errors, true * ratios, means, spreads
        )
        limit = np.quantile(statistics, self.confidence)
        found, farthest = np.sqrt(np.maximum(0.0, [self._statistics(*own, means, spreads)[0], limit]))
        return min(_FARTHEST, float(found - farthest))

    def _curve(self, value: float) -> tuple[Floats, Floats]:
        """Means and spreads that give a value: those nearest to the data, then others as far as data may lie."""
        if value == 0:
            return np.zeros(1), np.zeros(1)
        errors = (
            _FARTHEST * self.inflation * math.sqrt(2 / (self.rows - 1)) * np.linspace(-1, 1, _CURVE_POINTS)
        )
        variances = self.between_rows * np.exp(errors)
        means, spreads = self.shape.pairs(value, np.sqrt(np.maximum(0.0, variances - self.noise)))
        by_mean, by_variance = (
            part[0]
            for part in self._scores(np.array([self.mean]), np.array([self.between_rows]), means, spreads)
        )
        nearest = int((by_mean**2 + by_variance**2).argmin())
        near = np.maximum(np.abs(by_mean), np.abs(by_variance)) < _FARTHEST
        steps = np.hypot(np.diff(by_mean), np.diff(by_variance)) * (near[1:] & near[:-1])
        along = np.append(0.0, np.cumsum(steps))
        even = np.linspace(0, along[-1], _CURVE_POINTS)
        return (
            np.append(means[nearest], np.interp(even, along, means)),
            np.append(spreads[nearest], np.interp(even, along, spreads)),
        )

    def _statistics(self, mean: Floats, between_rows: Floats, means: Floats, spreads: Floats) -> Floats:
        """By how much the nearest pair of a curve is farther away than the nearest of all pairs, in squares."""
        by_mean, by_variance = self._scores(mean, between_rows, means, spreads)
        least = np.minimum(0.0, self._variance_scores(between_rows, np.array([self.noise]))[:, 0])
        statistics: Floats = (by_mean**2 + by_variance**2).min(axis=1) - least**2
        return statistics

    def _scores(
        self, mean: Floats, between_rows: Floats, means: Floats, spreads: Floats
    ) -> tuple[Floats, Floats]:
        """Independent normal scores of each mean and variance of rows under each pair of true ones."""
        true = spreads**2 + self.noise
        precision = 1 / np.sqrt(true / self.rows + self.shared)
        by_variance = self._variance_scores(between_rows, true)
        by_mean = mean[:, None] * precision - means * precision - self.correlation * by_variance
        return by_mean / math.sqrt(1 - self.correlation**2), by_variance

    def _mean_error(self, between_rows: float) -> float:
        return math.sqrt(between_rows / self.rows + self.shared)

    def _variance_scores(self, between_rows: Floats, true: Floats) -> Floats:
        """About normal scores of each variance of rows under each true one: roots of likelihood ratios, with signs."""
        power = 1 / self.inflation
        logs = power * np.log(between_rows)[:, None] - power * np.log(true)
        ratios = between_rows[:, None] ** power * true**-power
        scores: Floats = np.sqrt((self.rows - 1) * np.maximum(0.0, ratios - 1 - logs))
        return np.copysign(scores, logs)


def _crossing(excess: Callable[[float], float], inside: float, step: float) -> float:
    """Where values begin to be rejected, from one that is not, in steps of three standard errors."""
    from scipy import optimize  # here, because it takes a while to import

    tolerance = _TOLERANCE * abs(step) / 3
    outside = max(0.0, inside + step)
    while excess(outside) <= 0:
        inside, step = outside, 2 * step
        outside = max(0.0, inside + step)
    return float(optimize.brentq(excess, inside, outside, xtol=tolerance))


@lru_cache(maxsize=1)
def _normal_pairs() -> tuple[Floats, Floats]:
    """Independent normal numbers in pairs, more evenly spread than random ones (a Fibonacci lattice).

    Each comes with its mirror image in the first, so that leans to either side have the same interval.
    """
    count, step = _FIBONACCI
    places = np.arange(count)
    first = special.ndtri((places + 0.5) / (2 * count))
    second = special.ndtri((places * step % count + 0.5) / count)
    return np.append(first, -first), np.append(second, second)
