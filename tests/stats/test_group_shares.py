"""Shares of labels per group: values against slow computations, intervals and tests on data with known answers."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from scipy import stats

from evenhand.stats.group_shares import (
    CombinedShares,
    CountedShares,
    IndependentShares,
    exchange_test,
    gap_equivalence,
    widest_gap_interval,
)
from evenhand.stats.intervals import JACKKNIFE_LOGIT, SKEWED_JACKKNIFE, WILSON, Interval, skewed_interval
from evenhand.stats.label_error import (
    PredictionPoweredShares,
    UnconfusedShares,
    confusion_problem,
    prediction_power,
)
from evenhand.stats.paired_labels import cramers_v, homogeneity_test
from evenhand.stats.resampling import Floats, Resampling

FEW = Resampling(resamples=1_024)
NET = 100 * np.array([-1.0, 0.0, 1.0])
GAP = np.stack([NET, -NET])
POSITIVE = np.array([[0.0, 0.0, 100.0], [0.0, 0.0, 0.0]])


def some_counts(contexts: int = 10, seed: int = 3) -> Floats:
    drawn = np.random.default_rng(seed).integers(5, 40, size=(contexts, 2, 3))
    return drawn.astype(np.float64)


def net_regard(labels: Floats) -> float:
    return 100 * float(labels[2] - labels[0]) / float(labels.sum())


def test_a_gap_is_the_difference_of_net_regard_over_all_contexts() -> None:
    counts = some_counts()
    women, men = counts.sum(axis=0)
    assert CountedShares(counts).value(GAP) == pytest.approx(net_regard(women) - net_regard(men))


def test_a_value_halfway_between_two_that_are_shown_is_exact_on_every_processor() -> None:
    # 40.0 - 23.75: an addition that kept more digits of 0.4 x 100 would give a little more than 16.25.
    counts = np.array([[[19.0, 29.0, 32.0]]])
    assert CountedShares(counts).value(np.array([[-100.0, 0.0, 100.0]])) == 16.25


def test_sign_flips_try_every_pattern_of_contexts() -> None:
    counts = some_counts(contexts=7)
    differences = [net_regard(women) - net_regard(men) for women, men in counts]
    observed = abs(sum(differences)) - 1e-9
    sums = [abs(np.dot(signs, differences)) for signs in product((1, -1), repeat=7)]
    expected = sum(own >= observed for own in sums) / 2**7
    assert CountedShares(counts).p_value(GAP, resampling=FEW) == expected
    means = np.array([[net_regard(own) for own in context] for context in counts])
    assert exchange_test(means, resampling=FEW) == expected


def test_groups_that_are_alike_in_every_context_do_not_differ() -> None:
    counts = some_counts()
    counts[:, 1] = 2 * counts[:, 0]
    shares = CountedShares(counts)
    assert shares.value(GAP) == pytest.approx(0)
    assert shares.p_value(GAP, resampling=FEW) == 1
    assert shares.interval(GAP, resampling=FEW).reason is not None


def test_intervals_over_contexts_leave_each_out_and_allow_for_skewness() -> None:
    for contexts in (5, 10):
        shares = CountedShares(some_counts(contexts))
        found = shares.interval(GAP, resampling=FEW)
        own = np.array([shares.value(GAP)] * contexts)
        for left in range(contexts):
            own[left] = CountedShares(np.delete(shares.counts, left, axis=0)).value(GAP)
        expected = skewed_interval(shares.value(GAP), own, confidence=0.95)
        assert (found.low, found.high) == pytest.approx((expected.low, expected.high))
        assert found.method == SKEWED_JACKKNIFE
    assert "two contexts" in (CountedShares(some_counts(1)).interval(GAP, resampling=FEW).reason or "")


def test_a_share_is_within_its_interval_and_an_interval_within_0_and_100() -> None:
    counts = some_counts()
    counts[:, 0, 2] = [0, 0, 0, 0, 1, 0, 0, 0, 0, 0]
    shares = CountedShares(counts)
    found = shares.share_interval(POSITIVE, resampling=FEW)
    assert 0 <= found.low < shares.value(POSITIVE) < found.high < 20


def test_contexts_with_one_share_do_not_make_it_certain() -> None:
    counts = np.tile(np.array([[10.0, 20.0, 10.0]]), (6, 2, 1))
    found = CountedShares(counts).share_interval(POSITIVE, resampling=FEW)
    assert 0 < found.low < 25 < found.high < 50


def test_texts_of_one_context_have_the_intervals_of_independent_texts() -> None:
    counts = np.array([[[20.0, 50.0, 30.0], [10.0, 60.0, 30.0]]])
    shares = IndependentShares(counts)
    positive = shares.share_interval(POSITIVE, resampling=FEW)
    expected = stats.binomtest(30, 100).proportion_ci(0.95, method="wilson")
    assert positive.method == WILSON
    assert (positive.low, positive.high) == pytest.approx((100 * expected.low, 100 * expected.high))
    gap = shares.interval(GAP, resampling=FEW)
    error = 100 * math.sqrt((0.5 - 0.1**2) / 100 + (0.4 - 0.2**2) / 100)
    assert shares.value(GAP) == pytest.approx(-10)
    assert gap.high - gap.low == pytest.approx(2 * 1.96 * error, rel=0.03)
    assert math.isnan(shares.p_value(GAP, resampling=FEW))


def test_intervals_of_one_context_hold_the_truth() -> None:
    generator = np.random.default_rng(6)
    shares = np.array([[0.05, 0.75, 0.2], [0.2, 0.7, 0.1]])
    truth = float((GAP * shares).sum())
    held = 0
    for _ in range(1_000):
        counts = np.stack([generator.multinomial(40, own) for own in shares])[None].astype(float)
        found = IndependentShares(counts).interval(GAP, resampling=FEW)
        held += found.low <= truth <= found.high
    assert 0.93 <= held / 1_000 <= 0.97


def test_a_group_without_texts_leaves_the_others_alone() -> None:
    counts = np.concatenate([some_counts(), np.zeros((10, 1, 3))], axis=1)
    of_two = np.concatenate([GAP, np.zeros((1, 3))])
    of_third = np.roll(of_two, 1, axis=0)
    assert CountedShares(counts).value(of_two) == CountedShares(counts[:, :2]).value(GAP)
    assert math.isnan(CountedShares(counts).value(of_third))


def test_prediction_powered_shares_are_those_of_people_where_people_labelled_all() -> None:
    human, predicted = some_counts(seed=4), some_counts(seed=5)
    shares = PredictionPoweredShares(counts=predicted, human=human, predicted=predicted, power=1.0)
    assert shares.value(GAP) == pytest.approx(CountedShares(human).value(GAP))


def test_prediction_powered_shares_take_the_mean_error_off() -> None:
    everything, human, predicted = (some_counts(seed=seed) for seed in (1, 2, 3))
    shares = PredictionPoweredShares(counts=everything, human=human, predicted=predicted, power=0.7)
    parts = [CountedShares(own).value(GAP) for own in (everything, human, predicted)]
    assert shares.value(GAP) == pytest.approx(parts[1] + 0.7 * (parts[0] - parts[2]))
    assert np.allclose(shares.shares(np.ones((1, 10))).sum(axis=2), 1)


def test_a_corrected_share_has_an_interval_within_0_and_100() -> None:
    generator = np.random.default_rng(9)
    everything = generator.integers(0, 3, size=(10, 2, 3)).astype(float) + np.array([0, 20, 0])
    human, predicted = (
        generator.integers(0, 2, size=(10, 2, 3)) + np.array([0.0, 3.0, 0.0]) for _ in range(2)
    )
    shares = PredictionPoweredShares(counts=everything, human=human, predicted=predicted, power=1.0)
    found = shares.share_interval(POSITIVE, resampling=FEW)
    assert min(0.0, shares.value(POSITIVE)) <= found.low <= shares.value(POSITIVE) <= found.high <= 100


def test_power_is_the_slope_within_cells() -> None:
    generator = np.random.default_rng(0)
    cells = np.repeat(np.arange(4), 50)
    predicted = generator.integers(-1, 2, size=200).astype(float)
    human = np.where(generator.random(200) < 0.7, predicted, generator.integers(-1, 2, size=200))
    centred = [own - np.array([own[cells == cell].mean() for cell in cells]) for own in (human, predicted)]
    slope = np.polyfit(centred[1], centred[0], 1)[0]
    assert prediction_power(human, predicted, cells=cells) == pytest.approx(slope)
    assert prediction_power(human, np.ones(200), cells=cells) == 0
    assert prediction_power(-predicted, predicted, cells=cells) == 0


def test_confusions_are_undone_exactly_where_they_are_known() -> None:
    rates = np.array([[0.8, 0.15, 0.05], [0.1, 0.8, 0.1], [0.05, 0.15, 0.8]])
    true = np.array([[200.0, 500.0, 300.0], [400.0, 400.0, 200.0]])
    counts = np.stack([true @ rates] * 10)
    confusions = np.repeat((100 * rates)[None] / 20, 20, axis=0)
    shares = UnconfusedShares(counts, confusions)
    assert shares.value(GAP) == pytest.approx(net_regard(true[0]) - net_regard(true[1]))
    assert CountedShares(counts).value(GAP) != pytest.approx(shares.value(GAP), abs=2)


def test_confusions_make_an_interval_longer() -> None:
    counts = some_counts()
    generator = np.random.default_rng(1)
    rates = np.array([[0.8, 0.15, 0.05], [0.1, 0.8, 0.1], [0.05, 0.15, 0.8]])
    confusions = np.stack(
        [np.outer(np.eye(3)[label], generator.multinomial(1, rates[label])) for label in [0, 1, 2] * 50]
    )
    lengths = [
        (found := UnconfusedShares(counts, own).interval(GAP, resampling=FEW)).high - found.low
        for own in (confusions, np.tile(confusions, (20, 1, 1)))
    ]
    assert lengths[0] > lengths[1]


@pytest.mark.parametrize(("labelled", "possible"), [(15, True), (600, False)])
def test_a_share_below_zero_is_impossible_only_where_chance_does_not_take_it_there(
    labelled: int, possible: bool
) -> None:
    """A fifth of neutral texts is said to be called positive, and hardly any text is."""
    negative = np.arange(20.0, 30.0)
    counts = np.stack([np.stack([negative, 99 - negative, np.ones(10)], axis=1)] * 2, axis=1)
    confusions = np.zeros((labelled, 3, 3))
    for number in range(labelled):
        label = number % 3
        said = 2 if label == 1 and number // 3 % 5 == 0 else label
        confusions[number, label, said] = 1
    shares = UnconfusedShares(counts, confusions)
    lowest = shares.shares(np.ones((1, 10))).min()
    assert lowest == pytest.approx(0.01 - 0.2 * (1 - 0.01 - 0.245) / 0.8), "solved by hand"
    assert shares.are_possible(resampling=FEW) is possible


def test_groups_with_the_same_shares_have_the_interval_of_contexts_alone() -> None:
    counts = some_counts()
    counts[5:] = counts[:5, ::-1]
    confusions = np.repeat(np.eye(3)[None], 40, axis=0) + 0.1
    confusions[::2] += 0.3 * np.eye(3)
    shares = UnconfusedShares(counts, confusions)
    found = shares.interval(GAP, resampling=FEW)
    assert shares.value(GAP) == 0
    assert found.low < 0 < found.high


@pytest.mark.parametrize(
    ("confusion", "reason"),
    [
        ([[50, 5, 5], [5, 50, 5], [5, 5, 50]], None),
        ([[4, 0, 0], [5, 50, 5], [5, 5, 50]], "to 4 texts; at least 5"),
        ([[20, 20, 20], [20, 20, 20], [20, 20, 21]], "nothing can be told"),
    ],
)
def test_confusions_that_cannot_be_undone_say_why(confusion: list[list[int]], reason: str | None) -> None:
    found = confusion_problem(np.array(confusion, dtype=float))
    assert found is None if reason is None else reason in (found or "")


def test_a_change_is_second_minus_first_over_the_same_contexts() -> None:
    first, second = (CountedShares(some_counts(seed=seed)) for seed in (1, 2))
    change = CombinedShares((first, second), (-1.0, 1.0))
    assert change.value(GAP) == pytest.approx(second.value(GAP) - first.value(GAP))
    nothing = CombinedShares((first, first), (-1.0, 1.0))
    assert nothing.value(GAP) == 0
    assert nothing.p_value(GAP, resampling=FEW) == 1


def test_equivalence_asks_for_the_whole_interval_within_the_margin() -> None:
    counts = np.tile(np.array([[100.0, 800.0, 100.0]]), (10, 2, 1))
    counts[:, 0, 2] += np.arange(10) - 4.5
    shares = CountedShares(counts)
    assert gap_equivalence(shares, GAP, margin=5, resampling=FEW).holds
    assert not gap_equivalence(shares, GAP, margin=0.05, resampling=FEW).holds


def test_the_widest_gap_has_no_sign() -> None:
    gaps = [Interval(-9.0, -2.0, "t"), Interval(-1.0, 4.0, "t")]
    found = widest_gap_interval(gaps)
    assert (found.low, found.high) == (2.0, 9.0)
    assert widest_gap_interval([gaps[1]]).low == 0


def test_exchanging_several_groups_keeps_its_level() -> None:
    generator = np.random.default_rng(8)
    draws = 300
    p_values = [
        exchange_test(generator.normal(size=(8, 4)), resampling=Resampling(resamples=200))
        for _ in range(draws)
    ]
    assert np.mean(np.array(p_values) <= 0.05) == pytest.approx(0.05, abs=0.035)
    apart = generator.normal(size=(8, 4)) + np.array([0, 0, 0, 4])
    assert exchange_test(apart, resampling=FEW) < 0.01


def test_pearson_and_cramer_are_those_of_scipy() -> None:
    table = np.random.default_rng(2).integers(1, 50, size=(4, 3)).astype(float)
    expected = stats.chi2_contingency(table, correction=False)
    found = homogeneity_test(table)
    assert (found.statistic, found.freedom, found.p_value) == pytest.approx(
        (expected.statistic, expected.dof, expected.pvalue)
    )
    assert cramers_v(table) == pytest.approx(
        stats.contingency.association(table.astype(int), method="cramer")
    )
    with_empty = np.insert(np.insert(table, 1, 0, axis=0), 1, 0, axis=1)
    assert homogeneity_test(with_empty).statistic == pytest.approx(found.statistic)
    assert math.isnan(cramers_v(np.array([[3.0, 0.0], [5.0, 0.0]])))


OF_FIRST = np.stack([NET, np.zeros(3)])
"""Net regard of the first group."""


def test_net_regard_of_few_contexts_stays_on_its_scale() -> None:
    # Contexts at 90, 60 and -80: a t interval around 23.3 would reach from -201 to 247.
    counts = np.array([[[1, 8, 91], [30, 40, 30]], [[10, 20, 70], [30, 40, 30]], [[85, 10, 5], [20, 60, 20]]])
    shares = CountedShares(counts.astype(np.float64))
    plain = shares.interval(OF_FIRST, resampling=FEW)
    assert plain.low < -150
    assert plain.high > 190
    found = shares.group_interval(OF_FIRST, resampling=FEW)
    assert found.method == JACKKNIFE_LOGIT
    # By hand: the mean of 90, 60 and -80 with a standard error of 53.644, on the logit of its place from -100 to 100.
    place, error = (23 + 1 / 3 + 100) / 200, math.sqrt((66.667**2 + 36.667**2 + 103.333**2) / 2 / 3) / 200
    reach = stats.t.ppf(0.975, 2) * error / (place * (1 - place))
    ends = [200 / (1 + math.exp(-math.log(place / (1 - place)) - side * reach)) - 100 for side in (-1, 1)]
    assert [found.low, found.high] == pytest.approx(ends, abs=0.01)
    assert found.low > -100
    assert found.high < 100


def test_net_regard_of_few_contexts_is_held_as_often_as_it_says() -> None:
    # A t interval that is cut at 100 holds it in 90% here: three contexts that differ much, most texts positive.
    generator, held = np.random.default_rng(5), []
    for _ in range(1_000):
        labels = generator.dirichlet([0.1, 0.3, 0.6], size=3)
        counts = np.stack([generator.multinomial(20, own) for own in labels])
        shares = CountedShares(np.stack([counts, counts], axis=1).astype(np.float64))
        found = shares.group_interval(OF_FIRST, resampling=FEW)
        if found.reason is None:
            held.append(found.low <= 50 <= found.high)
    assert 0.935 <= np.mean(held) <= 0.985


@pytest.mark.parametrize("contexts", [1, 2, 3])
def test_no_interval_of_a_bounded_figure_leaves_its_scale(contexts: int) -> None:
    generator = np.random.default_rng(contexts)
    for _ in range(100):
        counts = generator.multinomial(4, generator.dirichlet([0.3] * 3, size=(contexts, 2))).astype(
            np.float64
        )
        shares = (IndependentShares if contexts == 1 else CountedShares)(counts)
        change = CombinedShares((shares, CountedShares(counts[:, ::-1])), (-1.0, 1.0))
        intervals = [
            (100, shares.group_interval(OF_FIRST, resampling=FEW)),
            (100, shares.interval_on_scale(POSITIVE - POSITIVE[::-1], resampling=FEW)),
            (200, shares.interval_on_scale(GAP, resampling=FEW)),
            (200, change.interval_on_scale(OF_FIRST, resampling=FEW)),
            (400, change.interval_on_scale(GAP, resampling=FEW)),
        ]
        for most, found in intervals:
            assert found.reason is not None or -most <= found.low <= found.high <= most


def test_an_interval_that_is_cut_says_so() -> None:
    counts = np.array([[[0, 1, 9], [9, 1, 0]], [[9, 1, 0], [0, 1, 9]], [[0, 0, 9], [9, 0, 0]]]).astype(
        np.float64
    )
    found = CountedShares(counts).interval_on_scale(GAP, resampling=FEW)
    assert (found.low, found.high) == (-200, 200)
    assert found.method == f"{SKEWED_JACKKNIFE}, cut at the end of the scale"
    within = CountedShares(some_counts(5)).interval_on_scale(GAP, resampling=FEW)
    assert within.method == SKEWED_JACKKNIFE


def test_a_corrected_figure_beyond_its_scale_is_the_end_of_its_interval() -> None:
    beyond = Interval(60.0, 120.0, SKEWED_JACKKNIFE)
    assert beyond.on_logit(-100.0, 100.0, value=103.0) == beyond.within(-100.0, 100.0, value=103.0)
    assert beyond.within(-100.0, 100.0, value=103.0).high == 103.0
