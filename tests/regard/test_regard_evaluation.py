"""``evenhand regard evaluate``: files to figures, with a classifier and with a labelled sample."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from regard_training import NEEDS_REGARD
from running import Command

from evenhand.api.regard_evaluation import RegardEvaluationOptions, evaluate_regard
from evenhand.core.errors import DatasetError, EvenhandError
from evenhand.data.group_texts import GroupText, GroupTexts
from evenhand.instruments.regard.analysis import frame_of_texts
from evenhand.instruments.regard.results import ErrorTreatment
from evenhand.lab.regard_gap import PUBLISHED_CONFUSION, PlantedGap, plant_gap
from evenhand.lab.regard_grammar import ENGLISH_REGARD
from evenhand.regard.classifier import RegardClassifier, write_check
from evenhand.regard.classifier_check import CheckOptions, check_classifier
from evenhand.regard.labelling import add_labelled_sample, describe_classifier, label_group_texts
from evenhand.regard.texts import read_regard_texts
from evenhand.stats.resampling import Resampling
from evenhand.store.classifier_records import CheckVerdict
from evenhand.store.run import open_run

FEW = Resampling(resamples=200)
QUICK = ("--resamples", 200)


def labelled_file(folder: Path, *, name: str = "texts.csv", **plan: float) -> Path:
    """One long file with planted labels."""
    texts = plant_gap(PlantedGap(texts=20, **plan), np.random.default_rng(3))  # type: ignore[arg-type]
    path = folder / name
    frame_of_texts(texts).select("text", "group", "context", "label").write_csv(path)
    return path


def lab_texts() -> GroupTexts:
    """Texts that a classifier of the lab understands; the second group is told of worse."""
    generator = np.random.default_rng(5)
    chances = {"woman": (0.2, 0.4, 0.4), "man": (0.4, 0.4, 0.2)}
    texts = []
    for group, shares in chances.items():
        for context in ENGLISH_REGARD.fillers:
            for _ in range(12):
                code = str(generator.choice(list(ENGLISH_REGARD.telling), p=shares))
                telling = generator.choice(ENGLISH_REGARD.telling[code])
                texts.append(
                    GroupText(
                        text=f"The {group} {telling} {context}.",
                        group=group,
                        context=context,
                        human_label=None,
                    )
                )
    return GroupTexts(name="lab", language="en", texts=tuple(texts))


def test_json_has_the_figures_of_every_kind_of_context(run_evenhand_here: Command, tmp_path: Path) -> None:
    lines = [
        (f"The {group} {context} x{number}.", group, number % 3 - 1)
        for group in ("woman", "man")
        for context in ("worked as", "had a job as", "was known for", "was regarded as")
        for number in range(8)
    ]
    path = tmp_path / "texts.csv"
    pl.DataFrame(lines, schema=["text", "who", "label"], orient="row").write_csv(path)
    told = run_evenhand_here("regard", "evaluate", path, "--group", "who", "--json", *QUICK)
    found = json.loads(told.stdout)
    assert set(found["contexts"]) == {"all", "occupation", "respect"}
    whole = found["contexts"]["all"]
    assert {"n", "shares", "chi_squared", "p", "p_clustered", "cramers_v"} <= set(whole)
    assert whole["n"] == 64
    assert set(whole["shares"]) == {"woman", "man"}
    assert sum(whole["shares"]["woman"].values()) == pytest.approx(100)
    assert whole["chi_squared"] == pytest.approx(0)
    assert "the classifier's error is not in these figures" in told.stderr


def test_undefined_figures_are_null(run_evenhand_here: Command, tmp_path: Path) -> None:
    path = tmp_path / "texts.csv"
    path.write_text("text,group,label\nA sang.,a,0\nB sang.,b,0\n", encoding="utf-8")
    told = run_evenhand_here(
        "regard", "evaluate", path, "--group", "group", "--contexts", "none", "--json", *QUICK
    )
    whole = json.loads(told.stdout)["contexts"]["all"]
    assert whole["chi_squared"] is None
    assert whole["p_clustered"] is None


def test_tables_say_what_is_shown_and_a_condition_fails(run_evenhand_here: Command, tmp_path: Path) -> None:
    path = labelled_file(tmp_path, gap=30.0, spread=2.0)
    arguments = ("regard", "evaluate", path, "--group", "group", "--context", "context", *QUICK)
    told = run_evenhand_here(*arguments, "--out", tmp_path / "runs", "--name", "planted")
    assert "These texts speak better of" in told.stdout
    assert "net regard" in told.stdout
    assert (tmp_path / "runs" / "planted" / "report.html").is_file()
    assert open_run(tmp_path / "runs" / "planted").result.all.n == 400
    failed = run_evenhand_here(*arguments, "--fail-if", "gap>5")
    assert failed.returncode == 4
    assert re.search(r"Gate closed: gap \d+\.\d is above 5", failed.stderr)
    unknown = run_evenhand_here(*arguments, "--fail-if", "gab>5")
    assert unknown.returncode == 2
    assert "Did you mean 'gap'?" in unknown.stderr


def test_texts_that_were_left_out_are_missing_from_the_coverage(
    run_evenhand_here: Command, tmp_path: Path
) -> None:
    """Ten empty texts beside 400: 97.56%."""
    path = labelled_file(tmp_path, gap=30.0)
    with path.open("a", encoding="utf-8") as stream:
        stream.writelines('"",woman,,0\n' for _ in range(10))
    arguments = ("regard", "evaluate", path, "--group", "group", "--context", "context", *QUICK)

    refused = run_evenhand_here(*arguments, "--fail-if", "gap>90")
    allowed = run_evenhand_here(*arguments, "--fail-if", "gap>90", "--min-coverage", "97")

    assert refused.returncode == 2
    assert "its coverage is 97.5% (400 of 410 texts), below 99%" in refused.stderr
    assert allowed.returncode == 0, allowed.stderr
    assert "Coverage: 97.5% (400 of 410 texts)." in allowed.stdout


def test_people_label_a_sample_and_the_error_is_carried_through(
    run_evenhand_here: Command, tmp_path: Path
) -> None:
    texts = plant_gap(
        PlantedGap(texts=20, confusion=PUBLISHED_CONFUSION, labelled=120), np.random.default_rng(3)
    )
    frame = frame_of_texts(texts)
    path, sample = tmp_path / "texts.csv", tmp_path / "sample.csv"
    frame.select("text", "group", "context", "label").write_csv(path)
    frame.drop_nulls("human_label").select("text", pl.col("human_label").alias("label")).write_csv(sample)
    told = run_evenhand_here(
        "regard", "evaluate", path, "--group", "group", "--context", "context", "--labelled", sample, "--json",
        *QUICK,
    )  # fmt: skip
    found = json.loads(told.stdout)
    assert found["contexts"]["all"]["treatment"] == "prediction-powered"
    assert found["labelled_sample"]["texts"] == 120
    assert "not in these figures" not in told.stderr


@NEEDS_REGARD
def test_a_classifier_labels_what_has_no_label(trained_folder: Path, tmp_path: Path) -> None:
    run = evaluate_regard(
        lab_texts(),
        RegardEvaluationOptions(classifier=trained_folder, resampling=FEW),
        name="lab",
        out=tmp_path,
    )
    (gap,) = run.result.all.figures.gaps
    assert gap.gap.value > 20
    assert run.result.classifier.name == "lab-classifier"
    assert run.result.classifier.verdict is None
    assert any("was not checked for a bias of its own" in own for own in run.record.warnings)
    assert "not checked for a bias" in (tmp_path / "lab" / "report.html").read_text(encoding="utf-8")


@NEEDS_REGARD
def test_a_classifier_that_failed_its_check_is_said_to_have(trained_folder: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(trained_folder, tmp_path / "classifier"))
    check = check_classifier(folder, CheckOptions(resampling=FEW))
    failed = check.model_copy(
        update={"pairs": tuple(own.model_copy(update={"p_adjusted": 0.001}) for own in check.pairs)}
    )
    write_check(folder, failed)
    run = evaluate_regard(lab_texts(), RegardEvaluationOptions(classifier=folder, resampling=FEW))
    assert run.result.classifier.verdict is CheckVerdict.FAILED
    assert any("failed the check" in own for own in run.record.warnings)


@NEEDS_REGARD
def test_a_classifier_counts_as_checked_for_the_persons_of_all_its_checks_alone(
    trained: RegardClassifier, trained_folder: Path, tmp_path: Path
) -> None:
    folder = shutil.copytree(trained_folder, tmp_path / "classifier")
    first = check_classifier(folder, CheckOptions(resampling=FEW))
    passed = first.pairs[0].model_copy(update={"p_adjusted": 1.0, "is_equivalent": True})
    checks = tuple(
        first.model_copy(update={"pairs": (passed.model_copy(update={"first": one, "second": other}),)})
        for one, other in (("The woman", "The man"), ("The gay person", "The straight person"))
    )
    described = describe_classifier(replace(trained, checks=checks))
    assert described.checked == ("The woman", "The man", "The gay person", "The straight person")
    assert described.about(["The straight person", "The man"]).warning is None
    other = described.about(["The man", "The old person"])
    assert other.unchecked == ("The old person",)
    assert "not about The old person" in (other.warning or "")
    assert describe_classifier(replace(trained, checks=())).checked == ()


@NEEDS_REGARD
def test_labels_that_are_there_stay(trained: RegardClassifier) -> None:
    texts = lab_texts()
    first = replace(texts.texts[0], label="-1" if "kind" in texts.texts[0].text else "1")
    mixed = replace(texts, texts=(first, *texts.texts[1:]))
    labelled = label_group_texts(mixed, trained)
    assert labelled.texts[0].label == first.label
    assert not labelled.unlabelled


@NEEDS_REGARD
def test_a_classifier_of_another_language_is_refused(trained: RegardClassifier) -> None:
    with pytest.raises(EvenhandError, match="trained on texts in the language 'en', and these are in 'de'"):
        label_group_texts(replace(lab_texts(), language="de"), trained)


@NEEDS_REGARD
def test_a_sample_of_other_texts_tells_how_the_classifier_errs(
    trained_folder: Path, trained: RegardClassifier, tmp_path: Path
) -> None:
    sample = tmp_path / "sample.csv"
    rows = [
        {"text": f"The person {telling} {filler}.", "label": code}
        for code, phrases in ENGLISH_REGARD.telling.items()
        for telling in phrases[:6]
        for filler in ENGLISH_REGARD.fillers[:4]
    ]
    pl.DataFrame(rows).write_csv(sample)
    read = read_regard_texts([sample])
    run = evaluate_regard(
        lab_texts(), RegardEvaluationOptions(classifier=trained_folder, labelled=read, resampling=FEW)
    )
    assert run.result.all.figures.treatment is ErrorTreatment.CONFUSION_MATRIX
    assert any("None of the 72 texts of sample is among" in own for own in run.record.warnings)
    labelled = label_group_texts(lab_texts(), trained)
    with pytest.raises(DatasetError, match="None of the 72 texts of sample is among the texts in question"):
        add_labelled_sample(labelled, read)


@NEEDS_REGARD
def test_a_sample_with_too_few_of_the_texts_in_question_is_used_whole(
    trained: RegardClassifier, tmp_path: Path
) -> None:
    texts = label_group_texts(lab_texts(), trained)
    own = list(dict.fromkeys(text.text for text in texts if text.group == texts.groups[0]))[:3]
    others = [f"The person {phrases[0]} twice." for phrases in ENGLISH_REGARD.telling.values()]
    file = tmp_path / "sample.csv"
    pl.DataFrame({"text": [*own, *others], "label": ["-1", "0", "1"] * 2}).write_csv(file)
    sample = read_regard_texts([file])
    sampled = add_labelled_sample(texts, sample, trained)
    assert sampled.other_texts is not None
    assert sampled.other_texts.human == ("-1", "0", "1") * 2
    assert sampled.other_texts.predicted == tuple(trained.label([*own, *others]).codes)
    assert not any(text.human_label for text in sampled.texts)
    assert "Only 3 of the 6 texts" in sampled.warnings[0]
    without = add_labelled_sample(texts, sample)
    assert {text.text for text in without.texts if text.human_label} == set(own)
    assert "3 of the 6 texts" in without.warnings[0]
    assert "were not used" in without.warnings[0]


def test_texts_without_labels_need_a_classifier() -> None:
    with pytest.raises(EvenhandError, match="240 of 240 texts have no label"):
        evaluate_regard(lab_texts())
