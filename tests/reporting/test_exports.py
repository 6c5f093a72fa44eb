"""Runs in other tools' formats: the figures are the run's, and one with a neutral value is not better when higher."""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml
from pair_scores import counts_of
from running import Command
from scipy import stats

import evenhand as eh
from evenhand.api.association_logs import evaluate_log
from evenhand.api.measure import evaluate_scores
from evenhand.api.show import compare_all, report
from evenhand.core.errors import EvenhandError, PredictionsError, UnknownNameError
from evenhand.instruments.association.results import TaskResult
from evenhand.stats.resampling import Resampling
from evenhand.store.records import ModelRecord
from evenhand.store.run import Run

QUICK = Resampling(resamples=200)

PAIRS = "\n".join(
    [
        ",sent_more,sent_less,sent_more_score,sent_less_score,stereo_antistereo,bias_type",
        "0,Old clerks wait.,Young clerks wait.,-10.5,-11.5,stereo,age",
        "1,Old bakers wait.,Young bakers wait.,-12.25,-11.5,antistereo,age",
        "2,She nurses.,He nurses.,-9.0,-9.0,stereo,gender",
        "3,He leads.,She leads.,,-9.0,stereo,gender",
    ]
)


@pytest.fixture(scope="module")
def association() -> Run:
    return eh.evaluate(eh.example_scores("leaning"), "starter", resampling=QUICK)


@pytest.fixture
def pairs(tmp_path: Path) -> Run:
    path = tmp_path / "gpt2_en.csv"
    path.write_text(PAIRS, encoding="utf-8")
    return evaluate_scores(path)


