"""The published regard classifiers beside ours, on the published embeddings, splits and labels.

    python benchmarks/regard_published.py --data FOLDER
    python benchmarks/regard_published.py --data FOLDER --part needed
    python benchmarks/regard_published.py --data FOLDER --part choice

``--data`` is a folder with ``regard_de``. Prints the table of ``docs/regard.md``: accuracy and balanced accuracy on the
consensus test rows and on the mode test rows, by what was trained on. C of logistic regression is chosen by folds
grouped by author; settings of boosted trees and dense layers are the published ones. Takes some minutes.

``--part needed`` prints the balanced accuracy of logistic regression beside what the published embeddings are known to
give, and the confusion of the published dense layers beside ours over five seeds. Takes a minute. The exit code is 1 if
a figure is too low or a confusion differs by more than chance.

``--part choice`` asks what the training rows alone would choose for logistic regression on sentence embeddings: columns
standardised or as given, classes balanced or not, and C by cross-entropy or by balanced accuracy. Each way is judged by
folds within folds, all grouped by author. Only then does it label the test rows, with that choice and with what
``--tune 100`` finds.
"""

from __future__ import annotations

import argparse
import csv
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.core.progress import no_progress
from evenhand.data.annotation_files import AnnotationColumns
from evenhand.regard.features import TextRows, open_features
from evenhand.regard.fitting import (
    ClassifierPlan,
    ClassWeights,
    FittedClassifier,
    LabelledRows,
    choose_settings,
    cross_entropy,
    prepare_fit,
    prepare_folds,
)
from evenhand.regard.heads import AS_GIVEN, LOGISTIC, STANDARDISED, BoostedTreesSettings, LogisticSettings
from evenhand.regard.network_heads import DenseSettings
from evenhand.regard.persons import PersonTreatment
from evenhand.regard.splits import Split
from evenhand.regard.texts import RegardTexts, read_regard_texts
from evenhand.stats.classification import Integers, accuracy, balanced_accuracy, confusion_totals
from evenhand.stats.resampling import Floats

PARTS = ("mode_dev", "mode_test", "consensus_dev", "consensus_test")

SETTINGS: dict[str, dict[str, Any]] = {
    "boosted-trees": {
        "consensus": BoostedTreesSettings(trees=350, depth=4, learning_rate=0.148),
        "mode": BoostedTreesSettings(trees=530, depth=6, learning_rate=0.399),
    },
    "dense": {
        "consensus": DenseSettings(hidden=(128,), dropout=0.3, learning_rate=5e-4),
        "mode": DenseSettings(hidden=(256, 128), activation="tanh", dropout=0.1, learning_rate=4.3e-5),
    },
}
"""As published, by what was trained on."""

ROWS = (
    ("fasttext_tfidf_mean", "embeddings", "boosted-trees"),
    ("fasttext_tfidf_mean", "embeddings", "logistic"),
    ("sbert", "embeddings", "dense"),
    ("sbert", "embeddings", "logistic"),
    ("sbert", "tfidf", "logistic"),
)
"""Files, features and head; TF-IDF is of the texts in the files."""


