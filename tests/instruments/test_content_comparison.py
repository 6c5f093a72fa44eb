"""Lexicons and occupations of two runs beside each other, and texts that were skipped: against plain counting."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

import pytest

from evenhand.data.group_texts import GroupText, GroupTexts
from evenhand.instruments.regard.analysis import RegardAnalysisOptions
from evenhand.instruments.regard.content import ContentLists
from evenhand.instruments.regard.evaluation import RegardEvaluation
from evenhand.instruments.regard.results import LabellingClassifier
from evenhand.instruments.regard.skipped_texts import skipped_warnings
from evenhand.stats.resampling import Resampling
from evenhand.store.classifier_records import CheckVerdict
from evenhand.store.comparison import compare
from evenhand.store.conditions import Condition
from evenhand.store.run import Run
from evenhand.text.lexicons import CategoryLexicon
from evenhand.text.occupations import OccupationList

pytest.importorskip("simplemma")

FEW = Resampling(resamples=200)
CONTEXTS = ("worked as", "was seen as", "was known as")
LISTS = ContentLists(
    lexicon=CategoryLexicon(name="own", language="en", words={"care": ("nurse", "carer")}, sha256="0"),
    occupations=OccupationList(
        name="own",
        language="en",
        forms={"nurse": ("nurse",), "cook": ("cook",), "clerk": ("clerk",)},
        sha256="0",
    ),
    review=None,
    digests={},
)
BEFORE = {"woman": ("nurse", "nurse", "cook", "clerk"), "man": ("cook", "clerk", "clerk", "nobody")}
AFTER = {"woman": ("nurse", "cook", "cook", "clerk"), "man": ("nurse", "cook", "cook", "clerk")}


def texts(nouns: Mapping[str, Sequence[str]], **further: object) -> GroupTexts:
    rows = [
        GroupText(text=f"The {group} {context} a {noun}.", group=group, context=context, label="0")
        for context in CONTEXTS
        for group, own in nouns.items()
        for noun in own
    ]
    return GroupTexts(name="own", language="en", texts=tuple(rows), **further)  # type: ignore[arg-type]


def run_of(nouns: Mapping[str, Sequence[str]]) -> Run:
    return RegardEvaluation(texts(nouns), RegardAnalysisOptions(resampling=FEW), lists=LISTS).measure()


def slow_divergence(nouns: Mapping[str, Sequence[str]]) -> float:
    counts = [Counter(noun for noun in nouns[group] if noun != "nobody") for group in ("woman", "man")]
    shares = [{noun: own[noun] / own.total() for noun in own} for own in counts]
    return sum(
        share * math.log2(2 * share / (shares[0].get(noun, 0) + shares[1].get(noun, 0))) / 2
        for own in shares
        for noun, share in own.items()
    )


def test_changes_of_lexicons_and_occupations_are_those_that_one_can_count() -> None:
    comparison = compare(
        run_of(BEFORE),
        run_of(AFTER),
        measures=["lexicon", "lexicon_gap", "occupation_divergence"],
        resampling=FEW,
    )
    rows = {row.key: row for row in comparison.differences}

    women, men = (rows[f"all.care.{group}.lexicon"] for group in ("woman", "man"))
    assert (women.first, women.second) == (50.0, 25.0)
    assert (men.first, men.second) == (0.0, 25.0)
    gap = rows["all.care.woman-man.lexicon_gap"]
    assert (gap.first, gap.second, gap.difference.value) == (50.0, 0.0, -50.0)
    assert gap.distance is not None
    assert gap.distance.value == -50.0
    divergence = rows["all.woman-man.occupation_divergence"]
    assert divergence.first == pytest.approx(slow_divergence(BEFORE))
    assert divergence.second == pytest.approx(slow_divergence(AFTER), abs=1e-12)
    assert divergence.difference.clusters == len(CONTEXTS)


def test_a_change_by_contexts_is_tested_by_exchanging_the_runs_within_them() -> None:
    (row,) = compare(
        run_of(BEFORE), run_of(AFTER), measures=["occupation_divergence"], resampling=FEW
    ).differences

    # All contexts change alike, so of 8 ways to exchange both runs two are as far apart: none and all.
    assert row.p_value == pytest.approx(2 / 8)


def test_what_both_runs_share_is_contexts() -> None:
    comparison = compare(run_of(BEFORE), run_of(AFTER), resampling=FEW)

    assert comparison.shared == "3 shared contexts, 24 and 24 texts."
    assert {row.measure for row in comparison.differences} == {
        "signed_gap",
        "lexicon_gap",
        "occupation_divergence",
    }


def test_conditions_may_be_about_lexicons_and_occupations() -> None:
    run = run_of(BEFORE)

    assert Condition.parse("care.woman.lexicon>49").holds(run)
    assert Condition.parse("care.woman-man.lexicon_gap>49").holds(run)
    assert not Condition.parse("occupation_divergence>0.9").holds(run)


def test_runs_that_were_searched_for_other_words_are_compared_by_regard_alone() -> None:
    other = RegardEvaluation(texts(AFTER), RegardAnalysisOptions(resampling=FEW)).measure()

    comparison = compare(run_of(BEFORE), other, resampling=FEW)

    assert {row.measure for row in comparison.differences} == {"signed_gap"}


@pytest.mark.parametrize(
    ("lost", "message"),
    [
        ({}, None),
        ({"too short": {"woman": 1}}, None),
        ({"too short": {"woman": 2}, "empty": {"man": 2}}, "4 of 28 texts were skipped"),
        ({"too short": {"woman": 12}}, "12 of 24 texts about woman were skipped, and 0 of 12 about man"),
    ],
)
def test_many_skipped_texts_and_unequal_ones_are_told(
    lost: dict[str, dict[str, int]], message: str | None
) -> None:
    warnings = skipped_warnings(texts(BEFORE, left_out=lost))

    assert len(warnings) == (message is not None)
    assert all(message in own for own in warnings if message)


def test_skipped_texts_are_counted_by_reason_and_group() -> None:
    lost = {"too short": {"woman": 2, "man": 1}, "empty": {"man": 3}}
    run = RegardEvaluation(texts(BEFORE, left_out=lost), RegardAnalysisOptions(resampling=FEW)).measure()

    assert [(own.reason, own.group, own.count) for own in run.result.skipped] == [
        ("too short", "woman", 2),
        ("too short", "man", 1),
        ("empty", "man", 3),
    ]
    assert run.record.skipped == {"too short": 3, "empty": 3}


def test_a_check_about_some_persons_says_nothing_about_others() -> None:
    passed = LabellingClassifier(
        name="own",
        fingerprint="0",
        verdict=CheckVerdict.PASSED,
        warning=None,
        checked=("The woman", "The man"),
    )

    assert passed.about(["The man", "the woman"]) == passed
    other = passed.about(["The gay person", "The man"])
    assert other.unchecked == ("The gay person",)
    assert other.warning == (
        "The check of the classifier own was about The woman and The man, not about The gay person. Run: evenhand "
        "regard check own --pairs FILE"
    )
    assert texts(BEFORE).persons == ("The woman", "The man")
