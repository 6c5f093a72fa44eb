"""Regard as an instrument: what is analysed, compared, gated and said."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

from evenhand.core.errors import ComparisonError, DatasetError, EvenhandError
from evenhand.data.group_texts import GroupText, GroupTexts
from evenhand.instruments.regard.analysis import (
    LabelPairs,
    RegardAnalysisOptions,
    analyse_regard,
    frame_of_texts,
    texts_of_frame,
)
from evenhand.instruments.regard.evaluation import NO_LABELLED_SAMPLE, SMALL_SAMPLE, RegardEvaluation
from evenhand.instruments.regard.instrument import REGARD
from evenhand.instruments.regard.results import ErrorTreatment, RegardResult
from evenhand.lab.regard_gap import PUBLISHED_CONFUSION, PlantedGap, plant_gap
from evenhand.stats.resampling import Resampling
from evenhand.store.comparison import compare
from evenhand.store.conditions import Condition
from evenhand.store.run import Run
from evenhand.testing import FakeModel

FEW = RegardAnalysisOptions(resampling=Resampling(resamples=1_024))


def planted(seed: int = 1, **plan: Any) -> GroupTexts:
    return plant_gap(PlantedGap(**{"texts": 30, **plan}), np.random.default_rng(seed))


def run_of(texts: GroupTexts, options: RegardAnalysisOptions = FEW, **determining: Any) -> Run:
    return RegardEvaluation(texts, options, determining=determining).measure()


def of_kinds(texts: GroupTexts) -> GroupTexts:
    """The same texts, contexts with an even number being about respect."""
    return replace(
        texts,
        texts=tuple(
            replace(own, kind="respect" if int(own.context.split()[1]) % 2 == 0 else "occupation")
            for own in texts
        ),
    )


def test_shares_and_gaps_are_those_that_one_can_count() -> None:
    texts = of_kinds(planted(gap=15))
    result = analyse_regard(texts, FEW)
    assert list(result.by_kind) == ["respect", "occupation"]
    assert len(result.by_context) == 10
    for part, chosen in (
        (result.all, lambda _: True),
        (result.by_kind["respect"], lambda own: own.kind == "respect"),
        (result.by_context["context 3"], lambda own: own.context == "context 3"),
    ):
        net = {}
        for group, own in part.figures.groups.items():
            labels = [text.label for text in texts if text.group == group and chosen(text)]
            assert own.n == len(labels)
            shares = [100 * labels.count(code) / len(labels) for code in ("-1", "0", "1")]
            assert [own.negative.value, own.neutral.value, own.positive.value] == pytest.approx(shares)
            net[group] = shares[2] - shares[0]
            assert own.net_regard.value == pytest.approx(net[group])
        (gap,) = part.figures.gaps
        assert gap.gap.value == pytest.approx(net["first group"] - net["second group"])
        assert part.figures.widest_gap.value == pytest.approx(abs(gap.gap.value))


def test_p_values_of_gaps_are_adjusted_over_all_contexts_and_kinds() -> None:
    result = analyse_regard(of_kinds(planted(gap=15)), FEW)
    parts = [result.all, *result.by_kind.values()]
    p_values = sorted(part.figures.gaps[0].p_value for part in parts)
    smallest = min(part.figures.gaps[0].p_holm for part in parts)
    assert smallest == pytest.approx(min(1.0, 3 * p_values[0]))


def test_several_groups_have_a_gap_for_every_two_and_one_widest() -> None:
    texts = planted(gap=15)
    third = tuple(replace(own, group="third group", label="1") for own in texts if own.group == "first group")
    result = analyse_regard(replace(texts, texts=(*texts.texts, *third)), FEW)
    figures = result.all.figures
    assert [(gap.first, gap.second) for gap in figures.gaps] == [
        ("first group", "second group"),
        ("first group", "third group"),
        ("second group", "third group"),
    ]
    assert figures.widest_gap.value == pytest.approx(max(abs(gap.gap.value) for gap in figures.gaps))
    assert result.all.freedom == 4
    assert result.all.p_clustered < 0.01


def test_no_labelled_sample_is_warned_about() -> None:
    run = run_of(planted())
    assert NO_LABELLED_SAMPLE in run.record.warnings
    assert run.result.all.figures.treatment is ErrorTreatment.NONE


def test_a_labelled_sample_carries_the_error_through() -> None:
    texts = planted(gap=5, confusion=PUBLISHED_CONFUSION, bias=0.3, labelled=300, texts=60)
    result = run_of(texts).result
    figures = result.all.figures
    confusion, plain = result.all.others
    assert [own.treatment for own in (figures, confusion, plain)] == [
        ErrorTreatment.PREDICTION_POWERED,
        ErrorTreatment.CONFUSION_MATRIX,
        ErrorTreatment.NONE,
    ]
    assert plain.gaps[0].gap.value > figures.gaps[0].gap.value + 5
    lengths = [own.gaps[0].gap.high - own.gaps[0].gap.low for own in (figures, plain)]
    assert lengths[0] > lengths[1]
    assert result.labelled_sample.texts == 300
    human = [own for own in texts if own.human_label is not None]
    assert sum(map(sum, result.labelled_sample.confusion)) == len(human)
    right = sum(own.human_label == own.label for own in human) / len(human)
    assert result.labelled_sample.accuracy.value == pytest.approx(right)


def test_a_sample_that_is_too_small_is_said_to_be() -> None:
    run = run_of(planted(confusion=PUBLISHED_CONFUSION, labelled=6))
    assert SMALL_SAMPLE in run.record.warnings
    assert run.result.all.figures.treatment is ErrorTreatment.NONE


def test_confusions_that_would_give_impossible_shares_are_not_undone() -> None:
    """Texts of one kind are all labelled negative, though on people's texts a fifth of each label is lost to others."""
    codes = ("-1", "0", "1")
    pairs = [(one, other) for one in codes for other in codes for _ in range(30 if one == other else 10)]
    human, predicted = zip(*pairs, strict=True)
    texts = GroupTexts(
        name="x",
        language="en",
        texts=tuple(
            GroupText(
                text=f"{group} {context} {number}",
                group=group,
                context=context,
                kind=kind,
                label="-1" if kind == "odd" else codes[number % 3],
            )
            for kind, contexts in {"odd": "abc", "even": "defghi"}.items()
            for context in contexts
            for group in ("female", "male")
            for number in range(6)
        ),
    )
    run = run_of(texts, replace(FEW, other_texts=LabelPairs(human=human, predicted=predicted, sha256="abc")))

    # (1, 0, 0) undone by rates of .6 and .2 is (2, -.5, -.5); a third of each stays a third of each.
    odd, even = (run.result.by_kind[kind].figures for kind in ("odd", "even"))
    assert odd.treatment is ErrorTreatment.NONE
    assert odd.groups["female"].negative.value == pytest.approx(100)
    assert even.treatment is ErrorTreatment.CONFUSION_MATRIX
    assert even.groups["female"].negative.value == pytest.approx(100 / 3)
    (warning,) = [own for own in run.record.warnings if "cannot be carried through" in own]
    assert warning.startswith("In contexts of odd figures are as the classifier labels")


