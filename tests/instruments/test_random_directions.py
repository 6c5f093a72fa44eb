"""The baseline of direct bias: honest about chance, and passed by a lean that is there."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from evenhand.instruments.direct_bias.gender_direction import RANDOM_DIRECTIONS, random_baseline
from evenhand.stats.resampling import Resampling

WIDTH = 64
Floats = npt.NDArray[np.float64]


def professions(common: float, rng: np.random.Generator) -> Floats:
    """Sixty vectors that share a component, as contextual vectors do."""
    return common * rng.standard_normal(WIDTH) + rng.standard_normal((60, WIDTH))


def mean_absolute_cosine(vectors: Floats, direction: Floats) -> float:
    lengths = np.linalg.norm(vectors, axis=1) * np.linalg.norm(direction)
    return float(np.mean(np.abs(vectors @ direction) / lengths))


@pytest.mark.parametrize("common", [0.0, 0.5, 3.0])
def test_a_direction_without_meaning_lies_within_the_baseline_as_often_as_it_says(common: float) -> None:
    rng = np.random.default_rng(1)
    inside = 0
    for trial in range(400):
        vectors = professions(common, rng)
        baseline = random_baseline(vectors, resampling=Resampling(resamples=100, seed=trial))
        inside += baseline.low <= mean_absolute_cosine(vectors, rng.standard_normal(WIDTH)) <= baseline.high

    assert 0.90 < inside / 400 < 0.98


@pytest.mark.parametrize("common", [0.0, 0.5])
def test_a_lean_that_was_planted_lies_above_it(common: float) -> None:
    rng = np.random.default_rng(2)
    direction = rng.standard_normal(WIDTH)
    sides = rng.choice([-1.0, 1.0], size=(60, 1))
    vectors = professions(common, rng) + sides * direction

    assert mean_absolute_cosine(vectors, direction) > random_baseline(vectors, resampling=Resampling()).high


def test_anisotropy_raises_the_baseline_and_widens_it() -> None:
    rng = np.random.default_rng(3)
    even, uneven = (
        random_baseline(professions(common, rng), resampling=Resampling()) for common in (0.0, 5.0)
    )

    assert uneven.high - uneven.low > 5 * (even.high - even.low)
    assert even.value == pytest.approx(np.sqrt(2 / (np.pi * WIDTH)), rel=0.05)


def test_the_baseline_is_seeded() -> None:
    vectors = professions(1.0, np.random.default_rng(4))
    one, same, other = (
        random_baseline(vectors, resampling=Resampling(resamples=100, seed=seed)) for seed in (5, 5, 6)
    )

    assert one == same != other
    assert one.n == RANDOM_DIRECTIONS
