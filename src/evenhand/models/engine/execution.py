"""The engine: execute a plan, keep what is done, halve what does not fit."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING

import numpy as np
import torch

from evenhand.core.progress import Progress
from evenhand.models.engine.memory import give_back_memory, is_out_of_memory
from evenhand.models.engine.plan import ForwardInput, ForwardInputs, ForwardPlan
from evenhand.models.engine.requests import RequestGroup
from evenhand.models.engine.runners import Runner, Values, finished
from evenhand.runs.store import Parts

if TYPE_CHECKING:
    from evenhand.models.language_model import LanguageModel


InputsDone = Callable[[Sequence[int]], None]
"""Called with the numbers of the inputs that were finished."""


@dataclass(frozen=True, slots=True)
class Answers:
    """The values of every request, in order."""

    forward: ForwardInputs
    values: Sequence[list[float]]
    """One list for each input."""

    def of(self, request: int) -> list[float]:
        """Natural log-probabilities that a request asked for."""
        place = self.forward.places[request]
        if place is None:
            return []
        entry, reads = place
        values = self.values[entry]
        return [values[read] for read in reads]


def execute(
    plan: ForwardPlan,
    forward: ForwardInputs,
    runners: Mapping[type, Runner],
    *,
    parts: Parts | None = None,
    progress: InputsDone | None = None,
) -> Answers:
    """Run all batches that are not among the parts yet.

    Args:
        plan: The batches.
        forward: The inputs and where each request's values lie.
        runners: A runner for each kind of input.
        parts: Where finished batches are kept; nothing is kept without it.
        progress: Told which inputs were finished.
    """
    values: list[list[float]] = [[]] * len(plan.inputs)
    fingerprint = plan.fingerprint if parts else ""

    def settle(number: int, found: Values) -> None:
        batch = plan.batches[number]
        inputs = [plan.inputs[index] for index in batch.inputs]
        for index, part in zip(batch.inputs, _parts(found.tolist(), inputs), strict=True):
            values[index] = part
        if progress:
            progress(batch.inputs)

    def finish(number: int, fetch: Callable[[], Values]) -> None:
        fetched = fetch()
        if parts:
            parts.put_array(_key(fingerprint, number), fetched)
        settle(number, fetched)

    # One batch is always on its way while the values of the one before are fetched and kept.
    waiting: tuple[int, Callable[[], Values]] | None = None
    for number, batch in enumerate(plan.batches):
        kept = parts.get_array(_key(fingerprint, number), (batch.reads,)) if parts else None
        if kept is not None:
            settle(number, kept)
            continue
        inputs = [plan.inputs[index] for index in batch.inputs]
        started = (number, _start(inputs, runners[type(inputs[0])]))
        if waiting:
            finish(*waiting)
        waiting = started
    if waiting:
        finish(*waiting)
    return Answers(forward, values)


def _key(fingerprint: str, batch: int) -> str:
    """Batches of another plan, with another budget of tokens perhaps, have other keys."""
    return f"{fingerprint[:16]}-{batch:06d}"


def _parts(values: list[float], inputs: Sequence[ForwardInput]) -> Iterator[list[float]]:
    start = 0
    for entry in inputs:
        yield values[start : start + len(entry.reads)]
        start += len(entry.reads)


def _start(inputs: Sequence[ForwardInput], runner: Runner) -> Callable[[], Values]:
    """Start inputs together, or run them in halves where memory does not suffice."""
    try:
        with torch.inference_mode():
            values = runner.start(inputs)
    except RuntimeError as problem:
        if len(inputs) == 1 or not is_out_of_memory(problem):
            raise
        give_back_memory()
    else:
        return lambda: finished(values)
    middle = math.ceil(len(inputs) / 2)
    halves = [_start(part, runner)() for part in (inputs[:middle], inputs[middle:])]
    return lambda: np.concatenate(halves)


class ScoringJob:
    """Questions that are planned together, to be answered as often as wanted."""

    def __init__(
        self, model: LanguageModel, groups: Sequence[RequestGroup], *, max_tokens: int | None = None
    ) -> None:
        """Plan.

        Args:
            model: Who is asked.
            groups: The questions.
            max_tokens: Most tokens in a batch.
        """
        self.model = model
        self.groups = groups
        requests = [request for each in groups for request in each.requests]
        self.plan, self.forward = model.plan(requests, max_tokens=max_tokens)

    def answers(
        self, *, parts: Parts | None = None, progress: Progress | None = None
    ) -> list[list[list[float]]]:
        """For each group, the natural log-probabilities of each of its requests.

        Args:
            parts: Where finished batches are kept, so that an interrupted job goes on. They are of one model only.
            progress: Told how many items are done.
        """
        counter = _ItemProgress(self.groups, self.forward, progress) if progress else None
        runners = self.model.runners(self.plan)
        answers = execute(self.plan, self.forward, runners, parts=parts, progress=counter)
        numbers = count()
        return [[answers.of(next(numbers)) for _ in each.requests] for each in self.groups]


class _ItemProgress:
    """Counts items whose inputs are all done."""

    def __init__(self, groups: Sequence[RequestGroup], forward: ForwardInputs, report: Progress) -> None:
        self.report = report
        self.waiting: dict[int, list[str]] = {}
        self.missing: dict[str, int] = {}
        places = iter(forward.places)
        for each in groups:
            for _, place in zip(each.requests, places, strict=False):
                if place is not None:
                    self.waiting.setdefault(place[0], []).append(each.item)
                    self.missing[each.item] = self.missing.get(each.item, 0) + 1
        self.total = len(self.missing)
        self.done = 0

    def __call__(self, inputs: Sequence[int]) -> None:
        for entry in inputs:
            for item in self.waiting.get(entry, ()):
                self.missing[item] -= 1
                self.done += self.missing[item] == 0
        self.report(self.done, self.total)