def test_labels_of_other_texts_undo_confusions() -> None:
    texts = planted(gap=15, confusion=PUBLISHED_CONFUSION)
    codes = ("-1", "0", "1")
    human, predicted = zip(
        *(
            (codes[true], codes[given])
            for true, row in enumerate(PUBLISHED_CONFUSION)
            for given, count in enumerate(row)
            for _ in range(count)
        ),
        strict=True,
    )
    pairs = LabelPairs(human=human, predicted=predicted, sha256="abc")
    run = run_of(texts, replace(FEW, other_texts=pairs))
    figures = run.result.all.figures
    assert figures.treatment is ErrorTreatment.CONFUSION_MATRIX
    assert abs(figures.gaps[0].gap.value) > abs(run.result.all.others[0].gaps[0].gap.value)
    assert run.record.data == {"labelled": "abc"}
    assert run.record.fingerprint != run_of(texts).record.fingerprint


def test_texts_without_contexts_are_taken_one_by_one() -> None:
    texts = planted(gap=15, labelled=200, confusion=PUBLISHED_CONFUSION)
    plain = replace(texts, texts=tuple(replace(own, context="") for own in texts))
    result = analyse_regard(plain, FEW)
    assert result.all.contexts == 1
    assert math.isnan(result.all.p_clustered)
    assert result.all.figures.gaps[0].gap.low < result.all.figures.gaps[0].gap.value


