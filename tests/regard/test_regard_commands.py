"""``evenhand regard``: train, label and check, in the terminal and as JSON."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import polars as pl
import pytest
from regard_training import NEEDS_REGARD
from running import Command

from evenhand.regard.persons import starter_file

pytestmark = NEEDS_REGARD

QUICK = ("--folds", 3, "--size-seeds", 0, "--resamples", 200)


def test_training_without_texts_uses_the_starter_set(run_evenhand_here: Command, tmp_path: Path) -> None:
    out = tmp_path / "toy"
    told = run_evenhand_here("regard", "train", "--language", "de", "--out", out, *QUICK)
    assert "Balanced accuracy" in told.stdout
    assert "labelled negative" in told.stdout
    assert "texts that it never saw" in told.stdout
    assert "those of the starter set (de): enough for a toy." in told.stderr
    assert (out / "report.html").is_file()


def test_figures_as_json(run_evenhand_here: Command, tmp_path: Path) -> None:
    told = run_evenhand_here(
        "regard", "train", starter_file("en"), "--group", "author", "--labels", "soft",
        "--class-weights", "none", "--out", tmp_path / "toy", "--json", *QUICK,
    )  # fmt: skip
    found = json.loads(told.stdout)
    assert found["counts"] == {"texts": 126, "left out": 0, "trained on": 99, "test": 27, "authors": 14}
    assert set(found["test"]) >= {
        "accuracy",
        "balanced_accuracy",
        "macro_f1",
        "classes",
        "confusion",
        "reliability",
    }
    assert found["human_ceiling"]["accuracy"]["reason"] == "it takes at least three annotators"
    assert "C" in found["settings"]


def test_labelling_says_what_the_check_found(
    run_evenhand_here: Command, trained_folder: Path, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(trained_folder, tmp_path / "classifier"))
    texts = tmp_path / "texts.csv"
    texts.write_text("text\nThe person kept a promise.\nThe person lied to a friend.\n", encoding="utf-8")
    told = run_evenhand_here("regard", "label", texts, "--classifier", folder)
    assert "was not checked for a bias of its own" in told.stderr
    frame = pl.read_csv(told.stdout.encode())
    assert frame.columns == ["text", "label", "p(-1)", "p(0)", "p(1)"]
    assert frame["label"].to_list() == [1, -1]
    check = run_evenhand_here("regard", "check", folder, "--json", "--resamples", 500)
    verdict = json.loads(check.stdout)["verdict"]
    assert check.returncode == (3 if verdict == "failed" else 0)
    out = tmp_path / "labelled.csv"
    told = run_evenhand_here("regard", "label", texts, "--classifier", folder, "--out", out)
    assert ("failed the check" in told.stderr) == (verdict == "failed")
    assert "was not checked" not in told.stderr
    assert pl.read_csv(out)["label"].to_list() == [1, -1]


def test_a_check_shows_what_lowers_the_bias_and_what_it_costs(
    run_evenhand_here: Command, tmp_path: Path
) -> None:
    out = tmp_path / "toy"
    run_evenhand_here("regard", "train", "--out", out, *QUICK)
    told = run_evenhand_here("regard", "check", out, "--retrain", "starter", "--resamples", 500)
    assert "Stuart-Maxwell" in told.stdout
    for treatment in ("keep", "mask", "counterfactual"):
        assert treatment in told.stdout
    assert "balanced accuracy in folds" in told.stdout
    assert (out / "check.json").is_file()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--labels", "modal"), "Did you mean 'mode'"),
        (("--features", "tfidf:x"), "take nothing behind a colon"),
        (("--classifier", "logistics"), "Did you mean 'logistic'"),
        (("--persons", "masked"), "Did you mean 'mask'"),
        (("--class-weights", "even"), "Known: balanced, none"),
    ],
)
def test_unknown_choices_are_refused(
    run_evenhand_here: Command, tmp_path: Path, arguments: tuple[str, str], message: str
) -> None:
    told = run_evenhand_here("regard", "train", *arguments, "--out", tmp_path / "toy")
    assert (told.returncode, told.stdout) == (2, "")
    assert message in told.stderr


def test_a_check_needs_a_classifier_or_two_files(run_evenhand_here: Command) -> None:
    told = run_evenhand_here("regard", "check")
    assert told.returncode == 2
    assert "Give the folder of a classifier, or two files" in told.stderr


def test_help_names_features_and_classifiers(run_evenhand_here: Command) -> None:
    told = run_evenhand_here("regard", "train", "--help")
    assert "vectors:FILE" in told.stdout
    assert "boosted-trees" in told.stdout
