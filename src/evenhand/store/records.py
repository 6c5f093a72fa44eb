"""Run folders: what ran on what, with which versions, hashes and seeds."""

from __future__ import annotations

import hashlib
import json
import math
import platform
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, Field

from evenhand.core.errors import RunError
from evenhand.core.estimates import Number
from evenhand.core.files import is_file_name
from evenhand.core.frozen import FrozenModel
from evenhand.core.planted_bias import PlantedBias
from evenhand.core.protocols import PairProtocol, ProbeProtocol, Protocol
from evenhand.core.sampling import SAMPLE_SEED
from evenhand.store.energy import EnergyRecord

RECORD_FILE = "record.json"

SCORES_FILE = "scores.parquet"

PREDICTIONS_FILE = "predictions.json"

ESTIMATES_FILE = "estimates.json"

PAGE_FILE = "report.html"

SCHEMA_VERSION = 3

_LIBRARIES = ("numpy", "scipy", "polars", "pydantic")


def _in_the_folder(files: dict[str, str]) -> dict[str, str]:
    for name in files:
        if not is_file_name(name):
            raise ValueError(f"{name!r} is no file of the folder")
    return files


FolderFiles = Annotated[dict[str, str], AfterValidator(_in_the_folder)]
"""SHA-256 of each file of a record's folder, by a name that leads nowhere else."""


class SampleRecord(FrozenModel):
    """Which items were used, where not all were."""

    limit: int
    """As it was asked for; where there are several tasks or experiments, of each."""
    items: int
    of: int | None = None
    """How many there are; None where nobody counted, as in a corpus."""
    unit: str = "items"
    seed: int | None = None
    """None where the first ones were used."""

    @classmethod
    def taken(cls, limit: int | None, *, items: int, of: int, unit: str = "items") -> SampleRecord | None:
        """The record of a seeded sample; None where all items were used."""
        if limit is None or items == of:
            return None
        return cls(limit=limit, items=items, of=of, unit=unit, seed=SAMPLE_SEED)

    @property
    def identity(self) -> tuple[int, int | None]:
        """What determines it; how many items there are follows from the data and from what the model can be asked."""
        return self.limit, self.seed

    def to_json(self) -> dict[str, Any]:
        """As machine-readable results have it."""
        return {"sample": {"text": str(self), **self.model_dump()}}

    def __str__(self) -> str:
        if self.of is None:
            return f"the first {self.items:,} {self.unit}"
        return f"sample of {self.items:,} of {self.of:,} {self.unit}"


class DatasetRecord(FrozenModel):
    """The items that were used."""

    name: str
    language: str
    source: str
    sha256: str
    items: int | None = None
    """How many; None for a corpus, and where a file of scores does not tell."""
    licence: str | None = None
    sample: SampleRecord | None = None

    @property
    def total(self) -> int | None:
        """How many items there are, also where a sample was used."""
        return self.sample.of if self.sample else self.items

    @property
    def extent(self) -> str:
        """How much of it was used."""
        return str(self.sample or "all items")

    @property
    def title(self) -> str:
        """Its name, and how much of it was used where that was not all."""
        return f"{self.name}, {self.sample}" if self.sample else self.name


class PredictionsRecord(FrozenModel):
    """The scores that were read."""

    source: str
    sha256: str
    candidates: int
    unknown_ids: tuple[str, ...] = ()
    repeated_ids: int = 0
    holds_items: bool = False
    """Whether the items were read from the same file, which may have only some of the dataset's."""


class ProtocolRecord(FrozenModel):
    """The protocol, written out so that a record explains itself."""

    name: str
    summary: str
    ties: str
    headline: dict[str, str]
    native_names: dict[str, str]

    @classmethod
    def of(cls, protocol: Protocol | PairProtocol | ProbeProtocol) -> ProtocolRecord:
        """The record of a protocol."""
        return cls(
            name=protocol.name,
            summary=protocol.summary,
            ties="none" if isinstance(protocol, ProbeProtocol) else protocol.ties.value,
            headline=dict(protocol.headline) if isinstance(protocol, Protocol) else {},
            native_names=dict(protocol.native_names) if isinstance(protocol, Protocol) else {},
        )


class StatisticsRecord(FrozenModel):
    """How intervals and tests were made."""

    resamples: int
    seed: int
    confidence: float


class DefectRecord(FrozenModel):
    """One class of defects that the data check found in the benchmark."""

    name: str
    task: str
    count: int
    unit: str
    description: str
    flagged: bool


class EnvironmentRecord(FrozenModel):
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


