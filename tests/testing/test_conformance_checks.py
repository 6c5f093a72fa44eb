"""The conformance checks find what breaks a promise; otherwise passing them would say nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import builders
import numpy as np
import pytest

from evenhand.core.items import Association, Benchmark, Label
from evenhand.instruments.association.measures import MEASURES, ClusterTotals, Measure
from evenhand.stats.resampling import Floats
from evenhand.testing import check_dataset, check_measure

SS = MEASURES["SS"]
Compute = Callable[[ClusterTotals, Floats], Floats]


def beyond_its_range(totals: ClusterTotals, weights: Floats) -> Floats:
    return SS.compute(totals, weights) + 60


def undefined(totals: ClusterTotals, weights: Floats) -> Floats:
    return SS.compute(totals, weights) * np.nan


def one_value_for_all_rows(totals: ClusterTotals, weights: Floats) -> Floats:
    return SS.compute(totals, weights)[:1]


def normalised_over_rows(totals: ClusterTotals, weights: Floats) -> Floats:
    return SS.compute(totals, weights / weights.sum(axis=0))


def of_the_first_term(totals: ClusterTotals, weights: Floats) -> Floats:
    return np.full(len(weights), 100 * totals.stereotype[0] / totals.items[0])


def deaf_to_weights(totals: ClusterTotals, weights: Floats) -> Floats:
    return SS.compute(totals, np.ones_like(weights))


def of_log_ratios(totals: ClusterTotals, weights: Floats) -> Floats:
    values: Floats = (weights @ totals.log_ratio) / (weights @ totals.items)
    return values


def of_infinities(totals: ClusterTotals, weights: Floats) -> Floats:
    return of_log_ratios(totals, weights) * np.inf


def of_anti_stereotypes_squared(totals: ClusterTotals, weights: Floats) -> Floats:
    return (100 - SS.compute(totals, weights)) ** 2 / 100


@pytest.mark.parametrize(
    ("compute", "message"),
    [
        (beyond_its_range, "outside its range"),
        (undefined, "outside its range"),
        (one_value_for_all_rows, "shape"),
        (normalised_over_rows, "among others and alone"),
        (of_the_first_term, "in two orders"),
        (deaf_to_weights, "weight 2"),
        (of_anti_stereotypes_squared, "neutral value"),
    ],
)
def test_a_measure_that_computes_something_else_is_found_out(compute: Compute, message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        check_measure(replace(SS, compute=compute))


@pytest.mark.parametrize(
    ("measure", "message"),
    [
        (replace(SS, name=""), "no name"),
        (replace(SS, title=" "), "no title"),
        (replace(SS, version="1.0"), "a versioned name such as 'ss.v1' is needed"),
        (replace(SS, neutral=101.0), "the neutral value of SS is 101.0, outside"),
        (replace(SS, ideal=-1.0), "the ideal value of SS is -1.0, outside"),
        (replace(SS, doc=SS.doc.replace("Caveats:", "Beware:")), "section 'Caveats:'"),
        (replace(SS, doc="Measures:\n"), "section 'Measures:'"),
    ],
)
def test_a_measure_that_is_not_documented_is_found_out(measure: Measure, message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        check_measure(measure)


def test_a_measure_that_keeps_its_promises_passes_the_check() -> None:
    def share_of_sense(totals: ClusterTotals, weights: Floats) -> Floats:
        values: Floats = (weights @ totals.meaningful) / (weights @ totals.items)
        return values

    mine = replace(SS, name="sense", version="sense.v2", neutral=None, ideal=1.0, highest=1.0)

    check_measure(replace(mine, compute=share_of_sense))
    with pytest.raises(AssertionError, match="outside its range"):
        check_measure(mine)


def test_a_measure_without_limits_passes_the_check() -> None:
    bits = replace(SS, neutral=0.0, ideal=0.0, lowest=-np.inf, highest=np.inf, compute=of_log_ratios)

    check_measure(bits)
    for measure, message in (
        (replace(bits, compute=of_infinities), "outside its range"),
        (replace(bits, lowest=0.0), "outside its range"),
        (replace(bits, highest=0.0), "outside its range"),
        (replace(bits, neutral=1.0), "equal probabilities, and its neutral value"),
    ):
        with pytest.raises(AssertionError, match=message):
            check_measure(measure)


def sound() -> Benchmark:
    return builders.benchmark(builders.intra(1), builders.inter(1))


def with_item(item: Association) -> Benchmark:
    return builders.benchmark(item, builders.inter(2))


def same_labels() -> Association:
    first, second, third = builders.intra(1).candidates
    return replace(builders.intra(1), candidates=(first, second, replace(third, label=Label.STEREOTYPE)))


def empty_candidate() -> Association:
    first, second, third = builders.inter(1).candidates
    return replace(builders.inter(1), candidates=(first, second, replace(third, text=" ")))


@pytest.mark.parametrize(
    ("benchmark", "message"),
    [
        (builders.benchmark(), "has no items"),
        (builders.benchmark(builders.intra(1), name=" "), "has no name"),
        (builders.benchmark(builders.intra(1), language="English"), "a tag such as 'en'"),
        (
            builders.benchmark(builders.intra(1), language="de"),
            "item intra-1 is in 'en', its benchmark in 'de'",
        ),
        (builders.benchmark(builders.intra(1), builders.intra(1)), "1 item ids occur more than once"),
        (
            with_item(replace(builders.intra(1), candidates=builders.inter(2).candidates)),
            "3 candidate ids occur more than once",
        ),
        (with_item(replace(builders.intra(1), id="")), "empty item id"),
        (with_item(same_labels()), "one candidate of each label is needed"),
        (with_item(empty_candidate()), "candidate inter-1-u has an empty text"),
        (with_item(replace(builders.intra(1), cluster="")), "empty cluster"),
        (with_item(replace(builders.intra(1), target=" ")), "empty target"),
        (with_item(replace(builders.intra(1), bias_type="")), "empty bias type"),
        (with_item(replace(builders.inter(1), context="")), "empty context"),
        (with_item(replace(builders.intra(1), context="No gap.")), "intra-1 has no BLANK"),
        (
            with_item(replace(builders.intra(1), context="BLANK lives far away over there.")),
            "cannot be found in candidate intra-1-s",
        ),
    ],
)
def test_a_dataset_that_breaks_a_promise_is_found_out(benchmark: Benchmark, message: str) -> None:
    check_dataset(sound())

    with pytest.raises(AssertionError, match=message):
        check_dataset(benchmark)
