"""The same reads again and again from a model whose weights change in between."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import torch

from evenhand.models.engine.halving import ReadValues, attempt, run_in_halves
from evenhand.models.engine.modes import eval_mode
from evenhand.models.engine.plan import ForwardInput
from evenhand.models.engine.requests import Request
from evenhand.models.engine.runners import ReadyRunner, Values, finished
from evenhand.models.language_model import LanguageModel
from evenhand.models.references import ModelError

Start: TypeAlias = Callable[[], Callable[[], ReadValues]]
"""Starts a batch; what it gives waits for the values."""


class Rereading:
    """Requests that are planned once; their batches stay as tensors where the model is.

    Nothing of the weights is kept, so every reading sees the model as it is, also with adapters that were put into it
    meanwhile. A model in training is read as in evaluation, and goes on in training.
    """

    def __init__(self, model: LanguageModel, *, max_tokens: int | None = None) -> None:
        self.loaded = model.loaded
        self._model = model
        self._max_tokens = max_tokens
        # Fast ways are tried against the plain one, which would not agree with itself under dropout.
        with eval_mode(self.loaded.model):
            self.projection = model.projection
        self._device: torch.device | None = None
        self._batches: list[_StoredBatch] = []
        self._ready: list[Start] = []
        self._reads = 0

    def add(self, requests: Sequence[Request]) -> Iterator[list[int]]:
        """Plan more requests together; nothing but arrays is kept of them.

        Returns:
            For each request in turn, where its values stand among all.
        """
        with eval_mode(self.loaded.model):
            plan, forward = self._model.plan(requests, max_tokens=self._max_tokens)
        first = [0] * len(plan.inputs)
        for batch in plan.batches:
            inputs = [plan.inputs[number] for number in batch.inputs]
            self._batches.append(_StoredBatch(plan.joined, pickle.dumps(inputs)))
            for number in batch.inputs:
                first[number] = self._reads
                self._reads += len(plan.inputs[number].reads)
        self._device = None
        places = [place or (0, []) for place in forward.places]
        return ([first[entry] + read for read in reads] for entry, reads in places)

    def values(self) -> Values:
        """Natural log-probabilities of all that is read, from the model as it is now.

        Those that there was too little memory for, even one by one, are NaN, and a warning says how many they are.

        Raises:
            ModelError: If there was too little memory for all.
        """
        # Not in inference mode: what a module then keeps for later, such as tables of positions, could not be trained
        # with.
        with torch.no_grad(), eval_mode(self.loaded.model):
            started = [start() for start in self._laid_out()]
            found = [fetch() for fetch in started]
        missing = sum(int(part.missing.sum()) for part in found if part.missing is not None)
        if missing:
            self._tell_of_missing(missing)
        return np.concatenate([part.values for part in found]) if found else np.empty(0)

    def _tell_of_missing(self, missing: int) -> None:
        problem = f"There was not enough memory to read {missing:,} of {self._reads:,} values from {self.loaded.ref.id}"
        if missing == self._reads:
            raise ModelError(f"{problem}. Train with a smaller --batch-size, or on a larger device.")
        warnings.warn(f"{problem}; they are left out.", stacklevel=3)

    def _laid_out(self) -> list[Start]:
        """The batches on the model's device, laid out anew if it was moved."""
        device = next(self.loaded.model.parameters()).device
        if device != self._device:
            here = replace(self.loaded, device=device)
            runners = {
                joined: here.family.runner(here, self.projection, share_prefixes=joined)
                for joined in {batch.joined for batch in self._batches}
            }
            self._ready = [_ready(batch, runners[batch.joined]) for batch in self._batches]
            self._device = device
        return self._ready


@dataclass(frozen=True, slots=True)
class _StoredBatch:
    """The inputs of a batch in few bytes: as objects, those of a whole probe would take gigabytes."""

    joined: bool
    pickled: bytes

    def inputs(self) -> list[ForwardInput]:
        inputs: list[ForwardInput] = pickle.loads(self.pickled)  # noqa: S301 # made by this very process
        return inputs


def _ready(batch: _StoredBatch, runner: ReadyRunner) -> Start:
    """The batch as tensors on the device. It is run in halves where memory does not suffice.

    A training needs memory of its own, and not always as much.
    """
    ready = runner.ready(batch.inputs())

    def start() -> Callable[[], ReadValues]:
        values = attempt(ready)
        if values is None:
            halves = run_in_halves(batch.inputs(), runner.start)
            return lambda: halves
        return lambda: ReadValues(finished(values))

    return start
