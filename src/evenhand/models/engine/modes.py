"""No garbage collection, no training, or other scores for some tokens, for a while."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import nn


@contextmanager
def gc_disabled() -> Iterator[None]:
    """Pause the garbage collector.

    Libraries and plans are hundreds of thousands of small objects that all stay; looking for garbage among them again
    and again takes longer than making them.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@contextmanager
def eval_mode(module: nn.Module) -> Iterator[None]:
    """Put a module into evaluation for a while; each of its parts is left as it was found."""
    in_training = [part for part in module.modules() if part.training]
    module.eval()
    try:
        yield
    finally:
        for part in in_training:
            part.training = True


@contextmanager
def shifted_scores(model: nn.Module, shifts: Mapping[int, float]) -> Iterator[None]:
    """Add a constant to the score of some tokens wherever the model predicts: a change of its output biases.

    Every score is given by the model's own ``forward``, so this holds for all that is read off it.

    Args:
        model: A model that gives scores over its vocabulary.
        shifts: What is added, by token.
    """
    tokens = list(shifts)

    def shift(_module: nn.Module, _arguments: Any, output: Any) -> Any:
        scores = output[0].clone()
        scores[..., tokens] += scores.new_tensor([shifts[token] for token in tokens])
        if isinstance(output, tuple):
            return (scores, *output[1:])
        return type(output)(**{**output, next(iter(output)): scores})

    handle = model.register_forward_hook(shift)
    try:
        yield
    finally:
        handle.remove()