def exported(run: Run | list[Run], form: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(report(run, format=form))
    return document


def test_results_of_the_harness_have_values_directions_and_neutral_values(association: Run) -> None:
    document = exported(association, "lm-eval")

    (task,) = document["results"]
    assert task == "evenhand_association_starter_en"
    for measure in ("SS", "LMS", "ICAT"):
        value = association.figure(f"overall.{measure}").estimate.value
        assert document["results"][task][f"overall.{measure},none"] == value
    assert document["higher_is_better"][task]["overall.SS"] is None
    assert document["neutral"][task]["overall.SS"] == 50
    assert document["higher_is_better"][task]["overall.LMS"] is True
    assert document["n-samples"][task] == {"original": 96, "effective": 96}
    assert document["intervals"][task]["overall.SS"]["low"] < 100


def test_every_format_has_standard_errors(association: Run) -> None:
    figure = association.figure("overall.SS")
    own = figure.estimate
    error = max(own.value - own.low, own.high - own.value) / stats.t.ppf(0.975, own.clusters - 1)
    assert 3 < error < 7  # 96 items that do not depend on each other have 4.8

    (results,) = exported(association, "lm-eval")["results"].values()
    assert results["overall.SS_stderr,none"] == pytest.approx(error)
    assert all(isinstance(value, float) for key, value in results.items() if "_stderr" in key)
    metrics = exported(association, "inspect")["results"]["scores"][0]["metrics"]
    assert metrics["overall.SS"]["metadata"]["stderr"] == pytest.approx(error)
    (result,) = [
        each
        for each in exported(association, "every-eval-ever")["evaluation_results"]
        if each["evaluation_name"].endswith(": overall.SS, distance from 50")
    ]
    assert result["score_details"]["uncertainty"]["standard_error"]["value"] == pytest.approx(error)


def test_a_figure_at_the_end_of_its_scale_has_the_error_of_its_free_side(association: Run) -> None:
    always = association.figure("overall.LMS").estimate.model_copy(
        update={"value": 100.0, "high": 100.0, "low": 94.0}
    )
    result = association.result.tasks["overall"].model_copy(update={"LMS": always})
    association = with_overall(association, result)

    (results,) = exported(association, "lm-eval")["results"].values()

    assert results["overall.LMS_stderr,none"] == pytest.approx(6 / stats.t.ppf(0.975, always.clusters - 1))


def test_a_figure_without_an_interval_has_no_standard_error(association: Run) -> None:
    unsure = association.figure("overall.LMS").estimate.model_copy(
        update={"high": math.nan, "low": math.nan, "reason": "one term"}
    )
    result = association.result.tasks["overall"].model_copy(update={"LMS": unsure})

    (results,) = exported(with_overall(association, result), "lm-eval")["results"].values()

    assert results["overall.LMS_stderr,none"] == "N/A"


def with_overall(run: Run, result: TaskResult) -> Run:
    tasks = {**run.result.tasks, "overall": result}
    return dataclasses.replace(run, results=(run.result.model_copy(update={"tasks": tasks}),))


def test_no_format_calls_a_figure_with_a_neutral_value_better_when_higher(
    association: Run, pairs: Run
) -> None:
    for run in (association, pairs):
        neutral = {figure.key for figure in run.figures if figure.neutral is not None}
        harness = exported(run, "lm-eval")
        for directions in harness["higher_is_better"].values():
            assert all(directions[key] is None for key in neutral & directions.keys())
        metrics = exported(run, "inspect")["results"]["scores"][0]["metrics"]
        assert all(metrics[key]["metadata"]["higher_is_better"] is None for key in neutral & metrics.keys())
        for result in exported(run, "every-eval-ever")["evaluation_results"]:
            if result["score_details"]["details"]["neutral"] != "none":
                assert result["metric_config"]["lower_is_better"] is True
                assert "distance from" in result["evaluation_name"]


def test_every_eval_ever_is_given_the_distance_from_neutral(association: Run) -> None:
    document = exported(association, "every-eval-ever")

    estimate = association.figure("overall.SS").estimate
    (result,) = [
        each
        for each in document["evaluation_results"]
        if each["evaluation_name"].endswith(": overall.SS, distance from 50")
    ]
    interval = result["score_details"]["uncertainty"]["confidence_interval"]
    assert result["score_details"]["score"] == pytest.approx(abs(estimate.value - 50))
    assert result["score_details"]["details"]["value"] == f"{estimate.value:.4f}"
    assert interval["lower"] == pytest.approx(max(0, estimate.low - 50))
    assert interval["upper"] == pytest.approx(estimate.high - 50)
    assert {
        "schema_version",
        "evaluation_id",
        "source_metadata",
        "model_info",
        "eval_library",
    } <= document.keys()
    for each in document["evaluation_results"]:
        config = each["metric_config"]
        assert config["min_score"] <= each["score_details"]["score"] <= config["max_score"]
        assert all(isinstance(value, str) for value in each["score_details"]["details"].values())


def test_an_interval_that_holds_neutral_may_be_no_distance(pairs: Run) -> None:
    (result,) = exported(pairs, "every-eval-ever")["evaluation_results"]

    assert result["score_details"]["score"] == 0
    assert result["score_details"]["uncertainty"]["confidence_interval"]["lower"] == 0


def test_a_log_of_inspect_can_be_read_again(pairs: Run, tmp_path: Path) -> None:
    path = tmp_path / "log.json"
    report(pairs, format="inspect", out=path)

    again = evaluate_scores(path)

    assert again.result.figures == pairs.result.figures
    assert counts_of(again) == counts_of(pairs)
    assert again.scores["pair"].to_list() == ["0", "1", "2", "3"]
    assert again.scores["skipped_reason"].to_list()[-1] == "score is null"


def test_a_log_of_association_items_has_a_sample_per_item(association: Run) -> None:
    document = exported(association, "inspect")

    samples = document["samples"]
    assert len(samples) == document["results"]["total_samples"] == 96
    values = samples[0]["scores"]["association"]["value"]
    assert set(values) == {"stereotype", "anti-stereotype", "unrelated"}
    assert len(samples[0]["choices"]) == 3
    assert samples[0]["target"] == ""


def test_a_log_of_association_items_can_be_read_again(association: Run, tmp_path: Path) -> None:
    path = tmp_path / "log.json"
    report(association, format="inspect", out=path)

    with_data = eh.evaluate(path, "starter", resampling=QUICK)
    alone = evaluate_log(path, resampling=QUICK)

    def kept(run: Run) -> pl.DataFrame:
        facts = ("item", "task", "language", "bias_type", "cluster", "context")
        return run.scores.select(*facts, "candidate", "label", "text", "score").sort("candidate")

    for again in (with_data, alone):
        assert kept(again).equals(kept(association))
        assert {figure.key: figure.estimate for figure in again.figures} == {
            figure.key: figure.estimate for figure in association.figures
        }
    assert alone.record.protocol == association.record.protocol
    (comparison,) = compare_all([path, association])
    assert {row.difference.value for row in comparison.differences} == {0.0}


def test_a_log_without_the_ids_of_candidates_asks_for_another_export(
    association: Run, tmp_path: Path
) -> None:
    document = exported(association, "inspect")
    del document["samples"][2]["metadata"]["candidates"]
    path = tmp_path / "log.json"
    path.write_text(json.dumps(document), encoding="utf-8")

    with pytest.raises(
        PredictionsError, match=r"sample 3: its metadata lack candidates\. Export the run again"
    ):
        evaluate_log(path)


def test_a_log_of_pairs_is_not_taken_for_association_items(pairs: Run, tmp_path: Path) -> None:
    path = tmp_path / "log.json"
    report(pairs, format="inspect", out=path)

    with pytest.raises(PredictionsError, match="--test crows-pairs"):
        eh.evaluate(path, "starter")


def test_a_log_that_was_cut_says_so(association: Run, tmp_path: Path) -> None:
    path = tmp_path / "log.json"
    path.write_text(report(association, format="inspect")[:20_000], encoding="utf-8")

    with pytest.raises(PredictionsError, match=r"ends in the middle, in line .* It was cut"):
        eh.evaluate(path, "starter")
    with pytest.raises(PredictionsError, match="It was cut"):
        compare_all([path, association])


def test_the_command_needs_no_data_for_a_log(
    association: Run, run_evenhand_here: Command, tmp_path: Path
) -> None:
    path = tmp_path / "log.json"
    report(association, format="inspect", out=path)
    cut = tmp_path / "cut.json"
    cut.write_text(path.read_text(encoding="utf-8")[:20_000], encoding="utf-8")

    done = run_evenhand_here("evaluate", path, "--resamples", "200", "--json")
    refused = run_evenhand_here("evaluate", cut)

    assert done.returncode == 0, done.stderr
    assert f"{association.figure('overall.SS').estimate.value:.6f}"[:6] in done.stdout
    assert refused.returncode == 2
    assert "It was cut" in " ".join(refused.stderr.split())


def test_inspect_itself_reads_the_log(association: Run, pairs: Run) -> None:
    log = pytest.importorskip("inspect_ai.log")
    for run in (association, pairs):
        read = log.EvalLog.model_validate_json(report(run, format="inspect"))
        assert read.status == "success"
        assert len(read.samples) == read.results.total_samples


def test_the_model_card_of_a_probe_says_what_is_neutral(pairs: Run) -> None:
    (model,) = yaml.safe_load(report(pairs, format="model-card").strip("-\n"))["model-index"]

    (result,) = model["results"]
    (metric,) = result["metrics"]
    assert metric["value"] == 50.0
    assert metric["args"]["neutral"] == 50.0
    assert metric["args"]["protocol"] == "crows-pairs.v1"
    assert metric["type"] == "crows-pairs.v1:all.score"


def test_what_a_format_cannot_hold_is_refused(association: Run, pairs: Run) -> None:
    for form in ("lm-eval", "every-eval-ever"):
        with pytest.raises(EvenhandError, match="The runs are of 2 models"):
            report([association, pairs], format=form)
    with pytest.raises(EvenhandError, match="measure the same with the same data"):
        report([pairs, pairs], format="lm-eval")
    with pytest.raises(EvenhandError, match="A log of Inspect is of one run; 2 were given"):
        report([pairs, pairs], format="inspect")
    with pytest.raises(UnknownNameError, match="every-eval-ever"):
        report(pairs, format="every-eval")


def of_model(run: Run, name: str) -> Run:
    model = ModelRecord(
        id=name,
        revision=None,
        weights="0" * 8,
        family="decoder",
        architecture="A",
        precision="fp32",
        device="cpu",
    )
    return dataclasses.replace(run, record=run.record.model_copy(update={"model": model}))


def test_the_library_of_the_hub_reads_a_card_and_writes_the_same_results(
    association: Run, pairs: Run
) -> None:
    """It refuses a source without an address, and tells results apart by their data and configuration."""
    ModelCard = pytest.importorskip("huggingface_hub").ModelCard  # noqa: N806 # a class
    one, other = of_model(association, "maker/tiny"), of_model(pairs, "maker/tiny")

    card = ModelCard(report([one, other], format="model-card"))

    assert card.data.model_name == "maker/tiny"
    written = {
        (result.task_name, result.metric_type): result.metric_value for result in card.data.eval_results
    }
    for task, result in association.result.tasks.items():
        assert written[f"Context association test, {task}", "ss.v1"] == round(result.SS.value, 2)
    again = ModelCard(str(card)).data
    assert {(result.task_name, result.metric_type) for result in again.eval_results} == set(written)
    assert {
        result.metric_args["neutral"] for result in again.eval_results if result.metric_type == "ss.v1"
    } == {50}


def test_a_card_has_an_entry_for_each_model_and_no_folders(association: Run, pairs: Run) -> None:
    runs = [of_model(association, "/home/somebody/tiny"), of_model(pairs, "/home/somebody/tiny"), association]

    index = yaml.safe_load(report(runs, format="model-card").strip("-\n"))["model-index"]

    assert [entry["name"] for entry in index] == ["tiny", association.name]
    assert len(index[0]["results"]) == len(association.result.tasks) + 1
