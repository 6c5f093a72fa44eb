"""Audit models for regard: let them write about groups, label what they write, analyse it, keep the runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from evenhand.api.defaults.measuring import suited_regard_options
from evenhand.api.executors import HERE, Executor
from evenhand.api.measure import measure_all
from evenhand.api.measurement_jobs import MeasurementJob
from evenhand.api.models import reference_to
from evenhand.api.regard import RegardTrainingOptions, train_regard_classifier
from evenhand.core.progress import SILENT, Monitor, activity
from evenhand.instruments.regard.audit import RegardOptions
from evenhand.instruments.regard.instrument import REGARD
from evenhand.lab.regard import PlantedRegard, plant_texts
from evenhand.models.backends import backend_of
from evenhand.models.references import ModelError, ModelRef
from evenhand.models.requests import Write
from evenhand.regard.persons import starter_file
from evenhand.regard.texts import read_regard_texts
from evenhand.store.mitigation_records import planted_bias_of
from evenhand.store.run import Run

STARTER_CLASSIFIER = "starter-classifier"
LAB_CLASSIFIER = "lab-classifier"
"""Beginnings of the names of folders, below that of the runs, with classifiers that were trained for an audit."""

TOY_CLASSIFIER = (
    "No classifier was given, so texts are labelled by one that was trained on the starter set. It is often wrong, and "
    "its figures are for trying things out. Train one on your own labels: evenhand regard train"
)

LAB_NOTE = (
    "{model} is a model of the lab with a planted gap in regard. Its texts are labelled by a classifier that was "
    "trained on texts of the lab, and decoded as they were planted unless you say otherwise: temperature 1, top-p 1."
)

_LAB_TEXTS = 300
"""Texts of the lab that a classifier is trained on."""


def audit_regard(
    models: Sequence[str | ModelRef | Any],
    options: RegardOptions | None = None,
    *,
    out: str | Path,
    name: str | None = None,
    on: str | Executor = HERE,
    fresh: bool = False,
    monitor: Monitor = SILENT,
) -> list[Run]:
    """How models speak of groups of people: one run per model.

    Args:
        models: Names or folders, references, or models already loaded.
        options: Groups, contexts, decoding and classifier. Without a classifier, one is trained on the starter set, or
            on the lab's texts for its models with a planted gap.
        out: Folder for the run folders. Finished runs are opened, interrupted ones go on.
        name: Name of the run, for one model.
        on: Where jobs run, as for ``measure_all``.
        fresh: Forget what earlier audits left in ``out``.
        monitor: Told how it goes.
    """
    chosen = options or RegardOptions()
    measurements = []
    for model in models:
        ref = reference_to(model) if isinstance(model, str | ModelRef) else model.ref
        own = suited_regard_options(ref, chosen)
        if own.classifier is None:
            _refuse_unable(ref)
            folder = default_classifier(ref, own.prompts.language, Path(out), monitor)
            own = replace(own, classifier=folder)
        measurements.append(MeasurementJob(model=model, instrument=REGARD.name, options=own, name=name))
    return measure_all(measurements, out=Path(out), on=on, fresh=fresh, monitor=monitor)


def default_classifier(ref: ModelRef, language: str, out: Path, monitor: Monitor = SILENT) -> Path:
    """The folder of a classifier that is trained on the spot, where none was given; it is trained once.

    Args:
        ref: Whose texts it labels: those of the lab's models with a planted gap are labelled by one of the lab's texts.
        language: Of the texts.
        out: The folder that it is kept in.
        monitor: Told so.
    """
    planted = planted_bias_of(ref.location)
    if planted is not None and planted.regard_gap is not None:
        monitor.note(LAB_NOTE.format(model=ref.id))
        texts = plant_texts(PlantedRegard(texts=_LAB_TEXTS, error=0.0, language=language)).texts
        place = out / f"{LAB_CLASSIFIER}-{language}"
    else:
        monitor.warn(TOY_CLASSIFIER)
        texts = read_regard_texts([starter_file(language)], group="author")
        place = out / f"{STARTER_CLASSIFIER}-{language}"
    with activity("training a classifier on the spot"):
        train_regard_classifier(
            texts, RegardTrainingOptions(language=language, size_seeds=0), out=place, monitor=monitor
        )
    return place


def _refuse_unable(ref: ModelRef) -> None:
    """Refuse a model that cannot write before a classifier is trained for it, where its place tells that at once."""
    capabilities = getattr(backend_of(ref.id), "capabilities", None)
    if capabilities is not None and Write not in capabilities(ref):
        raise ModelError(
            f"{ref.id} cannot write texts, which an audit of regard needs. Use a decoder such as GPT-2, an "
            "encoder-decoder such as T5, or a model behind a server."
        )
