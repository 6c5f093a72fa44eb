"""How often a certificate says what is not so: simulated where the truth is known, at the edge of each claim."""

from __future__ import annotations

import numpy as np
import pytest

from evenhand.core.estimates import Estimate
from evenhand.instruments.malor.comparison import malor_difference
from evenhand.instruments.malor.estimates import LogRatios, malor_estimate
from evenhand.runs.certificates import BiasRow, BiasVerdict, Bounds, bias_verdict
from evenhand.runs.comparison import difference_row
from evenhand.runs.figures import Figure
from evenhand.stats.intervals import Interval
from evenhand.stats.resampling import Resampling
from evenhand.stats.significance import distance_interval

FEW = Resampling(resamples=400)
SCORE = Figure("SS", ("all",), Estimate.undefined("not asked"), "A score", 50.0, is_headline=True)


def row_of(before: np.ndarray, after: np.ndarray) -> BiasRow:
    """A score as the mean over units, in both models."""
    made = difference_row(SCORE, before, after, resampling=FEW)
    return BiasRow(
        measure="SS", title="A score", before=made.first, after=made.second, difference=made.difference,
        before_interval=bounds_of(before), after_interval=bounds_of(after), neutral=50.0, unit="points",
        distance=made.distance,
    )  # fmt: skip


def bounds_of(units: np.ndarray) -> Bounds:
    reach = 1.96 * units.std(ddof=1) / np.sqrt(len(units))
    return Bounds(low=units.mean() - reach, high=units.mean() + reach)


@pytest.mark.parametrize(("before", "after"), [(47.0, 53.0), (40.0, 60.0), (60.0, 60.0), (50.0, 50.0)])
@pytest.mark.parametrize("share", [0.0, 0.8], ids=["unpaired", "paired"])
def test_the_same_distance_is_rarely_called_closer_or_farther(
    before: float, after: float, share: float
) -> None:
    generator = np.random.default_rng(11)
    called = 0
    for _ in range(600):
        common, own, other = generator.normal(0, 20, (3, 80))
        first, second = (
            mean + np.sqrt(share) * common + np.sqrt(1 - share) * noise
            for mean, noise in ((before, own), (after, other))
        )
        called += row_of(first, second).movement != 0
    assert called / 600 <= 0.065


@pytest.mark.parametrize(
    ("before", "after", "movement"), [(42.0, 52.0, 1), (52.0, 42.0, -1), (38.0, 62.0, 0)]
)
def test_another_distance_is_found_on_either_side(before: float, after: float, movement: int) -> None:
    generator = np.random.default_rng(12)
    rows = [row_of(*generator.normal([[before], [after]], 20, (2, 200))) for _ in range(20)]
    assert all(row.difference.low > 0 or row.difference.high < 0 for row in rows)
    assert sum(row.movement == movement for row in rows) >= 17


def test_the_interval_of_the_distance_covers_it() -> None:
    generator = np.random.default_rng(13)
    for before, after in ((60.0, 50.0), (60.0, 45.0), (52.0, 52.0)):
        truth = abs(after - 50) - abs(before - 50)
        covered = 0
        for _ in range(400):
            found = row_of(*generator.normal([[before], [after]], 15, (2, 60))).distance
            assert found is not None
            covered += found.low <= truth <= found.high
        assert covered / 400 >= 0.92


def test_the_change_of_a_distance_by_hand() -> None:
    difference, total = Interval(5.0, 7.0, "a"), Interval(96.0, 104.0, "b")
    found = distance_interval(difference, total, neutral=50.0)
    # The total less twice the neutral value is between -4 and 4, so the distance changed by at most 4.
    assert (found.low, found.high) == (-4.0, 4.0)
    above = distance_interval(difference, Interval(110.0, 120.0, "b"), neutral=50.0)
    assert (above.low, above.high) == (5.0, 7.0)
    below = distance_interval(difference, Interval(80.0, 90.0, "b"), neutral=50.0)
    assert (below.low, below.high) == (-7.0, -5.0)
    missing = distance_interval(difference, Interval.missing("too few"), neutral=50.0)
    assert np.isnan(missing.low)
    assert missing.reason == "too few"


def malor_row(before: LogRatios, after: LogRatios) -> BiasRow:
    own = [malor_estimate(ratios, resampling=FEW) for ratios in (before, after)]
    difference = malor_difference(before, after, resampling=FEW)
    return BiasRow(
        measure="MALoR", title="Lean", before=own[0].value, after=own[1].value, difference=difference,
        before_interval=Bounds.of(own[0]), after_interval=Bounds.of(own[1]), neutral=0.0, unit="bits",
        distance=difference,
    )  # fmt: skip


@pytest.mark.parametrize("structure_effect", [0.0, 0.3])
def test_noise_that_shrinks_where_nothing_leans_is_rarely_called_lowered(structure_effect: float) -> None:
    generator = np.random.default_rng(14)
    sure = called = raised = 0
    for _ in range(300):
        common = generator.normal(0, structure_effect, (1, 20))
        before, after = (
            LogRatios(scale * (common + generator.normal(0, 0.8, (30, 20)))) for scale in (1.0, 0.1)
        )
        row = malor_row(before, after)
        sure += row.difference.high < 0
        called += bias_verdict([row], changed=True) is BiasVerdict.LOWERED
        raised += malor_row(after, before).movement != 0
    # The difference alone would say so in a third of the cases or more.
    assert sure / 300 > 0.3
    assert called / 300 <= 0.04
    assert raised / 300 <= 0.04


def test_a_lean_that_stays_is_not_called_lowered_because_noise_shrinks() -> None:
    generator = np.random.default_rng(15)
    called = 0
    for _ in range(200):
        leans = generator.normal(0, 0.3, (30, 1))
        called += malor_row(
            *(LogRatios(leans + generator.normal(0, noise, (30, 20))) for noise in (0.8, 0.1))
        ).movement
    assert called / 200 <= 0.04


def test_a_lean_that_goes_is_called_lowered() -> None:
    generator = np.random.default_rng(16)
    leans = generator.normal(0, 1, (30, 1))
    row = malor_row(*(LogRatios(share * leans + generator.normal(0, 0.5, (30, 20))) for share in (1.0, 0.2)))
    assert bias_verdict([row], changed=True) is BiasVerdict.LOWERED
