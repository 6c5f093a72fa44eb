"""The same reads again and again from a model whose weights change in between."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import torch
from pydantic import TypeAdapter

from evenhand.core.spool import Spool
from evenhand.models.engine.halving import ReadValues, attempt, run_in_halves
from evenhand.models.engine.modes import eval_mode
from evenhand.models.engine.plan import ForwardInput, MaskedInput, PairInput, Seq2SeqInput
from evenhand.models.engine.requests import TokenRequest
from evenhand.models.engine.runners import ReadyRunner, Values, finished
from evenhand.models.engine.trees import CausalInput
from evenhand.models.language_model import LanguageModel
from evenhand.models.references import ModelError

Start: TypeAlias = Callable[[], Callable[[], ReadValues]]
"""Starts a batch; what it gives waits for the values."""

READY_BYTES = 2**23
"""Of inputs that stay laid out where the model is; those beyond wait on disk and are laid out at every reading."""


_JSON: dict[type[ForwardInput], TypeAdapter[Any]] = {
    MaskedInput: TypeAdapter(list[MaskedInput]),
    CausalInput: TypeAdapter(list[CausalInput]),
    Seq2SeqInput: TypeAdapter(list[Seq2SeqInput]),
    PairInput: TypeAdapter(list[PairInput]),
}
"""How inputs of each kind are written and read."""


class Rereading:
    """Requests that are planned once, and read as often as one likes.

    They wait on disk, so memory does not grow with them; the batches of the first stay as tensors where the model is.
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
        self._spool = Spool()
        self._additions: list[list[_StoredBatch]] = []
        self._ready: dict[int, Start] = {}
        self._runners: dict[bool, ReadyRunner] = {}
        self._reads = 0

    def add(self, requests: Sequence[TokenRequest]) -> Iterator[list[int]]:
        """Plan more requests together; nothing of them stays in memory.

        Returns:
            For each request in turn, where its values stand among those of this addition.
        """
        with eval_mode(self.loaded.model):
            plan, forward = self._model.plan(requests, max_tokens=self._max_tokens)
        first = [0] * len(plan.inputs)
        reads = 0
        batches = []
        for batch in plan.batches:
            inputs = [plan.inputs[number] for number in batch.inputs]
            kind = type(inputs[0])
            number = self._spool.append(_JSON[kind].dump_json(inputs))
            batches.append(_StoredBatch(plan.joined, kind, number))
            for number in batch.inputs:
                first[number] = reads
                reads += len(plan.inputs[number].reads)
        self._additions.append(batches)
        self._reads += reads
        places = [place or (0, []) for place in forward.places]
        return ([first[entry] + read for read in own] for entry, own in places)

    def values(self) -> Iterator[Values]:
        """Natural log-probabilities from the model as it is now, those of one addition after the other.

        Those that there was too little memory for, even one by one, are NaN, and a warning says how many they are.

        Raises:
            ModelError: If there was too little memory for all.
        """
        missing = 0
        for batches in self._additions:
            # Not in inference mode: what a module then keeps for later, such as tables of positions, could not be
            # trained with. And not around the loop: who reads the values is to find torch as it was.
            with torch.no_grad(), eval_mode(self.loaded.model):
                self._follow_model()
                started = [self._start(batch)() for batch in batches]
                found = [fetch() for fetch in started]
            missing += sum(int(part.missing.sum()) for part in found if part.missing is not None)
            yield np.concatenate([part.values for part in found]) if found else np.empty(0)
        if missing:
            self._tell_of_missing(missing)

    def _tell_of_missing(self, missing: int) -> None:
        problem = f"There was not enough memory to read {missing:,} of {self._reads:,} values from {self.loaded.ref.id}"
        if missing == self._reads:
            raise ModelError(f"{problem}. Train with a smaller --batch-size, or on a larger device.")
        warnings.warn(f"{problem}; they are left out.", stacklevel=4)

    def _follow_model(self) -> None:
        """Forget what is laid out where the model no longer is."""
        device = next(self.loaded.model.parameters()).device
        if device != self._device:
            here = replace(self.loaded, device=device)
            self._runners = {
                joined: here.family.runner(here, self.projection, share_prefixes=joined)
                for joined in {batch.joined for batches in self._additions for batch in batches}
            }
            self._ready = {}
            self._device = device

    def _start(self, batch: _StoredBatch) -> Start:
        """The batch on the model's device."""
        if batch.number in self._ready:
            return self._ready[batch.number]
        start = _laid_out(batch, self._spool, self._runners[batch.joined])
        # What lies in the file before the end of a batch is as much as all batches up to it.
        if self._spool.end(batch.number) <= READY_BYTES:
            self._ready[batch.number] = start
        return start


@dataclass(frozen=True, slots=True)
class _StoredBatch:
    """The inputs of a batch on disk: as objects, those of a whole probe would take gigabytes."""

    joined: bool
    kind: type[ForwardInput]
    """Of all its inputs: a model has one."""
    number: int


def _laid_out(batch: _StoredBatch, spool: Spool, runner: ReadyRunner) -> Start:
    """The batch as tensors on the device. It is run in halves where memory does not suffice.

    A training needs memory of its own, and not always as much.
    """

    def inputs() -> list[ForwardInput]:
        stored: list[ForwardInput] = _JSON[batch.kind].validate_json(spool[batch.number])
        return stored

    ready = runner.ready(inputs())

    def start() -> Callable[[], ReadValues]:
        values = attempt(ready)
        if values is None:
            halves = run_in_halves(inputs(), runner.start)
            return lambda: halves
        return lambda: ReadValues(finished(values))

    return start
