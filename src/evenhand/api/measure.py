"""Measure: a model and an instrument, or scores and a benchmark, to a run that is kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from evenhand.api.executors import HERE, Assignment, Executor, ExecutorError, LocalExecutor, executor_at
from evenhand.api.measurement_jobs import (
    MeasurementJob,
    reference_of,
    refuse_impossible,
    refuse_loaded,
    refuse_taken_places,
    suited_options,
)
from evenhand.api.models import LastModel, loaded_model
from evenhand.api.precision import exact_sample, with_precision_check
from evenhand.core.items import Benchmark
from evenhand.core.progress import SILENT, Monitor, activity
from evenhand.core.protocols import DEFAULT_PROTOCOL, Protocol
from evenhand.data.predictions import Predictions
from evenhand.instruments.association.evaluation import Evaluation
from evenhand.instruments.association.instrument import ASSOCIATION, AuditOptions
from evenhand.instruments.instrument import (
    ANSWERS,
    Instrument,
    InstrumentOptions,
    Preparation,
    keep_run,
    skip_warnings,
)
from evenhand.models.references import ModelRef
from evenhand.stats.resampling import Resampling
from evenhand.store.claims import Claim
from evenhand.store.jobs import claim_place, kept_parts
from evenhand.store.records import PAGE_FILE
from evenhand.store.run import (
    INSTRUMENTS,
    Run,
    TextFile,
    fingerprint_of_run,
    open_run,
    record_in,
    run_place,
)
from evenhand.store.run_differences import refuse_other_run


def audit(
    model: str | ModelRef | Any,
    data: str | Path | Benchmark | None = None,
    *,
    language: str | None = None,
    options: AuditOptions | None = None,
    name: str | None = None,
    out: Path | None = None,
    fresh: bool = False,
    monitor: Monitor = SILENT,
) -> Run:
    """Score every candidate of a benchmark with a model and evaluate the scores.

    Args:
        model: A name or folder, a reference, or a model already loaded.
        data: A dataset's name, a file or folder in a known layout, or a benchmark already loaded. If not given, what
            suits the model: the starter set, and for a model of the lab the lab's own items.
        language: Which language of ``data``, where it has several.
        options: How to score; the defaults suit the model.
        name: Name of the run.
        out: Folder for the run folder. An interrupted audit with the same arguments goes on where it was, a finished
            one is opened. Nothing is kept without it.
        fresh: Forget what an earlier audit left in ``out``.
        monitor: Told how it goes.
    """
    chosen = options or AuditOptions()
    if data is not None or language is not None:
        chosen = replace(
            chosen,
            data=chosen.data if data is None else data,
            language=chosen.language if language is None else language,
        )
    return measure(model, ASSOCIATION, options=chosen, name=name, out=out, fresh=fresh, monitor=monitor)


def probe(
    model: str | ModelRef | Any,
    instrument: str | Instrument[Any] = "malor",
    *,
    options: InstrumentOptions | None = None,
    name: str | None = None,
    out: Path | None = None,
    fresh: bool = False,
    monitor: Monitor = SILENT,
) -> Run:
    """Measure a model with any instrument: MALoR, CrowS-Pairs, cosine, direct bias, knowledge, or another package's.

    Args:
        model: A name or folder, a reference, or a model already loaded.
        instrument: By name, or itself.
        options: Of the instrument's own type; the defaults suit the model.
        name: Name of the run.
        out: Folder for the run folder, as for ``audit``.
        fresh: Forget what an earlier probe left in ``out``.
        monitor: Told how it goes.
    """
    chosen = INSTRUMENTS.get(instrument) if isinstance(instrument, str) else instrument
    return measure(model, chosen, options=options, name=name, out=out, fresh=fresh, monitor=monitor)


def evaluate(
    predictions: str | Path | Mapping[str, float] | Predictions,
    data: str | Path | Benchmark = "starter",
    *,
    language: str | None = None,
    source: str | Path | Benchmark | None = None,
    protocol: str | Protocol = DEFAULT_PROTOCOL,
    resampling: Resampling | None = None,
    name: str | None = None,
    out: Path | None = None,
    fresh: bool = False,
    monitor: Monitor = SILENT,
) -> Run:
    """Turn scores per candidate into a run with estimates, intervals and tests.

    Args:
        predictions: A file of scores, or scores by candidate id.
        data: A dataset's name, a file or folder in a known layout, or a benchmark already loaded.
        language: Which language of ``data``, where it has several.
        source: What ``data`` were translated from: then what the checks of translations find is flagged too.
        protocol: How scores become numbers.
        resampling: Number of resamples, seed and confidence level.
        name: Name of the run; the name of the predictions if not given.
        out: Folder for the run folder; nothing is kept without it.
        fresh: Replace another run in its place.
        monitor: Told what is worth knowing.
    """
    preparation = Evaluation(
        predictions,
        data,
        language=language,
        source=source,
        protocol=protocol,
        resampling=resampling,
        name=name,
    )
    return kept(preparation, out=out, fresh=fresh, monitor=monitor)


def evaluate_scores(
    scores: str | Path,
    instrument: str | Instrument[Any] = "crows-pairs",
    *,
    options: InstrumentOptions | None = None,
    name: str | None = None,
    out: Path | None = None,
    fresh: bool = False,
    monitor: Monitor = SILENT,
) -> Run:
    """Turn scores that another tool has computed, with the items that they are about, into a run.

    Args:
        scores: A file of scores of sentence pairs, or a log of lm-evaluation-harness or Inspect.
        instrument: By name, or itself.
        options: Of the instrument's own type.
        name: Name of the run; the file's name if not given.
        out: Folder for the run folder; nothing is kept without it.
        fresh: Replace another run in its place.
        monitor: Told what is worth knowing.
    """
    chosen = INSTRUMENTS.get(instrument) if isinstance(instrument, str) else instrument
    preparation = chosen.evaluation(Path(scores), options or chosen.options_type(), name=name)
    return kept(preparation, out=out, fresh=fresh, monitor=monitor)


def measure_all(
    measurements: Sequence[MeasurementJob],
    *,
    out: Path,
    on: str | Executor = HERE,
    fresh: bool = False,
    monitor: Monitor = SILENT,
) -> list[Run]:
    """Measure many models, languages and instruments, here or on Ray, and keep the runs.

    Args:
        measurements: Models with what they are measured with. One that follows another of the same model does not load
            it again.
        out: Folder for the run folders. Finished runs are opened, interrupted ones go on.
        on: ``here``, ``ray`` for a cluster on this machine, ``ray:ADDRESS`` for another one. The bytes are the same.
        fresh: Forget what earlier measurements left in ``out``.
        monitor: Told how it goes.
    """
    executor = executor_at(on)
    if not isinstance(executor, LocalExecutor):
        refuse_loaded(measurements)
    refuse_impossible(measurements)
    if not fresh:
        refuse_taken_places(measurements, out)
    models = LastModel()
    assignments = [
        Assignment(
            title=measurement.title,
            work=partial(_measure_one, measurement, models, out, fresh),
            folder=out,
            device=measurement.model.device if isinstance(measurement.model, ModelRef) else "auto",
        )
        for measurement in measurements
    ]
    return [_opened(place) for place in executor.execute(assignments, monitor=monitor)]


def _measure_one(
    measurement: MeasurementJob, models: LastModel, out: Path, fresh: bool, monitor: Monitor
) -> Path:
    run = _measure_suited(
        measurement.model,
        measurement.chosen_instrument,
        load=models.get,
        options=suited_options(measurement.model, measurement.chosen_instrument, measurement.chosen_options),
        name=measurement.name,
        out=out,
        fresh=fresh,
        monitor=monitor,
    )
    return out / run.name


def _opened(place: Path) -> Run:
    if not place.exists():
        raise ExecutorError(
            f"{place} was measured on another machine, and is not here. --out must be on a disk that every machine of "
            "the cluster shares."
        )
    return open_run(place)


def measure(
    model: str | ModelRef | Any,
    instrument: Instrument[Any],
    *,
    options: InstrumentOptions | None = None,
    name: str | None = None,
    out: Path | None = None,
    fresh: bool = False,
    monitor: Monitor = SILENT,
) -> Run:
    """Measure a model with an instrument and keep the run."""
    suited = suited_options(model, instrument, options or instrument.options_type())
    instrument.refuse_impossible(suited)
    if out is not None and not fresh:
        refuse_taken_places(
            [MeasurementJob(model=model, instrument=instrument, options=suited, name=name)], out
        )
    return _measure_suited(
        model,
        instrument,
        load=loaded_model,
        options=suited,
        name=name,
        out=out,
        fresh=fresh,
        monitor=monitor,
    )


def _measure_suited(
    model: str | ModelRef | Any,
    instrument: Instrument[Any],
    *,
    load: Callable[..., Any],
    options: InstrumentOptions,
    name: str | None,
    out: Path | None,
    fresh: bool,
    monitor: Monitor,
) -> Run:
    """Measure with options that suit the model, which is loaded when nobody else makes this run."""
    known_name = name or instrument.run_name(reference_of(model), options)
    with (
        nullcontext()
        if out is None or known_name is None
        else claim_place(run_place(out, known_name), fingerprint_at=fingerprint_of_run, replace=fresh)
    ) as claim:
        is_measured = (
            out is not None and known_name is not None and not fresh and record_in(run_place(out, known_name))
        )
        exact = None if is_measured else exact_sample(model, instrument, options, load=load, monitor=monitor)
        loaded = load(model, monitor=monitor)
        with activity("preparing the questions"):
            preparation = instrument.prepare(loaded, options, name=name)
        return kept(
            preparation,
            out=out,
            fresh=fresh,
            monitor=monitor,
            claim=claim,
            complete=partial(with_precision_check, exact=exact, layout=instrument.scores_layout),
        )


def kept(
    preparation: Preparation,
    *,
    out: Path | None,
    fresh: bool,
    monitor: Monitor,
    claim: Claim | None = None,
    complete: Callable[[Run], Run] = lambda run: run,
) -> Run:
    """The run that a preparation gives: opened if it is there, made and kept otherwise."""
    record = preparation.record
    if out is None:
        _warn(record.name, (*preparation.notices, *record.warnings), monitor)
        with monitor.stage(record.name, preparation.unit) as progress:
            run = complete(preparation.measure(progress=progress))
        _tell(run, monitor, told=record.warnings)
        return run
    place = run_place(out, record.name)
    if not fresh and fingerprint_of_run(place) == record.fingerprint:
        monitor.note(f"{place} holds this very run already; it was left as it is.")
        return keep_run(preparation, place)
    if not fresh:
        refuse_other_run(place, record)
        preparation.kept_answers = kept_parts(place, record.fingerprint, ANSWERS)
    _warn(record.name, (*preparation.notices, *record.warnings), monitor)
    with monitor.stage(record.name, preparation.unit) as progress:
        run = keep_run(
            preparation,
            place,
            replace=fresh,
            progress=progress,
            pages=_page_of,
            claim=claim,
            complete=complete,
        )
    _tell(run, monitor, told=record.warnings)
    monitor.note(f"Wrote {place / PAGE_FILE}")
    return run


def _page_of(run: Run) -> Iterator[TextFile]:
    """The page of a run and what belongs beside it; what draws it is imported when there is something to draw."""
    from evenhand.reporting import page_files

    with activity("drawing the page"):
        yield from page_files(run)


def _warn(name: str, warnings: Sequence[str], monitor: Monitor) -> None:
    for warning in warnings:
        monitor.warn(f"{name}: {warning}")


def _tell(run: Run, monitor: Monitor, *, told: Sequence[str]) -> None:
    """What a reader of the run should know at once, and was not told before."""
    new = [warning for warning in run.record.warnings if warning not in told]
    _warn(run.name, [*new, *skip_warnings(run)], monitor)
    planted = run.record.model.planted if run.record.model else None
    if planted is not None:
        monitor.note(f"{run.name}: {planted.description}")
    if run.record.scoring is not None:
        for task, method in run.record.scoring.methods.items():
            monitor.note(f"{run.name}: {task} scored by {method}: {run.record.scoring.descriptions[task]}.")
