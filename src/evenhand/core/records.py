"""Run folders: what ran on what, with which versions, hashes and seeds."""

from __future__ import annotations

import hashlib
import json
import platform
from datetime import UTC, datetime
from importlib import metadata
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

RECORD_FILE = "record.json"
SCORES_FILE = "scores.parquet"
PREDICTIONS_FILE = "predictions.json"
ESTIMATES_FILE = "estimates.json"
PAGE_FILE = "report.html"

SCHEMA_VERSION = 1

_LIBRARIES = ("numpy", "scipy", "statsmodels", "polars", "pydantic")


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True)


class DatasetRecord(_Frozen):
    """The benchmark that was used."""

    name: str
    language: str
    source: str
    sha256: str
    items: int
    licence: str | None = None


class PredictionsRecord(_Frozen):
    """The scores that were read."""

    source: str
    sha256: str
    candidates: int
    unknown_ids: tuple[str, ...] = ()
    repeated_ids: int = 0


class ProtocolRecord(_Frozen):
    """The protocol, written out so that a record explains itself."""

    name: str
    summary: str
    ties: str
    headline: dict[str, str]
    native_names: dict[str, str]


class StatisticsRecord(_Frozen):
    """How intervals and tests were made."""

    resamples: int
    seed: int
    confidence: float


class DefectRecord(_Frozen):
    """One class of defects that the data check found in the benchmark."""

    name: str
    task: str
    count: int
    unit: str
    description: str
    flagged: bool


class EnvironmentRecord(_Frozen):
    """The software that did it."""

    evenhand: str
    python: str
    platform: str
    libraries: dict[str, str]

    @classmethod
    def current(cls) -> EnvironmentRecord:
        """The software that runs now."""
        return cls(
            evenhand=metadata.version("evenhand"),
            python=platform.python_version(),
            platform=f"{platform.system()} {platform.machine()}",
            libraries={name: metadata.version(name) for name in _LIBRARIES},
        )


class ModelRecord(_Frozen):
    """The model that was scored."""

    id: str
    revision: str | None
    weights: str
    """Digest of the weights, or the commit that they come from."""
    family: str
    architecture: str
    precision: str
    device: str
    start_token: str | None = None


class ScoringRecord(_Frozen):
    """How candidates were scored."""

    methods: dict[str, str]
    """Task to method."""
    descriptions: dict[str, str]
    max_tokens: int
    only_needed_positions: bool
    shared_prefixes: bool
    limit: int | None = None
    libraries: dict[str, str]


class RunRecord(_Frozen):
    """Everything needed to repeat a run."""

    schema_version: int = SCHEMA_VERSION
    name: str
    created: datetime = Field(default_factory=lambda: datetime.now(UTC).replace(microsecond=0))
    dataset: DatasetRecord
    predictions: PredictionsRecord
    protocol: ProtocolRecord
    statistics: StatisticsRecord
    environment: EnvironmentRecord
    model: ModelRecord | None = None
    scoring: ScoringRecord | None = None
    scored: dict[str, int]
    skipped: dict[str, int]
    defects: tuple[DefectRecord, ...] = ()
    files: dict[str, str] = Field(default_factory=dict)
    """SHA-256 of each file of the folder."""

    @property
    def fingerprint(self) -> str:
        """Digest of all that determines the result: equal fingerprints mean the same run."""
        determining: dict[str, Any] = {
            "dataset": self.dataset.sha256,
            "language": self.dataset.language,
            "scores": self.predictions.sha256 if self.model is None else self._scored_by(self.model),
            "protocol": self.protocol.model_dump(mode="json"),
            "statistics": self.statistics.model_dump(mode="json"),
            "evenhand": self.environment.evenhand,
        }
        return hashlib.sha256(json.dumps(determining, sort_keys=True).encode()).hexdigest()

    def _scored_by(self, model: ModelRecord) -> dict[str, Any]:
        """What determines scores that a model gave; batch size and device do not."""
        scoring = self.scoring
        return {
            "weights": model.weights,
            "precision": model.precision,
            "methods": scoring.methods if scoring else {},
            "limit": scoring.limit if scoring else None,
        }
