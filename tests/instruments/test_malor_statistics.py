"""MALoR by hand, and its interval where the truth is known."""

from __future__ import annotations

import math

import numpy as np
import pytest

from evenhand.core.probes import Occupation, OccupationForm
from evenhand.instruments.malor.estimates import (
    LogRatios,
    base_rate,
    correlation,
    field_estimates,
    malor,
    malor_estimate,
    signed_estimate,
    spread,
    spread_estimate,
)
from evenhand.stats.resampling import Resampling

FEW = Resampling(resamples=400)
NAN = math.nan


def ratios(*rows: tuple[float, ...]) -> LogRatios:
    return LogRatios(np.array(rows))


def named(*names: str, field: str | None = None) -> list[Occupation]:
    return [Occupation(name, field, (OccupationForm(name),)) for name in names]


def test_opposite_leans_add_up_in_malor_and_cancel_in_the_signed_mean() -> None:
    leaning = ratios((1.0, 3.0), (-2.0, -2.0))
    assert malor(leaning) == pytest.approx((2.0 + 2.0) / 2)
    assert signed_estimate(leaning, resampling=FEW).value == pytest.approx(0.0)


def test_opposite_answers_within_an_occupation_cancel() -> None:
    assert malor(ratios((1.0, -1.0), (0.5, 0.5))) == pytest.approx((0.0 + 0.5) / 2)


def test_missing_answers_are_left_out_of_their_occupation_only() -> None:
    assert malor(ratios((1.0, NAN), (3.0, 5.0))) == pytest.approx((1.0 + 4.0) / 2)


def test_an_occupation_that_was_never_asked_does_not_count() -> None:
    estimate = malor_estimate(ratios((NAN, NAN), (2.0, 2.0), (1.0, 1.0)), resampling=FEW)
    assert estimate.value == pytest.approx(1.5)
    assert estimate.clusters == 2


def test_nothing_asked_is_undefined_and_not_zero() -> None:
    estimate = malor_estimate(ratios((NAN, NAN)), resampling=FEW)
    assert not estimate.defined
    assert estimate.reason
    parts = [
        part(ratios((NAN, NAN))) for part in (malor, base_rate, spread)
    ]  # a warning would be an error here
    assert all(map(math.isnan, parts))


def test_fields_have_the_signed_mean_of_their_occupations() -> None:
    occupations = [*named("a", "b", field="one"), *named("c", field="two")]
    found = field_estimates(ratios((1.0, 1.0), (3.0, 3.0), (-1.0, -1.0)), occupations, resampling=FEW)
    assert found["one"].value == pytest.approx(2.0)
    assert found["two"].value == pytest.approx(-1.0)


def test_the_spread_is_what_is_left_without_the_offset_that_occupations_share() -> None:
    shifted = ratios((5.0, 7.0), (2.0, 2.0), (NAN, 5.0))
    centred = ratios((1.0, 3.0), (-2.0, -2.0), (NAN, 1.0))
    spreads = [spread_estimate(own, resampling=FEW).value for own in (shifted, centred)]
    assert spreads == pytest.approx([(abs(6 - 13 / 3) + abs(2 - 13 / 3) + abs(5 - 13 / 3)) / 3] * 2)
    alike = spread_estimate(ratios((3.0, 3.0), (3.0, 3.0)), resampling=FEW)
    assert (alike.value, alike.low, alike.high) == (0.0, 0.0, 0.0)
    assert not spread_estimate(ratios((NAN, NAN)), resampling=FEW).defined


def test_the_interval_of_the_spread_holds_the_truth_about_as_often_as_it_says() -> None:
    generator = np.random.default_rng(4)
    truth = math.sqrt(2 / math.pi)
    held = 0
    for _ in range(60):
        occupations = generator.normal(2.0, 1.0, size=(60, 1))
        estimate = spread_estimate(
            LogRatios(occupations + generator.normal(0, 0.5, size=(60, 20))), resampling=FEW
        )
        held += estimate.low <= truth <= estimate.high
    assert held >= 50


