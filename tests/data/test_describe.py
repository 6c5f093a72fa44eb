"""Counts of benchmarks."""

from __future__ import annotations

import builders
import pytest

from evenhand.data.inspection import Description, describe


@pytest.fixture
def description() -> Description:
    english = builders.benchmark(
        builders.intra(1, cluster="baker", target="baker"),
        builders.intra(2, cluster="baker", target="bakers"),
        builders.inter(1, cluster="baker", target="baker"),
        builders.inter(2, cluster="sister", target="sister", bias_type="gender"),
    )
    german = builders.benchmark(
        builders.intra(1, cluster="baker", target="Bäcker", language="de"), language="de"
    )
    return describe([english, german])


def test_items_and_target_terms_are_counted_by_any_columns(description: Description) -> None:
    assert description.counts("language", "task").rows() == [
        ("de", "intrasentence", 1, 1),
        ("en", "intersentence", 2, 2),
        ("en", "intrasentence", 2, 1),
    ]
    assert description.counts("bias_type").rows() == [("gender", 1, 1), ("profession", 4, 1)]


def test_target_terms_are_listed_with_their_forms(description: Description) -> None:
    assert description.targets().rows() == [
        ("de", "profession", "baker", 1, 0, ["Bäcker"]),
        ("en", "gender", "sister", 0, 1, ["sister"]),
        ("en", "profession", "baker", 2, 1, ["baker", "bakers"]),
    ]


def test_one_benchmark_may_be_described_alone() -> None:
    description = describe(builders.benchmark(builders.intra(1), name="small"))

    assert (description.name, description.licence) == ("small", "CC0")
    assert description.items.rows() == [("en", "intrasentence", "profession", "baker", "baker")]
