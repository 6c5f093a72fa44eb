"""The engine: carry out a plan, keep what is done, halve what does not fit."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from evenhand.models.engine.batch_store import BatchStore
from evenhand.models.engine.forward_inputs import Gathered, Work
from evenhand.models.engine.plan import Plan
from evenhand.models.engine.runners import Runner, Values, finished

Progress = Callable[[Sequence[int]], None]
"""Called with the numbers of the works that were finished."""


@dataclass(frozen=True, slots=True)
class Answers:
    """The values of every request, in order."""

    gathered: Gathered
    values: Sequence[list[float]]
    """One list a work."""

    def of(self, request: int) -> list[float]:
        """Natural log-probabilities that a request asked for."""
        place = self.gathered.places[request]
        if place is None:
            return []
        work, reads = place
        values = self.values[work]
        return [values[read] for read in reads]


def carry_out(
    plan: Plan,
    gathered: Gathered,
    runners: Mapping[type, Runner],
    *,
    store: BatchStore | None = None,
    progress: Progress | None = None,
) -> Answers:
    """Run all batches that are not in the store yet.

    Args:
        plan: The batches.
        gathered: The works and where each request's values lie.
        runners: A runner for each kind of work.
        store: Where finished batches are kept; nothing is kept without it.
        progress: Told which works were finished.
    """
    values: list[list[float]] = [[]] * len(plan.works)

    def settle(number: int, found: Values) -> None:
        batch = plan.batches[number]
        works = [plan.works[index] for index in batch.works]
        for index, part in zip(batch.works, _parts(found.tolist(), works), strict=True):
            values[index] = part
        if progress:
            progress(batch.works)

    # One batch is always on its way while the values of the one before are fetched and kept.
    waiting: tuple[int, Callable[[], Values]] | None = None
    for number, batch in enumerate(plan.batches):
        kept = store.load(number, batch.reads) if store else None
        if kept is not None:
            settle(number, kept)
            continue
        works = [plan.works[index] for index in batch.works]
        started = (number, _start(works, runners[type(works[0])]))
        if waiting:
            _finish(*waiting, store, settle)
        waiting = started
    if waiting:
        _finish(*waiting, store, settle)
    return Answers(gathered, values)


def _finish(
    number: int, fetch: Callable[[], Values], store: BatchStore | None, settle: Callable[[int, Values], None]
) -> None:
    found = fetch()
    if store:
        store.save(number, found)
    settle(number, found)


def _parts(values: list[float], works: Sequence[Work]) -> Iterator[list[float]]:
    start = 0
    for work in works:
        yield values[start : start + len(work.reads)]
        start += len(work.reads)


def _start(works: Sequence[Work], runner: Runner) -> Callable[[], Values]:
    """Start works together, or run them in halves where memory does not suffice."""
    try:
        with torch.inference_mode():
            values = runner.start(works)
    except torch.OutOfMemoryError:
        if len(works) == 1:
            raise
        torch.cuda.empty_cache()
    except RuntimeError as problem:
        if len(works) == 1 or not _is_out_of_memory(problem):
            raise
    else:
        return lambda: finished(values)
    middle = math.ceil(len(works) / 2)
    halves = [_start(part, runner)() for part in (works[:middle], works[middle:])]
    return lambda: np.concatenate(halves)


def _is_out_of_memory(problem: RuntimeError) -> bool:
    """Whether a CPU allocation failed; PyTorch has no class of its own for that."""
    return "not enough memory" in str(problem) or "can't allocate memory" in str(problem)
