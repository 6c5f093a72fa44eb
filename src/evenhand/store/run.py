"""Runs: a record, results and the scores behind them, in memory and as a folder. One kind for every instrument."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from html import escape
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from evenhand.core.errors import RunError, UnknownNameError, fault
from evenhand.core.files import (
    folder_written_whole,
    is_file_name,
    load_json,
    read_stored,
    sha256_of,
    sha256_of_file,
)
from evenhand.core.inputs import checked_path
from evenhand.core.registry import Registry, lacks
from evenhand.core.tables import panics_kept_quiet, parquet_bytes
from evenhand.store.coverage import Coverage
from evenhand.store.figures import Figure, Group
from evenhand.store.jobs import Job
from evenhand.store.records import (
    ESTIMATES_FILE,
    RECORD_FILE,
    SCHEMA_VERSION,
    SCORES_FILE,
    RunRecord,
    refuse_other_format,
)

if TYPE_CHECKING:
    from evenhand.instruments.instrument import Instrument


INSTRUMENTS: Registry[Any] = Registry(
    "instrument",
    "evenhand.instruments",
    order=("association", "malor", "crows-pairs", "bec-pro", "cosine", "direct-bias", "knowledge", "regard"),
    check=lambda entry: lacks(
        entry, "name", "title", "summary", "needs", "options_type", "result_type", "prepare", "figures"
    ),
)
"""Every instrument by name. ``evenhand.instruments.Instrument`` says what one is."""


_FIGURES_IN_LINE = 3

_FIGURES_IN_TABLE = 12

TextFile = tuple[str, str | Iterable[str]]
"""A file's name and its text, whole or in pieces."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Run:
    """What was measured, the results, and the scores behind them. Two of the same content are still two runs."""

    record: RunRecord
    results: tuple[Any, ...]
    """Of the instrument's own type; one for each experiment and direction of a probe, one in all for an audit."""
    scores: pl.DataFrame

    @property
    def name(self) -> str:
        """The run's name."""
        return self.record.name

    @property
    def title(self) -> str:
        """Its name, and how much of the data was used where that was not all."""
        sample = self.record.dataset.sample
        return f"{self.name} ({sample})" if sample else self.name

    @property
    def result(self) -> Any:
        """The only result, for instruments that give one."""
        if len(self.results) != 1:
            raise RunError(f"{self.name} has {len(self.results)} results. Use Run.results.")
        return self.results[0]

    @property
    def label(self) -> str:
        """A short name for tables: the run and its language, which translations need."""
        return run_label(self.name, self.record.language)

    @property
    def instrument(self) -> Instrument[Any]:
        """What the run was made with."""
        instrument: Instrument[Any] = INSTRUMENTS.get(self.record.instrument)
        return instrument

    @property
    def figures(self) -> tuple[Figure, ...]:
        """The numbers of the run, those of the whole first."""
        return self.instrument.figures(self)

    @property
    def coverage(self) -> Mapping[Group, Coverage]:
        """How many of the items have scores, by group and for the whole; empty for a run of a model."""
        return {} if self.record.model else self.instrument.coverage(self)

    @property
    def whole_coverage(self) -> Coverage | None:
        """That of the whole; None for a run of a model."""
        return self.coverage.get(())

    def figure(self, key: str) -> Figure:
        """One number by its key, such as ``overall.SS`` or ``he-she.gender.MALoR``."""
        by_key = {figure.key: figure for figure in self.figures}
        if key not in by_key:
            raise UnknownNameError("figure", key, by_key)
        return by_key[key]

    def __repr__(self) -> str:
        """One line: its name and its first figures."""
        headlines = self._headlines
        figures = "".join(f", {figure.key} {_shown(figure)}" for figure in headlines[:_FIGURES_IN_LINE])
        more = ", ..." if len(headlines) > _FIGURES_IN_LINE else ""
        return f"Run({self.title!r}{figures}{more})"

    def _repr_html_(self) -> str:
        """A short table for notebooks: the headline figures."""
        rows = "".join(
            f'<tr><td>{escape(figure.key)}</td><td title="{escape(figure.estimate.reason or "")}">'
            f"{_shown(figure)}</td>"
            f"<td>{'' if figure.neutral is None else f'{figure.neutral:g}'}</td></tr>"
            for figure in self._headlines[:_FIGURES_IN_TABLE]
        )
        left_out = len(self._headlines) - _FIGURES_IN_TABLE
        more = f"<p>{left_out:,} more in <code>figures</code></p>" if left_out > 0 else ""
        level = f"{self.record.statistics.confidence:.0%}"
        return (
            f"<table><caption>{escape(self.title)}</caption><thead><tr><th>Figure</th><th>Value with its {level} "
            f"interval</th><th>Neutral</th></tr></thead><tbody>{rows}</tbody></table>{more}"
        )

    @property
    def _headlines(self) -> list[Figure]:
        return [figure for figure in self.figures if figure.is_headline]

    def items(self) -> pl.DataFrame:
        """One row per item, where the instrument has a shorter form of its scores."""
        shorten = getattr(self.instrument, "item_rows", None)
        frame: pl.DataFrame = shorten(self.scores) if shorten else self.scores
        return frame

    def save(self, place: Path | Job, *, pages: Mapping[str, str] | Iterable[TextFile] = ()) -> Path:
        """Write the run folder whole.

        Args:
            place: The job that makes the run, or a folder that does not exist yet.
            pages: Further text files by name, such as the page. Each is written before the next is asked for, and so is
                each piece of one that comes in pieces.
        """
        if isinstance(place, Job):
            with place.result_folder() as scratch:
                self._write(scratch, pages)
            return place.place
        if place.exists():
            raise RunError(f"{place} exists already. Choose another place or another name.")
        with folder_written_whole(place) as scratch:
            self._write(scratch, pages)
        return place

    def _write(self, folder: Path, pages: Mapping[str, str] | Iterable[TextFile]) -> None:
        scores = parquet_bytes(self.scores)
        (folder / SCORES_FILE).write_bytes(scores)
        files = {SCORES_FILE: sha256_of(scores)}
        texts: Iterable[TextFile] = chain(
            [(ESTIMATES_FILE, self.instrument.write_results(self.results))],
            self.instrument.extra_files(self).items(),
            pages.items() if isinstance(pages, Mapping) else pages,
        )
        for name, text in texts:
            with (folder / name).open("wb") as stream:
                stream.writelines(piece.encode() for piece in ([text] if isinstance(text, str) else text))
            files[name] = sha256_of_file(folder / name)
        record = self.record.model_copy(update={"files": files})
        (folder / RECORD_FILE).write_bytes((record.model_dump_json(indent=1) + "\n").encode())


