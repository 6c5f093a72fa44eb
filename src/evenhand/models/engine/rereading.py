"""The same reads again and again from a model whose weights change in between."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from evenhand.models.engine.memory import give_back_memory, is_out_of_memory
from evenhand.models.engine.modes import eval_mode
from evenhand.models.engine.requests import Request
from evenhand.models.engine.runners import ReadyRunner, Values, finished
from evenhand.models.language_model import LanguageModel


class Rereading:
    """Requests that are planned once; their batches stay as tensors where the model is.

    Nothing of the weights is kept, so every reading sees the model as it is, also with adapters that were put into it
    meanwhile. A model in training is read as in evaluation, and goes on in training.
    """

    def __init__(
        self, model: LanguageModel, requests: Sequence[Request], *, max_tokens: int | None = None
    ) -> None:
        self.loaded = model.loaded
        # Fast ways are tried against the plain one, which would not agree with itself under dropout.
        with eval_mode(self.loaded.model):
            self.projection = model.projection
            self.plan, self._gathered = model.plan(requests, max_tokens=max_tokens)
        self._first = [0] * len(self.plan.inputs)
        read = 0
        for number in (number for batch in self.plan.batches for number in batch.inputs):
            self._first[number] = read
            read += len(self.plan.inputs[number].reads)
        self._device: torch.device | None = None
        self._batches: list[Callable[[], Tensor]] = []

    def places(self) -> Iterator[list[int]]:
        """For each request in turn, where its values stand among all."""
        for place in self._gathered.places:
            entry, reads = place or (0, [])
            yield [self._first[entry] + read for read in reads]

    def values(self) -> Values:
        """Natural log-probabilities of all that is read, from the model as it is now."""
        # Not in inference mode: what a module then keeps for later, such as tables of positions, could not be trained
        # with.
        with torch.no_grad(), eval_mode(self.loaded.model):
            started = [run() for run in self._laid_out()]
            return finished(torch.cat(started)) if started else np.empty(0)

    def _laid_out(self) -> list[Callable[[], Tensor]]:
        """The batches on the model's device, laid out anew if it was moved."""
        device = next(self.loaded.model.parameters()).device
        if device != self._device:
            here = replace(self.loaded, device=device)
            runner = here.family.runner(here, self.projection, share_prefixes=self.plan.joined)
            self._batches = [self._batch(runner, batch.inputs) for batch in self.plan.batches]
            self._device = device
        return self._batches

    def _batch(self, runner: ReadyRunner, numbers: Sequence[int]) -> Callable[[], Tensor]:
        inputs = [self.plan.inputs[number] for number in numbers]
        ready = runner.ready(inputs)

        def run() -> Tensor:
            try:
                return ready()
            except RuntimeError as problem:
                # A training needs memory of its own, and not always as much.
                if len(inputs) == 1 or not is_out_of_memory(problem):
                    raise
                give_back_memory()
            middle = len(inputs) // 2
            return torch.cat([self._batch(runner, part)() for part in (numbers[:middle], numbers[middle:])])

        return run
