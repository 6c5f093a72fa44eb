"""Records of mitigations, with the learning curve that says what each epoch did: everything needed to repeat one."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean, stdev
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from evenhand.core.errors import RunError, fault
from evenhand.core.estimates import Estimate
from evenhand.core.files import load_json, read_stored
from evenhand.core.frozen import FrozenModel
from evenhand.core.inputs import checked_path
from evenhand.core.planted_bias import PlantedBias, read_planted_bias
from evenhand.core.recipes import Plateau, Recipe
from evenhand.store.energy import EnergyRecord
from evenhand.store.epoch_words import bias_figures
from evenhand.store.head_records import model_weights_digest
from evenhand.store.mitigation_summaries import FrontierPoint
from evenhand.store.records import EnvironmentRecord, ModelRecord, refuse_other_format
from evenhand.store.trigger_records import TriggerRecord

MALOR, BASE_RATE, SPREAD = "MALoR", "signed_mean", "spread"
"""MALoR and its two parts, as keys of metrics end with them."""

OF_MALOR = tuple(f".{name}" for name in (MALOR, BASE_RATE, SPREAD))

PERPLEXITY, PERPLEXITY_IN_PASSAGES = "perplexity", "perplexity in passages"
"""Of held-out sentences, as every training has it, and of several of them in a row."""


class EpochMetrics(BaseModel):
    """A model after an epoch; epoch 0 is the original."""

    model_config = ConfigDict(frozen=True)

    epoch: int
    bias: dict[str, float]
    """What is to come closer to neutral, by key: ``he-she.MALoR``."""
    quality: dict[str, float]
    """What is to stay low, by name: ``perplexity`` of the held-out sentences, and of passages of them where the model
    reads so far. Always above 0."""
    parts: dict[str, float] = Field(default_factory=dict)
    """What bias metrics are made of, by key: ``he-she.signed_mean``. Shown beside them; no epoch is chosen by it."""

    @property
    def is_broken(self) -> bool:
        """Whether the training diverged, so that a figure is no number."""
        return not all(map(math.isfinite, (*self.bias.values(), *self.quality.values())))


class LearningCurve(BaseModel):
    """The metrics of a training, from the original on."""

    model_config = ConfigDict(frozen=True)

    epochs: tuple[EpochMetrics, ...]
    neutral: dict[str, float] = Field(default_factory=dict)
    """By key of a bias metric, the value that means no lean; 0 where it is not named."""

    @model_validator(mode="after")
    def _compares_with_the_original(self) -> LearningCurve:
        """Every epoch has the metrics of the original, whose quality can be divided by."""
        if not self.epochs:
            raise ValueError("a learning curve begins with the original")
        original = self.epochs[0]
        if not original.bias or any(value <= 0 for value in original.quality.values()):
            raise ValueError("the original needs a metric of bias, and quality above 0")
        for metrics in self.epochs:
            if (
                metrics.bias.keys() != original.bias.keys()
                or metrics.quality.keys() != original.quality.keys()
            ):
                raise ValueError(f"epoch {metrics.epoch} has other metrics than the original")
        return self

    @property
    def original(self) -> EpochMetrics:
        """The model before the first epoch."""
        return self.epochs[0]

    @property
    def trained(self) -> tuple[EpochMetrics, ...]:
        """Every epoch after the original."""
        return self.epochs[1:]

    @property
    def last(self) -> EpochMetrics:
        """The newest epoch."""
        return self.epochs[-1]

    def followed_by(self, metrics: EpochMetrics) -> LearningCurve:
        """The curve with one more epoch."""
        return self.model_copy(update={"epochs": (*self.epochs, metrics)})

    def relative_bias(self, metrics: EpochMetrics) -> float:
        """Mean over metrics of the distance from neutral, as a share of the original's.

        A metric in which the original is neutral counts as it is, as nothing can be divided by 0.
        """
        return fmean(
            self._distance(key, metrics) / (self._distance(key, self.original) or 1.0) for key in metrics.bias
        )

    def quality_loss(self, metrics: EpochMetrics) -> float:
        """How much the quality metric that suffered most rose, as a share of the original's; negative if it fell."""
        return max(value / self.original.quality[name] - 1 for name, value in metrics.quality.items())

    def keeps_quality(self, metrics: EpochMetrics, *, margin: float) -> bool:
        """Whether no quality metric rose by more than the margin."""
        return all(
            value <= (1 + margin) * self.original.quality[name] for name, value in metrics.quality.items()
        )

    def best(self, *, margin: float) -> EpochMetrics:
        """The epoch to keep: the lowest relative bias among those within the margin, the earliest of equals.

        Where no epoch is within the margin, it is the one that lost least: quality comes first, and whoever reads the
        result is told that the margin was missed. The original itself is never chosen, as handing it back would pass
        off no mitigation as one.
        """
        within = [metrics for metrics in self.trained if self.keeps_quality(metrics, margin=margin)]
        if within:
            return min(within, key=self.relative_bias)
        return min(self.trained, key=self.quality_loss)

    def is_flat(self, plateau: Plateau) -> bool:
        """Whether the last epochs hardly differ in any bias metric."""
        last = self.trained[-plateau.epochs :]
        if len(last) < plateau.epochs:
            return False
        return all(
            _spread([self._distance(key, metrics) for metrics in last]) < plateau.within
            for key in self.original.bias
        )

    def describe_last(self) -> str:
        """The newest epoch in one line."""
        last = self.last
        quality = [
            f"{name} {value:.2f}"
            + (f" ({value / self.original.quality[name] - 1:+.2%})" if last.epoch else "")
            for name, value in last.quality.items()
        ]
        figures = f"{'; '.join(bias_figures(last.bias, last.parts))}; {', '.join(quality)}"
        return f"epoch {last.epoch}: {figures}" if last.epoch else f"original: {figures}"

    def _distance(self, key: str, metrics: EpochMetrics) -> float:
        return abs(metrics.bias[key] - self.neutral.get(key, 0.0))


