"""Training a classifier: planted regard is found, chance is not, searches go on after a kill."""

from __future__ import annotations

import dataclasses
import os
import signal
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from forking import exit_code
from regard_training import NEEDS_REGARD, SMALL

from evenhand.api.regard import RegardTrainingOptions, read_test_rows, train_regard_classifier
from evenhand.core.errors import DatasetError, EvenhandError, RunError
from evenhand.core.progress import no_progress
from evenhand.lab.regard import PlantedRegard, plant_texts
from evenhand.regard.classifier import RegardClassifier
from evenhand.regard.evaluation import human_ceiling
from evenhand.regard.features import FEATURES, ComponentState, TextRows, open_features
from evenhand.regard.fitting import (
    ClassifierPlan,
    ClassWeights,
    Fold,
    LabelledRows,
    SettingsChoice,
    choose_settings,
    class_weights,
    cross_entropy,
    prepare_fit,
    prepare_folds,
    stored_settings,
)
from evenhand.regard.heads import HEADS
from evenhand.regard.persons import PersonTreatment, person_words
from evenhand.regard.splits import grouped_folds
from evenhand.regard.texts import LabelKind, RegardTexts
from evenhand.stats.resampling import Resampling

pytestmark = NEEDS_REGARD

FEW = Resampling(resamples=200)


def _plan(**changes: Any) -> ClassifierPlan:
    plan = ClassifierPlan(
        open_features("tfidf"), "tfidf", "logistic", ClassWeights.BALANCED, PersonTreatment.KEEP
    )
    return dataclasses.replace(plan, **changes)


def _labelled(texts: RegardTexts, kind: LabelKind = LabelKind.MODE) -> LabelledRows:
    return LabelledRows(texts.rows, texts.targets(kind), texts.groups)


def test_planted_regard_is_found(trained: RegardClassifier, planted: RegardTexts) -> None:
    report = trained.report
    assert report.test.balanced_accuracy.value > 0.9
    repeats = next(warning for warning in trained.record.warnings if "same text is among the test" in warning)
    assert report.folds.rows + report.test.rows + int(repeats.split()[0]) == len(planted)
    assert sum(map(sum, report.test.confusion)) == report.test.rows
    assert report.unanimous is not None
    assert report.unanimous.rows < report.test.rows
    assert [point.rows for point in report.sizes] == sorted({point.rows for point in report.sizes})
    assert all(len(point.by_seed) == 2 for point in report.sizes)
    assert trained.label(["The person kept a promise.", "The person lied to a friend."]).codes == ["1", "-1"]


def test_texts_that_tell_nothing_are_labelled_by_chance(tmp_path: Path) -> None:
    """A leak from test rows or held-out folds into training would show here as skill."""
    values = []
    for seed in range(4):
        texts = plant_texts(
            PlantedRegard(texts=180, authors=18, misleading=2 / 3, error=0.0, seed=seed)
        ).texts
        options = dataclasses.replace(SMALL, size_seeds=0, seed=seed)
        report = train_regard_classifier(texts, options, out=tmp_path / str(seed)).report
        values += [report.folds.balanced_accuracy.value, report.test.balanced_accuracy.value]
    assert np.mean(values) == pytest.approx(1 / 3, abs=0.06)


def test_the_human_ceiling_is_that_of_the_planted_errors() -> None:
    texts = plant_texts(PlantedRegard(texts=2_000, annotators=5, error=0.2, seed=1)).texts
    ceiling = human_ceiling(texts, np.arange(len(texts)), resampling=FEW)
    right = 0
    total = 0
    for annotator in range(5):
        for row in texts.votes:
            others = np.bincount(np.delete(row, annotator), minlength=3)
            if (others == others.max()).sum() == 1:
                total += 1
                right += int(others.argmax() == row[annotator])
    assert ceiling.accuracy.value == pytest.approx(right / total)
    assert ceiling.accuracy.low < ceiling.accuracy.value < ceiling.accuracy.high
    single = dataclasses.replace(texts, votes=texts.votes[:, :2])
    assert human_ceiling(single, np.arange(10), resampling=FEW).accuracy.reason == (
        "it takes at least three annotators"
    )


