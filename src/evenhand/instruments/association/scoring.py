"""Scores of association items: every candidate of a benchmark, by the methods that suit a model."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from evenhand.core.files import sha256_of
from evenhand.core.items import Association, Benchmark, Task, replaced_items
from evenhand.core.progress import Progress, activity
from evenhand.core.protocols import get_protocol
from evenhand.data.predictions import Predictions, Score
from evenhand.instruments.association.evaluation import as_source, assemble, evaluation_record
from evenhand.instruments.association.instrument import AuditOptions
from evenhand.instruments.instrument import SAMPLED, Preparation, drawn
from evenhand.models.engine.requests import RequestGroup, RequestValues, too_long
from evenhand.models.measurable import Measurable, choose_method, method_options
from evenhand.models.questions import Continuation, Method, Question, questions_of, sum_of_logs
from evenhand.models.text_model import cost_notices
from evenhand.runs.records import RunRecord, SampleRecord, ScoringRecord
from evenhand.runs.run import Run
from evenhand.runs.store import Parts


class AuditPreparation(Preparation):
    """A model and a benchmark, with the methods chosen."""

    def __init__(self, model: Measurable, benchmark: Benchmark, options: AuditOptions, *, name: str) -> None:
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
            candidate.text
            for task in self.methods
            for item in self.benchmark.of_task(task)
            for candidate in item.candidates
        )
        left_out = [task.value for task in self.benchmark.tasks if task not in self.methods]
        if self.options.tasks is not None or not left_out:
            return cost_notices(self.model, texts)
        return (
            f"{', '.join(left_out)} is left out: {self.model.ref.id} cannot do it "
            "(see evenhand models inspect).",
            *cost_notices(self.model, texts),
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
        wanted = self.options.tasks or self.model.tasks
        inter = method_options(self.protocol, inter=self.options.inter).inter
        if self.options.tasks is None and inter is Continuation.PSEUDO_LIKELIHOOD:
            wanted = (*wanted, Task.INTERSENTENCE)  # masked models have it for the asking
        return {
            task: choose_method(
                self.model,
                task,
                protocol=self.protocol,
                inter=self.options.inter,
                score=self.options.score,
            )
            for task in self.benchmark.tasks
            if task in wanted
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
            methods={task.value: _method_name(method) for task, method in self.methods.items()},
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
    model: Measurable,
    benchmark: Benchmark,
    methods: Mapping[Task, Method],
    *,
    max_tokens: int | None = None,
    parts: Parts | None = None,
    progress: Progress | None = None,
) -> dict[str, Score]:
    """A score for every candidate of the tasks that have a method, or the reason why there is none."""
    scores: dict[str, Score] = {}
    questions: list[tuple[Association, Question]] = []
    for task, method in methods.items():
        items = benchmark.of_task(task)
        with activity("splitting texts into tokens"):
            asked_of_items = questions_of(method, model.tokenizer, items)
        for item, asked in zip(items, asked_of_items, strict=True):
            reason = asked if isinstance(asked, str) else _too_long(asked, model.longest_input)
            if isinstance(asked, str) or reason:
                scores |= {candidate.id: Score(math.nan, reason) for candidate in item.candidates}
            else:
                questions += [(item, question) for question in asked]
    asked_for = [RequestGroup(item.id, question.requests) for item, question in questions]
    answers = model.answer_groups(asked_for, max_tokens=max_tokens, parts=parts, progress=progress)
    return scores | {
        question.candidate: _score(question, values)
        for (_, question), values in zip(questions, answers, strict=True)
    }


def _score(question: Question, values: RequestValues) -> Score:
    if isinstance(values, str):
        return Score(math.nan, values)
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


def _predictions(name: str, scores: dict[str, Score]) -> Predictions:
    lines = "".join(f"{key}\t{score.value!r}\t{score.problem}\n" for key, score in scores.items())
    return Predictions(
        name=name, source="scored by this run", sha256=sha256_of(lines.encode()), scores=scores
    )


def _method_name(method: Method) -> str:
    kind = getattr(method, "kind", None)
    return method.name if kind is None or kind.value == method.name else f"{method.name}, {kind.value}"