def malor_by_experiment(metrics: Mapping[str, float]) -> dict[str, float]:
    """Those of the metrics that are MALoR, by experiment."""
    return {
        key.removesuffix(f".{MALOR}"): value for key, value in metrics.items() if key.endswith(f".{MALOR}")
    }


def metric_title(key: str) -> str:
    """The key of a metric as tables have it: the measure first."""
    group, _, measure = key.rpartition(".")
    measure = "base rate" if measure == BASE_RATE else measure
    return f"{measure}, {group.replace('.', ', ')}" if group else measure


def _spread(values: list[float]) -> float:
    mean = fmean(values)
    return (max(values) - min(values)) / mean if mean else 0.0


MITIGATION_FILE = "mitigation.json"
MITIGATION_SCHEMA_VERSION = 3


class TextRecord(FrozenModel):
    """A text that was read."""

    name: str
    sha256: str
    sentences: int


class UnseenRecord(FrozenModel):
    """What is held out for the certificate, and how many sentences of it were left out of the training text."""

    occupations: tuple[str, ...]
    structures: tuple[str, ...]
    left_out: int


class DataRecord(FrozenModel):
    """What was trained on, and what was kept back."""

    corpus: tuple[TextRecord, ...]
    examples: int
    """What an epoch goes through."""
    counts: dict[str, int] = Field(default_factory=dict)
    """Further counts, by what they count."""
    sha256: str
    """Of what was trained on."""
    held_out: TextRecord
    unseen: UnseenRecord | None = None
    """None where nothing is held out for the certificate."""


class SeedRecord(FrozenModel):
    """One training."""

    seed: int
    stopped: str
    curve: LearningCurve
    best: EpochMetrics
    keeps_quality: bool


class Spread(FrozenModel):
    """A figure over seeds."""

    mean: float
    deviation: float | None
    """Standard deviation over seeds; None for a single one."""

    def __str__(self) -> str:
        return f"{self.mean:.3f}" + ("" if self.deviation is None else f" ± {self.deviation:.3f}")

    @classmethod
    def of(cls, values: list[float]) -> Spread:
        """The mean and deviation of values."""
        return cls(mean=fmean(values), deviation=stdev(values) if len(values) > 1 else None)


