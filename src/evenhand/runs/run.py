"""Runs: a record, its estimates and its scores, in memory and as a folder."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl
from pydantic import BaseModel, ValidationError

from evenhand.core.errors import RunError, fault
from evenhand.core.files import folder_written_whole, sha256_of
from evenhand.core.items import Label, Task
from evenhand.instruments.association.results import RunResult
from evenhand.runs.records import (
    ESTIMATES_FILE,
    PREDICTIONS_FILE,
    PROBE_KIND,
    RECORD_FILE,
    SCHEMA_VERSION,
    SCORES_FILE,
    RunRecord,
)

SCORES_SCHEMA: Mapping[str, pl.DataType] = {
    "item": pl.String(),
    "task": pl.String(),
    "language": pl.String(),
    "bias_type": pl.String(),
    "target": pl.String(),
    "cluster": pl.String(),
    "context": pl.String(),
    "defects": pl.List(pl.String()),
    "candidate": pl.String(),
    "label": pl.String(),
    "text": pl.String(),
    "token_log_probabilities": pl.List(pl.Float64()),
    "log2_probability": pl.Float64(),
    "score": pl.Float64(),
    "skipped_reason": pl.String(),
}
"""Columns of ``scores.parquet``, a row a candidate. The texts are there so that a report needs nothing
but the folder."""


@dataclass(frozen=True, slots=True)
class Run:
    """What was measured, the result, and the scores behind it."""

    record: RunRecord
    result: RunResult
    scores: pl.DataFrame

    @property
    def name(self) -> str:
        """The run's name."""
        return self.record.name

    @property
    def label(self) -> str:
        """A short name for tables: the run and its language, which translations need."""
        return run_label(self.name, self.record.dataset.language)

    def items(self) -> pl.DataFrame:
        """A row an item with the scores of its three candidates side by side."""
        return items_from_scores(self.scores)

    def save(self, folder: Path, *, extra: Mapping[str, str] | None = None, replace: bool = False) -> Path:
        """Write the run folder whole, with further text files by name.

        An existing folder is refused; with ``replace`` an existing run folder gives way, and anything else
        is still refused.
        """
        if folder.exists():
            if not replace:
                raise RunError(f"{folder} exists already. Choose another place or another name.")
            read_record(folder)
        contents = {
            SCORES_FILE: parquet_bytes(self.scores),
            PREDICTIONS_FILE: predictions_json(self.scores).encode(),
            ESTIMATES_FILE: (self.result.model_dump_json(indent=1) + "\n").encode(),
        }
        return write_run_folder(folder, self.record, contents=contents, extra=extra or {})


def run_label(name: str, language: str) -> str:
    """A run's name with its language, unless the name already ends in it."""
    return name if name.endswith((f"_{language}", f"-{language}")) else f"{name} ({language})"


def items_from_scores(scores: pl.DataFrame) -> pl.DataFrame:
    """From a row a candidate to a row an item, the candidates' scores in columns named by label.

    ``log_ratio`` says by how many bits the stereotype is more probable than the anti-stereotype; it is
    null where one of the two probabilities is not known.
    """
    keys = ["item", "task", "language", "bias_type", "target", "cluster"]
    stereotype, anti_stereotype = (
        _of_candidate("log2_probability", label) for label in (Label.STEREOTYPE, Label.ANTI_STEREOTYPE)
    )
    return scores.group_by(keys, maintain_order=True).agg(
        *[_of_candidate("score", label).alias(label.value) for label in Label],
        (stereotype - anti_stereotype).alias("log_ratio"),
        pl.col("skipped_reason").drop_nulls().first(),
    )


def _of_candidate(column: str, label: Label) -> pl.Expr:
    return pl.col(column).filter(pl.col("label") == label.value).first()