@dataclass(frozen=True)
class PublishedRows:
    """The rows of all parts, one below the other."""

    rows: TextRows
    labels: np.ndarray[Any, np.dtype[np.int64]]
    parts: np.ndarray[Any, Any]
    numbers: np.ndarray[Any, np.dtype[np.int64]]
    table: Path

    def where(self, part: str) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Places of the rows of a part."""
        return np.flatnonzero(self.parts == part)


def read_rows(folder: Path, name: str, scratch: Path) -> PublishedRows:
    """All parts of one kind of embeddings."""
    texts, labels, parts, numbers, tables = [], [], [], [], []
    for part in PARTS:
        with (folder / f"{name}_{part}.csv").open(encoding="utf-8", newline="") as stream:
            own = list(csv.DictReader(stream))
        with np.load(folder / f"{name}_{part}.npz", allow_pickle=False) as content:
            tables.append(content["X"])
            labels += (content["y"].astype(int) + 1).tolist()
        texts += [row["text"] for row in own]
        numbers += [int(row["index"]) for row in own]
        parts += [part] * len(own)
    path = scratch / f"{name}.npz"
    np.savez(path, X=np.concatenate(tables))
    return PublishedRows(TextRows.of(texts), np.array(labels), np.array(parts), np.array(numbers), path)


def labelled_rows(published: PublishedRows, votes: RegardTexts, trained: str) -> LabelledRows:
    """All rows with what is learnt from them, and their authors."""
    places = {int(number): place for place, number in enumerate(votes.rows.numbers)}
    where = np.array([places[number] for number in published.numbers])
    targets: Floats = votes.aggregated.shares[where] if trained == "soft" else np.eye(3)[published.labels]
    return LabelledRows(published.rows, targets, votes.groups[where])


def classifier_plan(
    published: PublishedRows, features: str, head: str, weights: ClassWeights
) -> ClassifierPlan:
    """What is fitted."""
    argument = f"embeddings:{published.table}" if features == "embeddings" else features
    return ClassifierPlan(
        open_features(argument), features.partition(":")[0], head, weights, PersonTreatment.KEEP
    )


def evaluated(
    published: PublishedRows, votes: RegardTexts, features: str, head: str, trained: str
) -> dict[str, tuple[float, float]]:
    """Accuracy and balanced accuracy on both kinds of test rows."""
    plan = classifier_plan(published, features, head, ClassWeights.BALANCED)
    labelled = labelled_rows(published, votes, trained)
    dev = published.where("consensus_dev" if trained == "consensus" else "mode_dev")
    if head == "logistic":
        settings = chosen_settings(plan, published, labelled, dev, trials=0)
    else:
        settings = SETTINGS[head]["consensus" if trained == "consensus" else "mode"]
    return test_figures(prepare_fit(plan, labelled.take(dev)).fit(settings), published, dev)


def chosen_settings(
    plan: ClassifierPlan, published: PublishedRows, labelled: LabelledRows, dev: Integers, *, trials: int
) -> Any:
    """The settings that folds of the training rows choose."""
    folds = prepare_folds(plan, labelled, grouped(published.labels, labelled.groups, dev))
    with tempfile.TemporaryDirectory() as folder:
        return choose_settings(
            plan.head, folds, trials=trials, folder=Path(folder), seed=0, progress=no_progress
        ).settings


def test_figures(
    fitted: FittedClassifier, published: PublishedRows, dev: Integers
) -> dict[str, tuple[float, float]]:
    """Accuracy and balanced accuracy on the test rows that were not trained on."""
    known = set(published.numbers[dev].tolist())
    figures = {}
    for part in ("consensus_test", "mode_test"):
        test = np.array([place for place in published.where(part) if published.numbers[place] not in known])
        predicted = fitted.probabilities(published.rows.take(test)).argmax(axis=1)
        confusion = _confusion(published.labels[test], predicted)
        figures[part] = float(accuracy(confusion)), float(balanced_accuracy(confusion))
    return figures


def _confusion(labels: Integers, predicted: Integers) -> Floats:
    totals: Floats = confusion_totals(
        labels, predicted, classes=3, clusters=np.zeros(len(labels), dtype=np.int64)
    )[0]
    return totals


def grouped(labels: Integers, groups: Integers, places: Integers, *, seed: int = 0) -> list[Split]:
    """Five folds by author."""
    from sklearn.model_selection import StratifiedGroupKFold

    splitter = StratifiedGroupKFold(5, shuffle=True, random_state=seed)
    return [
        Split(places[train], places[held_out])
        for train, held_out in splitter.split(places, labels[places], groups[places])
    ]


NEEDED = {"mode": (0.780, 0.866), "soft": (0.781, 0.879)}
"""Balanced accuracy on the mode and the consensus test rows, to three decimals, by what was trained on."""
PUBLISHED_CONFUSION = np.array([[54, 7, 3], [12, 62, 16], [3, 11, 59]])
"""Of the published dense layers on the mode test rows; true labels in rows."""
SEEDS = (0, 1, 2, 3, 4)


def print_needed(published: PublishedRows, votes: RegardTexts) -> bool:
    """Whether logistic regression and dense layers give what is known of the published embeddings."""
    reached = True
    for trained, needed in NEEDED.items():
        figures = evaluated(published, votes, "embeddings", "logistic", trained)
        for part, least in zip(("mode_test", "consensus_test"), needed, strict=True):
            own = figures[part][1]
            reached &= round(own, 3) >= least
            print(f"logistic regression, {trained}: {part} {own:.4f}, needed {least:.3f}", flush=True)
    plan = classifier_plan(published, "embeddings", "dense", ClassWeights.BALANCED)
    labelled, dev = labelled_rows(published, votes, "mode"), published.where("mode_dev")
    test = published.where("mode_test")
    shares = []
    for seed in SEEDS:
        fitted = prepare_fit(plan, labelled.take(dev), seed=seed).fit(SETTINGS["dense"]["mode"], seed=seed)
        predicted = fitted.probabilities(published.rows.take(test)).argmax(axis=1)
        own_confusion = _confusion(published.labels[test], predicted)
        shares.append(float(balanced_accuracy(own_confusion)))
        p_value = same_confusion(own_confusion, PUBLISHED_CONFUSION)
        reached &= p_value >= 0.05
        print(
            f"dense layers, seed {seed}: {own_confusion.astype(int).tolist()}, balanced accuracy {shares[-1]:.3f}, "
            f"the published confusion is within chance with p = {p_value:.2f}",
            flush=True,
        )
    printed = float(balanced_accuracy(PUBLISHED_CONFUSION.astype(float)))
    print(f"dense layers: {np.mean(shares):.3f} (SD {np.std(shares, ddof=1):.3f}), published {printed:.3f}")
    return reached


def same_confusion(own: Floats, published: np.ndarray[Any, Any]) -> float:
    """One test of the whole table: for each true label, whether labels were given in other shares.

    Both labelled the same rows, so their confusions lie closer together than those of independent rows would, and the
    test finds less than it says.
    """
    from scipy import stats

    found = [stats.chi2_contingency(rows) for rows in zip(own, published, strict=True)]
    return float(stats.chi2.sf(sum(row.statistic for row in found), sum(row.dof for row in found)))


CRITERIA = ("cross-entropy", "balanced accuracy")
CHOICE_SEEDS = (0, 1, 2)


@dataclass(frozen=True)
class Choice:
    """One way to choose C, and the balanced accuracy on authors whom neither the fit nor the choice knew."""

    columns: str
    weights: ClassWeights
    criterion: str
    balanced_accuracy: tuple[float, ...]
    """One for each drawing of the folds."""


def nested_choices(published: PublishedRows, votes: RegardTexts, trained: str) -> Iterator[Choice]:
    """Every way, judged by folds within folds of the training rows; no test row is looked at."""
    labelled, dev = labelled_rows(published, votes, trained), published.where("mode_dev")
    for weights, columns in product(ClassWeights, (STANDARDISED, AS_GIVEN)):
        plan = classifier_plan(published, "embeddings", "logistic", weights)
        found: dict[str, list[float]] = {criterion: [] for criterion in CRITERIA}
        for seed in CHOICE_SEEDS:
            confusions = {criterion: np.zeros((3, 3)) for criterion in CRITERIA}
            for split in grouped(published.labels, labelled.groups, dev, seed=seed):
                ready = prepare_fit(plan, labelled.take(split.train))
                best = best_by_criterion(plan, published, labelled, split.train, columns)
                for criterion, settings in best.items():
                    fitted = ready.fit(settings)
                    predicted = fitted.probabilities(published.rows.take(split.held_out)).argmax(axis=1)
                    confusions[criterion] += _confusion(published.labels[split.held_out], predicted)
            for criterion, confusion in confusions.items():
                found[criterion].append(float(balanced_accuracy(confusion)))
        for criterion, values in found.items():
            yield Choice(columns, weights, criterion, tuple(values))


def best_by_criterion(
    plan: ClassifierPlan, published: PublishedRows, labelled: LabelledRows, places: Integers, columns: str
) -> dict[str, LogisticSettings]:
    """The C that folds of these places choose, by each criterion."""
    folds = prepare_folds(plan, labelled, grouped(published.labels, labelled.groups, places))
    candidates = [LogisticSettings(own.C, columns) for own in LOGISTIC.candidates()]
    losses, shares = [], []
    for settings in candidates:
        own, confusion = [], np.zeros((3, 3))
        for fold in folds:
            probabilities = fold.prepared.fit(settings).head.probabilities(fold.held_out.inputs)
            own.append(cross_entropy(probabilities, fold.held_out.targets, fold.weights))
            confusion += _confusion(published.labels[fold.split.held_out], probabilities.argmax(axis=1))
        losses.append(float(np.mean(own)))
        shares.append(float(balanced_accuracy(confusion)))
    return dict(
        zip(CRITERIA, (candidates[int(np.argmin(losses))], candidates[int(np.argmax(shares))]), strict=True)
    )


def print_choice(published: PublishedRows, votes: RegardTexts) -> None:
    """What training rows choose, and then what the test rows give."""
    dev = published.where("mode_dev")
    for trained in ("mode", "soft"):
        choices = []
        for own in nested_choices(published, votes, trained):
            choices.append(own)
            each = " ".join(f"{value:.4f}" for value in own.balanced_accuracy)
            print(
                f"{trained}: columns {own.columns}, class weights {own.weights.value}, C by {own.criterion}: "
                f"{np.mean(own.balanced_accuracy):.4f} ({each})",
                flush=True,
            )
        best = max(choices, key=lambda own: float(np.mean(own.balanced_accuracy)))
        labelled = labelled_rows(published, votes, trained)
        plan = classifier_plan(published, "embeddings", "logistic", best.weights)
        settings = best_by_criterion(plan, published, labelled, dev, best.columns)[best.criterion]
        balanced = classifier_plan(published, "embeddings", "logistic", ClassWeights.BALANCED)
        for name, own_plan, own_settings in (
            ("chosen by folds within folds", plan, settings),
            ("--tune 100", balanced, chosen_settings(balanced, published, labelled, dev, trials=100)),
            ("default", balanced, chosen_settings(balanced, published, labelled, dev, trials=0)),
        ):
            figures = test_figures(
                prepare_fit(own_plan, labelled.take(dev)).fit(own_settings), published, dev
            )
            shown = ", ".join(f"{part} {plain:.3f} / {even:.3f}" for part, (plain, even) in figures.items())
            print(f"{trained}, {name}: {own_plan.class_weights.value}, {own_settings}: {shown}", flush=True)


def main() -> int:
    """Print what was asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--part", choices=("table", "needed", "choice"), default="table")
    arguments = parser.parse_args()
    folder = arguments.data / "regard_de"
    votes = read_regard_texts(
        sorted(folder.glob("annotations/*.csv")),
        columns=AnnotationColumns(unsure="Unsicher"),
        group=f"{folder / 'survey' / 'all_with_label.csv'}:case",
    )
    with tempfile.TemporaryDirectory() as scratch:
        if arguments.part == "table":
            print_table(folder / "embeddings", votes, Path(scratch))
        else:
            published = read_rows(folder / "embeddings", "sbert", Path(scratch))
            if arguments.part == "needed":
                return 0 if print_needed(published, votes) else 1
            print_choice(published, votes)
    return 0


def print_table(folder: Path, votes: RegardTexts, scratch: Path) -> None:
    """One line per kind of embeddings, head and labels."""
    print("| embeddings | features | classifier | trained on | consensus test | mode test |")
    print("|---|---|---|---|---|---|")
    for name, features, head in ROWS:
        published = read_rows(folder, name, scratch)
        for trained in ("consensus", "mode", "soft"):
            figures = evaluated(published, votes, features, head, trained)
            cells = " | ".join(f"{plain:.3f} / {even:.3f}" for plain, even in figures.values())
            print(f"| {name} | {features} | {head} | {trained} | {cells} |", flush=True)


if __name__ == "__main__":
    sys.exit(main())