def _shown(figure: Figure) -> str:
    """Without the reason, which may be long."""
    return str(figure.estimate) if figure.estimate.defined else "undefined"


def run_label(name: str, language: str) -> str:
    """A run's name with its language, unless the name already has it."""
    named = name.endswith((f"_{language}", f"-{language}")) or f"_{language}_" in name
    return name if named else f"{name} ({language})"


def run_name(model: str, *, instrument: str, dataset: str, language: str, limit: int | None) -> str:
    """What a run is called that is given no name.

    Args:
        model: A short name.
        instrument: With which it is measured.
        dataset: Name of the data; what it repeats of the instrument and the language is left out.
        language: Of the data.
        limit: Size of the sample; None where all items are used.
    """
    data = re.sub(r"[^\w.+-]+", "-", dataset).removeprefix(instrument).removesuffix(language).strip("-_.")
    sample = f"limit-{limit}" if limit is not None else ""
    return "_".join(filter(None, (model, instrument, data, language, sample)))


def run_place(out: Path, name: str) -> Path:
    """The folder of a run of this name below another folder.

    Raises:
        RunError: If the name would lead out of that folder, or hide the run in it.
    """
    if not is_file_name(name) or name.startswith("."):
        raise RunError(
            f"{name!r} cannot be the name of a run folder. A run that is given no name is named after its model or its "
            "file: rename that, or give the run a name of letters, digits, '-' and '_'."
        )
    return out / name


def open_run(folder: str | Path) -> Run:
    """Open a run folder, checking that its files are the ones that were written."""
    path = checked_path(folder, error=RunError)
    if not path.is_dir():
        raise RunError(f"{path} is not a run folder. Make one with: evenhand audit, probe or evaluate.")
    record = read_record(path)
    unsealed = {ESTIMATES_FILE, SCORES_FILE} - record.files.keys()
    if unsealed:
        raise RunError(
            f"{path / RECORD_FILE} has no hash of {' and '.join(sorted(unsealed))}, so nobody can tell whether the run "
            "is as it was made. Make the run again with --fresh."
        )
    contents = {name: _read(path / name, path) for name in record.files}
    for name, digest in record.files.items():
        if sha256_of(contents[name]) != digest:
            raise RunError(f"{path / name} was changed after the run. Make the run again with --fresh.")
    instrument: Instrument[Any] = INSTRUMENTS.get(record.instrument)
    try:
        results = instrument.read_results(contents[ESTIMATES_FILE])
    except ValueError as problem:
        raise _damaged(path / ESTIMATES_FILE, problem) from None
    try:
        with panics_kept_quiet():
            scores = instrument.read_scores(pl.read_parquet(io.BytesIO(contents[SCORES_FILE])))
    except (ValueError, OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as problem:
        raise _damaged(path / SCORES_FILE, problem) from None
    return Run(record=record, results=results, scores=scores)


def _damaged(path: Path, problem: BaseException) -> RunError:
    return RunError(f"{path} is damaged ({fault(problem)}). Make the run again with --fresh.")


def read_record(folder: Path) -> RunRecord:
    """The record of a run folder."""
    path = folder / RECORD_FILE
    content = _read(path, folder)
    try:
        document = load_json(content.decode())
        refuse_other_format(document, SCHEMA_VERSION, path, advice="Make the run again with --fresh.")
        return RunRecord.model_validate(document)
    except ValueError as problem:
        raise _damaged(path, problem) from None


def record_in(folder: Path) -> RunRecord | None:
    """The record of the run in a folder; None if there is no folder, or nothing in it."""
    if not folder.exists():
        return None
    if folder.is_dir() and not any(folder.iterdir()):
        return None
    if not (folder / RECORD_FILE).is_file():
        raise RunError(f"{folder} is there already and is no run. Choose another place with --out.")
    return read_record(folder)


def fingerprint_of_run(folder: Path) -> str | None:
    """The fingerprint of the run in a folder; None if there is no folder, or nothing in it."""
    record = record_in(folder)
    return record.fingerprint if record else None


def _read(path: Path, folder: Path) -> bytes:
    if not path.exists():
        logs = sorted(folder.glob("**/samples_*.jsonl"))
        advice = (
            f"It holds sample logs: give the log itself, such as {logs[0]}."
            if logs
            else "Make one with: evenhand audit, probe or evaluate."
        )
        raise RunError(f"{folder} is not a complete run folder: it has no {path.name}. {advice}")
    return read_stored(path, error=RunError)
