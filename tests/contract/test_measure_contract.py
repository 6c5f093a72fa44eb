"""Every registered measure keeps the promises of a measure."""

from __future__ import annotations

import pytest

from evenhand import MEASURES
from evenhand.instruments.association.measures import Measure
from evenhand.testing import check_measure


@pytest.mark.parametrize("measure", MEASURES.values(), ids=lambda measure: measure.name)
def test_a_registered_measure_conforms(measure: Measure) -> None:
    check_measure(measure)


def test_measures_are_registered_under_their_own_names() -> None:
    assert {name: measure.name for name, measure in MEASURES.items()} == {name: name for name in MEASURES}


def test_no_two_measures_share_a_version() -> None:
    versions = [measure.version for measure in MEASURES.values()]

    assert len(set(versions)) == len(versions) == 9
