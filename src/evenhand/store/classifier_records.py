"""What is known about a classifier: how it was trained, how well it does, and its own bias."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from pydantic import Field, field_validator

from evenhand.core.estimates import Estimate, Number
from evenhand.core.frozen import FrozenModel
from evenhand.store.records import DatasetRecord, EnvironmentRecord, FolderFiles, StatisticsRecord

CLASSIFIER_FORMAT = "regard-classifier.v1"
"""Name of the layout of a classifier's folder. A changed layout has another name."""

CHECK_FILE = "check.json"


class ClassFigures(FrozenModel):
    """How well one class is found."""

    label: str
    rows: int
    precision: Estimate
    recall: Estimate
    f1: Estimate


class ReliabilityBin(FrozenModel):
    """Texts whose likeliest class has a probability between two ends, and how often it is right."""

    low: float
    high: float
    confidence: float
    accuracy: Estimate


class ClassifierEvaluation(FrozenModel):
    """Predictions for rows that were not trained on, against their labels."""

    rows: int
    clusters: int
    accuracy: Estimate
    balanced_accuracy: Estimate
    macro_f1: Estimate
    calibration_error: Estimate
    classes: tuple[ClassFigures, ...]
    confusion: tuple[tuple[int, ...], ...]
    """True classes in rows, predicted ones in columns."""
    reliability: tuple[ReliabilityBin, ...]


class HumanCeiling(FrozenModel):
    """An annotator against the mode of the others, on the test rows: no classifier can be shown to do better."""

    accuracy: Estimate
    balanced_accuracy: Estimate


class TrainingSizePoint(FrozenModel):
    """What training on fewer texts gives, on the test rows."""

    rows: int
    by_seed: tuple[float, ...]
    balanced_accuracy: Estimate


class TuningCandidate(FrozenModel):
    """Settings that were tried in folds, and their cross-entropy in nats; undefined if pruned."""

    settings: dict[str, Any]
    loss: Number


class ClassifierReport(FrozenModel):
    """All figures of a training."""

    folds: ClassifierEvaluation
    """Every row outside the test rows, predicted by the fold that did not train on it."""
    test: ClassifierEvaluation
    unanimous: ClassifierEvaluation | None = None
    """The test rows that all annotators label alike."""
    human_ceiling: HumanCeiling
    sizes: tuple[TrainingSizePoint, ...] = ()
    candidates: tuple[TuningCandidate, ...] = ()


class CheckVerdict(StrEnum):
    """What a check says about a classifier's own bias."""

    FAILED = "failed"
    """Groups are treated differently."""
    PASSED = "passed"
    """The gap is shown to be within the margin."""
    UNDECIDED = "undecided"
    """Neither is shown: there were too few texts."""


FAILING_LEVEL = 0.05


class PairCheck(FrozenModel):
    """A classifier on the same texts about two groups."""

    name: str
    first: str
    second: str
    n: int
    labels: tuple[str, ...]
    table: tuple[tuple[int, ...], ...]
    """Labels of the first version in rows, of the second in columns."""
    chi_squared: Number
    stuart_maxwell: Number
    p: Number
    """Of Stuart-Maxwell."""
    p_sign_flip: Number
    p_adjusted: Number
    """The smaller of both, by Holm over all tests of the check."""
    gap: Estimate
    """Net regard of the first minus that of the second, in points."""
    is_equivalent: bool
    """Whether the gap is shown to be within the margin, by two one-sided tests."""

    @property
    def verdict(self) -> CheckVerdict:
        """Whether the groups are treated differently."""
        if self.p_adjusted < FAILING_LEVEL:
            return CheckVerdict.FAILED
        return CheckVerdict.PASSED if self.is_equivalent else CheckVerdict.UNDECIDED


class ClassifierCheck(FrozenModel):
    """The classifier's own bias."""

    classifier: str
    """Fingerprint of the classifier."""
    created: datetime = Field(default_factory=lambda: datetime.now(UTC).replace(microsecond=0))
    texts: DatasetRecord
    left_out: dict[str, int] = Field(default_factory=dict)
    """Texts without versions, by reason."""
    margin: float
    pairs: tuple[PairCheck, ...] = Field(min_length=1)
    statistics: StatisticsRecord

    @property
    def verdict(self) -> CheckVerdict:
        """The worst of all pairs."""
        verdicts = {pair.verdict for pair in self.pairs}
        return next(
            own
            for own in (CheckVerdict.FAILED, CheckVerdict.UNDECIDED, CheckVerdict.PASSED)
            if own in verdicts
        )

    @property
    def failed(self) -> tuple[PairCheck, ...]:
        """The pairs that are treated differently."""
        return tuple(pair for pair in self.pairs if pair.verdict is CheckVerdict.FAILED)

    @property
    def subject(self) -> tuple[str, tuple[tuple[str, str], ...]]:
        """What was checked: texts and persons. Only a check of the same takes the place of an earlier one."""
        return self.texts.sha256, tuple((pair.first, pair.second) for pair in self.pairs)


class KeptChecks(FrozenModel):
    """All checks of one classifier."""

    checks: tuple[ClassifierCheck, ...]

    def with_check(self, check: ClassifierCheck) -> KeptChecks:
        """These checks and another one, which takes the place of one of the same texts and persons."""
        others = tuple(own for own in self.checks if own.subject != check.subject)
        return KeptChecks(checks=(*others, check))


def worst_verdict(checks: Sequence[ClassifierCheck]) -> CheckVerdict | None:
    """The worst verdict of all checks; None if there are none."""
    verdicts = {check.verdict for check in checks}
    order = (CheckVerdict.FAILED, CheckVerdict.UNDECIDED, CheckVerdict.PASSED)
    return next((verdict for verdict in order if verdict in verdicts), None)


TEXT_OPTIONS = ("labels", "features", "classifier", "class_weights", "persons")
"""Options that every record names."""


class ClassifierRecord(FrozenModel):
    """Everything needed to repeat a training."""

    format: str = CLASSIFIER_FORMAT
    name: str
    created: datetime = Field(default_factory=lambda: datetime.now(UTC).replace(microsecond=0))
    dataset: DatasetRecord
    data: dict[str, str] = Field(default_factory=dict)
    """SHA-256 of whatever else was read, by name."""
    classes: tuple[str, ...]
    options: dict[str, Any]
    settings: dict[str, Any] = Field(default_factory=dict)
    """Of the head, as folds chose them."""
    statistics: StatisticsRecord
    environment: EnvironmentRecord
    counts: dict[str, int] = Field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    files: FolderFiles = Field(default_factory=dict)

    @field_validator("options")
    @classmethod
    def _names_its_parts(cls, options: dict[str, Any]) -> dict[str, Any]:
        lacking = [name for name in TEXT_OPTIONS if not isinstance(options.get(name), str)]
        if lacking:
            raise ValueError(f"{lacking[0]} is not named")
        return options

    @property
    def fingerprint(self) -> str:
        """Digest of all that determines the classifier; known before the training."""
        determining = {
            "format": self.format,
            "dataset": self.dataset.sha256,
            "data": self.data,
            "classes": self.classes,
            "options": self.options,
            "statistics": self.statistics.model_dump(mode="json"),
            "evenhand": self.environment.evenhand,
        }
        return hashlib.sha256(json.dumps(determining, sort_keys=True).encode()).hexdigest()
