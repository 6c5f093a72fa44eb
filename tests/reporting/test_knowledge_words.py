"""What is said of knowledge is no more than its intervals allow."""

from __future__ import annotations

import pytest

from evenhand.core.estimates import Estimate
from evenhand.instruments.knowledge.results import KnowledgeResult
from evenhand.reporting.probes.knowledge_words import interpret_knowledge
from evenhand.reporting.words import Interpretation


def estimate(value: float, low: float, high: float) -> Estimate:
    return Estimate(value=value, low=low, high=high, n=100, clusters=50, method="jackknife")


def reading(share: Estimate, **kinds: Estimate) -> Interpretation:
    result = KnowledgeResult(
        method="mean",
        n=100,
        share_right=share,
        gap=estimate(2.0, 1.0, 3.0),
        sense=estimate(99.0, 97.0, 100.0),
        agreement=Estimate.undefined("nothing was written"),
        by_gender={},
        by_settling=kinds,
        by_role={},
    )
    return interpret_knowledge(result, "95%")


@pytest.mark.parametrize(
    ("share", "verdict"),
    [
        (estimate(90.0, 85.0, 95.0), "The model knows most of it"),
        (estimate(75.0, 62.0, 88.0), "The model knows at least a part of it"),
        (estimate(60.0, 55.0, 65.0), "The model knows at least a part of it"),
        (estimate(65.0, 45.0, 85.0), "The model is not shown to tell the genders apart"),
    ],
)
def test_the_verdict_on_knowledge_follows_from_the_interval(share: Estimate, verdict: str) -> None:
    assert reading(share).verdict == verdict


def test_a_kind_that_is_known_least_is_named_only_where_it_is_shown() -> None:
    """By hand: 40 minus 5 is above the root of 10^2 + 5^2, and 40 minus 35 is below that of 10^2 + 10^2."""
    share = estimate(90.0, 85.0, 95.0)
    name, close, far = estimate(60.0, 50.0, 70.0), estimate(65.0, 55.0, 75.0), estimate(95.0, 90.0, 98.0)
    assert reading(share, name=name, noun=far).sentences[-1] == (
        "It knows least, by more than chance explains, where the gender is settled by words of the kind name (60.0%)."
    )
    assert not any("least" in sentence for sentence in reading(share, name=name, noun=close).sentences)