def test_class_weights_make_all_classes_weigh_the_same() -> None:
    targets = np.array([[1.0, 0, 0], [1, 0, 0], [0.5, 0.5, 0], [0, 0, 1]])
    weights = class_weights(targets, ClassWeights.BALANCED)
    assert (targets * weights).sum(axis=0) == pytest.approx(4 / 3)
    assert class_weights(targets, ClassWeights.NONE).tolist() == [1, 1, 1]
    assert class_weights(targets[:3], ClassWeights.BALANCED)[2] == 0


def test_cross_entropy_is_the_mean_of_weighted_logs() -> None:
    probabilities = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1]])
    targets, weights = np.eye(3)[[0, 1]], np.array([1.0, 3.0, 1.0])
    expected = -(np.log(0.7) + 3 * np.log(0.8)) / 4
    assert cross_entropy(probabilities, targets, weights) == pytest.approx(expected)


def test_features_of_a_fold_do_not_know_what_is_held_out(planted: RegardTexts) -> None:
    splits = grouped_folds(planted, np.arange(len(planted)), folds=3, seed=0)
    for fold in prepare_folds(_plan(), _labelled(planted), splits):
        fitted = open_features("tfidf").fit(planted.rows.take(fold.split.train))
        assert fold.prepared.features.state().settings == fitted.state().settings


def test_the_chosen_settings_have_the_lowest_loss_of_all_candidates(
    planted: RegardTexts, tmp_path: Path
) -> None:
    splits = grouped_folds(planted, np.arange(len(planted)), folds=3, seed=0)
    folds = prepare_folds(_plan(), _labelled(planted), splits)
    head = HEADS.get("logistic")
    choice = choose_settings(head, folds, trials=0, folder=tmp_path, seed=0, progress=no_progress)
    losses = [np.mean([fold.loss(own) for fold in folds]) for own in head.candidates()]
    assert choice.settings == head.candidates()[int(np.argmin(losses))]
    assert [own.loss for own in choice.candidates] == pytest.approx(losses)


def test_a_search_goes_on_after_a_kill(planted: RegardTexts, tmp_path: Path) -> None:
    splits = grouped_folds(planted, np.arange(len(planted)), folds=3, seed=0)
    folds = prepare_folds(_plan(), _labelled(planted), splits)
    head = HEADS.get("logistic")

    def killed(done: int, _total: int) -> None:
        if done == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        choose_settings(head, folds, trials=8, folder=tmp_path, seed=0, progress=killed)
    seen: list[int] = []
    choice = choose_settings(
        head, folds, trials=8, folder=tmp_path, seed=0, progress=lambda done, _: seen.append(done)
    )
    assert seen == [4, 5, 6, 7, 8]
    assert len(choice.candidates) == 8
    finished = [own for own in choice.candidates if own.loss == own.loss]
    assert min(finished, key=lambda own: own.loss).settings["C"] == choice.settings.C
    again = choose_settings(head, folds, trials=8, folder=tmp_path, seed=0, progress=no_progress)
    assert again.settings == choice.settings


def test_settings_of_another_version_are_refused() -> None:
    head = HEADS.get("dense")
    assert stored_settings(head, {"hidden": [8, 4]}).hidden == (8, 4)
    with pytest.raises(
        RunError, match="settings units are not those of this classifier's kind, which are hidden"
    ):
        stored_settings(head, {"units": 8})


class DeadlyFold(Fold):
    """Kills the process that asks for its loss."""

    def loss(self, _settings: Any) -> float:
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError


def search(folder: Path, fold_type: type[Fold]) -> SettingsChoice:
    """Four trials over two folds, the second of which is of a type."""
    texts = plant_texts(PlantedRegard(texts=90, authors=9)).texts
    splits = grouped_folds(texts, np.arange(len(texts)), folds=2, seed=0)
    first, second = prepare_folds(_plan(), _labelled(texts), splits)
    folds = [first, fold_type(second.split, second.prepared, second.held_out, second.weights)]
    return choose_settings(
        HEADS.get("logistic"), folds, trials=4, folder=folder, seed=0, progress=no_progress
    )


def test_a_search_that_was_killed_within_a_trial_goes_on(tmp_path: Path) -> None:
    assert exit_code(search, tmp_path, DeadlyFold) == -signal.SIGKILL
    assert len(search(tmp_path, Fold).candidates) == 4


