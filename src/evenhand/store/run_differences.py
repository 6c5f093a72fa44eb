"""Why a place is taken: what differs between the run that lies there and the one that is to be made."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

from evenhand.core.errors import RunError
from evenhand.store.records import RunRecord
from evenhand.store.run import record_in

_LONGEST_VALUE = 60
"""Characters of a value that a message repeats."""

_MISSING = "none"

Fact: TypeAlias = tuple[Any, str]
"""What determines a run, and how it is shown."""


def refuse_other_run(
    place: Path, record: RunRecord, *, is_planned: bool = False, known: Mapping[str, Fact] | None = None
) -> None:
    """Raise a RunError if the run in a place is not this one.

    Args:
        place: A run folder; it may be missing.
        record: Of the run that is to be made.
        is_planned: Whether its model is not loaded yet. Then what the record lacks is not compared.
        known: For a planned run: what is known of its model and of how it is asked.
    """
    present = record_in(place)
    if present is None or present.fingerprint == record.fingerprint:
        return
    there, here = _facts(present), _facts(record) | dict(known or {})
    compared = {*here, *present.data} if is_planned else {*here, *there}
    missing = (None, _MISSING)
    differing = [
        _difference(name, there.get(name, missing)[1], here.get(name, missing)[1])
        for name in there | here
        if name in compared and there.get(name, missing)[0] != here.get(name, missing)[0]
    ]
    if differing:
        raise RunError(
            f"{place} holds another run. It differs in {'; '.join(differing)}. Keep both: give this one a name of its "
            "own with --name, or another place with --out. With --fresh it would replace the run that is there."
        )


def _difference(name: str, there: str, here: str) -> str:
    if there == here or max(len(there), len(here)) > _LONGEST_VALUE:
        return f"the {name}"
    return f"the {name} ({there} there, {here} now)"


def _facts(record: RunRecord) -> dict[str, Fact]:
    """By what people call it, all that the fingerprint of a record is made of."""
    dataset, statistics, protocol = record.dataset, record.statistics, record.protocol
    facts: dict[str, Fact] = {
        "instrument": (record.instrument, record.instrument),
        "data": (dataset.sha256, dataset.name),
        "language": (dataset.language, dataset.language),
        "sample": (dataset.sample and dataset.sample.identity, dataset.extent),
        "protocol": (protocol, protocol.name if protocol else _MISSING),
        "number of resamples": (statistics.resamples, f"{statistics.resamples:,}"),
        "seed": (statistics.seed, str(statistics.seed)),
        "confidence level": (statistics.confidence, str(statistics.confidence)),
        "version of Evenhand": (record.environment.evenhand, record.environment.evenhand),
    }
    facts |= {name: (digest, name) for name, digest in record.data.items()}
    facts |= {f"option {name}": (value, _shown(value)) for name, value in record.options.items()}
    if record.model is None:
        scores = record.predictions
        return facts | ({"scores": (scores.sha256, scores.source)} if scores else {})
    methods = record.scoring.methods if record.scoring else {}
    facts |= scoring_facts(methods)
    model = record.model
    return facts | model_facts(
        model.id, weights=model.weights, precision=model.precision, prefix=model.prefix
    )


def scoring_facts(methods: Mapping[str, str]) -> dict[str, Fact]:
    """What a fingerprint has of how candidates are scored, by task."""
    return {f"scoring of {task}": (method, method) for task, method in methods.items()}


def model_facts(name: str, *, weights: str, precision: str, prefix: str) -> dict[str, Fact]:
    """What a fingerprint has of a model."""
    return {
        "model": (weights, name),
        "precision": (precision, precision),
        "prefix": (prefix, repr(prefix) if prefix else _MISSING),
    }


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True)