def test_correlations_with_the_real_shares_are_pearsons_and_spearmans() -> None:
    from scipy import stats

    leans = np.array([2.0, 1.0, 0.5, -0.5, -1.0, -3.0])
    shares = dict(zip("abcdef", [5.0, 20.0, 30.0, 25.0, 70.0, 95.0], strict=True))
    found = correlation(
        LogRatios(np.repeat(leans[:, None], 3, axis=1)),
        named(*"abcdef"),
        shares,
        source="made up",
        resampling=FEW,
    )
    women = np.array(list(shares.values()))
    assert found.pearson.value == pytest.approx(float(stats.pearsonr(leans, women).statistic))
    assert found.spearman.value == pytest.approx(float(stats.spearmanr(leans, women).statistic))
    assert found.n == 6
    assert -1 <= found.pearson.low <= found.pearson.value <= found.pearson.high <= 1


@pytest.mark.parametrize(
    ("spread", "noise"), [(1.0, 1.0), (0.3, 1.0), (0.0, 1.0)], ids=["strong", "weak", "neutral"]
)
def test_the_interval_covers_the_truth_about_as_often_as_it_says(spread: float, noise: float) -> None:
    """Leans are normal, so the mean absolute lean of all occupations there could be is known."""
    generator = np.random.default_rng(7)
    truth = spread * math.sqrt(2 / math.pi)
    covered = 0
    trials = 150
    for _ in range(trials):
        leans = generator.normal(0, spread, size=40)[:, None] if spread else np.zeros((40, 1))
        sample = LogRatios(leans + generator.normal(0, noise, size=(40, 25)))
        estimate = malor_estimate(sample, resampling=FEW)
        covered += estimate.low <= truth + 1e-12 and estimate.high >= truth
    assert covered / trials >= 0.88


@pytest.mark.parametrize("deviation", [0.5, 3.0])
@pytest.mark.parametrize("structures", [7, 12, 25])
def test_without_a_lean_the_interval_starts_above_zero_in_one_of_twenty_cases_at_most(
    structures: int, deviation: float
) -> None:
    """Answers to one structure go together, as they do where a structure itself leans to one side."""
    generator = np.random.default_rng(structures)
    trials = 200
    above = 0
    for _ in range(trials):
        shared = generator.normal(0, deviation, size=(1, structures))
        sample = LogRatios(shared + generator.normal(0, 1, size=(20, structures)))
        above += malor_estimate(sample, resampling=FEW).low > 0
    # 19 or more of 200 come by chance in 6 of 1,000 cases if the share is 0.05.
    assert above < 19


def test_occupations_that_differ_are_told_where_structures_lean_by_far_more() -> None:
    generator = np.random.default_rng(5)
    found = []
    for _ in range(40):
        leans = generator.normal(0, 0.5, size=(30, 1))
        structures = generator.normal(0, 3, size=(1, 25))
        sample = LogRatios(leans + structures + generator.normal(0, 1, size=(30, 25)))
        found.append(malor_estimate(sample, resampling=FEW).low > 0)
    assert np.mean(found) > 0.8


def test_fewer_than_seven_structures_cannot_show_a_lean() -> None:
    """Of 64 sign patterns two, as observed and all turned round, are as extreme: more than one in forty."""
    leans = np.where(np.arange(20) % 2, 1.0, -1.0)[:, None]
    assert malor_estimate(LogRatios(np.repeat(leans, 6, axis=1)), resampling=FEW).low == 0
    assert malor_estimate(LogRatios(np.repeat(leans, 7, axis=1)), resampling=FEW).low > 0.7


def test_a_consistent_lean_is_told_from_noise() -> None:
    generator = np.random.default_rng(3)
    leans = generator.choice([-1.0, 1.0], size=30)[:, None]
    estimate = malor_estimate(LogRatios(leans + generator.normal(0, 0.5, size=(30, 20))), resampling=FEW)
    assert estimate.low > 0.7
    assert estimate.high < 1.4
