"""``evenhand evaluate``: what it prints, what it writes, and how it ends."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from running import Command

import evenhand as eh
from evenhand.store.records import ESTIMATES_FILE, PAGE_FILE, PREDICTIONS_FILE, RECORD_FILE, SCORES_FILE

LEANING = eh.example_scores("leaning")
MEASURES = ("LMS", "SS", "ICAT", "mean_LMS", "mean_SS", "macro_ICAT", "micro_ICAT")


def only_task(path: Path, task: str) -> Path:
    document = json.loads(LEANING.read_text(encoding="utf-8"))
    path.write_text(json.dumps({task: document[task]}), encoding="utf-8")
    return path


def evaluated(run_evenhand: Command, *arguments: str | Path) -> dict[str, Any]:
    done = run_evenhand("evaluate", *arguments, "--json")
    assert done.returncode == 0, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def test_json_output_follows_the_contract(run_evenhand: Command) -> None:
    document = evaluated(run_evenhand, LEANING, "--data", "starter")
    (run,) = document["runs"]
    assert run["name"] == "simulated-leaning"
    assert run["language"] == "en"
    assert run["protocol"] == "evenhand.v2"
    assert set(run["tasks"]) == {"intrasentence", "intersentence", "overall"}
    for result in run["tasks"].values():
        assert result["skipped"] == 0
        assert result["clusters"] == 24
        assert set(result["by_bias_type"]) == {"gender", "profession", "race", "religion"}
        for group in (result, *result["by_bias_type"].values()):
            for measure in MEASURES:
                estimate = group[measure]
                assert estimate["low"] <= estimate["value"] <= estimate["high"]
    assert [run["tasks"][task]["n"] for task in ("intrasentence", "intersentence", "overall")] == [48, 48, 96]


def test_scores_of_one_task_give_only_that_task(run_evenhand_here: Command, tmp_path: Path) -> None:
    document = evaluated(
        run_evenhand_here, only_task(tmp_path / "inter.json", "intersentence"), "--data", "starter"
    )
    assert list(document["runs"][0]["tasks"]) == ["intersentence"]


@pytest.mark.parametrize("language", ["de", "en", "es", "fr", "tr"])
def test_every_language_of_the_starter_set_can_be_evaluated(
    run_evenhand_here: Command, language: str
) -> None:
    document = evaluated(run_evenhand_here, LEANING, "--data", "starter", "--language", language)
    assert document["runs"][0]["language"] == language
    assert document["runs"][0]["tasks"]["overall"]["n"] == 96


def test_stereoset_protocol_has_class_means_as_its_headline(run_evenhand_here: Command) -> None:
    document = evaluated(run_evenhand_here, LEANING, "--data", "starter", "--protocol", "stereoset-2021")
    overall = document["runs"][0]["tasks"]["overall"]
    assert overall["SS"] == overall["mean_SS"]
    assert overall["LMS"] == overall["mean_LMS"]
    assert overall["ICAT"] == overall["micro_ICAT"]


@pytest.mark.parametrize(
    ("condition", "code"),
    [
        ("SS>0", 4),
        ("SS>100", 0),
        ("intrasentence.LMS<0", 0),
        ("overall.gender.SS.high>0", 4),
        ("SSS>1", 2),
        ("SS", 2),
    ],
)
def test_fail_if_sets_the_exit_code(run_evenhand_here: Command, condition: str, code: int) -> None:
    done = run_evenhand_here("evaluate", LEANING, "--data", "starter", "--fail-if", condition)
    assert done.returncode == code
    assert "Traceback" not in done.stderr
    if code == 4:
        assert "Gate closed: " in done.stderr


def test_run_folder_has_everything_and_the_same_run_is_left_alone(
    run_evenhand_here: Command, tmp_path: Path
) -> None:
    arguments = ("evaluate", LEANING, "--data", "starter", "--out", tmp_path)
    assert run_evenhand_here(*arguments).returncode == 0
    folder = tmp_path / "simulated-leaning"
    files = {RECORD_FILE, SCORES_FILE, PREDICTIONS_FILE, ESTIMATES_FILE, PAGE_FILE}
    assert {path.name for path in folder.iterdir()} == files
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    again = run_evenhand_here(*arguments)
    assert again.returncode == 0
    assert "left as it is" in again.stderr
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_written_predictions_evaluate_to_the_same_result(run_evenhand_here: Command, tmp_path: Path) -> None:
    assert run_evenhand_here("evaluate", LEANING, "--data", "starter", "--out", tmp_path).returncode == 0
    written = tmp_path / "simulated-leaning"
    for source in (PREDICTIONS_FILE, SCORES_FILE):
        copy = evaluated(
            run_evenhand_here, written / source, "--data", "starter", "--name", "simulated-leaning"
        )
        assert copy == evaluated(run_evenhand_here, LEANING, "--data", "starter")


def test_another_run_in_the_folder_is_refused_and_replaced_only_when_asked(
    run_evenhand_here: Command, tmp_path: Path
) -> None:
    arguments = ("evaluate", LEANING, "--data", "starter", "--out", tmp_path)
    assert run_evenhand_here(*arguments).returncode == 0
    record = (tmp_path / "simulated-leaning" / RECORD_FILE).read_bytes()
    other = run_evenhand_here(*arguments, "--seed", "5")
    assert other.returncode == 2
    assert "--fresh" in other.stderr
    assert (tmp_path / "simulated-leaning" / RECORD_FILE).read_bytes() == record
    assert run_evenhand_here(*arguments, "--seed", "5", "--fresh").returncode == 0
    replaced = json.loads((tmp_path / "simulated-leaning" / RECORD_FILE).read_text(encoding="utf-8"))
    assert replaced["statistics"]["seed"] == 5
    assert [path.name for path in tmp_path.iterdir()] == ["simulated-leaning"]


def test_files_of_one_name_get_their_folders_into_the_runs_names(
    run_evenhand_here: Command, tmp_path: Path
) -> None:
    for model in ("first", "second"):
        (tmp_path / model).mkdir()
        (tmp_path / model / "predictions.json").write_bytes(LEANING.read_bytes())
    files = [tmp_path / model / "predictions.json" for model in ("first", "second")]
    document = evaluated(run_evenhand_here, *files, "--data", "starter")
    assert [run["name"] for run in document["runs"]] == ["first-predictions", "second-predictions"]


@pytest.mark.parametrize(
    ("form", "start"), [("csv", "run,language,"), ("markdown", "| Run |"), ("latex", "\\begin{tabular}")]
)
def test_tables_come_in_other_formats(run_evenhand_here: Command, form: str, start: str) -> None:
    done = run_evenhand_here("evaluate", LEANING, "--data", "starter", "--format", form)
    assert done.returncode == 0
    assert done.stdout.startswith(start)
    assert "simulated-leaning" in done.stdout


def test_help_shows_examples_and_answers_without_heavy_imports(run_evenhand: Command) -> None:
    done = run_evenhand("evaluate", "--help", environment={"PYTHONPROFILEIMPORTTIME": "1"})
    assert done.returncode == 0
    assert "Examples" in done.stdout
    imported = {line.rsplit("|", 1)[-1].strip() for line in done.stderr.splitlines()}
    assert "typer" in imported
    assert not imported & {"numpy", "polars", "scipy", "statsmodels", "altair", "torch"}
