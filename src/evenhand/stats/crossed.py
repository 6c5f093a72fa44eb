"""Intervals for values over two crossed factors: rows that are asked (occupations) in columns (structures).

A cell is taken to be ``mean + row effect + column effect + noise``. A column effect is shared by all rows, so it moves
every row mean the same way and does not average out over rows. The parts of the variance are those of the two-way
layout, in the form that allows missing cells (Cameron, Gelbach and Miller 2011, "Robust inference with multiway
clustering"). Parts with their own degrees of freedom are put together as squares of margins (Zou and Donner 2008,
"Construction of confidence limits about effect measures", the method MOVER).

The mean absolute distance of rows from their mean needs more: noise raises it, and rows say more about their standard
deviation than about it. Its interval is the range of that distance over all standard deviations that the data allow,
together with what a standard deviation does not say about it. The variance of the noise is taken off, and a standard
deviation varies more where tails are heavy (Bonett 2006, "Approximate confidence interval for standard deviation of
nonnormal distributions"). The mean absolute row mean itself has a module of its own, ``absolute_means``.

Two models are asked the same, so rows and columns of their tables belong together, and their differences are paired.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy import special

from evenhand.stats.intervals import Interval
from evenhand.stats.resampling import Floats

CROSSED_MEAN = "t over occupations and structures"

CROSSED_DEVIATION = "profile over occupations and structures"

CROSSED_DIFFERENCE = "paired profile over occupations and structures"

DEVIATION_DIFFERENCE = "paired jackknife over occupations, t"

TOO_FEW = "an interval needs at least two occupations and two structures"

TOO_FEW_DEVIATING = "an interval of how occupations differ needs at least three of them"

_FEWEST_DEVIATING = 3

_PROFILED = 17
"""Standard deviations that are tried, from one end of their interval to the other."""


@dataclass(frozen=True, slots=True)
class CrossedVariance:
    """Row means of a table with crossed row and column effects, and what makes them vary."""

    row_means: Floats
    columns: int
    between_rows: float
    """Variance of row means, noise included and column effects not."""
    noise: float
    """The part of it that is noise of single cells."""
    shared: float
    """Variance that column effects give the mean of all rows."""

    @classmethod
    def of(cls, table: Floats) -> CrossedVariance:
        """From one row per occupation and one column per structure.

        A cell without an answer is NaN; every row and every column has an answer.
        """
        known = np.isfinite(table)
        in_row = known.sum(axis=1)
        rows, columns = table.shape
        row_means = np.where(known, table, 0.0).sum(axis=1) / in_row
        pulls, residual, weights = _column_parts(table)
        freedom = max(1, int(known.sum()) - rows - columns + 1)
        cell = float((residual**2).sum()) / freedom
        by_column = float(pulls @ pulls) * columns / (columns - 1)
        return cls(
            row_means=row_means,
            columns=columns,
            between_rows=float(row_means.var(ddof=1)),
            noise=cell * float(np.mean(1 / in_row)),
            shared=max(0.0, by_column - cell * float((weights**2).sum())),
        )

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return len(self.row_means)

    @property
    def mean(self) -> float:
        """The mean of the row means."""
        return float(self.row_means.mean())

    @property
    def without_noise(self) -> Floats:
        """Row means drawn together until they vary as they would without noise."""
        if self.between_rows == 0:
            return self.row_means
        kept = math.sqrt(max(0.0, 1 - self.noise / self.between_rows))
        drawn: Floats = self.mean + kept * (self.row_means - self.mean)
        return drawn

    def reach(self, confidence: float) -> float:
        """Half the length of the interval of the mean."""
        by_row = t_quantile(self.rows, confidence) ** 2 * self.between_rows / self.rows
        by_column = t_quantile(self.columns, confidence) ** 2 * self.shared
        return math.sqrt(by_row + by_column)


def _column_parts(table: Floats) -> tuple[Floats, Floats, Floats]:
    """What each column adds to the mean of row means, what is left in each cell, and the weight of each cell."""
    known = np.isfinite(table)
    in_row = known.sum(axis=1)[:, None]
    row_means = np.where(known, table, 0.0).sum(axis=1, keepdims=True) / in_row
    within = np.where(known, table - row_means, 0.0)
    residual = np.where(known, within - within.sum(axis=0) / known.sum(axis=0), 0.0)
    weights = known / (len(table) * in_row)
    return (weights * within).sum(axis=0), residual, weights


def crossed_mean_interval(table: Floats, *, confidence: float) -> Interval:
    """Interval of the mean of row means, where both rows and columns are samples."""
    if min(table.shape) < 2:
        return Interval.missing(TOO_FEW)
    variance = CrossedVariance.of(table)
    reach = variance.reach(confidence)
    return Interval(variance.mean - reach, variance.mean + reach, CROSSED_MEAN)


def absolute_difference_interval(before: Floats, after: Floats, *, confidence: float) -> Interval:
    """Interval of the mean absolute row mean of one table minus that of another, of the same rows and columns.

    Column effects shift the row means of both tables, by amounts that may go together. The interval is the range of the
    difference over all shifts that the data allow, each with the margin that rows leave.
    """
    if min(before.shape) < 2:
        return Interval.missing(TOO_FEW)
    first, second = (CrossedVariance.of(table) for table in (before, after))
    along = np.stack(_disk(), axis=1)
    shifts = t_quantile(first.columns, confidence) * along @ _shared_root(before, after).T
    differences = _shifted(second.without_noise, shifts[:, 1]) - _shifted(first.without_noise, shifts[:, 0])
    with_noise = _shifted(second.row_means, shifts[:, 1]) - _shifted(first.row_means, shifts[:, 0])
    errors = with_noise.std(axis=1, ddof=1) / math.sqrt(first.rows)
    margins = (
        t_quantile(first.rows, confidence) * errors * np.sqrt(np.maximum(0.0, 1 - (along**2).sum(axis=1)))
    )
    values = differences.mean(axis=1)
    return Interval(float((values - margins).min()), float((values + margins).max()), CROSSED_DIFFERENCE)


def _shifted(row_means: Floats, shifts: Floats) -> Floats:
    """Absolute row means without each shift, one row per shift."""
    absolute: Floats = np.abs(row_means - shifts[:, None])
    return absolute


def _shared_root(before: Floats, after: Floats) -> Floats:
    """Square root of the covariance that column effects give to the means of two tables."""
    parts = [_column_parts(table) for table in (before, after)]
    pulls, cells = (np.stack([part[place].ravel() for part in parts]) for place in (0, 1))
    rows, columns = before.shape
    freedom = max(1, int(np.isfinite(before).sum()) - rows - columns + 1)
    weights = parts[0][2]
    shared = pulls @ pulls.T * columns / (columns - 1) - cells @ cells.T / freedom * float((weights**2).sum())
    sizes, directions = np.linalg.eigh(shared)
    root: Floats = directions * np.sqrt(np.maximum(0.0, sizes))
    return root


def absolute_deviation_interval(table: Floats, *, confidence: float) -> Interval:
    """Interval of the mean absolute distance of row means from their mean, which column effects do not move."""
    if min(table.shape) < 2:
        return Interval.missing(TOO_FEW)
    variance = CrossedVariance.of(table)
    spread = math.sqrt(variance.between_rows)
    standardised = (variance.row_means - variance.mean) / spread if spread else np.zeros(variance.rows)
    along = np.linspace(-1, 1, _PROFILED)
    variances = variance.between_rows * np.exp(
        _log_variance_errors(along, standardised, confidence=confidence)
    )
    distances = np.abs(standardised)
    values = np.sqrt(np.maximum(0.0, variances - variance.noise)) * distances.mean()
    # What a standard deviation does not say about the distances is another error, independent of its own.
    own = math.sqrt(max(0.0, variance.between_rows - variance.noise)) * distances
    remainder = t_quantile(variance.rows, confidence) * _unexplained_error(own, standardised)
    rest = remainder * np.sqrt(1 - along**2)
    return Interval(max(0.0, float((values - rest).min())), float((values + rest).max()), CROSSED_DEVIATION)


def deviation_difference_interval(before: Floats, after: Floats, *, confidence: float) -> Interval:
    """Interval of the mean absolute distance of row means from their mean, of one table minus that of another.

    The tables have the same rows and columns. Noise is taken off both distances, which makes them vary more where
    little is left, and less where nothing is; the error is the larger of the two, with noise and without.
    """
    if min(before.shape) < 2:
        return Interval.missing(TOO_FEW)
    if len(before) < _FEWEST_DEVIATING:
        return Interval.missing(TOO_FEW_DEVIATING)
    first, second = (CrossedVariance.of(table) for table in (before, after))
    own, *without_row = _deviations(second, second.noise) - _deviations(first, first.noise)
    with_noise = (_deviations(second, 0.0) - _deviations(first, 0.0))[1:]
    error = max(_jackknife_error(np.array(without_row)), _jackknife_error(with_noise))
    reach = t_quantile(first.rows, confidence) * error
    return Interval(float(own) - reach, float(own) + reach, DEVIATION_DIFFERENCE)


def _deviations(variance: CrossedVariance, noise: float) -> Floats:
    """The mean absolute distance of row means from their mean: of all rows, then without each of them."""
    rows = variance.rows
    others = np.broadcast_to(variance.row_means, (rows, rows))[~np.eye(rows, dtype=bool)]
    parts = [
        _deviation(part, noise) for part in (variance.row_means[None, :], others.reshape(rows, rows - 1))
    ]
    return np.concatenate(parts)


def _deviation(row_means: Floats, noise: float) -> Floats:
    """For each line of row means, as it would be without noise and with endless rows."""
    count = row_means.shape[1]
    between = row_means.var(axis=1, ddof=1)
    kept = np.divide(np.maximum(0.0, between - noise), between, out=np.zeros_like(between), where=between > 0)
    distances = np.abs(row_means - row_means.mean(axis=1, keepdims=True)).mean(axis=1)
    deviation: Floats = np.sqrt(kept * count / (count - 1)) * distances
    return deviation


def _jackknife_error(replicates: Floats) -> float:
    return math.sqrt((len(replicates) - 1) * float(replicates.var()))


SMALLEST_P = 1e-6
"""Below this a p-value says no more about data than that."""


def p_value_of(interval_at: Callable[[float], Interval]) -> float:
    """The level at which an interval just excludes 0, by bisection.

    Args:
        interval_at: From a confidence level to an interval that is longer the higher the level is.
    """

    def excludes(level: float) -> bool:
        interval = interval_at(1 - level)
        return interval.low > 0 or interval.high < 0

    if math.isnan(interval_at(0.5).low):
        return math.nan
    if excludes(SMALLEST_P):
        return SMALLEST_P
    outside, inside = 0.0, math.log(SMALLEST_P)
    if not excludes(1 - 1e-9):
        return 1.0
    for _ in range(24):
        middle = (outside + inside) / 2
        if excludes(math.exp(middle)):
            outside = middle
        else:
            inside = middle
    return math.exp(outside)


def _log_variance_errors(margins: Floats, standardised: Floats, *, confidence: float) -> Floats:
    """Log of true over estimated variance at margins from -1 to 1, where 1 is the end of its interval."""
    freedom = len(standardised) - 1
    shares = special.ndtr(-margins * special.ndtri((1 + confidence) / 2))
    kurtosis = float(np.mean(standardised**4)) * (len(standardised) / freedom) ** 2
    errors: Floats = np.log(freedom / special.chdtri(freedom, 1 - shares))
    # Rows are never taken for lighter in their tails than normal ones: too few of them tell.
    return errors * math.sqrt(max(1.0, (kurtosis - 1) / 2))


def _unexplained_error(values: Floats, standardised: Floats) -> float:
    """Standard error of the mean of values after regression on z and its square."""
    predictors = np.stack([np.ones_like(standardised), standardised, standardised**2], axis=1)
    residuals = values - predictors @ np.linalg.lstsq(predictors, values, rcond=None)[0]
    return math.sqrt(float(residuals @ residuals) / max(1, len(values) - 3) / len(values))


@lru_cache(maxsize=1)
def _disk() -> tuple[Floats, Floats]:
    """Points of the unit disk, its border included."""
    radius = np.linspace(0, 1, 9)[:, None]
    angle = np.linspace(0, 2 * np.pi, 48, endpoint=False)
    return (radius * np.cos(angle)).ravel(), (radius * np.sin(angle)).ravel()


def t_quantile(count: int, confidence: float) -> float:
    """How many standard errors an interval reaches to either side, with an error that so many units tell."""
    return float(special.stdtrit(count - 1, (1 + confidence) / 2))
