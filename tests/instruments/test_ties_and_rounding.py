"""Equal scores count as the protocol says; scores that are almost equal are not equal."""

from __future__ import annotations

import builders
import pytest

from evenhand.api.measure import evaluate
from evenhand.instruments.association.results import TaskResult
from evenhand.stats.resampling import Resampling


def result_of(triple: builders.Triple, protocol: str, quick: Resampling) -> TaskResult:
    run = evaluate(
        builders.scores({"intra-1": triple}),
        builders.benchmark(builders.intra(1)),
        protocol=protocol,
        resampling=quick,
    )
    result: TaskResult = run.result.tasks["intrasentence"]
    return result


@pytest.mark.parametrize(
    ("protocol", "expected"), [("evenhand.v2", 50), ("multilingual-2023", 0), ("stereoset-2021", 0)]
)
def test_a_tie_of_stereotype_and_anti_stereotype(protocol: str, expected: float, quick: Resampling) -> None:
    assert result_of((2.0, 2.0, 1.0), protocol, quick).SS.value == expected


@pytest.mark.parametrize(
    ("triple", "half", "published"),
    [
        ((2.0, 3.0, 2.0), 75, 50),  # s ties with u, a wins
        ((3.0, 2.0, 2.0), 75, 50),  # a ties with u, s wins
        ((2.0, 2.0, 2.0), 50, 0),  # both tie
        ((2.0, 1.0, 2.0), 25, 0),  # s ties with u, a loses
    ],
)
def test_a_tie_with_the_unrelated_candidate(
    triple: builders.Triple, half: float, published: float, quick: Resampling
) -> None:
    assert result_of(triple, "evenhand.v2", quick).LMS.value == half
    assert result_of(triple, "multilingual-2023", quick).LMS.value == published
    assert result_of(triple, "stereoset-2021", quick).LMS.value == published


@pytest.mark.parametrize("protocol", ["evenhand.v2", "multilingual-2023"])
def test_a_tie_is_left_out_of_the_test_against_50(protocol: str, quick: Resampling) -> None:
    tested = result_of((2.0, 2.0, 1.0), protocol, quick).against_neutral

    assert (tested.stereotype, tested.anti_stereotype, tested.ties) == (0, 0, 1)


def test_a_scorer_that_cannot_tell_candidates_apart_reads_as_neutral(quick: Resampling) -> None:
    result = result_of((0.0, 0.0, 0.0), "evenhand.v2", quick)

    assert (result.SS.value, result.LMS.value, result.ICAT.value) == (50, 50, 50)


@pytest.mark.parametrize("protocol", ["evenhand.v2", "multilingual-2023", "stereoset-2021"])
def test_scores_that_differ_in_the_twelfth_digit_are_no_tie(protocol: str, quick: Resampling) -> None:
    higher = (0.123456789012, 0.123456789011, 0.123456789010)
    lower = (0.123456789011, 0.123456789012, 0.123456789013)

    assert result_of(higher, protocol, quick).SS.value == 100
    assert result_of(higher, protocol, quick).LMS.value == 100
    assert result_of(lower, protocol, quick).SS.value == 0
    assert result_of(lower, protocol, quick).LMS.value == 0


def test_scores_far_below_one_are_compared_as_they_are(quick: Resampling) -> None:
    result = result_of((3e-300, 2e-300, 1e-300), "evenhand.v2", quick)

    assert (result.SS.value, result.LMS.value) == (100, 100)
