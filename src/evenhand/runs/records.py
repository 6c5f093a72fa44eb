"""Run folders: what ran on what, with which versions, hashes and seeds."""

from __future__ import annotations

import hashlib
import json
import platform
from datetime import UTC, datetime
from importlib import metadata
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from evenhand.core.planted_bias import Planted
from evenhand.core.protocols import Protocol

RECORD_FILE = "record.json"
SCORES_FILE = "scores.parquet"
PREDICTIONS_FILE = "predictions.json"
ESTIMATES_FILE = "estimates.json"
PAGE_FILE = "report.html"

PROBE_KIND = "probe"
"""What the record of a probe calls itself; that of a run has no kind."""

SCHEMA_VERSION = 1

_LIBRARIES = ("numpy", "scipy", "polars", "pydantic")


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

    @classmethod
    def of(cls, protocol: Protocol) -> ProtocolRecord:
        """The record of a protocol."""
        return cls(
            name=protocol.name,
            summary=protocol.summary,
            ties=protocol.ties.value,
            headline=dict(protocol.headline),
            native_names=dict(protocol.native_names),
        )


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
    planted: Planted | None = None
    """For a model of the lab, the bias that is known to be in it."""


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
        scores: Any = self.predictions.sha256
        if self.model is not None and self.scoring is not None:
            scores = determining_scores(self.model, self.scoring.methods, self.scoring.limit)
        return run_fingerprint(
            self.dataset.sha256, self.dataset.language, scores, self.protocol, self.statistics
        )


def determining_scores(model: ModelRecord, methods: dict[str, str], limit: int | None) -> dict[str, Any]:
    """What determines the scores that a model gives; batch size and device do not."""
    return {"weights": model.weights, "precision": model.precision, "methods": methods, "limit": limit}


def run_fingerprint(
    dataset: str, language: str, scores: Any, protocol: ProtocolRecord, statistics: StatisticsRecord
) -> str:
    """Digest of what determines a run, which can be known before it is made."""
    determining: dict[str, Any] = {
        "dataset": dataset,
        "language": language,
        "scores": scores,
        "protocol": protocol.model_dump(mode="json"),
        "statistics": statistics.model_dump(mode="json"),
        "evenhand": metadata.version("evenhand"),
    }
    return hashlib.sha256(json.dumps(determining, sort_keys=True).encode()).hexdigest()
