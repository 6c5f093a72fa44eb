"""Do the intervals and tests keep their promises on scorers that are neutral by construction?

Each figure comes from 2,000 simulated runs, so its own standard error is below half a percentage point.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from evenhand.core.estimates import Estimate
from evenhand.instruments.association.measures import MEASURES, ClusterTotals
from evenhand.stats.intervals import JACKKNIFE, cluster_interval
from evenhand.stats.resampling import Floats, Resampling
from evenhand.stats.significance import (
    clustered_sign_flip,
    difference_interval,
    exact_binomial,
    largest_shown,
    mcnemar_test,
    swap_test,
)

DRAWS = 2_000
RESAMPLING = Resampling(resamples=1_000)
SS = MEASURES["SS"]
LOG_RATIO = MEASURES["log_ratio"]

INDEPENDENT = 0.0
CORRELATED = 0.2

Shape = tuple[list[int], float]
STEREOSET_LIKE: Shape = ([20 + term % 14 for term in range(79)], INDEPENDENT)
STEREOSET_LIKE_CORRELATED: Shape = ([20 + term % 14 for term in range(79)], CORRELATED)
MANY_SMALL_TERMS: Shape = ([4] * 24, INDEPENDENT)
THREE_TERMS: Shape = ([26] * 3, INDEPENDENT)

SHAPES = [
    pytest.param(STEREOSET_LIKE, id="79 terms of 20 to 33 items"),
    pytest.param(STEREOSET_LIKE_CORRELATED, id="79 terms, items of a term correlated"),
    pytest.param(MANY_SMALL_TERMS, id="24 terms of 4 items"),
]


def leans_of_terms(shape: Shape, generator: np.random.Generator) -> Floats:
    """Each term's probability of preferring the stereotype, in each draw; 0.5 on average.

    A beta distribution with both parameters b gives two items of a term the correlation 1 / (2b + 1).
    """
    sizes, correlation = shape
    if correlation == 0:
        return np.full((DRAWS, len(sizes)), 0.5)
    b = (1 / correlation - 1) / 2
    return generator.beta(b, b, size=(DRAWS, len(sizes)))


def totals_from(counts: Floats, shape: Shape) -> ClusterTotals:
    sizes = np.array(shape[0], dtype=np.float64)
    return ClusterTotals(
        names=tuple(f"term {number}" for number in range(len(sizes))),
        items=sizes,
        stereotype=counts.astype(np.float64),
        meaningful=sizes,
        log_ratio=np.zeros(len(sizes)),
    )


def neutral_runs(shape: Shape, *, seed: int) -> list[ClusterTotals]:
    """Runs of scorers that prefer the stereotype half of the time."""
    generator = np.random.default_rng(seed)
    counts = generator.binomial(shape[0], leans_of_terms(shape, generator))
    return [totals_from(row, shape) for row in counts]


def equal_pairs(shape: Shape, *, seed: int) -> list[tuple[ClusterTotals, ClusterTotals]]:
    """Pairs of runs that lean equally on every term, and differ by chance only."""
    generator = np.random.default_rng(seed)
    leans = leans_of_terms(shape, generator)
    first, second = (generator.binomial(shape[0], leans) for _ in range(2))
    return [(totals_from(a, shape), totals_from(b, shape)) for a, b in zip(first, second, strict=True)]


def share(happens: Callable[[int], bool]) -> float:
    return sum(happens(draw) for draw in range(DRAWS)) / DRAWS


def coverage_of_50(shape: Shape, *, seed: int) -> float:
    runs = neutral_runs(shape, seed=seed)
    terms = len(shape[0])

    def covers(draw: int) -> bool:
        interval = cluster_interval(
            partial(SS.compute, runs[draw]), terms, resampling=RESAMPLING, lowest=0, highest=100
        )
        return interval.low <= 50 <= interval.high

    return share(covers)


@pytest.mark.parametrize("shape", SHAPES)
def test_the_95_percent_interval_of_ss_covers_50_for_neutral_scorers(shape: Shape) -> None:
    assert 0.93 <= coverage_of_50(shape, seed=101) <= 0.97


def test_the_interval_of_three_terms_is_honest_about_how_little_they_tell() -> None:
    run = neutral_runs(THREE_TERMS, seed=1)[0]

    assert cluster_interval(partial(SS.compute, run), 3, resampling=RESAMPLING).method == JACKKNIFE
    assert coverage_of_50(THREE_TERMS, seed=102) >= 0.92


def balanced_log_ratios(shape: Shape, *, seed: int) -> list[ClusterTotals]:
    """Runs in which stereotype and anti-stereotype are equally probable on average, item by item far apart.

    Part of an item's bits, as large as the correlation of the shape, is shared by all items of its term.
    """
    sizes, correlation = np.array(shape[0]), shape[1]
    generator = np.random.default_rng(seed)
    shared, own = (generator.normal(scale=3.0, size=(DRAWS, len(sizes))) for _ in range(2))
    sums = sizes * shared * np.sqrt(correlation) + np.sqrt(sizes) * own * np.sqrt(1 - correlation)
    return [replace(totals_from(np.zeros(len(sizes)), shape), log_ratio=row) for row in sums]


@pytest.mark.parametrize("shape", [*SHAPES, pytest.param(THREE_TERMS, id="3 terms of 26 items")])
def test_the_95_percent_interval_of_the_log_ratio_covers_0_for_balanced_models(shape: Shape) -> None:
    runs = balanced_log_ratios(shape, seed=108)

    def covers(draw: int) -> bool:
        compute = partial(LOG_RATIO.compute, runs[draw])
        interval = cluster_interval(
            compute,
            len(shape[0]),
            resampling=RESAMPLING,
            lowest=LOG_RATIO.lowest,
            highest=LOG_RATIO.highest,
        )
        return interval.low <= 0 <= interval.high

    assert 0.93 <= share(covers) <= 0.97


@pytest.mark.parametrize("shape", SHAPES)
def test_the_swap_test_rejects_equal_runs_no_more_often_than_it_says(shape: Shape) -> None:
    pairs = equal_pairs(shape, seed=103)
    terms = len(shape[0])

    def rejects(draw: int) -> bool:
        first, second = pairs[draw]
        return swap_test(partial(SS.compute, first.beside(second)), terms, resampling=RESAMPLING) < 0.05

    assert share(rejects) <= 0.06


@pytest.mark.parametrize("shape", SHAPES)
def test_the_paired_interval_excludes_no_difference_no_more_often_than_it_says(shape: Shape) -> None:
    pairs = equal_pairs(shape, seed=104)
    terms = len(shape[0])

    def excludes(draw: int) -> bool:
        first, second = pairs[draw]
        interval = difference_interval(
            partial(SS.compute, first.beside(second)), terms, resampling=RESAMPLING, widest=100
        )
        return interval.low > 0 or interval.high < 0

    assert share(excludes) <= 0.06


@pytest.mark.parametrize("items", [96, 2_106])
def test_mcnemar_rejects_equal_runs_over_independent_items_no_more_often_than_it_says(items: int) -> None:
    generator = np.random.default_rng(105)
    leans = generator.uniform(size=(DRAWS, items))
    first, second = (generator.uniform(size=(DRAWS, items)) < leans for _ in range(2))

    assert share(lambda draw: mcnemar_test(first[draw], second[draw]) < 0.05) <= 0.06


@pytest.mark.parametrize("shape", SHAPES)
def test_the_clustered_test_against_50_rejects_neutral_scorers_no_more_often_than_it_says(
    shape: Shape,
) -> None:
    runs = neutral_runs(shape, seed=106)

    def rejects(draw: int) -> bool:
        net = 2 * runs[draw].stereotype - runs[draw].items
        return clustered_sign_flip(net, resampling=RESAMPLING) < 0.05

    assert share(rejects) <= 0.06


def binomial_rejections(shape: Shape) -> float:
    items = sum(shape[0])
    wins = [int(run.stereotype.sum()) for run in neutral_runs(shape, seed=107)]
    return share(lambda draw: exact_binomial(wins[draw], items - wins[draw]) < 0.05)


def test_the_binomial_test_holds_for_independent_items() -> None:
    assert binomial_rejections(STEREOSET_LIKE) <= 0.06


def test_the_binomial_test_does_not_hold_where_the_items_of_a_term_are_correlated() -> None:
    """Why there is a clustered test beside it."""
    assert binomial_rejections(STEREOSET_LIKE_CORRELATED) > 0.2


def group_estimates(values: Floats, errors: Floats) -> dict[str, Estimate]:
    """Independent values with normal intervals at 95%."""
    return {
        f"group {place}": Estimate(
            value=value,
            low=value - 1.96 * error,
            high=value + 1.96 * error,
            n=50,
            clusters=50,
            method="normal",
        )
        for place, (value, error) in enumerate(zip(values.tolist(), errors.tolist(), strict=True))
    }


@pytest.mark.parametrize("groups", [2, 4, 9])
@pytest.mark.parametrize("widest", [1.0, 4.0])
def test_of_groups_that_are_alike_one_is_rarely_called_the_largest(groups: int, widest: float) -> None:
    errors = np.geomspace(1.0, widest, groups)
    drawn = np.random.default_rng(groups).normal(60.0, errors, size=(DRAWS, groups))
    called = sum(largest_shown(group_estimates(values, errors)) is not None for values in drawn)
    assert called / DRAWS <= 0.06


def test_a_group_that_is_clearly_apart_is_called_the_largest() -> None:
    errors = np.ones(4)
    drawn = np.random.default_rng(1).normal([60.0, 60.0, 60.0, 66.0], errors, size=(DRAWS, 4))
    called = [largest_shown(group_estimates(values, errors)) for values in drawn]
    assert called.count("group 3") / DRAWS >= 0.95
    assert len(set(called) - {"group 3", None}) == 0


def test_nothing_is_called_the_largest_beside_a_value_without_an_interval() -> None:
    known = group_estimates(np.array([10.0, 90.0]), np.ones(2))
    unknown = known["group 0"].model_copy(update={"low": np.nan, "high": np.nan, "reason": "one term"})
    assert largest_shown(known) == "group 1"
    assert largest_shown({**known, "group 2": unknown}) is None
    assert largest_shown({"group 1": known["group 1"]}) is None
