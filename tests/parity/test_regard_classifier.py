"""The published sentence embeddings: what logistic regression and dense layers make of them, grouped by author.

The split is the published one, whose authors are on both sides. Labels are the published ones; soft votes are those of
the five annotators. The way in which C is chosen was settled with test figures in sight. What training rows alone
choose is asked by folds within folds (``docs/regard.md``), and tested here as well.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from regard_training import NEEDS_REGARD
from scipy import stats

from evenhand.core.progress import no_progress
from evenhand.data.annotation_files import AnnotationColumns
from evenhand.regard.evaluation import HeldOutPredictions, evaluate_predictions, human_ceiling
from evenhand.regard.features import TextRows, open_features
from evenhand.regard.fitting import (
    ClassifierPlan,
    ClassWeights,
    FittedClassifier,
    LabelledRows,
    choose_settings,
    prepare_fit,
    prepare_folds,
)
from evenhand.regard.heads import AS_GIVEN, LOGISTIC
from evenhand.regard.network_heads import DenseSettings
from evenhand.regard.persons import PersonTreatment
from evenhand.regard.splits import SharedAuthors, Split, grouped_folds, split_off_test_rows
from evenhand.regard.texts import LabelKind, RegardTexts, read_regard_texts
from evenhand.stats.resampling import Resampling
from evenhand.store.classifier_records import ClassifierEvaluation

pytestmark = NEEDS_REGARD

FEW = Resampling(resamples=200)
PUBLISHED_CONFUSION = [[54, 7, 3], [12, 62, 16], [3, 11, 59]]


@dataclass(frozen=True)
class Published:
    texts: RegardTexts
    split: Split
    plan: ClassifierPlan
    consensus: tuple[np.ndarray, np.ndarray]
    """Embeddings and labels of the consensus test rows, which are of texts with other genders."""

    def labelled(self, kind: LabelKind) -> LabelledRows:
        return LabelledRows(self.texts.rows, self.texts.targets(kind), self.texts.groups)

    def evaluations(self, fitted: FittedClassifier) -> tuple[ClassifierEvaluation, ClassifierEvaluation]:
        """On the mode test rows and on the consensus test rows."""
        test = self.split.held_out
        mode = HeldOutPredictions.of(self.texts, test, fitted.probabilities(self.texts.rows.take(test)))
        embeddings, labels = self.consensus
        rows = np.arange(len(labels))
        consensus = HeldOutPredictions(rows, fitted.head.probabilities(embeddings), labels, rows)
        first, second = (
            evaluate_predictions(own, self.texts.classes, resampling=FEW) for own in (mode, consensus)
        )
        return first, second


@pytest.fixture(scope="module")
def published(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Published:
    folder = shared_data / "regard_de"
    texts = read_regard_texts(
        sorted(folder.glob("annotations/*.csv")),
        columns=AnnotationColumns(unsure="Unsicher"),
        group=f"{folder / 'survey' / 'all_with_label.csv'}:case",
    )
    rows = {part: _rows(folder / "embeddings" / f"sbert_mode_{part}.csv") for part in ("dev", "test")}
    table = np.zeros((1 + int(texts.rows.numbers.max()), 768))
    labels: dict[int, int] = {}
    words: dict[int, str] = {}
    for part, own in rows.items():
        with np.load(folder / "embeddings" / f"sbert_mode_{part}.npz", allow_pickle=False) as content:
            for row, vector, label in zip(own, content["X"], content["y"], strict=True):
                number = int(row["index"])
                table[number], labels[number], words[number] = vector, int(label) + 1, row["text"]
    path = tmp_path_factory.mktemp("published") / "embeddings.npz"
    np.savez(path, X=table)
    numbers = texts.rows.numbers.tolist()
    texts = replace(
        texts,
        rows=TextRows(tuple(words[number] for number in numbers), texts.rows.numbers),
        decisions=np.array([labels[number] for number in numbers]),
    )
    split = split_off_test_rows(
        texts,
        share=0.2,
        seed=0,
        given=tuple(int(row["index"]) for row in rows["test"]),
        shared=SharedAuthors.WARN,
    )
    features = open_features(f"embeddings:{path}")
    features.prepare(texts.rows)
    plan = ClassifierPlan(features, "sbert", "logistic", ClassWeights.BALANCED, PersonTreatment.KEEP)
    with np.load(folder / "embeddings" / "sbert_consensus_test.npz", allow_pickle=False) as content:
        consensus = content["X"].astype(float), content["y"] + 1
    return Published(texts, split, plan, consensus)


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def test_the_published_split_and_the_human_ceiling(published: Published) -> None:
    assert (len(published.split.train), len(published.split.held_out)) == (909, 228)
    votes = replace(published.texts, decisions=None)
    ceiling = human_ceiling(votes, published.split.held_out, resampling=FEW)
    assert round(ceiling.accuracy.value, 3) == 0.896


@pytest.mark.parametrize(
    ("kind", "on_mode", "on_consensus"), [(LabelKind.MODE, 0.780, 0.866), (LabelKind.SOFT, 0.781, 0.879)]
)
def test_logistic_regression_with_c_by_grouped_folds(
    published: Published, tmp_path: Path, kind: LabelKind, on_mode: float, on_consensus: float
) -> None:
    labelled = published.labelled(kind)
    splits = grouped_folds(published.texts, published.split.train, folds=5, seed=0)
    folds = prepare_folds(published.plan, labelled, splits)
    choice = choose_settings(
        published.plan.head, folds, trials=0, folder=tmp_path, seed=0, progress=no_progress
    )
    fitted = prepare_fit(published.plan, labelled.take(published.split.train)).fit(choice.settings)
    mode, consensus = published.evaluations(fitted)
    assert round(mode.accuracy.value, 3) == 0.772
    assert round(mode.balanced_accuracy.value, 3) >= on_mode
    assert round(consensus.balanced_accuracy.value, 3) >= on_consensus


def test_what_folds_within_folds_chose_for_soft_votes(published: Published) -> None:
    """Columns as they are given, which the training rows chose before a test row was labelled; here they choose C.

    The choice between ways is made by ``benchmarks/regard_published.py --part choice``. For mode labels it ends at the
    settings of the test above.
    """
    labelled = published.labelled(LabelKind.SOFT)
    splits = grouped_folds(published.texts, published.split.train, folds=5, seed=0)
    folds = prepare_folds(published.plan, labelled, splits)
    candidates = [replace(own, columns=AS_GIVEN) for own in LOGISTIC.candidates() if own.C >= 0.01]
    losses = [np.mean([fold.loss(own) for fold in folds]) for own in candidates]
    settings = candidates[int(np.argmin(losses))]
    assert pytest.approx(0.1) == settings.C
    fitted = prepare_fit(published.plan, labelled.take(published.split.train)).fit(settings)
    mode, consensus = published.evaluations(fitted)
    assert round(mode.balanced_accuracy.value, 3) >= 0.781
    assert round(consensus.balanced_accuracy.value, 3) >= 0.879


def test_dense_layers_confuse_classes_as_published_within_chance(published: Published) -> None:
    plan = replace(published.plan, head_name="dense")
    settings = DenseSettings(
        hidden=(256, 128), activation="tanh", dropout=0.1, learning_rate=4.3e-5, epochs=60, patience=8
    )
    labelled = published.labelled(LabelKind.MODE).take(published.split.train)
    mode, _ = published.evaluations(prepare_fit(plan, labelled).fit(settings))
    for own, printed in zip(mode.confusion, PUBLISHED_CONFUSION, strict=True):
        assert stats.chi2_contingency([own, printed]).pvalue > 0.05
