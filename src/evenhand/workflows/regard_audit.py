"""Audit models for regard: let them write about groups, label what they write, analyse it, keep the runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from evenhand.core.progress import SILENT, Monitor
from evenhand.instruments.regard.audit import RegardOptions
from evenhand.instruments.regard.instrument import REGARD
from evenhand.models.references import ModelRef
from evenhand.regard.persons import starter_file
from evenhand.regard.texts import read_regard_texts
from evenhand.runs.run import Run
from evenhand.workflows.executors import HERE, Executor
from evenhand.workflows.measure import MeasurementJob, measure_all
from evenhand.workflows.regard import RegardTrainingOptions, train_regard_classifier

STARTER_CLASSIFIER = "starter-classifier"
"""Beginning of the name of the folder, below that of the runs, with a classifier that was trained for an audit."""

TOY_CLASSIFIER = (
    "No classifier was given, so texts are labelled by one that was trained on the starter set. It is often wrong, and "
    "its figures are for trying things out. Train one on your own labels: evenhand regard train"
)


def audit_regard(
    models: Sequence[str | ModelRef | Any],
    options: RegardOptions | None = None,
    *,
    out: str | Path,
    on: str | Executor = HERE,
    fresh: bool = False,
    monitor: Monitor = SILENT,
) -> list[Run]:
    """How models speak of groups of people: one run per model.

    Args:
        models: Names or folders, references, or models already loaded.
        options: Groups, contexts, decoding and classifier; without a classifier, one is trained on the starter set.
        out: Folder for the run folders. Finished runs are opened, interrupted ones go on.
        on: Where jobs run, as for ``measure_all``.
        fresh: Forget what earlier audits left in ``out``.
        monitor: Told how it goes.
    """
    chosen = options or RegardOptions()
    if chosen.classifier is None:
        chosen = replace(chosen, classifier=_starter_classifier(chosen.prompts.language, Path(out), monitor))
    measurements = [MeasurementJob(model=model, instrument=REGARD.name, options=chosen) for model in models]
    return measure_all(measurements, out=Path(out), on=on, fresh=fresh, monitor=monitor)


def _starter_classifier(language: str, out: Path, monitor: Monitor) -> Path:
    """The folder of a classifier that was trained on the starter set; it is trained once."""
    texts = read_regard_texts([starter_file(language)], group="author")
    place = out / f"{STARTER_CLASSIFIER}-{language}"
    monitor.warn(TOY_CLASSIFIER)
    train_regard_classifier(
        texts, RegardTrainingOptions(language=language, size_seeds=0), out=place, monitor=monitor
    )
    return place