def open_run(folder: str | Path) -> Run:
    """Open a run folder, checking that its files are the ones that were written."""
    path = Path(folder)
    if not path.is_dir():
        raise RunError(f"{path} is not a run folder. Make one with: evenhand evaluate ... --out RUNS/.")
    record = read_record(path)
    for name, digest in record.files.items():
        found = _read(path / name, path)
        if sha256_of(found) != digest:
            raise RunError(f"{path / name} was changed after the run. Run it again.")
    try:
        result = RunResult.model_validate_json(_read(path / ESTIMATES_FILE, path))
        scores = pl.read_parquet(io.BytesIO(_read(path / SCORES_FILE, path)))
    except (ValidationError, pl.exceptions.PolarsError) as problem:
        raise RunError(f"{path} is damaged ({fault(problem)}). Run it again.") from None
    return Run(record=record, result=result, scores=_with_later_columns(scores))


def _with_later_columns(scores: pl.DataFrame) -> pl.DataFrame:
    """Scores of an earlier version, with nulls for what it did not write."""
    if "log2_probability" in scores.columns:
        return scores
    return scores.with_columns(pl.lit(None, SCORES_SCHEMA["log2_probability"]).alias("log2_probability"))


def read_record(folder: Path) -> RunRecord:
    """The record of a run folder."""
    content = _read(folder / RECORD_FILE, folder)
    try:
        found = json.loads(content)
        _refuse_probe(folder, found.get("kind"))
        version = found.get("schema_version")
        if version != SCHEMA_VERSION:
            raise RunError(
                f"{folder} has the record format {version}; this version of Evenhand reads {SCHEMA_VERSION}. "
                "Run it again with this version."
            )
        return RunRecord.model_validate_json(content)
    except (ValueError, AttributeError) as problem:
        raise RunError(f"{folder / RECORD_FILE} is damaged ({fault(problem)}). Run it again.") from None


def _refuse_probe(folder: Path, kind: str | None) -> None:
    if kind == PROBE_KIND:
        raise RunError(
            f"{folder} is a probe, and this is for runs of evenhand audit and evenhand evaluate. Show probes side by "
            "side with: evenhand report A B --out page.html; test what differs between two models with: evenhand "
            "certify BEFORE AFTER."
        )


def write_run_folder(
    folder: Path, record: BaseModel, *, contents: Mapping[str, bytes], extra: Mapping[str, str]
) -> Path:
    """Write files and further text files whole, with the record, which tells their digests."""
    written = {**contents, **{name: text.encode() for name, text in extra.items()}}
    complete = record.model_copy(
        update={"files": {name: sha256_of(content) for name, content in written.items()}}
    )
    written[RECORD_FILE] = (complete.model_dump_json(indent=1) + "\n").encode()
    with folder_written_whole(folder) as scratch:
        for name, content in written.items():
            (scratch / name).write_bytes(content)
    return folder


def parquet_bytes(frame: pl.DataFrame) -> bytes:
    """A frame as Parquet; the same frame gives the same bytes."""
    buffer = io.BytesIO()
    frame.write_parquet(buffer, compression="zstd", statistics=False)
    return buffer.getvalue()


def predictions_json(scores: pl.DataFrame) -> str:
    """Scores in StereoSet's own layout, so that other tools read them."""
    usable = scores.filter(pl.col("score").is_not_null() & pl.col("score").is_finite())
    document = {
        task.value: [
            {"id": candidate, "score": score}
            for candidate, score in usable.filter(pl.col("task") == task.value)
            .select("candidate", "score")
            .iter_rows()
        ]
        for task in Task
    }
    return json.dumps({task: rows for task, rows in document.items() if rows}, indent=1) + "\n"


def _read(path: Path, folder: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise RunError(
            f"{folder} is not a complete run folder: it has no {path.name}. "
            "Make one with: evenhand evaluate ... --out RUNS/."
        ) from None
    except OSError as problem:
        raise RunError(f"{path} cannot be read: {problem.strerror or problem}.") from None
