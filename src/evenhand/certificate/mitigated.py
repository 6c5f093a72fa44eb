"""What the record beside a mitigated model says: what was trained on, and how."""

from __future__ import annotations

import math

from evenhand.store.mitigation_records import (
    OF_MALOR,
    PERPLEXITY,
    EpochMetrics,
    MitigationRecord,
    malor_by_experiment,
)
from evenhand.store.mitigation_summaries import CurvePoint, MitigationSummary

_OPTION_NAMES = {"weight": "balance"}
"""Settings of the record whose option on the command line has another name."""


def summarise(record: MitigationRecord) -> MitigationSummary:
    """The summary of a mitigation."""
    chosen = record.chosen
    return MitigationSummary(
        method=record.method,
        experiments=record.experiments,
        weights=record.weights,
        language=record.language,
        settings=_mitigation_settings(record),
        curve=tuple(_curve_point(metrics) for metrics in chosen.curve.epochs) if chosen else (),
        kept_epoch=chosen.best.epoch if chosen else None,
        frontier=record.frontier,
        unseen=_leaves_held_out_half(record),
        prefixes=record.trigger.comparison if record.trigger else None,
        transfer=record.trigger.transfer if record.trigger else (),
    )


def _leaves_held_out_half(record: MitigationRecord) -> bool:
    """Whether no training saw the structures and occupations that are held out."""
    return record.data is None or record.data.unseen is not None


def trained_figures(record: MitigationRecord) -> tuple[str, ...]:
    """What was trained on: experiments of MALoR, and other figures by key."""
    others = (key for key in record.before if not key.endswith(OF_MALOR))
    return (*record.experiments, *others)


def _curve_point(metrics: EpochMetrics) -> CurvePoint:
    return CurvePoint(
        epoch=metrics.epoch,
        malor=malor_by_experiment(metrics.bias),
        perplexity=metrics.quality.get(PERPLEXITY, math.nan),
    )


def _mitigation_settings(record: MitigationRecord) -> dict[str, str]:
    """Plain values of the recipe and of the method, and how much was trained on."""
    recipe = record.recipe.model_dump(mode="json") if record.recipe else {}
    settings = {
        _OPTION_NAMES.get(name, name).replace("_", " "): str(value)
        for name, value in {**recipe, **record.settings}.items()
        if isinstance(value, str | int | float)
    }
    if record.data:
        settings["examples an epoch"] = f"{record.data.examples:,}"
    if len(record.seeds) > 1:
        settings["trainings"] = f"{len(record.seeds)} with seeds of their own"
    return settings
