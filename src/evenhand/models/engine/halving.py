"""What does not fit into memory is done in halves: a batch by its inputs, a tree at one of its branches."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt
from torch import Tensor

from evenhand.models.engine.memory import give_back_memory, is_out_of_memory
from evenhand.models.engine.plan import ForwardInput
from evenhand.models.engine.runners import Values, finished
from evenhand.models.engine.trees import CausalInput

NOT_ENOUGH_MEMORY = "there was not enough memory to ask for it"

Result = TypeVar("Result")

Start = Callable[[Sequence[ForwardInput]], Tensor]
"""Puts inputs through a model, all together."""


@dataclass(frozen=True, slots=True)
class ReadValues:
    """Everything that is read from inputs, in order."""

    values: Values
    missing: npt.NDArray[np.bool_] | None = None
    """Which values there was no memory for, if any; they are NaN."""


@dataclass(frozen=True, slots=True)
class _Halves:
    inputs: tuple[Sequence[ForwardInput], Sequence[ForwardInput]]
    order: npt.NDArray[np.int64] | None = None
    """Where the value of each read is found among those of both halves; None where it is at its own place."""


def attempt(run: Callable[[], Result]) -> Result | None:
    """What a run gives; None if there was not enough memory for it."""
    try:
        return run()
    except (RuntimeError, MemoryError) as problem:
        if not is_out_of_memory(problem):
            raise
    # Out here nothing of the failed run is held any more.
    give_back_memory()
    return None


def run_in_halves(inputs: Sequence[ForwardInput], start: Start) -> ReadValues:
    """The values of inputs that did not fit together, from two parts of them, which are parted again if need be.

    What cannot be parted any further has no values.
    """
    halves = _halved(inputs)
    if halves is None:
        count = len(inputs[0].reads)
        return ReadValues(np.full(count, np.nan), np.ones(count, dtype=bool))
    parts = [_run(part, start) for part in halves.inputs]
    values = np.concatenate([part.values for part in parts])
    missing = np.concatenate([_missing(part) for part in parts])
    if halves.order is not None:
        values, missing = values[halves.order], missing[halves.order]
    return ReadValues(values, missing if missing.any() else None)


def _run(inputs: Sequence[ForwardInput], start: Start) -> ReadValues:
    if not any(entry.reads for entry in inputs):
        return ReadValues(np.empty(0))
    values = attempt(lambda: start(inputs))
    return run_in_halves(inputs, start) if values is None else ReadValues(finished(values))


def _missing(part: ReadValues) -> npt.NDArray[np.bool_]:
    return np.zeros(len(part.values), dtype=bool) if part.missing is None else part.missing


def _halved(inputs: Sequence[ForwardInput]) -> _Halves | None:
    """Two parts of inputs; None if there is one sequence alone."""
    if len(inputs) > 1:
        middle = math.ceil(len(inputs) / 2)
        return _Halves((inputs[:middle], inputs[middle:]))
    (entry,) = inputs
    return _split_tree(entry) if isinstance(entry, CausalInput) else None


def _split_tree(tree: CausalInput) -> _Halves | None:
    """A tree as two, the second with the beginning that it shares with the first; None if it has no branch."""
    branches = [place for place in range(1, tree.length) if tree.depths[place] <= tree.depths[place - 1]]
    if not branches:
        return None
    cut = min(branches, key=lambda place: max(place, tree.length - place + tree.depths[place]))
    shared = [place for place in range(cut) if tree.ends[place] >= cut]
    shift = cut - len(shared)
    first = CausalInput(
        tree.ids[:cut], tree.depths[:cut], tuple(min(end, cut - 1) for end in tree.ends[:cut])
    )
    places = [*shared, *range(cut, tree.length)]
    second = CausalInput(
        tuple(tree.ids[place] for place in places),
        tuple(tree.depths[place] for place in places),
        tuple(tree.ends[place] - shift for place in places),
    )
    in_second = np.array([position >= cut for position, _ in tree.reads])
    for position, token in tree.reads:
        if position < cut:
            first.reads.append((position, token))
        else:
            second.reads.append((position - shift, token))
    order = np.where(in_second, len(first.reads) + np.cumsum(in_second), np.cumsum(~in_second)) - 1
    return _Halves(([first], [second]), order)
