"""Before a fast way is used on a model, it is tried on a few tokens against the plain way."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from evenhand.models.engine.memory import MemoryBudget
from evenhand.models.engine.plan import merge_requests
from evenhand.models.engine.projection import Projection, SplitProjection, WholeProjection, bodies_of
from evenhand.models.engine.requests import Request
from evenhand.models.engine.runners import Runner, finished
from evenhand.models.loading import Loaded
from evenhand.models.references import ModelError

_TOLERANCE = {torch.float32: 1e-4, torch.float16: 0.05, torch.bfloat16: 0.2}
_LIKELY_FAILURES = (RuntimeError, ValueError, TypeError, AttributeError, KeyError, IndexError)
"""What a model raises that is not built as expected."""


def choose_projection(loaded: Loaded, budget: MemoryBudget) -> Projection:
    """The fast way if it gives the same numbers on this model, otherwise the plain one.

    Args:
        loaded: The model.
        budget: What scores over the vocabulary may take.
    """
    plain = WholeProjection(loaded.model)
    requests = _sample(loaded)
    try:
        expected = _values(
            loaded.family.runner(loaded, plain, share_prefixes=False), requests, share_prefixes=False
        )
    except _LIKELY_FAILURES as problem:
        raise ModelError(
            f"{loaded.ref.id} fails on its first input in {loaded.ref.precision.value} on {loaded.device.type}: "
            f"{problem}. Try --precision fp32, or another --device."
        ) from problem
    for body in bodies_of(loaded.model):
        vocabulary = loaded.model.get_input_embeddings().num_embeddings  # type: ignore[operator]
        fast = SplitProjection(loaded.model, body, vocabulary, budget=budget)
        if _agrees(loaded, fast, requests, expected, share_prefixes=False):
            return fast
    return plain


def can_share_prefixes(loaded: Loaded, projection: Projection) -> bool:
    """Whether branches in one row give the same numbers as sequences of their own."""
    if not loaded.family.reads_left_to_right:
        return False
    requests = _sample(loaded)
    expected = _values(
        loaded.family.runner(loaded, projection, share_prefixes=False), requests, share_prefixes=False
    )
    return _agrees(loaded, projection, requests, expected, share_prefixes=True)


def _agrees(
    loaded: Loaded,
    projection: Projection,
    requests: Sequence[Request],
    expected: np.ndarray[tuple[int], np.dtype[np.float64]],
    *,
    share_prefixes: bool,
) -> bool:
    try:
        values = _values(
            loaded.family.runner(loaded, projection, share_prefixes=share_prefixes),
            requests,
            share_prefixes=share_prefixes,
        )
    except _LIKELY_FAILURES:
        return False
    return bool(np.allclose(values, expected, rtol=0, atol=_TOLERANCE[loaded.dtype], equal_nan=True))


def _values(
    runner: Runner, requests: Sequence[Request], *, share_prefixes: bool
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    forward = merge_requests(requests, share_prefixes=share_prefixes)
    with torch.inference_mode():
        values = [finished(runner.start([entry])) for entry in forward.inputs]
        together = finished(runner.start(forward.inputs))
    apart = np.concatenate(values)
    if not np.allclose(apart, together, rtol=0, atol=0.2, equal_nan=True):
        raise RuntimeError("a batch gives other numbers than its parts")
    reads_in_order = [(entry, read) for entry, reads in filter(None, forward.places) for read in reads]
    return np.array([values[entry][read] for entry, read in reads_in_order])


def _sample(loaded: Loaded) -> list[Request]:
    """A few requests over tokens from the middle of the vocabulary."""
    size = loaded.model.get_input_embeddings().num_embeddings  # type: ignore[operator]
    tokens = tuple(int(token) for token in np.linspace(size // 3, size - 1 - size // 8, 9))
    return loaded.family.sample_requests(tokens, loaded.tokenizer)
