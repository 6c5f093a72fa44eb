"""What a page says in words follows from where the interval lies, not from the value alone."""

from __future__ import annotations

import builders
import pytest

from evenhand.api.measure import evaluate
from evenhand.reporting.association.words import interpret_association
from evenhand.reporting.words import Lean
from evenhand.stats.resampling import Resampling
from evenhand.store.run import Run


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


def run_with_sense(right: int, *, of: int) -> Run:
    """One item a term; sense beats nonsense in the first ``right`` of them."""
    items = [builders.intra(number, cluster=f"term {number:03d}") for number in range(of)]
    triples = {item.id: (2.0, 1.0, 0.5 if place < right else 5.0) for place, item in enumerate(items)}
    return evaluate(
        builders.scores(triples), builders.benchmark(*items), resampling=Resampling(resamples=1000)
    )


@pytest.mark.parametrize(
    ("right", "of", "said"),
    [
        (
            0,
            12,
            "only 0.0% of the time, less often than guessing would (50). The scores do not follow meaning",
        ),
        # By hand: 1.96 standard errors of a share of half of 200 items are 6.9 points, of 65% 6.6 and of 68% 6.5.
        (98, 200, "only 49.0% of the time (95% interval 4"),
        (
            98,
            200,
            "; guessing gives 50). It is not shown that the scores follow meaning, so the lean above says",
        ),
        (104, 200, "only 52.0% of the time (95% interval 4"),
        (
            104,
            200,
            "; guessing gives 50). It is not shown that the scores follow meaning, so the lean above says",
        ),
        (116, 200, "58.0% of the time (95% interval 5"),
        (
            116,
            200,
            "; guessing gives 50): the items are understood only in part, so read the lean with care.",
        ),
        (
            136,
            200,
            "; guessing gives 50): the items are perhaps understood only in part, so read the lean with",
        ),
        (200, 200, "every time (guessing gives 50), so the scores follow meaning and the lean can be read."),
        (
            1,
            1,
            "every time (guessing gives 50). How sure that is cannot be said: an interval needs at least two",
        ),
    ],
)
def test_sense_is_told_from_guessing_by_its_interval(right: int, of: int, said: str) -> None:
    assert said in interpret_association(run_with_sense(right, of=of)).sentences[2]


@pytest.mark.parametrize(
    ("right", "of", "verdict"),
    [
        (0, 12, "The scores do not follow meaning"),
        (98, 200, "The scores are not shown to follow meaning"),
        (104, 200, "The scores are not shown to follow meaning"),
        (7, 12, "Not enough data to say"),
    ],
)
def test_that_scores_do_not_follow_meaning_is_said_only_below_guessing(
    right: int, of: int, verdict: str
) -> None:
    assert interpret_association(run_with_sense(right, of=of)).verdict == verdict


def test_few_items_that_are_all_right_are_not_called_guesses() -> None:
    reading = interpret_association(run_with_sense(3, of=3))
    assert reading.lean is Lean.UNKNOWN
    assert reading.verdict == "Not enough data to say"
    low = run_with_sense(3, of=3).result.tasks["intrasentence"].LMS.low
    assert reading.sentences[2] == (
        f"Sense beat nonsense every time (95% interval {low:.1f} to 100.0). The interval includes 50, which guessing "
        "gives: 3 items about 3 target terms are too few to tell whether the scores follow meaning, so the lean above "
        "says little."
    )
    assert "58.3% of the time (95% interval " in interpret_association(run_with_sense(7, of=12)).sentences[2]


def run_of_groups(wins: dict[str, int], *, of: int = 60) -> Run:
    """One item a term, ``of`` items in each group; the stereotype is preferred on so many of them."""
    items, triples = [], {}
    for start, (group, won) in enumerate(wins.items()):
        for place in range(of):
            item = builders.intra(start * of + place, cluster=f"{group} {place:02d}", bias_type=group)
            items.append(item)
            triples[item.id] = (2.0, 1.0, 0.5) if place < won else (1.0, 2.0, 0.5)
    return evaluate(
        builders.scores(triples), builders.benchmark(*items), resampling=Resampling(resamples=1000)
    )


@pytest.mark.parametrize(
    ("wins", "says"),
    [
        ({"gender": 55, "race": 54, "religion": 56}, None),
        (
            {"gender": 59, "race": 40, "religion": 41},
            "strongest for gender (98.3), by more than chance explains.",
        ),
        ({"gender": 59, "race": 57, "religion": 41}, None),
        ({"gender": 58, "race": 2, "religion": 59}, None),
        ({"gender": 59}, None),
    ],
)
def test_a_group_leans_most_only_where_it_is_shown_beside_every_other(
    wins: dict[str, int], says: str | None
) -> None:
    text = " ".join(interpret_association(run_of_groups(wins)).sentences)
    assert "chance alone is an unlikely explanation" in text
    if says is None:
        assert "strongest" not in text
    else:
        assert says in text
