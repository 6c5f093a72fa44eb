"""The engine: execute a plan, keep what is done, halve what does not fit."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import torch

from evenhand.core.progress import activity
from evenhand.models.engine.halving import NOT_ENOUGH_MEMORY, ReadValues, attempt, run_in_halves
from evenhand.models.engine.plan import ForwardInput, ForwardInputs, ForwardPlan
from evenhand.models.engine.products import UNCHANGED, MatrixProducts
from evenhand.models.engine.runners import Runner, finished
from evenhand.models.references import ModelError
from evenhand.store.jobs import Parts

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
