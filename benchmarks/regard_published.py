"""The published regard classifiers beside ours, on the published embeddings, splits and labels.

    python benchmarks/regard_published.py --data FOLDER

``--data`` is a folder with ``regard_de``. Prints the table of ``docs/regard.md``: accuracy and balanced accuracy on the
consensus test rows and on the mode test rows, by what was trained on. C of logistic regression is chosen by folds
grouped by author; those of boosted trees and dense layers are the published ones. Takes some minutes.
"""

from __future__ import annotations

import argparse
import csv
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.core.progress import no_progress
from evenhand.data.annotation_files import AnnotationColumns
from evenhand.regard.features import TextRows, open_features
from evenhand.regard.fitting import (
    ClassifierPlan,
    ClassWeights,
    LabelledRows,
    choose_settings,
    prepare_fit,
    prepare_folds,
)
from evenhand.regard.heads import BoostedTreesSettings
from evenhand.regard.network_heads import DenseSettings
from evenhand.regard.persons import PersonTreatment
from evenhand.regard.splits import Split
from evenhand.regard.texts import RegardTexts, read_regard_texts
from evenhand.stats.classification import accuracy, balanced_accuracy, confusion_totals
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
    ("sbert", "embeddings", "boosted-trees"),
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


def evaluated(
    published: PublishedRows, votes: RegardTexts, features: str, head: str, trained: str
) -> dict[str, tuple[float, float]]:
    """Accuracy and balanced accuracy on both kinds of test rows."""
    argument = f"embeddings:{published.table}" if features == "embeddings" else features
    plan = ClassifierPlan(
        open_features(argument), features, head, ClassWeights.BALANCED, PersonTreatment.KEEP
    )
    places = {int(number): place for place, number in enumerate(votes.rows.numbers)}
    where = np.array([places[number] for number in published.numbers])
    groups = votes.groups[where]
    targets: Floats = votes.aggregated.shares[where] if trained == "soft" else np.eye(3)[published.labels]
    labelled = LabelledRows(published.rows, targets, groups)
    dev = published.where("consensus_dev" if trained == "consensus" else "mode_dev")
    if head == "logistic":
        folds = prepare_folds(plan, labelled, _grouped(published.labels, groups, dev))
        settings = choose_settings(
            plan.head, folds, trials=0, folder=published.table.parent, seed=0, progress=no_progress
        ).settings
    else:
        settings = SETTINGS[head]["consensus" if trained == "consensus" else "mode"]
    fitted = prepare_fit(plan, labelled.take(dev)).fit(settings)
    known = set(published.numbers[dev].tolist())
    figures = {}
    for part in ("consensus_test", "mode_test"):
        test = np.array([place for place in published.where(part) if published.numbers[place] not in known])
        predicted = fitted.probabilities(published.rows.take(test)).argmax(axis=1)
        confusion = confusion_totals(
            published.labels[test], predicted, classes=3, clusters=np.zeros(len(test), dtype=np.int64)
        )[0]
        figures[part] = float(accuracy(confusion)), float(balanced_accuracy(confusion))
    return figures


def _grouped(labels: Any, groups: Any, dev: Any) -> list[Split]:
    from sklearn.model_selection import StratifiedGroupKFold

    splitter = StratifiedGroupKFold(5, shuffle=True, random_state=0)
    return [
        Split(dev[train], dev[held_out]) for train, held_out in splitter.split(dev, labels[dev], groups[dev])
    ]


def main() -> None:
    """Print one line per kind of embeddings, head and labels."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    folder = parser.parse_args().data / "regard_de"
    votes = read_regard_texts(
        sorted(folder.glob("annotations/*.csv")),
        columns=AnnotationColumns(unsure="Unsicher"),
        group=f"{folder / 'survey' / 'all_with_label.csv'}:case",
    )
    print("| embeddings | features | classifier | trained on | consensus test | mode test |")
    print("|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as scratch:
        for name, features, head in ROWS:
            published = read_rows(folder / "embeddings", name, Path(scratch))
            for trained in ("consensus", "mode", "soft"):
                figures = evaluated(published, votes, features, head, trained)
                cells = " | ".join(f"{plain:.3f} / {even:.3f}" for plain, even in figures.values())
                print(f"| {name} | {features} | {head} | {trained} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
