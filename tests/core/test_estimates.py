"""Estimates: undefined values have a reason and survive JSON."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from evenhand.core.errors import EvenhandError
from evenhand.core.estimates import Estimate

NAN = math.nan


def estimate(**changes: Any) -> Estimate:
    return Estimate(**{"value": 60, "low": 55, "high": 65, "n": 10, "clusters": 4, "method": "m"} | changes)


def test_an_undefined_value_is_null_in_json_and_nan_in_python() -> None:
    undefined = Estimate.undefined("no item could be scored")

    written = undefined.model_dump_json()
    read = Estimate.model_validate_json(written)

    assert json.loads(written)["value"] is None
    assert math.isnan(read.value)
    assert read.reason == "no item could be scored"
    assert not read.defined
    assert (read.n, read.clusters, read.method) == (0, 0, "none")


FINITE = st.floats(allow_nan=False, allow_infinity=False)


@given(value=FINITE, ends=st.tuples(FINITE, FINITE).map(sorted))
def test_defined_values_survive_json_unchanged(value: float, ends: list[float]) -> None:
    written = estimate(value=value, low=ends[0], high=ends[1])

    assert Estimate.model_validate_json(written.model_dump_json()) == written


@pytest.mark.parametrize(
    "changes", [{"value": NAN}, {"low": NAN}, {"high": NAN}, {"value": NAN, "reason": ""}]
)
def test_an_undefined_number_without_a_reason_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="needs a reason"):
        estimate(**changes)


def test_an_undefined_interval_with_a_reason_is_accepted() -> None:
    assert estimate(low=NAN, high=NAN, reason="one target term").defined


def test_an_interval_that_is_upside_down_is_refused() -> None:
    with pytest.raises(ValidationError, match=r"low end 70\.0 is above its high end 65\.0"):
        estimate(low=70)


def test_an_estimate_cannot_be_changed() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        estimate().value = 50.0  # type: ignore[misc]


@pytest.mark.parametrize(("name", "expected"), [("value", 60), ("low", 55), ("high", 65)])
def test_bounds_are_found_by_name(name: str, expected: float) -> None:
    assert estimate().bound(name) == expected


def test_an_unknown_bound_is_refused() -> None:
    with pytest.raises(EvenhandError, match="value, low and high, not 'n'"):
        estimate().bound("n")


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (estimate(value=60.126), "60.13 [55.00, 65.00]"),
        (estimate(low=NAN, high=NAN, reason="one target term"), "60.00"),
        (Estimate.undefined("no item could be scored"), "undefined (no item could be scored)"),
    ],
)
def test_how_an_estimate_is_shown(shown: Estimate, expected: str) -> None:
    assert str(shown) == expected