class ModelRecord(FrozenModel):
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
    planted: PlantedBias | None = None
    """For a model of the lab, the bias that is known to be in it."""
    prefix: str = ""
    """What was put before every prompt."""
    adapters: tuple[str, ...] = ()
    """Names of their folders; ``weights`` has their digests."""
    stored_as: str = ""
    """How the file holds the weights, such as GGUF Q4_1, where they were dequantised on loading."""
    caveats: tuple[str, ...] = ()
    """In which respects it may differ from the model that its file was made from."""
    chat_template: str | None = None
    """SHA-256 of the template of its tokenizer that messages are shown in, where it has one."""
    products: str = ""
    """What computed matrix products, and why, for a model whose weights were in this process."""


class PrecisionCheck(FrozenModel):
    """How far answers in half precision are from those in fp32, in a sample that was asked both ways."""

    scores: int = 0
    """How many were compared."""
    median: Number = math.nan
    """Of their differences, in bits."""
    largest: Number = math.nan
    decisions: int = 0
    """How often one of two scores is the larger, where figures count that."""
    flipped: int = 0
    """How many of the decisions are others in fp32."""
    reason: str | None = None
    """Why nothing was compared."""

    def __str__(self) -> str:
        if self.reason:
            return f"not compared with fp32: {self.reason}"
        flipped = f"; {self.flipped:,} of {self.decisions:,} decisions flipped" if self.decisions else ""
        return (
            f"{self.median:.2g} bits from fp32 in the median and {self.largest:.2g} at most, in a sample of "
            f"{self.scores:,} scores{flipped}"
        )


class ScoringRecord(FrozenModel):
    """How candidates were scored."""

    methods: dict[str, str]
    """Task to method."""
    descriptions: dict[str, str]
    max_tokens: int | None = None
    memory: int | None = None
    """Most bytes that a batch takes beside the weights."""
    only_needed_positions: bool = False
    shared_prefixes: bool = False
    limit: int | None = None
    libraries: dict[str, str]


class RunRecord(FrozenModel):
    """Everything needed to repeat a run, whatever the instrument."""

    schema_version: int = SCHEMA_VERSION
    instrument: str
    """The name under which the instrument is registered."""
    name: str
    created: datetime = Field(default_factory=lambda: datetime.now(UTC).replace(microsecond=0))
    dataset: DatasetRecord
    data: dict[str, str] = Field(default_factory=dict)
    """SHA-256 of whatever else was read, by name."""
    options: dict[str, Any] = Field(default_factory=dict)
    """What else determines the answers: experiments, directions, layer ..."""
    model: ModelRecord | None = None
    precision_check: PrecisionCheck | None = None
    """For models in half precision, where a sample can be asked by itself."""
    scoring: ScoringRecord | None = None
    predictions: PredictionsRecord | None = None
    """Where scores were read from, if no model gave them."""
    protocol: ProtocolRecord | None = None
    statistics: StatisticsRecord
    environment: EnvironmentRecord
    energy: EnergyRecord | None = None
    """What it took; None where no model was measured."""
    scored: dict[str, int] = Field(default_factory=dict)
    skipped: dict[str, int] = Field(default_factory=dict)
    defects: tuple[DefectRecord, ...] = ()
    warnings: tuple[str, ...] = ()
    files: FolderFiles = Field(default_factory=dict)

    @property
    def language(self) -> str:
        """The language that was measured."""
        return self.dataset.language

    @property
    def model_name(self) -> str:
        """What the measured model is called; where only scores were given, what the run is called."""
        return self.model.id if self.model else self.name

    @property
    def fingerprint(self) -> str:
        """Digest of all that determines the result: equal fingerprints mean the same run.

        It is known before anything is measured. Batch size and device are not part of it.
        """
        determining: dict[str, Any] = {
            "instrument": self.instrument,
            "dataset": self.dataset.sha256,
            **({"sample": self.dataset.sample.identity} if self.dataset.sample else {}),
            "language": self.language,
            "data": self.data,
            "options": self.options,
            "model": self._model(),
            "scores": None if self.model or self.predictions is None else self.predictions.sha256,
            "protocol": self.protocol.model_dump(mode="json") if self.protocol else None,
            "statistics": self.statistics.model_dump(mode="json"),
            "evenhand": self.environment.evenhand,
        }
        return hashlib.sha256(json.dumps(determining, sort_keys=True).encode()).hexdigest()

    def _model(self) -> dict[str, Any] | None:
        if self.model is None:
            return None
        return {
            "weights": self.model.weights,
            "precision": self.model.precision,
            **({"prefix": self.model.prefix} if self.model.prefix else {}),
            "methods": self.scoring.methods if self.scoring else None,
            "limit": self.scoring.limit if self.scoring else None,
        }


def refuse_other_format(document: Any, own: int, path: Path, *, advice: str) -> None:
    """Refuse a file of Evenhand's own that another version wrote in another format.

    Raises:
        RunError: If the file says that it has another version of the format.
    """
    version = document.get("schema_version", own) if isinstance(document, dict) else own
    if version != own:
        raise RunError(
            f"{path} has version {version} of the format; this version of Evenhand reads {own}. {advice}"
        )
