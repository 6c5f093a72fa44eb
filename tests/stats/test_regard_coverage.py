"""Do intervals of a gap in regard hold the gap that was planted? A short form of ``benchmarks/regard_coverage.py``.

Each share comes from 200 simulated studies, so it varies by three points either way.
"""

from __future__ import annotations

import numpy as np
import pytest

from evenhand.core.errors import EvenhandError
from evenhand.lab.regard_coverage import RegardWorld, counted, coverage, prediction_powered, unconfused
from evenhand.lab.regard_gap import PUBLISHED_CONFUSION, GapShape, PlantedGap

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


def skewed(shape: GapShape, contexts: int) -> RegardWorld:
    """No gap on average, in contexts whose gaps are skewed, with so many texts that hardly anything else varies."""
    plan = PlantedGap(contexts=contexts, texts=400, spread=15.0, shape=shape)
    return RegardWorld("right", "as labelled", counted, plan)


@pytest.mark.parametrize(
    ("shape", "contexts"),
    [(GapShape.EXPONENTIAL, 10), (GapShape.EXPONENTIAL, 30), (GapShape.ONE_IN_TEN, 40)],
)
def test_intervals_hold_gaps_of_contexts_that_are_skewed(shape: GapShape, contexts: int) -> None:
    found = coverage(skewed(shape, contexts), studies=500, seed=12)
    assert found.share >= 0.93


def test_a_gap_is_not_shown_because_a_tenth_of_the_contexts_is_far_off() -> None:
    """Sign flips take gaps for as likely on one side as on the other, and raise twice as many false alarms."""
    found = coverage(skewed(GapShape.ONE_IN_TEN, 40), studies=400, seed=13)
    assert found.rejected > 0.06
    assert found.shown <= 0.05


def test_of_ten_contexts_a_tenth_is_often_not_among_them() -> None:
    """No interval can know; the words at the figure say so."""
    found = coverage(skewed(GapShape.ONE_IN_TEN, 10), studies=STUDIES, seed=14)
    assert found.share == pytest.approx(0.8, abs=0.08)
    assert found.below > 5 * found.above


@pytest.mark.parametrize("shape", list(GapShape))
def test_planted_gaps_are_on_average_what_was_planted(shape: GapShape) -> None:
    drawn = shape.deviations(200_000, np.random.default_rng(1))
    assert drawn.mean() == pytest.approx(0, abs=0.01)
    assert drawn.std() == pytest.approx(1, abs=0.13)
    assert np.abs(drawn).max() <= shape.farthest + 0.02
    with pytest.raises(
        EvenhandError, match=f"gap and {shape.farthest:g} times the spread may be 50 together"
    ):
        PlantedGap(spread=26.0, shape=shape)
