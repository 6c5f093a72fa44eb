"""The engine: execute a plan, keep what is done, halve what does not fit."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from evenhand.models.engine.forward_inputs import ForwardInput, ForwardInputs
from evenhand.models.engine.plan import ForwardPlan
from evenhand.models.engine.runners import Runner, Values, finished
from evenhand.runs.store import Parts

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
        torch.cuda.empty_cache()
    else:
        return lambda: finished(values)
    middle = math.ceil(len(inputs) / 2)
    halves = [_start(part, runner)() for part in (inputs[:middle], inputs[middle:])]
    return lambda: np.concatenate(halves)


def is_out_of_memory(problem: RuntimeError) -> bool:
    """Whether there was no memory left; PyTorch has a class of its own for that on a GPU only."""
    if isinstance(problem, torch.OutOfMemoryError):
        return True
    return "not enough memory" in str(problem) or "can't allocate memory" in str(problem)
