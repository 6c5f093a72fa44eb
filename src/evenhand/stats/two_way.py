"""Intervals for values that average over two crossed factors, such as occupations and structures.

Both factors are resampled, independently of each other. The interval is the basic bootstrap (the replicates reflected
at the value), because noise biases a mean of absolute values upwards, and reflecting takes that bias out once. For a
value that cannot be negative the lower end is 0 unless a test says otherwise: if nothing leaned, the sign of each
structure's answers would be as likely as its opposite, so signs of whole structures are flipped.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from evenhand.stats.intervals import Interval
from evenhand.stats.resampling import Floats, Resampling

Value: TypeAlias = Callable[[Floats, Floats], Floats]
"""From weights over rows (resamples, rows) and over columns (resamples, columns) to one value per resample."""

TWO_WAY = "bootstrap over occupations and structures, basic"
TWO_WAY_TESTED = (
    "bootstrap over occupations and structures, basic; 0 unless sign flips of structures exclude it"
)

_BLOCK = 2_000
"""Resamples at a time, so that memory stays small."""


def two_way_interval(
    value: Value,
    *,
    rows: int,
    columns: int,
    resampling: Resampling,
    lowest: float = -np.inf,
) -> Interval:
    """Interval of a value that is a function of weights over two factors."""
    if rows < 2 or columns < 2:
        return Interval.missing("an interval needs at least two occupations and two structures")
    own = float(value(np.ones((1, rows)), np.ones((1, columns)))[0])
    replicates = two_way_replicates(value, rows=rows, columns=columns, resampling=resampling)
    tail = (1 - resampling.confidence) / 2
    low, high = np.nanquantile(replicates, [tail, 1 - tail])
    return Interval(min(own, max(lowest, 2 * own - float(high))), max(own, 2 * own - float(low)), TWO_WAY)


def two_way_replicates(value: Value, *, rows: int, columns: int, resampling: Resampling) -> Floats:
    """The value under resampled rows and columns."""
    row_weights = resampling.bootstrap_weights(rows)
    column_weights = _independent_weights(columns, resampling)
    parts = [
        value(row_weights[start : start + _BLOCK], column_weights[start : start + _BLOCK])
        for start in range(0, resampling.resamples, _BLOCK)
    ]
    return np.concatenate(parts)


def _independent_weights(columns: int, resampling: Resampling) -> Floats:
    """Weights over columns from a stream of their own, so that equal numbers of rows and columns do not go together."""
    generator = np.random.default_rng([resampling.seed, columns, 2])
    drawn = generator.multinomial(columns, np.full(columns, 1 / columns), size=resampling.resamples)
    return drawn.astype(np.float64)


def flip_test(value_of: Callable[[Floats], Floats], columns: int, *, resampling: Resampling) -> float:
    """Share of sign patterns over columns whose value is at least the observed one.

    Args:
        value_of: From signs of shape (patterns, columns) to one value per pattern.
        columns: How many columns there are.
        resampling: How many patterns, and their seed.
    """
    signs = 1 - 2 * resampling.swaps(columns)
    observed = float(value_of(np.ones((1, columns)))[0])
    parts = [value_of(signs[start : start + _BLOCK]) for start in range(0, len(signs), _BLOCK)]
    extreme = int(np.count_nonzero(np.concatenate(parts) >= observed - 1e-9 * max(1.0, observed)))
    if resampling.swaps_are_exhaustive(columns):
        return extreme / len(signs)
    return (extreme + 1) / (len(signs) + 1)
