"""Coverage: how it is rounded, said and looked up."""

from __future__ import annotations

import math

import pytest

from evenhand.store.coverage import Coverage, coverage_of


@pytest.mark.parametrize(
    ("scored", "total", "shown", "is_enough"),
    [
        (4229, 4229, "100%", True),
        (4228, 4229, "99.9%", True),
        (99, 100, "99%", True),
        (9899, 10000, "98.9%", False),
        (3, 4229, "0.07%", False),
        (0, 4229, "0%", False),
    ],
)
def test_only_a_complete_file_has_all_of_its_percent(
    scored: int, total: int, shown: str, is_enough: bool
) -> None:
    coverage = Coverage(scored=scored, total=total)

    assert (coverage.short, coverage.is_enough) == (shown, is_enough)
    assert str(coverage) == f"{shown} ({scored:,} of {total:,} items)"


def test_an_unknown_coverage_is_never_enough() -> None:
    coverage = Coverage(scored=4229, total=None)

    assert math.isnan(coverage.percent)
    assert (coverage.short, coverage.is_enough) == ("unknown", False)
    assert coverage.model_dump(mode="json")["percent"] is None


def test_a_group_has_the_coverage_of_the_smallest_part_around_it() -> None:
    whole, task, part = (Coverage(scored=scored, total=100) for scored in (50, 90, 10))
    coverage = {(): whole, ("intrasentence",): task, ("intrasentence", "gender"): part}

    assert coverage_of(coverage, ("intrasentence", "gender")) == part
    assert coverage_of(coverage, ("intrasentence", "race")) == task
    assert coverage_of(coverage, ("gender",)) == whole
