"""What the cards of items are made of: preferences by score, and bits only where probabilities are known."""

from __future__ import annotations

import math
from typing import Any

import builders
import pytest

from evenhand.api.measure import evaluate
from evenhand.data.predictions import Predictions
from evenhand.reporting.association.view import association_data
from evenhand.reporting.plotting import shown_runs
from evenhand.stats.resampling import Resampling

ITEMS = [builders.intra(number, cluster=f"term {number}") for number in range(3)]
POSITIVE = {"intra-0": (0.4, 0.1, 0.01), "intra-1": (0.2, 0.3, 0.01), "intra-2": (0.2, 0.2, 0.01)}
LOGS = {item: (math.log(s), math.log(a), math.log(u)) for item, (s, a, u) in POSITIVE.items()}


def run_data(scores: dict[str, float] | Predictions) -> dict[str, Any]:
    run = evaluate(scores, builders.benchmark(*ITEMS), resampling=Resampling(resamples=100))
    data: dict[str, Any] = association_data(shown_runs([run]), ["intrasentence"])["runs"][0]
    return data


def test_scores_from_a_file_have_no_bits() -> None:
    data = run_data(builders.scores(POSITIVE))
    assert [row[7] for row in data["items"]] == [None, None, None]
    assert data["ratios"] is True
    assert [row[4] for row in data["items"]] == pytest.approx([2.0, math.log2(2 / 3), 0.0], abs=1e-4)


def test_scores_that_may_be_negative_are_told_apart_by_their_difference() -> None:
    data = run_data(builders.scores(LOGS))
    assert data["ratios"] is False
    assert [row[4] for row in data["items"]] == pytest.approx([math.log(4), math.log(2 / 3), 0.0], abs=1e-4)


def test_bits_come_from_probabilities_and_not_from_scores() -> None:
    probabilities = {"intra-0": (0.01, 0.08, 0.5), "intra-1": (0.25, 0.25, 0.5), "intra-2": (0.5, 0.25, 0.1)}
    data = run_data(builders.predictions(POSITIVE, probabilities))
    assert [row[7] for row in data["items"]] == pytest.approx([-3.0, 0.0, 1.0])
    assert [row[3] for row in data["items"]] == [1, -1, 0]
