"""What the record beside a mitigated model says was done to it."""

from __future__ import annotations

from evenhand.models.references import ModelRef
from evenhand.runs.certificates import CurvePoint, MitigationSummary
from evenhand.runs.learning_curves import PERPLEXITY, malor_by_experiment
from evenhand.runs.mitigation_records import MitigationRecord, find_mitigation_record

_OPTION_NAMES = {"weight": "balance"}
"""Settings of the record whose option on the command line has another name."""


def read_mitigation(ref: ModelRef) -> MitigationSummary | None:
    """The summary of a model's mitigation, or None where nothing beside the model tells of one.

    Raises:
        RunError: If the record is damaged.
    """
    record = find_mitigation_record(ref.location)
    return _summary(record) if record else None


def _summary(record: MitigationRecord) -> MitigationSummary:
    training = record.chosen
    return MitigationSummary(
        method=record.method,
        experiments=record.experiments,
        language=record.language,
        settings=_settings(record),
        curve=tuple(
            CurvePoint(
                epoch=metrics.epoch,
                malor=malor_by_experiment(metrics.bias),
                perplexity=metrics.quality[PERPLEXITY],
            )
            for metrics in (training.curve.epochs if training else ())
            if PERPLEXITY in metrics.quality
        ),
        kept_epoch=training.best.epoch if training else None,
        frontier=record.frontier,
    )


def _settings(record: MitigationRecord) -> dict[str, str]:
    """Plain values of the recipe and of the method, and how much was trained on."""
    recipe = record.recipe.model_dump(mode="json") if record.recipe else {}
    settings = {
        _OPTION_NAMES.get(name, name).replace("_", " "): str(value)
        for name, value in {**recipe, **record.settings}.items()
        if isinstance(value, str | int | float)
    }
    seeds = len(record.seeds)
    return {
        **settings,
        **({"examples an epoch": f"{record.data.examples:,}"} if record.data else {}),
        **({"trainings": f"{seeds} with seeds of their own"} if seeds > 1 else {}),
    }
