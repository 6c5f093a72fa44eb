"""Probe runs: what was asked of a model, the answers, and what they add up to, in memory and as a folder."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

import polars as pl
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from evenhand.core.errors import RunError, fault
from evenhand.core.files import sha256_of
from evenhand.instruments.probe_results import ProbeResult
from evenhand.runs.records import (
    ESTIMATES_FILE,
    PROBE_KIND,
    RECORD_FILE,
    SCORES_FILE,
    EnvironmentRecord,
    ModelRecord,
    StatisticsRecord,
)
from evenhand.runs.run import parquet_bytes, write_run_folder

PROBE_SCHEMA_VERSION = 1

_RESULTS: TypeAdapter[list[ProbeResult]] = TypeAdapter(list[ProbeResult])


class ProbeRecord(BaseModel):
    """Everything needed to repeat a probe."""

    model_config = ConfigDict(frozen=True)

    schema_version: int = PROBE_SCHEMA_VERSION
    kind: str = PROBE_KIND
    name: str
    test: str
    """malor, cosine, direct-bias or crows-pairs."""
    language: str
    created: datetime = Field(default_factory=lambda: datetime.now(UTC).replace(microsecond=0))
    data: dict[str, str]
    """SHA-256 of what was asked, by name."""
    options: dict[str, Any]
    """What determines the answers: experiments, directions, score, case, layer ..."""
    model: ModelRecord
    statistics: StatisticsRecord
    environment: EnvironmentRecord
    warnings: tuple[str, ...] = ()
    files: dict[str, str] = Field(default_factory=dict)

    @property
    def fingerprint(self) -> str:
        """Digest of all that determines the result: equal fingerprints mean the same run."""
        determining = {
            "test": self.test,
            "language": self.language,
            "data": self.data,
            "options": self.options,
            "weights": self.model.weights,
            "precision": self.model.precision,
            "statistics": self.statistics.model_dump(mode="json"),
            "evenhand": metadata.version("evenhand"),
        }
        return hashlib.sha256(json.dumps(determining, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class ProbeRun:
    """A record, its results and the answers behind them."""

    record: ProbeRecord
    results: tuple[ProbeResult, ...]
    scores: pl.DataFrame

    @property
    def name(self) -> str:
        """The run's name."""
        return self.record.name

    def save(self, folder: Path, *, extra: Mapping[str, str] | None = None, replace: bool = False) -> Path:
        """Write the run folder whole, with further text files by name; ``replace`` lets an existing one give way."""
        if folder.exists():
            if not replace:
                raise RunError(f"{folder} exists already. Choose another place or another name.")
            read_probe_record(folder)
        contents = {
            SCORES_FILE: parquet_bytes(self.scores),
            ESTIMATES_FILE: _RESULTS.dump_json(list(self.results), indent=1) + b"\n",
        }
        return write_run_folder(folder, self.record, contents=contents, extra=extra or {})


def is_probe_run(folder: Path) -> bool:
    """Whether a folder holds a probe, not another kind of run."""
    try:
        found = json.loads((folder / RECORD_FILE).read_bytes())
    except (OSError, ValueError):
        return False
    return isinstance(found, dict) and found.get("kind") == PROBE_KIND


def open_probe_run(folder: str | Path) -> ProbeRun:
    """Open a probe's folder, checking that its files are the ones that were written."""
    path = Path(folder)
    record = read_probe_record(path)
    try:
        for name, digest in record.files.items():
            if sha256_of((path / name).read_bytes()) != digest:
                raise RunError(f"{path / name} was changed after the run. Run it again.")
        results = _RESULTS.validate_json((path / ESTIMATES_FILE).read_bytes())
        scores = pl.read_parquet(io.BytesIO((path / SCORES_FILE).read_bytes()))
    except (OSError, ValidationError, pl.exceptions.PolarsError) as problem:
        raise RunError(f"{path} is damaged ({fault(problem)}). Run it again.") from None
    return ProbeRun(record=record, results=tuple(results), scores=scores)


def read_probe_record(folder: Path) -> ProbeRecord:
    """The record of a probe's folder."""
    try:
        return ProbeRecord.model_validate_json((folder / RECORD_FILE).read_bytes())
    except OSError:
        raise RunError(
            f"{folder} is not the folder of a probe. Make one with: evenhand probe MODEL."
        ) from None
    except ValidationError as problem:
        raise RunError(f"{folder / RECORD_FILE} is damaged ({fault(problem)}). Run it again.") from None
