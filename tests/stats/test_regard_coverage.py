"""Do intervals of a gap in regard hold the gap that was planted? A short form of ``benchmarks/regard_coverage.py``.

Each share comes from 200 simulated studies, so it varies by three points either way.
"""

from __future__ import annotations

import pytest

from evenhand.lab.regard_coverage import RegardWorld, counted, coverage, prediction_powered, unconfused
from evenhand.lab.regard_gap import PUBLISHED_CONFUSION, PlantedGap

STUDIES = 200

RIGHT = RegardWorld("right", "as labelled", counted, PlantedGap(gap=5, texts=40))
POWERED = RegardWorld(
    "wrong",
    "prediction-powered",
    prediction_powered,
    PlantedGap(gap=15, texts=40, confusion=PUBLISHED_CONFUSION, bias=0.1, labelled=200),
)
UNCONFUSED = RegardWorld(
    "wrong",
    "confusion matrix",
    unconfused,
    PlantedGap(gap=15, texts=40, confusion=PUBLISHED_CONFUSION, labelled=200),
)


@pytest.mark.parametrize("world", [RIGHT, POWERED, UNCONFUSED], ids=lambda world: str(world.treatment))
def test_intervals_hold_the_planted_gap(world: RegardWorld) -> None:
    found = coverage(world, studies=STUDIES, seed=11)
    assert 0.91 <= found.share <= 0.985
    assert abs(found.error) < 2.5


def test_a_biased_classifier_misleads_where_nothing_is_done_about_it() -> None:
    plan = PlantedGap(gap=0, texts=40, spread=5, confusion=PUBLISHED_CONFUSION, bias=0.2)
    found = coverage(RegardWorld("biased", "as labelled", counted, plan), studies=100, seed=5)
    assert found.error > 8
    assert found.share < 0.8
