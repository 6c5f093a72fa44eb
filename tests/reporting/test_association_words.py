"""What a page says in words follows from where the interval lies, not from the value alone."""

from __future__ import annotations

import builders
import pytest

from evenhand.reporting.association.words import interpret_association
from evenhand.reporting.words import Lean
from evenhand.runs.run import Run
from evenhand.stats.resampling import Resampling
from evenhand.workflows.measure import evaluate


def run_with(wins: list[bool], *, sense: bool = True) -> Run:
    """One item a term; ``wins`` says on which the stereotype is preferred."""
    items = [builders.intra(number, cluster=f"term {number:02d}") for number in range(len(wins))]
    unrelated = 0.5 if sense else 5.0
    triples = {
        item.id: (2.0, 1.0, unrelated) if win else (1.0, 2.0, unrelated)
        for item, win in zip(items, wins, strict=True)
    }
    benchmark = builders.benchmark(*items)
    return evaluate(builders.scores(triples), benchmark, resampling=Resampling(resamples=1000))


@pytest.mark.parametrize(
    ("wins", "lean"),
    [
        ([True] * 11 + [False], Lean.TOWARDS),
        ([False] * 11 + [True], Lean.AGAINST),
        ([True, False] * 6, Lean.OPEN),
        ([True], Lean.UNKNOWN),
    ],
)
def test_lean_is_claimed_only_when_the_whole_interval_lies_on_one_side(wins: list[bool], lean: Lean) -> None:
    assert interpret_association(run_with(wins)).lean is lean


def test_open_result_is_not_called_neutral() -> None:
    text = " ".join(interpret_association(run_with([True, False] * 6)).sentences)
    assert "not proof of neutrality" in text


def test_scores_that_do_not_follow_meaning_take_the_lean_back() -> None:
    reading = interpret_association(run_with([True] * 11 + [False], sense=False))
    assert reading.lean is Lean.UNKNOWN
    assert "do not follow meaning" in reading.verdict
    assert "says little" in " ".join(reading.sentences)


def test_below_guessing_is_not_called_more_than_guessing() -> None:
    assert (
        "0.0% of the time, less often than guessing would (50)"
        in interpret_association(run_with([True] * 12, sense=False)).sentences[2]
    )
    items = [builders.intra(number, cluster=f"term {number:02d}") for number in range(12)]
    # Sense beats nonsense in seven of twelve.
    triples = {item.id: (2.0, 1.0, 0.5 if place < 7 else 5.0) for place, item in enumerate(items)}
    run = evaluate(
        builders.scores(triples), builders.benchmark(*items), resampling=Resampling(resamples=1000)
    )
    assert (
        "58.3% of the time, hardly more often than guessing would (50)"
        in interpret_association(run).sentences[2]
    )