def test_few_contexts_cannot_show_a_gap_and_that_is_said() -> None:
    warnings = run_of(planted(contexts=4)).record.warnings
    assert any("There are 4 contexts" in own and "0.125" in own for own in warnings)


def test_few_contexts_of_a_kind_cannot_show_a_gap_and_that_is_said() -> None:
    warnings = run_of(of_kinds(planted(contexts=11))).record.warnings
    (said,) = [own for own in warnings if own.startswith("There are")]
    assert said == (
        "There are 5 contexts of occupation. Exchanging groups within so few never gives a p-value below 0.062, so no "
        "gap can be shown in them alone. Use 6 or more."
    )


def test_texts_that_are_all_alike_have_no_gap_and_no_certainty() -> None:
    texts = planted()
    alike = texts.labelled_as(["0"] * len(texts))
    result = analyse_regard(alike, FEW)
    assert result.all.figures.gaps[0].gap.value == 0
    assert result.all.figures.gaps[0].gap.reason is not None
    assert math.isnan(result.all.chi_squared)
    assert not result.all.figures.gaps[0].equivalence.holds


def test_a_group_may_be_missing_from_a_kind_of_contexts() -> None:
    texts = of_kinds(planted())
    kept = tuple(own for own in texts if own.kind == "respect" or own.group == "first group")
    result = analyse_regard(replace(texts, texts=kept), FEW)
    occupation = result.by_kind["occupation"].figures
    assert occupation.groups["first group"].net_regard.defined
    assert not occupation.groups["second group"].net_regard.defined
    assert not occupation.gaps[0].gap.defined


def test_texts_without_labels_and_margins_below_0_are_refused() -> None:
    texts = planted()
    bare = replace(texts, texts=tuple(replace(own, label=None) for own in texts))
    with pytest.raises(DatasetError, match=r"600 of 600 texts .* have no label"):
        analyse_regard(bare)
    with pytest.raises(EvenhandError, match="must be above 0"):
        RegardAnalysisOptions(margin=0)


def test_a_frame_keeps_the_texts() -> None:
    texts = of_kinds(planted(labelled=20))
    assert tuple(texts_of_frame(frame_of_texts(texts))) == texts.texts


def test_conditions_gate_on_the_gap_without_its_sign() -> None:
    run = run_of(of_kinds(planted(gap=-20, spread=2)))
    signed = run.figure("all.first group-second group.signed_gap").estimate.value
    assert signed < -10
    assert Condition.parse("gap>10").holds(run)
    assert Condition.parse("gap>0").value_in(run) == pytest.approx(-signed)
    assert Condition.parse("respect.gap>1").holds(run)
    assert not Condition.parse("first group.net_regard>100").holds(run)
    headline = [figure.key for figure in run.figures if figure.is_headline]
    assert headline == ["all.first group-second group.signed_gap"]


def test_a_change_of_the_gap_is_that_of_both_runs() -> None:
    first, second = (run_of(of_kinds(planted(seed=seed, gap=gap))) for seed, gap in ((1, 20.0), (2, 0.0)))
    comparison = compare(first, second, by_group=True, resampling=FEW.resampling)
    assert [row.key for row in comparison.differences] == [
        f"all.{place}first group-second group.signed_gap" for place in ("", "respect.", "occupation.")
    ]
    row = comparison.differences[0]
    assert row.difference.value == pytest.approx(row.second - row.first)
    assert row.first == pytest.approx(first.figure(row.key).estimate.value)
    assert row.distance is not None
    assert row.distance.value == pytest.approx(abs(row.second) - abs(row.first))
    shares = compare(first, second, measures=["positive", "net_regard"], resampling=FEW.resampling)
    assert {own.measure for own in shares.differences} == {"positive", "net_regard"}


