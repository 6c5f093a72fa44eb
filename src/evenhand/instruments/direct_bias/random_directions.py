"""What direct bias would be if the gender direction were any direction."""

from __future__ import annotations

import numpy as np

from evenhand.core.estimates import Estimate
from evenhand.stats.resampling import Floats, Resampling

RANDOM_DIRECTIONS = 100

_STREAM = 4
"""Keeps the draws of directions apart from those of resamples with the same seed."""


def random_baseline(vectors: Floats, *, resampling: Resampling) -> Estimate:
    """The mean absolute cosine of vectors with random directions: its mean, and the range that holds most directions.

    Args:
        vectors: A row a vector, none of them zero.
        resampling: Its seed draws the directions; its confidence level is the share of directions in the range.
    """
    width = vectors.shape[1]
    generator = np.random.default_rng([resampling.seed, width, _STREAM])
    # Normal coordinates favour no direction.
    directions = generator.standard_normal((RANDOM_DIRECTIONS, width))
    values = np.abs(_of_length_one(vectors) @ _of_length_one(directions).T).mean(axis=0)
    tail = (1 - resampling.confidence) / 2
    low, high = np.quantile(values, [tail, 1 - tail])
    return Estimate(
        value=float(values.mean()),
        low=float(low),
        high=float(high),
        n=RANDOM_DIRECTIONS,
        clusters=RANDOM_DIRECTIONS,
        method="random directions, percentiles",
    )


def _of_length_one(vectors: Floats) -> Floats:
    scaled: Floats = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return scaled
