"""Protocols: what their headline names stand for."""

from __future__ import annotations

import builders
import definitions
import pytest

from evenhand.api.measure import evaluate
from evenhand.core.errors import UnknownNameError
from evenhand.core.protocols import PROTOCOLS, STEREOSET_2021, get_protocol
from evenhand.instruments.association.results import TaskResult
from evenhand.stats.resampling import Resampling

TRIPLES = {
    "intra-1": (3.0, 2.0, 1.0),
    "intra-2": (3.0, 1.0, 2.0),
    "intra-3": (3.0, 2.0, 1.0),
    "intra-4": (2.0, 3.0, 1.0),
    "intra-5": (1.0, 2.0, 3.0),
}
TERMS = {"intra-1": "baker", "intra-2": "baker", "intra-3": "baker", "intra-4": "pilot", "intra-5": "pilot"}


@pytest.fixture
def expected() -> dict[str, float]:
    items = [definitions.Item(TERMS[item], *triple) for item, triple in TRIPLES.items()]
    return definitions.all_measures(items, 0.0)


def result_under(protocol: str, quick: Resampling) -> TaskResult:
    items = (builders.intra(item.removeprefix("intra-"), cluster=term) for item, term in TERMS.items())
    run = evaluate(builders.scores(TRIPLES), builders.benchmark(*items), protocol=protocol, resampling=quick)
    result: TaskResult = run.result.tasks["intrasentence"]
    return result


def test_stereoset_2021_reports_means_over_terms_as_its_headline(
    expected: dict[str, float], quick: Resampling
) -> None:
    result = result_under("stereoset-2021", quick)

    assert result.LMS.value == pytest.approx(expected["mean_LMS"])
    assert result.SS.value == pytest.approx(expected["mean_SS"])
    assert result.ICAT.value == pytest.approx(definitions.combined(expected["mean_LMS"], expected["mean_SS"]))
    assert result.mean_SS.value == pytest.approx(expected["mean_SS"])
    assert result.macro_ICAT.value == pytest.approx(expected["macro_ICAT"])


def test_stereoset_2021_differs_from_scores_over_all_items_where_terms_differ_in_size(
    expected: dict[str, float], quick: Resampling
) -> None:
    assert result_under("multilingual-2023", quick).SS.value == pytest.approx(expected["SS"])
    assert abs(expected["SS"] - expected["mean_SS"]) > 1
    assert result_under("stereoset-2021", quick).SS.value != pytest.approx(expected["SS"])


def test_n_is_the_number_of_items_and_not_three_times_that(quick: Resampling) -> None:
    result = result_under("stereoset-2021", quick)

    assert result.n == 5
    assert result.LMS.n == 5
    assert result.by_bias_type["profession"].n == 5


def test_stereoset_2021_says_which_of_its_names_are_swapped() -> None:
    assert STEREOSET_2021.native_names["macro_icat"] == "micro_ICAT"
    assert STEREOSET_2021.native_names["micro_icat"] == "macro_ICAT"


def test_the_documented_protocols_exist() -> None:
    assert set(PROTOCOLS) == {"evenhand.v1", "evenhand.v2", "multilingual-2023", "stereoset-2021"}


def test_a_protocol_is_returned_as_it_is() -> None:
    assert get_protocol(STEREOSET_2021) is STEREOSET_2021


def test_an_unknown_protocol_is_answered_with_the_closest_name() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'stereoset-2021'"):
        get_protocol("stereoset-2020")
