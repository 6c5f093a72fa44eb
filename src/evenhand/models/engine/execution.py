"""The engine: execute a plan, keep what is done, halve what does not fit."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, TypeVar

import torch

from evenhand.core.progress import Progress, activity
from evenhand.models.engine.halving import NOT_ENOUGH_MEMORY, ReadValues, attempt, run_in_halves
from evenhand.models.engine.plan import ForwardInput, ForwardInputs, ForwardPlan
from evenhand.models.engine.products import UNCHANGED, MatrixProducts
from evenhand.models.engine.requests import RequestGroup, RequestValues
from evenhand.models.engine.runners import Runner, finished
from evenhand.models.references import ModelError
from evenhand.store.jobs import Parts

if TYPE_CHECKING:
    from evenhand.models.language_model import LanguageModel


Value = TypeVar("Value")

InputsDone = Callable[[Sequence[int]], None]
"""Called with the numbers of the inputs that were finished."""


@dataclass(frozen=True, slots=True)
class Answers:
    """The values of every request, in order."""

    forward: ForwardInputs
    values: Sequence[list[float]]
    """One list for each input."""
    missing: Mapping[int, frozenset[int]] = field(default_factory=dict)
    """For inputs that there was too little memory for, which of their reads have no value."""

    def of(self, request: int) -> list[float]:
        """Natural log-probabilities that a request asked for.

        Raises:
            ModelError: If there was not enough memory for them.
        """
        problem = self.problem(request)
        if problem:
            raise ModelError(f"One of the inputs is too much for the device: {problem}. Use a larger one.")
        place = self.forward.places[request]
        if place is None:
            return []
        entry, reads = place
        values = self.values[entry]
        return [values[read] for read in reads]

    def problem(self, request: int) -> str | None:
        """Why a request has no values, if it has none."""
        entry, reads = self.forward.places[request] or (-1, [])
        return None if self.missing.get(entry, frozenset()).isdisjoint(reads) else NOT_ENOUGH_MEMORY


def execute(
    plan: ForwardPlan,
    forward: ForwardInputs,
    runners: Mapping[type, Runner],
    *,
    parts: Parts | None = None,
    progress: InputsDone | None = None,
    products: MatrixProducts = UNCHANGED,
) -> Answers:
    """Run all batches that are not among the parts yet.

    Args:
        plan: The batches.
        forward: The inputs and where each request's values lie.
        runners: A runner for each kind of input.
        parts: Where finished batches are kept; nothing is kept without it.
        progress: Told which inputs were finished.
        products: What computes matrix products. Parts that other kernels computed are not used.
    """
    values: list[list[float]] = [[]] * len(plan.inputs)
    missing: dict[int, frozenset[int]] = {}
    key = f"{plan.fingerprint[:16]}{'-onednn' * products.onednn}" if parts else ""

    def settle(number: int, found: ReadValues) -> None:
        batch = plan.batches[number]
        inputs = [plan.inputs[index] for index in batch.inputs]
        for index, part in zip(batch.inputs, _by_input(found.values.tolist(), inputs), strict=True):
            values[index] = part
        if found.missing is not None:
            for index, gaps in zip(batch.inputs, _by_input(found.missing.tolist(), inputs), strict=True):
                missing[index] = frozenset(read for read, is_gap in enumerate(gaps) if is_gap)
        if progress:
            progress(batch.inputs)

    def finish(number: int, fetch: Callable[[], ReadValues]) -> None:
        fetched = fetch()
        # What memory was lacking for is tried again when the job is resumed.
        if parts and fetched.missing is None:
            parts.put_array(f"{key}-{number:06d}", fetched.values)
        settle(number, fetched)

    # One batch is always on its way while the values of the one before are fetched and kept.
    waiting: tuple[int, Callable[[], ReadValues]] | None = None
    with activity("scoring", "batches") as note_progress:
        for number, batch in enumerate(plan.batches):
            note_progress(number, len(plan.batches))
            kept = parts.get_array(f"{key}-{number:06d}", (batch.reads,)) if parts else None
            if kept is not None:
                settle(number, ReadValues(kept))
                continue
            inputs = [plan.inputs[index] for index in batch.inputs]
            started = (number, _start(inputs, runners[type(inputs[0])], products))
            if waiting:
                finish(*waiting)
            waiting = started
        if waiting:
            finish(*waiting)
    return Answers(forward, values, missing)


def _by_input(of_reads: list[Value], inputs: Sequence[ForwardInput]) -> Iterator[list[Value]]:
    start = 0
    for entry in inputs:
        yield of_reads[start : start + len(entry.reads)]
        start += len(entry.reads)


def _start(
    inputs: Sequence[ForwardInput], runner: Runner, products: MatrixProducts
) -> Callable[[], ReadValues]:
    """Start inputs together, or run them in halves where memory does not suffice."""
    with torch.inference_mode(), products.in_use():
        values = attempt(lambda: runner.start(inputs))
        if values is None:
            halves = run_in_halves(inputs, runner.start)
            return lambda: halves
    return lambda: ReadValues(finished(values))


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
        with activity("planning batches"):
            self.plan, self.forward = model.plan(requests, max_tokens=max_tokens)

    def answers(self, *, parts: Parts | None = None, progress: Progress | None = None) -> list[RequestValues]:
        """For each group, the natural log-probabilities of each of its requests, or why there are none.

        Args:
            parts: Where finished batches are kept, so that an interrupted job goes on. They are of one model only.
            progress: Told how many items are done.
        """
        counter = _ItemProgress(self.groups, self.forward, progress) if progress else None
        runners = self.model.runners(self.plan)
        products = self.model.loaded.products
        answers = execute(self.plan, self.forward, runners, parts=parts, progress=counter, products=products)
        numbers = count()
        return [_values(answers, [next(numbers) for _ in each.requests]) for each in self.groups]


def _values(answers: Answers, requests: Sequence[int]) -> RequestValues:
    problem = next(filter(None, map(answers.problem, requests)), None) if answers.missing else None
    return problem or [answers.of(request) for request in requests]


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
