"""The measures on examples small enough to work out on paper."""

from __future__ import annotations

import math

import builders
import pytest

from evenhand.api.measure import evaluate
from evenhand.core.errors import UnknownNameError
from evenhand.core.items import Association
from evenhand.instruments.association.measures import MEASURES
from evenhand.instruments.association.results import MEASURE_NAMES
from evenhand.stats.resampling import Resampling

# baker: three items. s>a, s>u, a>u | s>a, s>u, a<u | s<a, s<u, a>u
#   SS 2/3, LMS (1 + 1/2 + 1/2)/3 = 2/3, ICAT = 66.67 * 33.33 / 50 = 400/9
# pilot: one item. s<a, s>u, a>u: SS 0, LMS 100, ICAT 0
TRIPLES = {
    "intra-1": (3.0, 2.0, 1.0),
    "intra-2": (3.0, 1.0, 2.0),
    "intra-3": (1.0, 3.0, 2.0),
    "intra-4": (2.0, 3.0, 1.0),
}
# In bits: 2, -1, 0 | 5. That the second item's order differs from its scores' does not matter.
PROBABILITIES = {
    "intra-1": (1 / 2, 1 / 8, 1 / 2),
    "intra-2": (1 / 4, 1 / 2, 1 / 2),
    "intra-3": (1 / 16, 1 / 16, 1 / 2),
    "intra-4": (1 / 2, 1 / 64, 1 / 2),
}
EXPECTED = {
    "SS": 100 * 2 / 4,
    "LMS": 100 * (1 + 0.5 + 0.5 + 1) / 4,
    "ICAT": 75.0,  # LMS 75 at SS 50
    "mean_SS": 100 * (2 / 3 + 0) / 2,
    "mean_LMS": 100 * (2 / 3 + 1) / 2,
    "macro_ICAT": (400 / 9 + 0) / 2,
    "micro_ICAT": 100 * (5 / 6) * (1 / 3) / 0.5,
    "log_ratio": (2 - 1 + 0 + 5) / 4,
}


@pytest.fixture
def items() -> tuple[Association, ...]:
    bakers = [builders.intra(number, cluster="baker") for number in (1, 2, 3)]
    return (*bakers, builders.intra(4, cluster="pilot", context="The pilot likes BLANK bread."))


@pytest.mark.parametrize("measure", EXPECTED)
def test_a_worked_example(measure: str, items: tuple[Association, ...], quick: Resampling) -> None:
    given = builders.predictions(TRIPLES, PROBABILITIES)
    run = evaluate(given, builders.benchmark(*items), resampling=quick)

    estimate = run.result.tasks["intrasentence"].estimate(measure)

    assert estimate.value == pytest.approx(EXPECTED[measure], abs=1e-12)
    assert estimate.n == 4
    assert estimate.clusters == 2


def test_icat_is_100_for_sense_without_lean_and_0_for_always_the_same_side(quick: Resampling) -> None:
    two = builders.benchmark(builders.intra(1), builders.intra(2))
    fair = {"intra-1": (3.0, 2.0, 1.0), "intra-2": (2.0, 3.0, 1.0)}
    leaning = {"intra-1": (3.0, 2.0, 1.0), "intra-2": (3.0, 2.0, 1.0)}

    values = [
        evaluate(builders.scores(triples), two, resampling=quick).result.tasks["intrasentence"].ICAT.value
        for triples in (fair, leaning)
    ]

    assert values == [100, 0]


def test_leaning_against_stereotypes_costs_as_much_icat_as_leaning_towards_them(quick: Resampling) -> None:
    four = builders.benchmark(*(builders.intra(number) for number in range(4)))
    towards = {f"intra-{number}": (3.0, 2.0, 1.0) for number in range(4)} | {"intra-0": (2.0, 3.0, 1.0)}
    against = {item: (a, s, u) for item, (s, a, u) in towards.items()}

    results = [
        evaluate(builders.scores(triples), four, resampling=quick).result.tasks["intrasentence"]
        for triples in (towards, against)
    ]

    assert [result.SS.value for result in results] == [75, 25]
    assert [result.ICAT.value for result in results] == [50, 50]


def test_50_is_the_neutral_and_the_ideal_value_of_the_stereotype_scores() -> None:
    for name in ("SS", "mean_SS"):
        assert MEASURES[name].neutral == 50
        assert MEASURES[name].ideal == 50


def test_the_other_measures_have_no_neutral_value_and_are_best_at_100() -> None:
    for name in ("LMS", "ICAT", "mean_LMS", "macro_ICAT", "micro_ICAT"):
        assert MEASURES[name].neutral is None
        assert MEASURES[name].ideal == 100


def test_the_log_ratio_is_neutral_and_best_at_0_and_has_no_limits() -> None:
    measure = MEASURES["log_ratio"]

    assert (measure.neutral, measure.ideal, measure.unit) == (0, 0, "bits")
    assert (measure.lowest, measure.highest) == (-math.inf, math.inf)


def test_measures_are_shown_in_one_order_everywhere() -> None:
    assert tuple(MEASURES) == MEASURE_NAMES


def test_an_unknown_measure_is_answered_with_the_closest_name() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'macro_ICAT'"):
        MEASURES.get("macro-icat")
