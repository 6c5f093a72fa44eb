"""Intervals of a mean difference that know how many items there are, also where few of them or none changed.

An item is right or wrong in both of two runs, or half right, so its difference lies between -1 and 1. Where few items
changed, a bootstrap takes the few that it sees for all that can happen: with no change it claims certainty, whatever
the number of items. The score test asks instead how much the answers would vary if the true difference were the one in
question. It is inverted here: a difference is in the interval unless the test rejects it.

With losses and gains of mean sizes s_l and s_g, mean gain G and mean difference m, a true difference -x has variance
s_l (G + x) + s_g G - x^2 per item, so the lower end is the root of a quadratic equation. Where nothing changed it is
-z^2 / (n + z^2), as Tango (1998) has it for pairs of yes and no. One loss and one gain of full size are added to what
was seen, because the sizes of a few changes tell little.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import special

from evenhand.stats.intervals import Interval
from evenhand.stats.resampling import Floats

SCORE = "score"

CROSSED = "score over items, t over seeds"

CORRELATION = 0.02
"""Of the changes of two items about one target term.

Between 148 pairs of published predictions on English StereoSet the correlation of changes of LMS within target terms
is 0.004 in the median, below 0.013 in 95%, and 0.033 at most.
"""

FEWEST_SEEDS = 3


def effective_items(
    clusters: npt.NDArray[Any], *, weights: Floats | None = None, correlation: float = CORRELATION
) -> float:
    """As many independent items as tell as much as these do.

    Args:
        clusters: The cluster of each item.
        weights: How much each item counts; all the same if None.
        correlation: Of two items of a cluster.
    """
    shares = np.ones(len(clusters)) if weights is None else weights
    shares = shares / shares.sum()
    numbers = np.unique(clusters, return_inverse=True)[1]
    together = np.bincount(numbers, weights=shares)
    variance = (1 - correlation) * float(shares @ shares) + correlation * float(together @ together)
    return 1 / variance


def score_interval(
    differences: Floats,
    *,
    confidence: float,
    weights: Floats | None = None,
    effective: float | None = None,
    reach: float = 0.0,
    step: float = 1.0,
) -> Interval:
    """Interval of the mean of differences between -1 and 1.

    Args:
        differences: One per item.
        confidence: The confidence level.
        weights: How much each item counts; all the same if None.
        effective: As many independent items as tell as much as these do; their number if None.
        reach: What another source of variation adds to the interval if nothing else varied.
        step: The size of the loss and the gain that are added to what was seen.
    """
    count = len(differences)
    if not count:
        return Interval.missing("there is no item")
    shares = np.full(count, 1 / count) if weights is None else weights / weights.sum()
    z = float(special.ndtri((1 + confidence) / 2))
    scale = z * z / (effective or count)
    losses, gains = np.maximum(-differences, 0.0), np.maximum(differences, 0.0)
    mean = float(differences.mean() if weights is None else shares @ differences)
    # What is added to the sizes of losses and gains may pull an end past a mean that lies at the end of the scale.
    low = min(mean, -_farthest(losses, gains, shares, scale, reach, step))
    high = max(mean, _farthest(gains, losses, shares, scale, reach, step))
    return Interval(low, high, SCORE)


def _farthest(
    losses: Floats, gains: Floats, shares: Floats, scale: float, reach: float, step: float
) -> float:
    """The largest mean loss that the score test does not reject."""
    gain, mean = float(shares @ gains), float(shares @ (gains - losses))
    loss_size, gain_size = (
        float((side @ side + step * step) / (side.sum() + step)) for side in (losses, gains)
    )
    square, linear = 1 + scale, 2 * mean - scale * loss_size
    constant = mean * mean - scale * (loss_size + gain_size) * gain - reach * reach
    root = math.sqrt(max(0.0, linear * linear - 4 * square * constant))
    return min(1.0, (root - linear) / (2 * square))


def crossed_interval(differences: Floats, *, confidence: float) -> Interval:
    """Interval of the mean over seeds and items, both of which were drawn from many.

    Items vary as in ``score_interval``. What seeds add to that is estimated from their means, less what chance gives
    to means over so many items.

    Args:
        differences: One row per seed and one column per item.
        confidence: The confidence level.
    """
    seeds, items = differences.shape
    if seeds < FEWEST_SEEDS:
        return Interval.missing(f"an interval over seeds and items needs at least {FEWEST_SEEDS} seeds")
    if items < 2:
        return Interval.missing("an interval over seeds and items needs at least two items")
    by_seed, by_item = differences.mean(axis=1), differences.mean(axis=0)
    rest = differences - by_seed[:, None] - by_item + differences.mean()
    chance = float((rest**2).sum()) / ((seeds - 1) * (items - 1)) / items
    variance = max(0.0, float(by_seed.var(ddof=1)) - chance) / seeds
    quantile = float(special.stdtrit(seeds - 1, (1 + confidence) / 2))
    found = score_interval(by_item, confidence=confidence, reach=quantile * math.sqrt(variance))
    return Interval(found.low, found.high, CROSSED)
