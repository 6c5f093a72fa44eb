"""Records of mitigations: everything needed to repeat one, written beside the weights that it made."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from pydantic import Field, ValidationError, model_validator

from evenhand.core.errors import RunError, fault
from evenhand.core.estimates import Estimate
from evenhand.core.frozen import FrozenModel
from evenhand.core.planted_bias import PlantedBias, read_planted_bias
from evenhand.core.recipes import Recipe
from evenhand.runs.certificates import FrontierPoint
from evenhand.runs.learning_curves import EpochMetrics, LearningCurve, malor_by_key
from evenhand.runs.records import EnvironmentRecord, ModelRecord

MITIGATION_FILE = "mitigation.json"
MITIGATION_SCHEMA_VERSION = 2


class TextRecord(FrozenModel):
    """A text that was read."""

    name: str
    sha256: str
    sentences: int


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
    reference: dict[str, Any] = Field(default_factory=dict)
    """What the method changed in how the model is referred to, such as a prefix."""
    environment: EnvironmentRecord
    libraries: dict[str, str] = Field(default_factory=dict)
    fingerprint: str
    """Of all that determines the result: equal ones mean the same mitigation."""

    @model_validator(mode="before")
    @classmethod
    def _from_version_1(cls, content: Any) -> Any:
        """In the first version, figures before and after were those of MALoR, by experiment."""
        if not isinstance(content, Mapping) or content.get("schema_version") != 1:
            return content
        figures = {
            name: malor_by_key(content[name])
            for name in ("before", "after")
            if isinstance(content.get(name), Mapping)
        }
        return {**content, **figures, "schema_version": MITIGATION_SCHEMA_VERSION}

    @property
    def chosen(self) -> SeedRecord | None:
        """The training whose weights were kept; None where nothing was trained."""
        return next((training for training in self.seeds if training.seed == self.chosen_seed), None)

    def bias_over_seeds(self, key: str) -> Spread:
        """A bias metric of the best epochs of all seeds."""
        return Spread.of([training.best.bias[key] for training in self.seeds])

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
        RunError: If the record is damaged.
    """
    path = Path(folder) / MITIGATION_FILE
    try:
        content = path.read_bytes()
    except OSError:
        return None
    try:
        return MitigationRecord.model_validate_json(content)
    except ValidationError as problem:
        raise RunError(
            f"{path} is damaged ({fault(problem)}). Mitigate again, or remove the file if the weights are to be used "
            "without it."
        ) from None


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
