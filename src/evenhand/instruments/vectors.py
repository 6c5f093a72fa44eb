"""What the tests on contextual vectors share: cosines, and means with intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from evenhand.core.estimates import Estimate
from evenhand.models.model import Model
from evenhand.stats.intervals import cluster_interval
from evenhand.stats.resampling import Floats, Resampling

ZERO = "the vector is zero"

LEFT_TO_RIGHT = (
    "the model reads from left to right: its vector of a word knows what comes before the word and nothing that "
    "comes after."
)
NO_CONTEXT = (
    "layer 0 is the embeddings, which know nothing of the words around: this says little about the model."
)


def cosine(one: npt.NDArray[np.floating], other: npt.NDArray[np.floating]) -> float:
    """Cosine of the angle between two vectors, in double precision; NaN where one of them is zero."""
    first, second = (vector.astype(np.float64) for vector in (one, other))
    length = float(np.linalg.norm(first) * np.linalg.norm(second))
    return math.nan if length == 0 else max(-1.0, min(1.0, float(first @ second) / length))


def mean_estimate(
    values: Sequence[float], *, unit: str, n: int, resampling: Resampling, lowest: float, highest: float = 1.0
) -> Estimate:
    """The mean of values with an interval that resamples them.

    Args:
        values: One value a unit.
        unit: What a value is of, in the singular.
        n: How many observations there are in all units.
        resampling: Resamples, seed and confidence level.
        lowest: Smallest value that is possible.
        highest: Largest value that is possible.
    """
    known = np.array(values, dtype=np.float64)
    if not len(known):
        return Estimate.undefined(f"no {unit} could be measured")

    def mean(weights: Floats) -> Floats:
        means: Floats = (weights @ known) / weights.sum(axis=1)
        return means.clip(lowest, highest)

    interval = cluster_interval(mean, len(known), resampling=resampling, lowest=lowest, highest=highest)
    named = replace(
        interval,
        method=interval.method.replace("cluster", unit),
        reason=interval.reason.replace("target term", unit) if interval.reason else None,
    )
    return named.around(float(mean(np.ones((1, len(known))))[0]), n=n, clusters=len(known))


def vector_options(model: Model, layer: int) -> dict[str, object]:
    """What determines the vectors of a model, for a record."""
    return {
        "layer": layer,
        "vector": "mean of the hidden states of the word's tokens",
        "libraries": dict(model.libraries),
    }


def vector_warnings(model: Model, layer: int) -> tuple[str, ...]:
    """What a reader should know about the vectors of a model at a layer."""
    warnings = (LEFT_TO_RIGHT,) if model.reads_left_to_right else ()
    return (*warnings, NO_CONTEXT) if layer == 0 else warnings
