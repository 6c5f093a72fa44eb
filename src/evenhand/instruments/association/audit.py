"""Audit: a model and a benchmark, to a run. Score every candidate, then evaluate."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from evenhand.core.files import sha256_of
from evenhand.core.items import Association, Benchmark, Task
from evenhand.core.progress import Progress
from evenhand.core.protocols import DEFAULT_PROTOCOL, Protocol, get_protocol
from evenhand.data.predictions import Predictions, Score
from evenhand.data.sources import LAB, STARTER, load_dataset
from evenhand.instruments.association.evaluation import assemble, statistics_record
from evenhand.models.engine.scoring_job import RequestGroup, ScoringJob, too_long
from evenhand.models.identity import record_of
from evenhand.models.language_model import LanguageModel, load_language_model
from evenhand.models.languages import language_warnings
from evenhand.models.method_choice import choose_method
from evenhand.models.questions import Method, Question, questions_of, sum_of_logs
from evenhand.models.references import ModelRef
from evenhand.runs.mitigation_records import lab_origin
from evenhand.runs.records import (
    ProtocolRecord,
    ScoringRecord,
    determining_scores,
    run_fingerprint,
)
from evenhand.runs.run import Run
from evenhand.stats.resampling import Resampling


@dataclass(frozen=True, slots=True)
class AuditOptions:
    """How a model is scored and evaluated.

    ``inter`` and ``score`` are chosen by family where they are None, ``tasks`` are all that the model can do.
    ``limit`` takes the first items of each task only. ``unfinished`` is a folder for what is done so far.
    """

    protocol: str | Protocol = DEFAULT_PROTOCOL
    tasks: tuple[Task, ...] | None = None
    inter: str | None = None
    score: str | None = None
    max_tokens: int | None = None
    limit: int | None = None
    resampling: Resampling | None = None
    name: str | None = None
    unfinished: Path | None = None


def audit(
    model: str | ModelRef | LanguageModel,
    data: str | Path | Benchmark | None = None,
    *,
    language: str | None = None,
    options: AuditOptions | None = None,
    report: Progress | None = None,
) -> Run:
    """Score every candidate of a benchmark with a model and evaluate the scores.

    Args:
        model: A name or folder, a reference, or a model already loaded.
        data: A dataset's name, a file or folder in StereoSet's layout, or a benchmark already loaded. If not given,
            the starter set, and for a model of the lab the lab's own items.
        language: Which language of ``data``, where it has several.
        options: How to score; the defaults suit the model's family.
        report: Told about progress.
    """
    chosen = options or AuditOptions()
    asked = model if isinstance(model, LanguageModel) else load_language_model(model)
    benchmark = data if isinstance(data, Benchmark) else load_benchmark(asked, data, language=language)
    limited = _limited(benchmark, chosen.limit)
    protocol = get_protocol(chosen.protocol)
    methods = _methods(asked, limited, chosen, protocol)
    scores = score_items(asked, limited, methods, options=chosen, report=report)
    name = chosen.name or f"{asked.loaded.ref.short_name}_{benchmark.language}"
    return assemble(
        _predictions(name, scores),
        limited,
        protocol=protocol,
        resampling=chosen.resampling or Resampling(),
        name=name,
        model=record_of(asked),
        scoring=_scoring_record(asked, methods, chosen),
        warnings=language_warnings(
            asked.loaded.ref.location, asked.loaded.tokenizer, limited, revision=asked.loaded.ref.revision
        ),
    )


def load_benchmark(
    model: LanguageModel, data: str | Path | None, *, language: str | None = None
) -> Benchmark:
    """What to measure a model on: what was asked for, or else what suits the model."""
    planted = lab_origin(model.loaded.ref.location)
    if data is None and planted is not None:
        return load_dataset(LAB.name, language=language or planted.language)
    return load_dataset(data or STARTER.name, language=language)


def planned_fingerprint(model: LanguageModel, benchmark: Benchmark, options: AuditOptions) -> str:
    """The fingerprint that the run of an audit will have, known before anything is scored."""
    protocol = get_protocol(options.protocol)
    methods = _methods(model, _limited(benchmark, options.limit), options, protocol)
    names = {task.value: _method_name(method) for task, method in methods.items()}
    return run_fingerprint(
        benchmark.sha256,
        benchmark.language,
        determining_scores(record_of(model), names, options.limit),
        ProtocolRecord.of(protocol),
        statistics_record(options.resampling or Resampling()),
    )


def _methods(
    model: LanguageModel, benchmark: Benchmark, options: AuditOptions, protocol: Protocol
) -> dict[Task, Method]:
    return {
        task: choose_method(model, task, protocol=protocol.name, inter=options.inter, score=options.score)
        for task in _tasks(model, benchmark, options.tasks)
    }


def score_items(
    model: LanguageModel,
    benchmark: Benchmark,
    methods: dict[Task, Method],
    *,
    options: AuditOptions,
    report: Progress | None = None,
) -> dict[str, Score]:
    """A score for every candidate of the tasks that have a method, or the reason why there is none."""
    scores: dict[str, Score] = {}
    questions: list[tuple[Association, Question]] = []
    for task, method in methods.items():
        items = benchmark.of_task(task)
        for item, asked in zip(items, questions_of(method, model.loaded.tokenizer, items), strict=True):
            reason = asked if isinstance(asked, str) else _too_long(asked, model.longest_input)
            if isinstance(asked, str) or reason:
                scores |= {candidate.id: Score(math.nan, reason) for candidate in item.candidates}
            else:
                questions += [(item, question) for question in asked]
    asked_for = [RequestGroup(item.id, question.requests) for item, question in questions]
    asking = ScoringJob(model, asked_for, max_tokens=options.max_tokens)
    answers = asking.answers(unfinished=options.unfinished, report=report)
    return scores | {
        question.candidate: _score(question, values)
        for (_, question), values in zip(questions, answers, strict=True)
    }


def _score(question: Question, values: Sequence[Sequence[float]]) -> Score:
    tokens = tuple(value for answer in values for value in answer)
    if not all(math.isfinite(value) for value in tokens):
        return Score(math.nan, "the model gave NaN or infinite values")
    value = question.combine(values)
    if not math.isfinite(value):
        return Score(math.nan, "the score is not finite")
    return Score(
        value,
        token_log_probabilities=tokens,
        log2_probability=sum_of_logs(tokens) if question.whole else None,
    )


def _too_long(questions: Sequence[Question], longest: int | None) -> str | None:
    """Why an item does not fit into the model, if it does not."""
    return too_long((request for question in questions for request in question.requests), longest)


def _limited(benchmark: Benchmark, limit: int | None) -> Benchmark:
    if limit is None:
        return benchmark
    items = tuple(item for task in Task for item in benchmark.of_task(task)[:limit])
    return Benchmark(
        name=benchmark.name,
        language=benchmark.language,
        items=items,
        source=benchmark.source,
        sha256=benchmark.sha256,
        licence=benchmark.licence,
    )


def _tasks(model: LanguageModel, benchmark: Benchmark, wanted: tuple[Task, ...] | None) -> tuple[Task, ...]:
    """The tasks to do: those asked for, or all that both model and benchmark have."""
    if wanted is not None:
        return tuple(task for task in benchmark.tasks if task in wanted)
    return tuple(task for task in benchmark.tasks if task in model.tasks)


def _predictions(name: str, scores: dict[str, Score]) -> Predictions:
    lines = "".join(f"{key}\t{score.value!r}\t{score.problem}\n" for key, score in scores.items())
    return Predictions(
        name=name, source="scored by this run", sha256=sha256_of(lines.encode()), scores=scores
    )


def _scoring_record(
    model: LanguageModel, methods: dict[Task, Method], options: AuditOptions
) -> ScoringRecord:
    return ScoringRecord(
        methods={task.value: _method_name(method) for task, method in methods.items()},
        descriptions={task.value: method.description for task, method in methods.items()},
        max_tokens=options.max_tokens or model.default_budget,
        only_needed_positions=model.is_split,
        shared_prefixes=model.shares_prefixes,
        limit=options.limit,
        libraries={name: version(name) for name in ("torch", "transformers", "tokenizers")},
    )


def _method_name(method: Method) -> str:
    kind = getattr(method, "kind", None)
    return method.name if kind is None or kind.value == method.name else f"{method.name}, {kind.value}"
