"""Logs of Inspect with scores of association items, as our own export writes them.

A sample is an item: its context is the input, its candidates are the choices, in the order of ``Label``, its metadata
has the rest, and its score has a value for each label. So a log can be evaluated without the benchmark.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evenhand.core.errors import PredictionsError
from evenhand.core.files import read_bounded, sha256_of
from evenhand.core.items import Association, Benchmark, Candidate, Label, Task
from evenhand.data.inspect_logs import as_mapping, read_inspect_log, samples_of, stated_items
from evenhand.data.language_names import file_stem
from evenhand.data.predictions import Predictions, Score, as_score

CANDIDATE_IDS = "candidates"
LOG_PROBABILITIES = "log2_probability"
"""Metadata of a sample, and of its score: one entry per label."""

_SIZES = {("stereoset", "en"): 4_229}
"""Items of published datasets, by name and language: a log that has fewer is not whole, whatever it says."""

_TEXTS = ("task", "language", "bias_type", "target", "cluster")


@dataclass(frozen=True, slots=True)
class AssociationLog:
    """Items and their scores."""

    benchmark: Benchmark
    predictions: Predictions
    protocol: str | None
    """The name of the one that the run was evaluated under."""
    total: int | None
    """How many items the dataset has, also those that the log lacks; None where nothing says so."""


def is_association_log(path: Path) -> bool:
    """Whether a file is a log of association items.

    Raises:
        PredictionsError: If it cannot be read, or was cut.
    """
    document = read_inspect_log(read_bounded(path, error=PredictionsError), path) or {}
    samples = document.get("samples")
    return isinstance(samples, list) and bool(samples) and _values(as_mapping(samples[0])) is not None


def read_association_log(path: Path) -> AssociationLog | None:
    """Read a log of Inspect; None if the file is none.

    Raises:
        PredictionsError: If the log was cut, is of something else, or gives an item twice.
    """
    content = read_bounded(path, error=PredictionsError)
    document = read_inspect_log(content, path)
    if document is None:
        return None
    items: dict[str, Association] = {}
    scores: dict[str, Score] = {}
    for number, sample in enumerate(samples_of(document, path), start=1):
        place = f"{path}, sample {number:,}"
        item = _item(sample, place=place)
        if item.id in items:
            raise PredictionsError(
                f"{place}: the item {item.id!r} occurs a second time. Keep one epoch of the log."
            )
        items[item.id] = item
        scores |= _scores(sample, item)
    evaluation = as_mapping(document.get("eval"))
    name = as_mapping(evaluation.get("dataset")).get("name")
    facts = [
        [*_facts(item), item.context, [candidate.text for candidate in item.candidates]]
        for item in items.values()
    ]
    language = next(iter(items.values())).language
    known = [_SIZES.get((str(name), language)), stated_items(document)]
    total = max((size for size in known if size is not None), default=None)
    return AssociationLog(
        benchmark=Benchmark(
            name=name if isinstance(name, str) and name else file_stem(path),
            language=language,
            items=tuple(items.values()),
            source=path.name,
            sha256=sha256_of(json.dumps(facts).encode()),
        ),
        predictions=Predictions(
            name=file_stem(path), source=path.name, sha256=sha256_of(content), scores=scores
        ),
        protocol=as_mapping(evaluation.get("task_args")).get("protocol"),
        total=total if total is not None and total >= len(items) else None,
    )


def _facts(item: Association) -> list[str]:
    return [item.id, item.task.value, item.language, item.bias_type, item.target, item.cluster]


def _item(sample: Mapping[str, Any], *, place: str) -> Association:
    if _values(sample) is None:
        raise PredictionsError(
            f"{place}: no score with a value for stereotype, anti-stereotype and unrelated. Logs with sent_more_score "
            "and sent_less_score are evaluated with --test crows-pairs."
        )
    metadata = as_mapping(sample.get("metadata"))
    ids = as_mapping(metadata.get(CANDIDATE_IDS))
    texts = sample.get("choices")
    known = {name: metadata.get(name) for name in _TEXTS}
    missing = [name for name, value in known.items() if not isinstance(value, str)]
    missing += [] if all(isinstance(ids.get(label.value), str) for label in Label) else [CANDIDATE_IDS]
    if missing or not isinstance(texts, list) or len(texts) != len(Label):
        raise PredictionsError(
            f"{place}: its metadata lack {', '.join(missing) or 'three choices'}. Export the run again: evenhand "
            "report RUN --format inspect."
        )
    if known["task"] not in set(Task):
        raise PredictionsError(f"{place}: {known['task']!r} is no task; {' or '.join(Task)} is needed.")
    first, second, third = (
        Candidate(ids[label.value], str(text), label) for label, text in zip(Label, texts, strict=True)
    )
    return Association(
        id=str(sample.get("id")),
        language=str(known["language"]),
        bias_type=str(known["bias_type"]),
        target=str(known["target"]),
        cluster=str(known["cluster"]),
        task=Task(str(known["task"])),
        context=str(sample.get("input")),
        candidates=(first, second, third),
    )


def _scores(sample: Mapping[str, Any], item: Association) -> dict[str, Score]:
    values, details = _values(sample) or ({}, {})
    logs = as_mapping(details.get(LOG_PROBABILITIES))
    found = {}
    for candidate in item.candidates:
        score, log = as_score(values[candidate.label.value]), as_score(logs.get(candidate.label.value))
        found[candidate.id] = Score(
            score.value, score.problem, log2_probability=None if log.problem else log.value
        )
    return found


def _values(sample: Mapping[str, Any]) -> tuple[Mapping[str, Any], Mapping[str, Any]] | None:
    """The values of the score that has one for each label, and the metadata of that score."""
    for score in map(as_mapping, as_mapping(sample.get("scores")).values()):
        values = as_mapping(score.get("value"))
        if {label.value for label in Label} <= values.keys():
            return values, as_mapping(score.get("metadata"))
    return None
