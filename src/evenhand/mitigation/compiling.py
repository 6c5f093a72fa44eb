"""Compiled layers: on a GPU, small batches of short sentences wait for Python, not for the device."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn
from torch.utils._triton import has_triton

WORTH_IT_FROM = 3_000
"""Steps of a training from which on the half minute that compiling takes is won back."""


def is_worth_compiling(steps: int, device: torch.device) -> bool:
    """Whether a training of so many steps is faster with compiled layers, and the machine can compile."""
    return device.type == "cuda" and steps >= WORTH_IT_FROM and has_triton()


def repeated_layers(model: nn.Module) -> list[nn.Module]:
    """The layers that a transformer is a pile of: code that is compiled once and serves for all of them."""
    piles = [module for module in model.modules() if isinstance(module, nn.ModuleList) and len(module) > 1]
    return [layer for pile in piles if len({type(layer) for layer in pile}) == 1 for layer in pile]


@contextmanager
def compiled_layers(model: nn.Module, *, backend: str = "inductor") -> Iterator[None]:
    """A model whose layers are compiled when they are first used; its weights and their names stay as they are."""
    layers = repeated_layers(model)
    for layer in layers:
        layer.compile(dynamic=True, backend=backend)
    try:
        yield
    finally:
        for layer in layers:
            layer._compiled_call_impl = None


@contextmanager
def uncompiled_layers(model: nn.Module) -> Iterator[None]:
    """The model as it was, for a while: what is asked once in an epoch is not worth compiling for."""
    kept = [(layer, layer._compiled_call_impl) for layer in repeated_layers(model)]
    for layer, _ in kept:
        layer._compiled_call_impl = None
    try:
        yield
    finally:
        for layer, compiled in kept:
            layer._compiled_call_impl = compiled
