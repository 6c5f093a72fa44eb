"""From scores to a result: what is scored, what is skipped, and what is said about it."""

from __future__ import annotations

import json
import math
from pathlib import Path

import builders
import definitions
import pytest

from evenhand.api.measure import evaluate
from evenhand.core.errors import DatasetError, PredictionsError
from evenhand.core.items import Association
from evenhand.instruments.association.evaluation import Evaluation
from evenhand.instruments.association.results import SkippedReason, predictions_json
from evenhand.stats.resampling import Resampling

HIGH_LOW: builders.Triple = (3.0, 2.0, 1.0)


@pytest.fixture
def items() -> tuple[Association, ...]:
    return (
        builders.intra(1),
        builders.intra(2, cluster="pilot"),
        builders.intra(3, cluster="sister", bias_type="gender"),
        builders.inter(1),
        builders.inter(2, cluster="pilot"),
    )


def test_an_item_without_one_of_its_scores_is_skipped_counted_and_explained(
    items: tuple[Association, ...], quick: Resampling
) -> None:
    scores = builders.scores({item.id: HIGH_LOW for item in items})
    del scores["intra-2-a"]
    scores["intra-3-u"] = math.nan

    run = evaluate(scores, builders.benchmark(*items), resampling=quick)

    result = run.result.tasks["intrasentence"]
    assert (result.n, result.skipped) == (1, 2)
    assert (result.by_bias_type["gender"].n, result.by_bias_type["gender"].skipped) == (0, 1)
    assert run.record.skipped == {"intrasentence": 2, "intersentence": 0}
    assert set(run.result.skipped) == {
        SkippedReason(
            reason="there is no score (anti-stereotype candidate)", task="intrasentence", items=("intra-2",)
        ),
        SkippedReason(reason="score is NaN (unrelated candidate)", task="intrasentence", items=("intra-3",)),
    }
    assert run.result.warnings == (
        "intrasentence items skipped, because there is no score (anti-stereotype candidate): 1 of 3 (intra-2).",
        "intrasentence items skipped, because score is NaN (unrelated candidate): 1 of 3 (intra-3).",
    )


def test_every_candidate_of_a_skipped_item_says_why(quick: Resampling) -> None:
    scores = builders.scores({"intra-1": (math.inf, 2.0, 1.0)})

    run = evaluate(scores, builders.benchmark(builders.intra(1)), resampling=quick)

    assert run.scores["skipped_reason"].to_list() == [
        "score is infinite (stereotype candidate)",
        "another candidate of the item has no usable score",
        "another candidate of the item has no usable score",
    ]


def test_a_group_without_a_scored_item_is_undefined_and_not_zero(
    items: tuple[Association, ...], quick: Resampling
) -> None:
    scores = builders.scores({item.id: HIGH_LOW for item in items}) | {"intra-3-s": math.nan}

    gender = (
        evaluate(scores, builders.benchmark(*items), resampling=quick)
        .result.tasks["intrasentence"]
        .by_bias_type["gender"]
    )

    for _, estimate in gender.estimates():
        assert math.isnan(estimate.value)
        assert estimate.reason == "no item could be scored"
    assert math.isnan(gender.against_neutral.p_binomial)
    assert math.isnan(gender.against_neutral.p_clustered)


def test_a_task_without_a_scored_item_is_undefined(quick: Resampling) -> None:
    run = evaluate(
        builders.scores({"intra-1": (math.nan, 2.0, 1.0)}),
        builders.benchmark(builders.intra(1)),
        resampling=quick,
    )

    result = run.result.tasks["intrasentence"]
    assert not result.SS.defined
    assert result.by_target == ()


def test_one_target_term_has_a_value_but_no_interval(quick: Resampling) -> None:
    run = evaluate(
        builders.scores({"intra-1": HIGH_LOW}), builders.benchmark(builders.intra(1)), resampling=quick
    )

    ss = run.result.tasks["intrasentence"].SS
    assert ss.value == 100
    assert math.isnan(ss.low)
    assert ss.reason == "an interval needs at least two target terms"


def test_scores_that_belong_to_no_candidate_are_listed(
    items: tuple[Association, ...], quick: Resampling
) -> None:
    scores = builders.scores({item.id: HIGH_LOW for item in items}) | {"stranger": 1.0, "other": 2.0}

    run = evaluate(scores, builders.benchmark(*items), resampling=quick)

    assert run.record.predictions is not None
    assert run.record.predictions.unknown_ids == ("stranger", "other")
    assert run.result.warnings == (
        "scores left aside, because they belong to no candidate of tiny (en): 2 (stranger, other).",
    )
    assert run.result.tasks["overall"].n == 5


def test_scores_for_another_benchmark_are_refused() -> None:
    with pytest.raises(PredictionsError, match=r"None of the 2 scores .* belongs to .* tiny \(en\).*x1, x2"):
        evaluate({"x1": 1.0, "x2": 2.0}, builders.benchmark(builders.intra(1)))


def test_scores_for_one_task_give_that_task_only(items: tuple[Association, ...], quick: Resampling) -> None:
    scores = builders.scores({item.id: HIGH_LOW for item in items if item.id.startswith("inter")})

    run = evaluate(scores, builders.benchmark(*items), resampling=quick)

    assert list(run.result.tasks) == ["intersentence"]
    assert set(run.scores["task"].to_list()) == {"intersentence"}
    assert run.record.scored == {"intersentence": 2}
    assert run.result.warnings == ()


