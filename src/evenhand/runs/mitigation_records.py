"""Records of mitigations: everything needed to repeat one, written beside the weights that it made."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from evenhand.core.errors import RunError, fault
from evenhand.core.estimates import Estimate
from evenhand.core.planted_bias import PlantedBias, read_planted_bias
from evenhand.core.recipes import Recipe
from evenhand.runs.certificates import FrontierPoint
from evenhand.runs.learning_curves import Judgement, LearningCurve
from evenhand.runs.records import EnvironmentRecord, ModelRecord

MITIGATION_FILE = "mitigation.json"
MITIGATION_SCHEMA_VERSION = 1


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True)


class TextRecord(_Frozen):
    """A text that was read."""

    name: str
    sha256: str
    sentences: int


class DataRecord(_Frozen):
    """What was trained on, and what was kept back."""

    corpus: tuple[TextRecord, ...]
    examples: int
    """What an epoch goes through."""
    counts: dict[str, int] = Field(default_factory=dict)
    """Further counts, by what they count."""
    sha256: str
    """Of what was trained on."""
    held_out: TextRecord


class SeedRecord(_Frozen):
    """One training."""

    seed: int
    stopped: str
    curve: LearningCurve
    best: Judgement
    keeps_quality: bool


class Spread(_Frozen):
    """A figure over seeds."""

    mean: float
    deviation: float | None
    """Standard deviation over seeds; None for a single one."""

    @classmethod
    def of(cls, values: list[float]) -> Spread:
        """The mean and deviation of values."""
        return cls(mean=fmean(values), deviation=stdev(values) if len(values) > 1 else None)


class MitigationRecord(_Frozen):
    """Everything needed to repeat a mitigation."""

    schema_version: int = MITIGATION_SCHEMA_VERSION
    kind: str = "mitigation"
    created: datetime = Field(default_factory=lambda: datetime.now(UTC).replace(microsecond=0))
    method: str
    objective: str
    model: ModelRecord
    """The original."""
    lab: PlantedBias | None = None
    """What was planted in the model of the lab that it all began with."""
    language: str
    experiments: tuple[str, ...]
    probes: str
    """SHA-256 of the structures, occupations and terms that MALoR asked."""
    data: DataRecord
    settings: dict[str, float | int | str | bool] = Field(default_factory=dict)
    """Of the method."""
    recipe: Recipe
    precision: str
    seeds: tuple[SeedRecord, ...]
    chosen_seed: int
    before: dict[str, Estimate]
    """MALoR by experiment."""
    after: dict[str, Estimate]
    frontier: tuple[FrontierPoint, ...] = ()
    """What other balances between bias and quality gave, where several were tried."""
    environment: EnvironmentRecord
    libraries: dict[str, str]
    fingerprint: str
    """Of all that was asked for: equal ones mean the same mitigation."""

    @property
    def chosen(self) -> SeedRecord:
        """The training whose weights were kept."""
        return next(known for known in self.seeds if known.seed == self.chosen_seed)

    @property
    def perplexity_rise(self) -> float:
        """Of what was kept, as a share of the original's."""
        return self.chosen.curve.perplexity_rise(self.chosen.best)

    def malor_over_seeds(self, experiment: str) -> Spread:
        """MALoR of the best epochs of all seeds."""
        return Spread.of([known.best.malor[experiment] for known in self.seeds])

    def perplexity_over_seeds(self) -> Spread:
        """Perplexity of the best epochs of all seeds."""
        return Spread.of([known.best.perplexity for known in self.seeds])


def planted_bias_of(folder: str | Path) -> PlantedBias | None:
    """What was planted in the model of a folder or, if it was mitigated, in the model of the lab that it comes from.

    That is no longer true of a mitigated model, but the words that it knows are still the lab's alone.
    """
    own = read_planted_bias(folder)
    if own is not None:
        return own
    try:
        found: Any = json.loads((Path(folder) / MITIGATION_FILE).read_text(encoding="utf-8"))
        return PlantedBias.model_validate(found["lab"])
    except (OSError, ValueError, KeyError, TypeError, ValidationError):
        return None


def read_mitigation_record(folder: Path) -> MitigationRecord:
    """The record beside a mitigated model."""
    path = folder / MITIGATION_FILE
    try:
        return MitigationRecord.model_validate_json(path.read_bytes())
    except OSError:
        raise RunError(
            f"{folder} is not the folder of a mitigated model. Make one with: evenhand mitigate equalise MODEL --out "
            f"{folder}."
        ) from None
    except ValidationError as problem:
        raise RunError(f"{path} is damaged ({fault(problem)}). Mitigate again.") from None
