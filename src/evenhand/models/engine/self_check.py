"""Before a fast way is used on a model, it is tried on a few tokens against the plain way."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import torch

from evenhand.core.progress import activity
from evenhand.models.engine.memory import MemoryBudget
from evenhand.models.engine.plan import ForwardInputs, merge_requests
from evenhand.models.engine.projection import Projection, SplitProjection, WholeProjection, bodies_of
from evenhand.models.engine.requests import TokenRequest
from evenhand.models.engine.runners import Runner, finished
from evenhand.models.loading import Loaded
from evenhand.models.references import ModelError

_TITLE = "self-check of fast ways"

_TOLERANCE = {torch.float32: 1e-4, torch.float16: 0.05, torch.bfloat16: 0.2}
_LIKELY_FAILURES = (RuntimeError, ValueError, TypeError, AttributeError, KeyError, IndexError)
"""What a model raises that is not built as expected."""


Values: TypeAlias = np.ndarray[tuple[int], np.dtype[np.float64]]


class SelfCheck:
    """Which fast ways give the same numbers on a model. Each way runs once, when it is first asked about."""

    def __init__(self, loaded: Loaded, budget: MemoryBudget) -> None:
        """Choose what to try.

        Args:
            loaded: The model.
            budget: What scores over the vocabulary may take.
        """
        self.loaded = loaded
        self.budget = budget
        self._requests = _sample(loaded)

    @cached_property
    def projection(self) -> Projection:
        """The fast way if it gives the same numbers on this model, otherwise the plain one."""
        model: Any = self.loaded.model
        vocabulary = model.get_input_embeddings().num_embeddings
        with activity(_TITLE):
            for body in bodies_of(model):
                fast = SplitProjection(model, body, vocabulary, budget=self.budget)
                if self._agrees(fast, share_prefixes=False):
                    return fast
            plain = WholeProjection(model)
            with self._failures_explained():
                self._values(plain, share_prefixes=False)
            return plain

    @cached_property
    def shares_prefixes(self) -> bool:
        """Whether branches in one row give the same numbers as sequences of their own."""
        with activity(_TITLE):
            return self.loaded.family.reads_left_to_right and self._agrees(
                self.projection, share_prefixes=True
            )

    @cached_property
    def _expected(self) -> Values:
        """By the plain way, each input alone."""
        with self._failures_explained():
            runner = self._runner(WholeProjection(self.loaded.model), share_prefixes=False)
            forward = merge_requests(self._requests, share_prefixes=False)
            return _in_order(forward, _apart(runner, forward))

    def _agrees(self, projection: Projection, *, share_prefixes: bool) -> bool:
        expected = self._expected
        try:
            values = self._values(projection, share_prefixes=share_prefixes)
        except _LIKELY_FAILURES:
            return False
        return bool(np.allclose(values, expected, rtol=0, atol=_TOLERANCE[self.loaded.dtype], equal_nan=True))

    def _values(self, projection: Projection, *, share_prefixes: bool) -> Values:
        runner = self._runner(projection, share_prefixes=share_prefixes)
        forward = merge_requests(self._requests, share_prefixes=share_prefixes)
        values = _apart(runner, forward)
        if len(forward.inputs) > 1:
            with torch.inference_mode():
                together = finished(runner.start(forward.inputs))
            if not np.allclose(np.concatenate(values), together, rtol=0, atol=0.2, equal_nan=True):
                raise RuntimeError("a batch gives other numbers than its parts")
        return _in_order(forward, values)

    def _runner(self, projection: Projection, *, share_prefixes: bool) -> Runner:
        return self.loaded.family.runner(self.loaded, projection, share_prefixes=share_prefixes)

    @contextmanager
    def _failures_explained(self) -> Iterator[None]:
        ref, device = self.loaded.ref, self.loaded.device
        try:
            yield
        except _LIKELY_FAILURES as problem:
            raise ModelError(
                f"{ref.id} fails on its first input in {ref.precision.value} on {device.type}: {problem}. Try "
                "--precision fp32, or another --device."
            ) from problem


def _apart(runner: Runner, forward: ForwardInputs) -> list[Any]:
    """The values of each input by itself."""
    with torch.inference_mode():
        return [finished(runner.start([entry])) for entry in forward.inputs]


def _in_order(forward: ForwardInputs, values: Sequence[Any]) -> Values:
    """Values in the order in which they were requested."""
    reads_in_order = [(entry, read) for entry, reads in filter(None, forward.places) for read in reads]
    return np.array([values[entry][read] for entry, read in reads_in_order])


def _sample(loaded: Loaded) -> list[TokenRequest]:
    """A few requests over tokens from the middle of the vocabulary."""
    size = loaded.model.get_input_embeddings().num_embeddings  # type: ignore[operator]
    tokens = tuple(int(token) for token in np.linspace(size // 3, size - 1 - size // 8, 9))
    return loaded.family.sample_requests(tokens, loaded.tokenizer)