def test_contexts_belong_together_whatever_their_order_in_the_files() -> None:
    first, second = (of_kinds(planted(seed=seed, gap=10)) for seed in (1, 2))
    turned = replace(second, texts=second.texts[::-1])
    turned = replace(turned, texts=tuple(sorted(turned.texts, key=lambda own: own.group)))
    plain, other = (
        compare(run_of(first), run_of(own), by_group=True, resampling=FEW.resampling).differences
        for own in (second, turned)
    )
    assert [(row.p_value, row.difference) for row in plain] == [
        (row.p_value, row.difference) for row in other
    ]


def test_runs_that_carry_the_error_through_are_compared_so() -> None:
    runs = [
        run_of(planted(seed=seed, gap=10, confusion=PUBLISHED_CONFUSION, labelled=300, texts=60))
        for seed in (1, 2)
    ]
    (row,) = compare(*runs, resampling=FEW.resampling).differences
    assert row.first == pytest.approx(runs[0].figure(row.key).estimate.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"decoding": {"top_p": 0.5}}, "were decoded in different ways"),
        ({"classifier": "another"}, "were labelled in different ways"),
    ],
)
def test_runs_that_differ_in_more_than_the_model_are_not_compared(
    change: dict[str, Any], message: str
) -> None:
    first = run_of(planted(), decoding={"top_p": 0.92}, classifier="one")
    second = run_of(planted(seed=2), **{"decoding": {"top_p": 0.92}, "classifier": "one"} | change)
    with pytest.raises(ComparisonError, match=message):
        REGARD.refuse_incomparable(first, second)


def test_runs_about_others_or_in_other_contexts_are_not_compared() -> None:
    texts = planted()
    first = run_of(texts)
    others = replace(texts, texts=tuple(replace(own, group=own.group.title()) for own in texts))
    with pytest.raises(ComparisonError, match="Only runs about the same groups"):
        compare(first, run_of(others))
    elsewhere = replace(texts, texts=tuple(replace(own, context=f"other {own.context}") for own in texts))
    with pytest.raises(ComparisonError, match="fewer than two contexts in common"):
        compare(first, run_of(elsewhere))


def test_a_run_whose_texts_and_figures_are_about_others_is_not_compared() -> None:
    first, other = run_of(planted()), run_of(planted(seed=2))
    mixed = replace(other, scores=other.scores.with_columns(pl.lit("somebody").alias("group")))
    with pytest.raises(ComparisonError, match="texts about somebody, of whom it has no figures"):
        compare(first, mixed)


def test_damaged_results_and_scores_are_refused() -> None:
    run = run_of(planted())
    with pytest.raises(ValueError, match="figures are of"):
        RegardResult.model_validate({**run.result.model_dump(), "groups": ("a", "b")})
    with pytest.raises(ValueError, match="do not fit together"):
        RegardResult.model_validate({**run.result.model_dump(), "kind_of_context": {}})
    with pytest.raises(ValueError, match="label has values other than"):
        REGARD.read_scores(run.scores.with_columns(pl.lit(7, dtype=pl.Int64).alias("label")))


def test_a_model_without_a_classifier_is_told_what_to_do() -> None:
    model = FakeModel({}, otherwise=0.5)
    with pytest.raises(EvenhandError, match="need a classifier that labels them"):
        REGARD.prepare(model, REGARD.options_type())


def test_a_gap_of_texts_that_are_equal_on_average_is_shown_to_be_small() -> None:
    generator = np.random.default_rng(0)
    texts = GroupTexts(
        name="even",
        language="en",
        texts=tuple(
            GroupText(
                text=f"{group} {context} {number}",
                group=group,
                context=f"context {context}",
                label=("-1", "0", "1")[(number + (number == 0) * int(generator.integers(3))) % 3],
            )
            for group in ("a", "b")
            for context in range(12)
            for number in range(300)
        ),
    )
    (gap,) = analyse_regard(texts, FEW).all.figures.gaps
    assert gap.equivalence.holds
    assert gap.p_value > 0.05
