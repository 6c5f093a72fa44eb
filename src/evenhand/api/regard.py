"""Regard classifiers: train one, and label texts with it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from evenhand.core.errors import DatasetError, EvenhandError, RunError, fault, require_extra
from evenhand.core.files import decode_utf8, parse_json, read_bounded
from evenhand.core.progress import SILENT, Monitor
from evenhand.regard.classifier import (
    RegardClassifier,
    classifier_fingerprint,
    open_classifier,
)
from evenhand.regard.classifier_check import CheckOptions, TreatmentResult, compare_treatments
from evenhand.regard.evaluation import HeldOutPredictions, evaluate_predictions, human_ceiling, training_sizes
from evenhand.regard.features import open_features
from evenhand.regard.fitting import (
    ClassifierPlan,
    ClassWeights,
    FittedClassifier,
    Fold,
    LabelledRows,
    choose_settings,
    prepare_fit,
    prepare_folds,
    stored_settings,
)
from evenhand.regard.heads import HEADS, plain_settings
from evenhand.regard.persons import PersonTreatment, person_words
from evenhand.regard.splits import (
    SharedAuthors,
    Split,
    grouped_folds,
    refuse_too_few,
    shared_authors,
    split_off_test_rows,
)
from evenhand.regard.texts import LabelKind, RegardTexts, language_of
from evenhand.reporting.regard.page import render_classifier_page
from evenhand.stats.classification import Integers
from evenhand.stats.resampling import Floats, Resampling
from evenhand.store.classifier_records import ClassifierRecord, ClassifierReport
from evenhand.store.jobs import Job, open_job
from evenhand.store.records import DatasetRecord, EnvironmentRecord, StatisticsRecord


@dataclass(frozen=True, slots=True)
class RegardTrainingOptions:
    """How a regard classifier is trained.

    Attributes:
        labels: What is learnt from votes.
        features: A name of ``FEATURES``, with what it needs behind a colon.
        classifier: A name of ``HEADS``.
        tune: How many settings Optuna tries; 0 for the head's own few candidates.
        folds: How many folds choose the settings.
        class_weights: Whether rare classes count for more.
        persons: What is done about the person of a text.
        language: Of the texts, which says how persons are named; told from their words if None.
        test_share: The share of texts that are kept for the test, by whole authors.
        test_rows: Row numbers that are kept for the test instead.
        shared_authors: What happens if those share authors with the other rows.
        size_seeds: From how many seeds training on fewer texts is tried; 0 for not at all.
        seed: Of splits, networks and proposals.
        resampling: For the intervals.
        device: Where networks are trained: cpu, cuda, or auto for a GPU where there is one.
    """

    labels: LabelKind = LabelKind.MODE
    features: str = "tfidf"
    classifier: str = "logistic"
    tune: int = 0
    folds: int = 5
    class_weights: ClassWeights = ClassWeights.BALANCED
    persons: PersonTreatment = PersonTreatment.KEEP
    language: str | None = None
    test_share: float = 0.2
    test_rows: tuple[int, ...] | None = None
    shared_authors: SharedAuthors = SharedAuthors.REFUSE
    size_seeds: int = 5
    seed: int = 0
    resampling: Resampling = field(default_factory=lambda: Resampling(resamples=2_000))
    device: str = "auto"

    def __post_init__(self) -> None:
        if self.tune < 0 or self.size_seeds < 0 or self.seed < 0:
            raise EvenhandError("The numbers of trials, of seeds and the seed must not be negative.")

    def determining(self) -> dict[str, Any]:
        """All that decides on the classifier, as plain values."""
        return {
            "labels": self.labels.value,
            "features": self.features,
            "classifier": self.classifier,
            "tune": self.tune,
            "folds": self.folds,
            "class_weights": self.class_weights.value,
            "persons": self.persons.value,
            "language": self.language,
            "test_share": self.test_share,
            "test_rows": None if self.test_rows is None else list(self.test_rows),
            "shared_authors": self.shared_authors.value,
            "size_seeds": self.size_seeds,
            "seed": self.seed,
        }


def train_regard_classifier(
    texts: RegardTexts,
    options: RegardTrainingOptions | None = None,
    *,
    out: str | Path,
    fresh: bool = False,
    monitor: Monitor = SILENT,
) -> RegardClassifier:
    """Train a classifier, measure it on rows that it never saw, and keep both in a folder.

    Test rows are fixed first. Folds of the others choose the settings. The classifier that is kept is trained on all
    rows but the test rows.

    Args:
        texts: Texts with votes.
        options: How to train.
        out: The folder; an interrupted training goes on from there.
        fresh: Train anew even if the folder has this very classifier.
        monitor: Told how it goes.
    """
    require_extra("regard", "sklearn", "safetensors", purpose="Training a regard classifier")
    chosen = options or RegardTrainingOptions()
    if chosen.language is None:
        chosen = replace(chosen, language=language_of(texts.rows.texts))
    head = HEADS.get(chosen.classifier)
    refuse_too_few(texts, chosen.labels)
    for warning in texts.warnings:
        monitor.warn(warning)
    split = _split(texts, chosen)
    warnings = _split_warnings(texts, split)
    plan = _plan(chosen)
    plan.features.prepare(texts.rows)
    record = _record(texts, chosen, plan, name=Path(out).name, warnings=warnings)
    with open_job(out, record.fingerprint, fingerprint_at=classifier_fingerprint, replace=fresh) as job:
        if job.is_done:
            monitor.note(f"{out} has this very classifier already.")
            return open_classifier(out, device=chosen.device)
        for warning in warnings:
            monitor.warn(warning)
        labelled = LabelledRows(texts.rows, texts.targets(chosen.labels), texts.groups)
        folds = _prepared_folds(texts, plan, labelled, split, chosen)
        with monitor.stage("choosing settings", "settings") as progress:
            choice = choose_settings(
                head,
                folds,
                trials=chosen.tune,
                folder=job.subfolder("tuning"),
                seed=chosen.seed,
                progress=progress,
            )
        trained = labelled.take(split.train)
        fitted = prepare_fit(plan, trained).fit(choice.settings)
        held_out = _held_out_predictions(texts, folds, choice.settings)
        test = HeldOutPredictions.of(
            texts, split.held_out, fitted.probabilities(texts.rows.take(split.held_out))
        )
        unanimous = texts.unanimous[test.places]
        several = texts.votes.shape[1] > 1 and unanimous.any()
        with monitor.stage("training on fewer texts", "classifiers") as progress:
            sizes = training_sizes(
                plan,
                trained,
                texts,
                test=split.held_out,
                settings=choice.settings,
                seeds=chosen.size_seeds,
                resampling=chosen.resampling,
                progress=progress,
            )
        report = ClassifierReport(
            folds=evaluate_predictions(held_out, texts.classes, resampling=chosen.resampling),
            test=evaluate_predictions(test, texts.classes, resampling=chosen.resampling),
            unanimous=evaluate_predictions(test.where(unanimous), texts.classes, resampling=chosen.resampling)
            if several
            else None,
            human_ceiling=human_ceiling(texts, split.held_out, resampling=chosen.resampling),
            sizes=sizes,
            candidates=choice.candidates,
        )
        whole = record.model_copy(
            update={
                "settings": plain_settings(choice.settings),
                "counts": {
                    "texts": len(texts),
                    "left out": texts.left_out,
                    "trained on": len(trained.rows),
                    "test": len(split.held_out),
                    "authors": len(set(texts.authors or ())),
                },
            }
        )
        _keep(fitted, texts, whole, report, job=job, held_out=held_out, test=test)
    return open_classifier(out, device=chosen.device)


def compare_person_treatments(
    folder: str | Path, texts: RegardTexts, options: CheckOptions, *, monitor: Monitor = SILENT
) -> tuple[TreatmentResult, ...]:
    """Train a classifier again with every treatment of persons, to show what lowers its own bias and at which cost.

    Args:
        folder: The classifier.
        texts: What it was trained on.
        options: What is checked.
        monitor: Told how it goes.
    """
    classifier = open_classifier(folder, device=options.device)
    if texts.digest != classifier.record.dataset.sha256:
        raise DatasetError(
            f"{texts.name} is not what {folder} was trained on. Give the same files, in the same order, with the same "
            "--group, --label and --unsure."
        )
    chosen = replace(_options_of(classifier.record), device=options.device)
    plan = _plan(chosen)
    plan.features.prepare(texts.rows)
    split = _split(texts, chosen)
    return compare_treatments(
        classifier,
        texts,
        plan,
        splits=grouped_folds(texts, split.train, folds=chosen.folds, seed=chosen.seed),
        labelled=LabelledRows(texts.rows, texts.targets(chosen.labels), texts.groups),
        settings=stored_settings(plan.head, classifier.record.settings),
        options=options,
        monitor=monitor,
    )


def _options_of(record: ClassifierRecord) -> RegardTrainingOptions:
    """The options that a classifier was trained with."""
    kept = dict(record.options)
    try:
        return RegardTrainingOptions(
            **kept
            | {
                "labels": LabelKind(kept["labels"]),
                "class_weights": ClassWeights(kept["class_weights"]),
                "persons": PersonTreatment(kept["persons"]),
                "test_rows": None if kept["test_rows"] is None else tuple(kept["test_rows"]),
                "shared_authors": SharedAuthors(kept["shared_authors"]),
            }
        )
    except (KeyError, TypeError, ValueError) as problem:
        told = f"its options are not those of a training ({fault(problem)})"
        raise RunError(f"{record.name} is damaged: {told}. Train the classifier again.") from None


def _plan(options: RegardTrainingOptions) -> ClassifierPlan:
    keeps = options.persons is PersonTreatment.KEEP
    if not keeps and options.features.startswith("embeddings"):
        raise EvenhandError(
            "Embeddings that were computed elsewhere have the person in them already, so --persons "
            f"{options.persons.value} is not possible. Mask or exchange persons before computing them."
        )
    return ClassifierPlan(
        features=open_features(options.features, device=options.device),
        features_name=options.features,
        head_name=options.classifier,
        class_weights=options.class_weights,
        persons=options.persons,
        person_words=None if keeps else person_words(options.language or ""),
        seed=options.seed,
        device=options.device,
    )


def _split(texts: RegardTexts, options: RegardTrainingOptions) -> Split:
    return split_off_test_rows(
        texts,
        share=options.test_share,
        seed=options.seed,
        given=options.test_rows,
        shared=options.shared_authors,
    )


def _split_warnings(texts: RegardTexts, split: Split) -> tuple[str, ...]:
    warnings = []
    if texts.authors is None:
        warnings.append(
            "No authors are known, so texts of one author may be on both sides of a fold, which flatters the figures. "
            "Name the column of authors with --group."
        )
    repeats = len(texts) - len(split.train) - len(split.held_out)
    if repeats:
        warnings.append(f"{repeats:,} texts are not trained on because the same text is among the test rows.")
    shared = shared_authors(texts, split)
    if shared:
        warnings.append(
            f"{shared:,} authors have texts among the training rows and among the test rows, which flatters the "
            "figures on the test rows."
        )
    return tuple(warnings)


def _record(
    texts: RegardTexts,
    options: RegardTrainingOptions,
    plan: ClassifierPlan,
    *,
    name: str,
    warnings: tuple[str, ...],
) -> ClassifierRecord:
    resampling = options.resampling
    return ClassifierRecord(
        name=name,
        dataset=DatasetRecord(
            name=texts.name,
            language=options.language or "",
            source=texts.name,
            sha256=texts.digest,
            items=len(texts),
        ),
        data=dict(plan.features.digests),
        classes=texts.classes,
        options=options.determining(),
        statistics=StatisticsRecord(
            resamples=resampling.resamples, seed=resampling.seed, confidence=resampling.confidence
        ),
        environment=EnvironmentRecord.current(),
        warnings=(*texts.warnings, *warnings),
    )


def _prepared_folds(
    texts: RegardTexts,
    plan: ClassifierPlan,
    labelled: LabelledRows,
    split: Split,
    options: RegardTrainingOptions,
) -> list[Fold]:
    splits = grouped_folds(texts, split.train, folds=options.folds, seed=options.seed)
    return prepare_folds(plan, labelled, splits)


def _held_out_predictions(texts: RegardTexts, folds: Sequence[Fold], settings: Any) -> HeldOutPredictions:
    """Every row outside the test rows, predicted by a new classifier that did not train on it."""
    places: list[Integers] = []
    probabilities: list[Floats] = []
    for fold in folds:
        fitted = fold.prepared.fit(settings)
        places.append(fold.split.held_out)
        probabilities.append(fitted.probabilities(texts.rows.take(fold.split.held_out)))
    return HeldOutPredictions.of(texts, np.concatenate(places), np.concatenate(probabilities))


def _keep(
    fitted: FittedClassifier,
    texts: RegardTexts,
    record: ClassifierRecord,
    report: ClassifierReport,
    *,
    job: Job,
    held_out: HeldOutPredictions,
    test: HeldOutPredictions,
) -> None:
    classifier = RegardClassifier(fitted, texts.scheme, record, report)
    predictions = pl.concat([_frame(texts, part, own) for part, own in (("folds", held_out), ("test", test))])
    page = render_classifier_page(record, report, scheme=texts.scheme)
    classifier.save(job, predictions=predictions, page=page)


def _frame(texts: RegardTexts, part: str, predictions: HeldOutPredictions) -> pl.DataFrame:
    codes = np.array(texts.classes)
    columns: dict[str, Any] = {
        "part": [part] * len(predictions),
        "row": texts.rows.numbers[predictions.places],
        "text": [texts.rows.texts[place] for place in predictions.places],
        "label": codes[predictions.labels],
        "predicted": codes[predictions.predicted],
    }
    for number, code in enumerate(texts.classes):
        columns[f"p({code})"] = predictions.probabilities[:, number]
    return pl.DataFrame(columns)


def read_test_rows(path: Path) -> tuple[int, ...]:
    """Row numbers from a JSON list."""
    text = decode_utf8(read_bounded(path, error=DatasetError), path, error=DatasetError)
    numbers = parse_json(text, path, error=DatasetError)
    if not isinstance(numbers, list) or not all(
        isinstance(own, int) and not isinstance(own, bool) for own in numbers
    ):
        raise DatasetError(f"{path} must be a JSON list of row numbers, such as {json.dumps([0, 4, 7])}.")
    return tuple(numbers)