def test_masked_persons_give_the_same_label_whoever_it_is(planted: RegardTexts) -> None:
    plan = _plan(persons=PersonTreatment.MASK, person_words=person_words("en"))
    fitted = prepare_fit(plan, _labelled(planted)).fit(HEADS.get("logistic").settings_type(1.0))
    texts = ["The woman lost her keys on Monday.", "The man lost his keys on Monday."]
    first, second = fitted.probabilities(TextRows.of(texts))
    assert first == pytest.approx(second)


def test_counterfactual_training_sees_both_genders_with_the_weight_of_one_text(planted: RegardTexts) -> None:
    plan = _plan(
        class_weights=ClassWeights.NONE,
        persons=PersonTreatment.COUNTERFACTUAL,
        person_words=person_words("en"),
    )
    prepared = prepare_fit(plan, _labelled(planted))
    assert len(prepared.data.targets) == 2 * len(planted)
    assert prepared.data.targets.sum() == pytest.approx(len(planted))
    assert {"woman", "man"} <= set(prepared.features.state().settings["words"])


def test_a_finished_training_is_not_repeated_and_another_one_is_not_mixed_in(
    planted: RegardTexts, trained_folder: Path
) -> None:
    before = (trained_folder / "record.json").stat().st_mtime_ns
    train_regard_classifier(planted, SMALL, out=trained_folder)
    assert (trained_folder / "record.json").stat().st_mtime_ns == before
    with pytest.raises(RunError, match="holds another result"):
        train_regard_classifier(planted, dataclasses.replace(SMALL, seed=1), out=trained_folder)


def test_too_few_texts_are_refused(planted: RegardTexts, tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="has 20 labelled texts; at least 30 are needed"):
        train_regard_classifier(planted.take(np.arange(20)), SMALL, out=tmp_path / "few")


def test_labels_of_one_annotator_are_no_consensus(tmp_path: Path) -> None:
    alone = plant_texts(PlantedRegard(texts=40, annotators=1)).texts
    options = dataclasses.replace(SMALL, labels=LabelKind.CONSENSUS)
    with pytest.raises(DatasetError, match=r"two annotators or more agree on\. Train with --labels mode"):
        train_regard_classifier(alone, options, out=tmp_path / "alone")


def test_persons_cannot_be_masked_in_embeddings(planted: RegardTexts, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.ones((180, 3)))
    options = RegardTrainingOptions(features=f"embeddings:{tmp_path / 'x.npy'}", persons=PersonTreatment.MASK)
    with pytest.raises(EvenhandError, match="--persons mask is not possible"):
        train_regard_classifier(planted, options, out=tmp_path / "out")


@dataclasses.dataclass
class TellingWords:
    """Features of another package: which of three words a text has."""

    summary = "three words"
    argument = ""
    digests: ClassVar[dict[str, str]] = {}

    def open(self, _argument: str, *, device: str) -> TellingWords:  # noqa: ARG002
        return self

    def prepare(self, rows: TextRows) -> None:
        pass

    def fit(self, _rows: TextRows) -> TellingWords:
        return self

    def matrix(self, rows: TextRows) -> np.ndarray:
        words = ("lied", "promise", "helped")
        return np.array([[float(word in text) for word in words] for text in rows.texts])

    def state(self) -> ComponentState:
        return ComponentState()

    def restore(self, _state: ComponentState, _argument: str, *, device: str) -> TellingWords:  # noqa: ARG002
        return self


def test_features_of_another_package_train_and_come_back(planted: RegardTexts, tmp_path: Path) -> None:
    FEATURES.register("telling-words", TellingWords())
    try:
        options = dataclasses.replace(SMALL, features="telling-words", size_seeds=0)
        trained = train_regard_classifier(planted, options, out=tmp_path / "own")
        assert trained.label(["The person helped a neighbour."]).codes == ["1"]
    finally:
        FEATURES.unregister("telling-words")


def test_test_rows_are_a_list_of_numbers(tmp_path: Path) -> None:
    path = tmp_path / "rows.json"
    path.write_text("[1, 4]", encoding="utf-8")
    assert read_test_rows(path) == (1, 4)
    path.write_text('{"rows": [1]}', encoding="utf-8")
    with pytest.raises(DatasetError, match="must be a JSON list of row numbers"):
        read_test_rows(path)