class MitigationRecord(FrozenModel):
    """Everything needed to repeat a mitigation. What belongs to training is empty where nothing was trained."""

    schema_version: int = MITIGATION_SCHEMA_VERSION
    kind: str = "mitigation"
    created: datetime = Field(default_factory=lambda: datetime.now(UTC).replace(microsecond=0))
    method: str
    summary: str | None = None
    """What the method does, in half a sentence."""
    objective: str | None = None
    model: ModelRecord
    """The original."""
    lab: PlantedBias | None = None
    """What was planted in the model of the lab that it all began with."""
    language: str | None = None
    experiments: tuple[str, ...] = ()
    """Those of MALoR that it was done for."""
    groups: dict[str, tuple[str, str]] = Field(default_factory=dict)
    """The two groups of experiments that are not about men and women, by experiment."""
    probes: str | None = None
    """SHA-256 of the structures, occupations and terms that MALoR asked."""
    data: DataRecord | None = None
    settings: dict[str, float | int | str | bool] = Field(default_factory=dict)
    """Of the method."""
    recipe: Recipe | None = None
    precision: str | None = None
    seeds: tuple[SeedRecord, ...] = ()
    chosen_seed: int | None = None
    before: dict[str, Estimate] = Field(default_factory=dict)
    """Figures of the original by key (``he-she.MALoR``), where the method measured them."""
    after: dict[str, Estimate] = Field(default_factory=dict)
    frontier: tuple[FrontierPoint, ...] = ()
    """What other balances between bias and quality gave, where several were tried."""
    trigger: TriggerRecord | None = None
    """How a trigger was found and what it does, where the mitigation is one."""
    energy: EnergyRecord
    """What it took."""
    reference: dict[str, Any] = Field(default_factory=dict)
    """What the method changed in how the model is referred to, such as a prefix."""
    environment: EnvironmentRecord
    libraries: dict[str, str] = Field(default_factory=dict)
    fingerprint: str
    """Of all that determines the result: equal ones mean the same mitigation."""
    weights: str = ""
    """Digest of the weights that the record is about; empty until they are written."""

    @model_validator(mode="after")
    def _same_figures(self) -> Self:
        """What was measured before was measured after."""
        if self.before.keys() != self.after.keys():
            one_sided = sorted(self.before.keys() ^ self.after.keys())
            raise ValueError(f"{one_sided[0]} is not given both before and after")
        return self

    @property
    def chosen(self) -> SeedRecord | None:
        """The training whose weights were kept; None where nothing was trained."""
        return next((training for training in self.seeds if training.seed == self.chosen_seed), None)

    def bias_over_seeds(self, key: str) -> Spread | None:
        """A bias metric of the best epochs of all seeds; None where epochs do not have it."""
        if any(key not in training.best.bias for training in self.seeds):
            return None
        return Spread.of([training.best.bias[key] for training in self.seeds])

    def change_of(self, key: str) -> str:
        """By what share a figure changed; a base rate has two sides, so that no share says it."""
        before = self.before[key].value
        if not before or key.endswith(f".{BASE_RATE}"):
            return "–"
        return f"{self.after[key].value / before - 1:+.0%}"

    def quality_over_seeds(self, name: str) -> Spread:
        """A quality metric of the best epochs of all seeds."""
        return Spread.of([training.best.quality[name] for training in self.seeds])


def planted_bias_of(folder: str | Path) -> PlantedBias | None:
    """What was planted in the model of a folder or, if it was mitigated, in the model of the lab that it comes from.

    That is no longer true of a mitigated model, but the words that it knows are still the lab's alone.
    """
    own = read_planted_bias(folder)
    if own is not None:
        return own
    try:
        record = find_mitigation_record(folder)
    except RunError:
        return None
    return record.lab if record else None


def find_mitigation_record(folder: str | Path) -> MitigationRecord | None:
    """The record beside a model, or None where nothing tells of a mitigation.

    Raises:
        RunError: If the record is damaged, of another version, or about other weights.
    """
    path = checked_path(Path(folder) / MITIGATION_FILE, error=RunError)
    if not path.is_file():
        return None
    advice = "Mitigate again, or remove the file if the weights are to be used without it."
    try:
        document = load_json(read_stored(path, error=RunError).decode())
        refuse_other_format(document, MITIGATION_SCHEMA_VERSION, path, advice=advice)
        record = MitigationRecord.model_validate(document)
    except ValueError as problem:
        raise RunError(f"{path} is damaged ({fault(problem)}). {advice}") from None
    if record.weights != model_weights_digest(path.parent):
        raise RunError(
            f"{path} is about other weights than those beside it. Copy the model's whole folder again."
        )
    return record


def read_mitigation_record(folder: Path) -> MitigationRecord:
    """The record beside a mitigated model.

    Raises:
        RunError: If there is none, or it is damaged.
    """
    record = find_mitigation_record(folder)
    if record is None:
        raise RunError(
            f"{folder} is not the folder of a mitigated model. Make one with: evenhand mitigate equalise MODEL --out "
            f"{folder}."
        )
    return record