def test_overall_pools_the_items_of_both_tasks(items: tuple[Association, ...], quick: Resampling) -> None:
    triples: dict[str, builders.Triple] = {
        "intra-1": (3.0, 2.0, 1.0),
        "intra-2": (2.0, 3.0, 1.0),
        "intra-3": (1.0, 2.0, 3.0),
        "inter-1": (2.0, 3.0, 2.5),
        "inter-2": (3.0, 1.0, 2.0),
    }
    terms = {item.id: item.cluster for item in items}
    expected = definitions.all_measures(
        [definitions.Item(terms[item], *triple) for item, triple in triples.items()], 0.5
    )

    overall = evaluate(builders.scores(triples), builders.benchmark(*items), resampling=quick).result.tasks[
        "overall"
    ]

    assert {name: overall.estimate(name).value for name in expected} == pytest.approx(expected, nan_ok=True)
    assert (overall.n, overall.clusters) == (5, 3)


def test_each_bias_type_is_measured_over_its_own_items(
    items: tuple[Association, ...], quick: Resampling
) -> None:
    triples = {item.id: HIGH_LOW for item in items} | {"intra-3": (1.0, 2.0, 3.0)}

    by_bias_type = (
        evaluate(builders.scores(triples), builders.benchmark(*items), resampling=quick)
        .result.tasks["overall"]
        .by_bias_type
    )

    assert {name: (group.n, group.SS.value, group.LMS.value) for name, group in by_bias_type.items()} == {
        "gender": (1, 0, 0),
        "profession": (4, 100, 100),
    }


def test_the_same_inputs_give_the_same_result(items: tuple[Association, ...], quick: Resampling) -> None:
    scores = builders.scores({item.id: HIGH_LOW for item in items})

    first, second = (evaluate(scores, builders.benchmark(*items), resampling=quick) for _ in range(2))

    assert first.result.model_dump_json() == second.result.model_dump_json()


def test_the_order_of_items_does_not_matter(items: tuple[Association, ...], quick: Resampling) -> None:
    scores = builders.scores(
        {item.id: (float(number % 3), 1.5, float(number % 2)) for number, item in enumerate(items)}
    )

    forward, backward = (
        evaluate(scores, builders.benchmark(*ordered), resampling=quick) for ordered in (items, items[::-1])
    )

    assert (
        forward.result.tasks["overall"].model_dump_json()
        == backward.result.tasks["overall"].model_dump_json()
    )


def test_files_and_names_are_accepted(tmp_path: Path, quick: Resampling) -> None:
    data = builders.write_json(tmp_path / "mine.json", builders.document([builders.intra(1)]))
    scores = builders.write_json(
        tmp_path / "model_en.json",
        [{"id": key, "score": value} for key, value in builders.scores({"intra-1": HIGH_LOW}).items()],
    )

    run = evaluate(scores, data, resampling=quick)

    assert run.name == "model_en"
    assert run.record.dataset.name == "mine"
    assert evaluate(str(scores), str(data), resampling=quick, name="other").name == "other"
    with pytest.raises(DatasetError, match="but 'de' was asked for"):
        evaluate(scores, data, language="de", resampling=quick)


def test_the_test_against_50_counts_items_and_flips_terms(quick: Resampling) -> None:
    # Terms lean by +2, +2 and -1 items: the 8 sign patterns sum to 5, 3, 1, -1, 1, -1, -3 and
    # -5, of which 4 are at least as far from zero as the observed 3.
    leans = {"baker": 2, "pilot": 2, "tailor": -1}
    items, triples = [], {}
    for cluster, lean in leans.items():
        for number in range(abs(lean)):
            item = builders.intra(f"{cluster}{number}", cluster=cluster)
            items.append(item)
            triples[item.id] = (3.0, 2.0, 1.0) if lean > 0 else (2.0, 3.0, 1.0)

    tested = (
        evaluate(builders.scores(triples), builders.benchmark(*items), resampling=quick)
        .result.tasks["intrasentence"]
        .against_neutral
    )

    assert (tested.stereotype, tested.anti_stereotype, tested.ties) == (4, 1, 0)
    assert tested.p_binomial == pytest.approx(2 * (1 + 5) / 32)
    assert tested.p_binomial_assumes == "independent items"
    assert tested.p_clustered == pytest.approx(4 / 8)


def test_predictions_are_written_as_json_indents_them() -> None:
    items = [builders.intra('ä "quoted"'), builders.inter(2)]
    run = evaluate(
        builders.scores({items[0].id: (1e-7, 2.0, 0.5), items[1].id: (0.1, 1 / 3, 12345678.0)}),
        builders.benchmark(*items),
        resampling=Resampling(resamples=100),
    )

    text = predictions_json(run.scores)

    assert text == json.dumps(json.loads(text), indent=1) + "\n"
    assert [entry["score"] for entry in json.loads(text)["intrasentence"]] == [1e-7, 2.0, 0.5]
    assert predictions_json(run.scores.clear()) == "{}\n"


def test_progress_is_counted_in_items(items: tuple[Association, ...], quick: Resampling) -> None:
    told: list[tuple[int, int]] = []
    scores = builders.scores({item.id: HIGH_LOW for item in items})
    evaluation = Evaluation(scores, builders.benchmark(*items, name="watched"), resampling=quick)

    evaluation.measure(progress=lambda done, total: told.append((done, total)))

    assert [done for done, _ in told] == sorted(done for done, _ in told)
    assert len({done for done, _ in told}) > 3
    assert {total for _, total in told} == {len(items)}
    assert told[-1] == (len(items), len(items))
