"""Fit a classifier on rows, and choose its settings by folds. Every fit starts from a new model."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.core.errors import DatasetError, RunError, require_extra, shortlist
from evenhand.core.progress import Progress
from evenhand.regard.features import Features, FittedFeatures, TextRows
from evenhand.regard.heads import HEADS, FittedHead, Head, HeadData, plain_settings, refuse_unfit_features
from evenhand.regard.persons import PersonTreatment, PersonWords
from evenhand.regard.splits import Split
from evenhand.stats.classification import Integers
from evenhand.stats.resampling import Floats
from evenhand.store.classifier_records import TuningCandidate

HELD_BACK = 5
"""One of so many authors is held back from a training that has to know when to stop."""

JOURNAL_FILE = "trials.log"


class ClassWeights(StrEnum):
    """Whether rare classes count for more, in every head, every fold and the final training alike."""

    BALANCED = "balanced"
    """n / (classes x count), so that all classes weigh the same."""
    NONE = "none"


@dataclass(frozen=True, slots=True, eq=False)
class LabelledRows:
    """Texts to learn from, the weight of each class for each, and the author of each."""

    rows: TextRows
    targets: Floats
    groups: Integers

    def take(self, places: Integers) -> LabelledRows:
        """Those at these places that have a weight."""
        kept = places[self.targets[places].sum(axis=1) > 0]
        return LabelledRows(self.rows.take(kept), self.targets[kept], self.groups[kept])


@dataclass(frozen=True, slots=True)
class ClassifierPlan:
    """What is fitted: features, a head, and what is done to texts and classes before."""

    features: Features
    features_name: str
    head_name: str
    class_weights: ClassWeights
    persons: PersonTreatment
    person_words: PersonWords | None = None
    seed: int = 0
    device: str = "auto"

    @property
    def head(self) -> Head:
        """The head."""
        return HEADS.get(self.head_name)


@dataclass(frozen=True, slots=True, eq=False)
class FittedClassifier:
    """Features and a head that were trained together."""

    features: FittedFeatures
    head: FittedHead
    head_name: str
    person_words: PersonWords | None = None
    """Words that are masked before anything else."""

    def probabilities(self, rows: TextRows) -> Floats:
        """One row per text and one column per class."""
        shown = self.person_words.masked(rows) if self.person_words else rows
        return self.head.probabilities(HEADS.get(self.head_name).inputs(self.features, shown))


@dataclass(frozen=True, slots=True, eq=False)
class PreparedFit:
    """The inputs of a head for some training rows, which do not depend on its settings."""

    plan: ClassifierPlan
    features: FittedFeatures
    data: HeadData
    held_back: HeadData | None

    def fit(self, settings: Any, *, seed: int | None = None) -> FittedClassifier:
        """A new classifier with these settings."""
        head = self.plan.head.fit(
            self.data,
            held_back=self.held_back,
            features=self.features,
            settings=settings,
            seed=self.plan.seed if seed is None else seed,
            device=self.plan.device,
        )
        masked = self.plan.persons is PersonTreatment.MASK
        return FittedClassifier(
            self.features, head, self.plan.head_name, self.plan.person_words if masked else None
        )


def prepare_fit(plan: ClassifierPlan, labelled: LabelledRows, *, seed: int | None = None) -> PreparedFit:
    """Fit features on training rows, weigh classes, and hold rows back where the head stops early."""
    head = plan.head
    if not len(labelled.rows):
        raise DatasetError(
            "There is no text to train on with a label of the chosen kind. Choose other --labels."
        )
    train, back = labelled, None
    if head.stops_early:
        held = _held_back(labelled, seed=plan.seed if seed is None else seed)
        train, back = labelled.take(np.flatnonzero(~held)), labelled.take(np.flatnonzero(held))
    weights = class_weights(train.targets, plan.class_weights)
    treated = _treated(plan, train)
    features = plan.features.fit(treated.rows)
    refuse_unfit_features(plan.head_name, features, name=plan.features_name)

    def data_of(own: LabelledRows) -> HeadData:
        return HeadData(head.inputs(features, own.rows), own.targets * weights)

    held_back = None if back is None else data_of(_treated(plan, back))
    return PreparedFit(plan, features, data_of(treated), held_back)


def _shown(plan: ClassifierPlan, rows: TextRows) -> TextRows:
    """Texts as the head sees them when it labels."""
    if plan.person_words is None or plan.persons is not PersonTreatment.MASK:
        return rows
    return plan.person_words.masked(rows)


def _treated(plan: ClassifierPlan, labelled: LabelledRows) -> LabelledRows:
    """Rows as the head is trained on them: masked, or each text beside its counterfactual with half the weight."""
    words = plan.person_words
    if words is None or plan.persons is not PersonTreatment.COUNTERFACTUAL:
        return LabelledRows(_shown(plan, labelled.rows), labelled.targets, labelled.groups)
    places, rows = words.with_counterfactuals(labelled.rows)
    often = np.bincount(places, minlength=len(labelled.rows))
    return LabelledRows(rows, labelled.targets[places] / often[places][:, None], labelled.groups[places])


def _held_back(labelled: LabelledRows, *, seed: int) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Which rows are held back, by whole authors where that leaves something on both sides."""
    generator = np.random.default_rng([seed, len(labelled.rows), 0xBAC])
    names = np.unique(labelled.groups)
    few = generator.permutation(names)[: max(1, len(names) // HELD_BACK)]
    held = np.isin(labelled.groups, few)
    if held.all() or not held.any():
        raise DatasetError(
            f"The texts of {len(names):,} authors are too few for a classifier that has to hold some back to know "
            "when to stop. Use --classifier logistic."
        )
    return held


def class_weights(targets: Floats, kind: ClassWeights) -> Floats:
    """The weight of each class among training rows; 0 for a class that does not occur."""
    totals = targets.sum(axis=0)
    if kind is ClassWeights.NONE:
        return np.ones(len(totals))
    weights: Floats = np.divide(
        totals.sum(), len(totals) * totals, out=np.zeros(len(totals)), where=totals > 0
    )
    return weights


def cross_entropy(probabilities: Floats, targets: Floats, weights: Floats) -> float:
    """The weighted cross-entropy per unit of weight, in nats."""
    weighted = targets * weights
    return float(-(weighted * np.log(np.maximum(probabilities, 1e-12))).sum() / weighted.sum())


@dataclass(frozen=True, slots=True, eq=False)
class Fold:
    """A fit that is ready, and the rows that it is judged by."""

    split: Split
    prepared: PreparedFit
    held_out: HeadData
    """Inputs of the rows held out that have a label, which do not depend on settings either."""
    weights: Floats

    def loss(self, settings: Any) -> float:
        """The cross-entropy of a new classifier with these settings on the rows held out."""
        probabilities = self.prepared.fit(settings).head.probabilities(self.held_out.inputs)
        return cross_entropy(probabilities, self.held_out.targets, self.weights)


def prepare_folds(plan: ClassifierPlan, labelled: LabelledRows, splits: Sequence[Split]) -> list[Fold]:
    """Every fold with features of its own."""
    folds = []
    for split in splits:
        train, held_out = labelled.take(split.train), labelled.take(split.held_out)
        if not len(held_out.rows):
            raise DatasetError(
                "A fold holds out no text with a label of the chosen kind. Choose fewer --folds or other --labels."
            )
        prepared = prepare_fit(plan, train)
        shown = _shown(plan, held_out.rows)
        data = HeadData(plan.head.inputs(prepared.features, shown), held_out.targets)
        folds.append(Fold(split, prepared, data, class_weights(train.targets, plan.class_weights)))
    return folds


@dataclass(frozen=True, slots=True)
class SettingsChoice:
    """The settings that folds chose, and all that were tried."""

    settings: Any
    candidates: tuple[TuningCandidate, ...]


def choose_settings(
    head: Head, folds: Sequence[Fold], *, trials: int, folder: Path, seed: int, progress: Progress
) -> SettingsChoice:
    """The settings with the lowest cross-entropy over folds.

    Cross-entropy is a proper score: it rewards honest probabilities, and varies less from fold to fold than shares of
    right labels do.

    Args:
        head: Whose settings.
        folds: Fits that are ready.
        trials: How many settings Optuna proposes; 0 for the few candidates of the head.
        folder: Where Optuna keeps its journal, so that an interrupted search goes on.
        seed: Of the proposals.
        progress: Told how many settings were tried.
    """
    if trials:
        return _searched(head, folds, trials=trials, folder=folder, seed=seed, progress=progress)
    candidates = list(head.candidates())
    if len(candidates) == 1:
        return SettingsChoice(candidates[0], ())
    tried = []
    for number, settings in enumerate(candidates):
        progress(number, len(candidates))
        tried.append(float(np.mean([fold.loss(settings) for fold in folds])))
    return SettingsChoice(
        candidates[int(np.argmin(tried))],
        tuple(
            TuningCandidate(settings=plain_settings(own), loss=loss)
            for own, loss in zip(candidates, tried, strict=True)
        ),
    )


def _searched(
    head: Head, folds: Sequence[Fold], *, trials: int, folder: Path, seed: int, progress: Progress
) -> SettingsChoice:
    """Optuna's TPE. After each fold a trial that is worse than the median of those before it ends."""
    require_extra("regard", "optuna", purpose="--tune")
    import optuna
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    finished = (optuna.trial.TrialState.COMPLETE, optuna.trial.TrialState.PRUNED)
    study = optuna.create_study(
        storage=JournalStorage(JournalFileBackend(str(folder / JOURNAL_FILE))),
        study_name="settings",
        load_if_exists=True,
        direction="minimize",
        pruner=optuna.pruners.MedianPruner(n_startup_trials=min(5, trials)),
    )
    # A trial that a killed process left behind has no result, and is tried again under another number.
    done = len(study.get_trials(deepcopy=False, states=finished))
    study.sampler = optuna.samplers.TPESampler(seed=seed + done)

    def objective(trial: Any) -> float:
        settings = head.suggest(trial)
        trial.set_user_attr("settings", plain_settings(settings))
        losses = []
        for number, fold in enumerate(folds):
            losses.append(fold.loss(settings))
            trial.report(float(np.mean(losses)), number)
            if number + 1 < len(folds) and trial.should_prune():
                raise optuna.TrialPruned
        return float(np.mean(losses))

    for number in range(done, trials):
        progress(number, trials)
        study.optimize(objective, n_trials=1)
    progress(trials, trials)
    results = study.get_trials(deepcopy=False, states=finished)
    candidates = tuple(
        TuningCandidate(
            settings=trial.user_attrs["settings"],
            loss=trial.value if trial.state is optuna.trial.TrialState.COMPLETE else math.nan,
        )
        for trial in results
    )
    best = study.best_trial.user_attrs["settings"]
    return SettingsChoice(stored_settings(head, best), candidates)


def stored_settings(head: Head, values: Mapping[str, Any]) -> Any:
    """Settings as a record or a journal holds them.

    Raises:
        RunError: If they are not those of the head.
    """
    plain = {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}
    try:
        return head.settings_type(**plain)
    except TypeError:
        names = [own.name for own in fields(head.settings_type)]
        raise RunError(
            f"The settings {shortlist(sorted(plain), 9)} are not those of this classifier's kind, which are "
            f"{shortlist(names, 9)}. They were written by another version, or changed: train the classifier again."
        ) from None
