"""Scores of association items: every candidate of a benchmark, by the methods that suit a model."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np

from evenhand.core.files import sha256_of
from evenhand.core.items import Association, Benchmark, Task, overlong_reason, replaced_items
from evenhand.core.progress import Progress
from evenhand.core.protocols import get_protocol
from evenhand.data.predictions import Predictions, Score
from evenhand.instruments.association.evaluation import as_source, assemble, evaluation_record
from evenhand.instruments.association.instrument import AuditOptions
from evenhand.instruments.association.ways import (
    Continuation,
    Method,
    MethodOptions,
    choose_method,
    sum_of_logs,
    tasks_of_model,
)
from evenhand.instruments.instrument import SAMPLED, Preparation, drawn
from evenhand.models.model import Model
from evenhand.models.references import UnscorableError
from evenhand.models.requests import Answer, Continue, ScoringRequest
from evenhand.store.jobs import Parts
from evenhand.store.records import RunRecord, SampleRecord, ScoringRecord
from evenhand.store.run import Run


class AuditPreparation(Preparation):
    """A model and a benchmark, with the methods chosen."""

    def __init__(self, model: Model, benchmark: Benchmark, options: AuditOptions, *, name: str) -> None:
        self.model = model
        self.benchmark = benchmark.sampled(options.limit)
        self.source = as_source(options.source)
        self.options = options
        self.protocol = get_protocol(options.protocol)
        self.methods = self._methods()
        self.record = self._record(audit_record(name, benchmark, options, tasks=tuple(self.methods)))

    @property
    def notices(self) -> tuple[str, ...]:
        """Tasks that the model cannot do, unless tasks were asked for by name; what asking costs."""
        texts = (
            Continue("", candidate.text)
            for task in self.methods
            for item in self.benchmark.of_task(task)
            for candidate in item.candidates
        )
        cost = self.model.describe_cost(texts)
        notices = () if cost is None else (cost,)
        left_out = [task.value for task in self.benchmark.tasks if task not in self.methods]
        if self.options.tasks is not None or not left_out:
            return notices
        return (
            f"{', '.join(left_out)} is left out: {self.model.ref.id} cannot do it "
            "(see evenhand models inspect).",
            *notices,
        )

    def measure(self, *, parts: Parts | None = None, progress: Progress | None = None) -> Run:
        """Score every candidate, and evaluate the scores."""
        scores = score_items(
            self.model,
            self.benchmark,
            self.methods,
            max_tokens=self.options.max_tokens,
            parts=parts,
            progress=progress,
        )
        return assemble(
            self.record,
            _predictions(self.record.name, scores),
            self.benchmark,
            protocol=self.protocol,
            resampling=self.options.resampling,
            source=self.source,
            warnings=self.record.warnings,
        )

    def sample(self, generator: np.random.Generator, *, times: int = 1) -> Preparation:
        """Items of the tasks that are asked."""
        replaced = replaced_items(self.benchmark)
        asked = [
            item for task in self.methods for item in self.benchmark.of_task(task) if item.id not in replaced
        ]
        few = copy.copy(self)
        few.benchmark = replace(self.benchmark, items=drawn(asked, times * SAMPLED, generator))
        return few

    def _methods(self) -> dict[Task, Method]:
        options = MethodOptions.named(self.protocol, inter=self.options.inter, score=self.options.score)
        wanted = self.options.tasks or tasks_of_model(self.model)
        if self.options.tasks is None and options.inter is Continuation.PSEUDO_LIKELIHOOD:
            wanted = (*wanted, Task.INTERSENTENCE)  # masked models have it for the asking
        return {
            task: choose_method(self.model, task, options) for task in self.benchmark.tasks if task in wanted
        }

    def _record(self, planned: RunRecord) -> RunRecord:
        warnings = self.model.language_warnings(
            [item.context for item in self.benchmark.items],
            name=self.benchmark.name,
            language=self.benchmark.language,
        )
        return planned.model_copy(
            update={"model": self.model.record, "scoring": self._scoring(), "warnings": warnings}
        )

    def _scoring(self) -> ScoringRecord:
        facts = self.model.scoring_facts
        return ScoringRecord(
            methods={task.value: method.full_name for task, method in self.methods.items()},
            descriptions={task.value: method.description for task, method in self.methods.items()},
            max_tokens=self.options.max_tokens or facts.max_tokens,
            memory=facts.memory,
            only_needed_positions=facts.only_needed_positions,
            shared_prefixes=facts.shared_prefixes,
            libraries=dict(self.model.libraries),
        )


def audit_record(
    name: str, benchmark: Benchmark, options: AuditOptions, *, tasks: tuple[Task, ...] = tuple(Task)
) -> RunRecord:
    """The record of an audit without its model, and the methods that suit it.

    Args:
        name: Of the run.
        benchmark: All of it.
        options: How it is measured.
        tasks: Those that are asked, of whose items the record says how many are in the sample.
    """
    sampled = benchmark.sampled(options.limit)
    record = evaluation_record(
        name,
        sampled,
        protocol=get_protocol(options.protocol),
        resampling=options.resampling,
        source=as_source(options.source),
    )
    used, there = (sum(len(own.of_task(task)) for task in tasks) for own in (sampled, benchmark))
    taken = SampleRecord.taken(options.limit, items=used, of=there)
    return record.model_copy(update={"dataset": record.dataset.model_copy(update={"sample": taken})})


def score_items(
    model: Model,
    benchmark: Benchmark,
    methods: Mapping[Task, Method],
    *,
    max_tokens: int | None = None,
    parts: Parts | None = None,
    progress: Progress | None = None,
) -> dict[str, Score]:
    """A score for every candidate of the tasks that have a method, or the reason why there is none."""
    scores: dict[str, Score] = {}
    asked: list[_Asked] = []
    for task, method in methods.items():
        for item in benchmark.of_task(task):
            requested = _requested(method, item)
            if isinstance(requested, str):
                scores |= {candidate.id: Score(math.nan, requested) for candidate in item.candidates}
            else:
                asked += requested
    answers = iter(
        model.answer(
            [request for each in asked for request in each.requests],
            items=[each.item for each in asked for _ in each.requests],
            whole_items=True,
            max_tokens=max_tokens,
            parts=parts,
            progress=progress,
        )
    )
    return scores | {
        each.candidate: _score(each.method, [next(answers) for _ in each.requests]) for each in asked
    }


@dataclass(frozen=True, slots=True)
class _Asked:
    """What is requested for a candidate."""

    item: str
    candidate: str
    method: Method
    requests: tuple[ScoringRequest, ...]


def _requested(method: Method, item: Association) -> list[_Asked] | str:
    """The requests for each candidate, or why the item cannot be asked about."""
    overlong = overlong_reason(item.context, *(candidate.text for candidate in item.candidates))
    if overlong:
        return overlong
    try:
        return [
            _Asked(item.id, candidate.id, method, method.requests(item, candidate))
            for candidate in item.candidates
        ]
    except UnscorableError as reason:
        return str(reason)


def _score(method: Method, answers: Sequence[Answer]) -> Score:
    problem = next((answer.problem for answer in answers if answer.problem), None)
    if problem:
        return Score(math.nan, problem)
    value = method.combine([answer.log_probs for answer in answers])
    if not math.isfinite(value):
        return Score(math.nan, "the score is not finite")
    tokens = tuple(chain.from_iterable(answer.log_probs for answer in answers))
    is_whole = method.is_whole and all(answer.is_whole for answer in answers)
    return Score(
        value, token_log_probabilities=tokens, log2_probability=sum_of_logs(tokens) if is_whole else None
    )


def _predictions(name: str, scores: dict[str, Score]) -> Predictions:
    lines = "".join(f"{key}\t{score.value!r}\t{score.problem}\n" for key, score in scores.items())
    return Predictions(
        name=name, source="scored by this run", sha256=sha256_of(lines.encode()), scores=scores
    )
