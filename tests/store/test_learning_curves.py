"""Learning curves: which epoch is kept, and when a curve is flat, on curves that can be judged by eye."""

from __future__ import annotations

import math
from typing import Any

import pytest
from pydantic import ValidationError

from evenhand.core.recipes import Plateau
from evenhand.store.mitigation_records import EpochMetrics, LearningCurve


def metrics(epoch: int, malor: float, perplexity: float) -> EpochMetrics:
    return EpochMetrics(epoch=epoch, bias={"he-she.MALoR": malor}, quality={"perplexity": perplexity})


def curve(*points: tuple[float, float]) -> LearningCurve:
    """From MALoR and perplexity of each epoch."""
    return LearningCurve(
        epochs=tuple(metrics(epoch, malor, perplexity) for epoch, (malor, perplexity) in enumerate(points))
    )


def both(*points: tuple[float, float]) -> LearningCurve:
    """From MALoR of two experiments in each epoch."""
    return LearningCurve(
        epochs=tuple(
            EpochMetrics(
                epoch=epoch,
                bias={"he-she.MALoR": first, "names.MALoR": second},
                quality={"perplexity": 10.0},
            )
            for epoch, (first, second) in enumerate(points)
        )
    )


def test_the_lowest_malor_within_the_margin_is_best() -> None:
    assert curve((2, 10), (1, 10.1), (0.5, 10.3), (0.8, 10.05)).best(margin=0.01).epoch == 3


def test_the_margin_itself_is_within_the_margin() -> None:
    assert curve((2, 100), (1, 101), (0.5, 102)).best(margin=0.02).epoch == 2


def test_of_equals_the_earliest_is_best() -> None:
    assert curve((2, 10), (1, 10), (1, 9)).best(margin=0.01).epoch == 1


def test_outside_the_margin_the_least_loss_is_best() -> None:
    found = curve((2, 10), (0.1, 12), (1.9, 11), (0.2, 13))
    assert found.best(margin=0.01).epoch == 2
    assert not found.keeps_quality(found.best(margin=0.01), margin=0.01)


def test_the_original_is_never_chosen() -> None:
    assert curve((1, 10), (3, 10), (2, 10)).best(margin=0.01).epoch == 2


def test_experiments_count_in_shares_of_their_original() -> None:
    """0.5 and 1 of 1 against 1 and 0.2 of 4: the means of the shares are 0.375 and 0.525."""
    found = both((1, 4), (0.5, 1), (1, 0.2))
    assert found.relative_bias(found.epochs[1]) == pytest.approx(0.375)
    assert found.relative_bias(found.epochs[2]) == pytest.approx(0.525)
    assert found.best(margin=0).epoch == 1


def test_an_experiment_without_lean_counts_in_bits() -> None:
    found = both((2, 0), (1, 0.25))
    assert found.relative_bias(found.epochs[1]) == pytest.approx((0.5 + 0.25) / 2)


@pytest.mark.parametrize(
    ("last", "flat"),
    [
        ((1.0, 1.0, 1.0, 1.0, 1.0), True),
        ((1.0, 0.96, 0.98, 1.04, 1.0), True),  # 0.08 apart, of a mean of 0.996
        ((1.0, 0.94, 0.98, 1.05, 1.0), False),  # 0.11 apart
        ((9.0, 1.0, 1.0, 1.0, 1.0), False),
        ((0.0, 0.0, 0.0, 0.0, 0.0), True),
    ],
)
def test_a_curve_is_flat_when_its_last_five_epochs_differ_by_less_than_a_tenth(
    last: tuple[float, ...], flat: bool
) -> None:
    assert curve((2, 10), (7, 10), *((malor, 10) for malor in last)).is_flat(Plateau()) is flat


def test_the_original_does_not_count_for_flatness() -> None:
    assert not curve(*[(1, 10)] * 5).is_flat(Plateau())
    assert curve(*[(1, 10)] * 6).is_flat(Plateau())


def test_all_experiments_must_be_flat() -> None:
    assert not both((1, 1), (1, 5), (1, 4), (1, 3), (1, 2), (1, 1)).is_flat(Plateau())


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_figures_that_are_no_numbers_are_broken(value: float) -> None:
    assert metrics(1, value, 10).is_broken
    assert metrics(1, 1, value).is_broken
    assert not metrics(1, 1, 10).is_broken


def test_metrics_with_another_neutral_value_count_by_their_distance_from_it() -> None:
    scores = LearningCurve(
        epochs=tuple(
            EpochMetrics(epoch=epoch, bias={"overall.SS": value}, quality={"perplexity": 10.0})
            for epoch, value in enumerate((60.0, 45.0, 52.0))
        ),
        neutral={"overall.SS": 50.0},
    )
    assert [scores.relative_bias(epoch) for epoch in scores.epochs] == pytest.approx([1.0, 0.5, 0.2])
    assert scores.best(margin=0).epoch == 2


def test_every_quality_metric_must_stay_within_the_margin() -> None:
    costs = LearningCurve(
        epochs=tuple(
            EpochMetrics(epoch=epoch, bias={"he-she.MALoR": 1.0}, quality={"perplexity": 10.0, "loss": loss})
            for epoch, loss in enumerate((2.0, 2.2))
        )
    )
    assert costs.quality_loss(costs.last) == pytest.approx(0.1)
    assert not costs.keeps_quality(costs.last, margin=0.05)


def test_an_epoch_is_one_line() -> None:
    two = both((2, 1), (0.5, 0.25))
    assert two.describe_last() == "epoch 1: MALoR he-she 0.500, names 0.250; perplexity 10.00 (+0.00%)"
    assert curve((2, 10)).describe_last() == "original: MALoR he-she 2.000; perplexity 10.00"


def test_an_epoch_is_described_with_the_parts_of_malor() -> None:
    parts = {"he-she.signed_mean": -0.5, "he-she.spread": 1.75}
    with_parts = curve((2, 10)).original.model_copy(update={"parts": parts})
    assert LearningCurve(epochs=(with_parts,)).describe_last() == (
        "original: MALoR he-she 2.000 (base rate -0.500, spread 1.750); perplexity 10.00"
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"epochs": []}, "begins with the original"),
        ({"epochs": [{"epoch": 0, "bias": {}, "quality": {"perplexity": 20.0}}]}, "needs a metric of bias"),
        ({"epochs": [{"epoch": 0, "bias": {"x": 1.0}, "quality": {"perplexity": 0.0}}]}, "quality above 0"),
        (
            {
                "epochs": [
                    {"epoch": 0, "bias": {"x": 1.0}, "quality": {"perplexity": 20.0}},
                    {"epoch": 1, "bias": {"y": 1.0}, "quality": {"perplexity": 20.0}},
                ]
            },
            "epoch 1 has other metrics",
        ),
        ({"judgements": []}, "epochs"),
    ],
)
def test_a_curve_that_cannot_be_compared_is_refused(content: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        LearningCurve.model_validate(content)
