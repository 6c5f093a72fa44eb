"""The model as it was before training, which is asked what it expects all through the training."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import replace
from typing import Protocol

import torch
from torch import Tensor, nn

from evenhand.models.engine.modes import eval_mode
from evenhand.models.engine.positions import PositionReader, PositionStates, StateReader
from evenhand.training.adapters import adapters_disabled
from evenhand.training.half_precision import in_bf16


class Original(Protocol):
    """Answers as the model did before training."""

    def states(
        self,
        reader: PositionReader,
        model: nn.Module,
        inputs: Mapping[str, Tensor],
        *,
        rows: Tensor,
        columns: Tensor,
    ) -> PositionStates:
        """The original's states at places, beside the ``model`` in training."""
        ...


class FrozenOriginal:
    """A copy of the weights. It computes in the number format of the model in training.

    So the two differ in what was trained and not in how numbers are rounded.
    """

    def __init__(self, network: nn.Module) -> None:
        self._network = copy.deepcopy(network).eval().requires_grad_(False)
        self._states: StateReader | None = None

    def states(
        self,
        reader: PositionReader,
        model: nn.Module,
        inputs: Mapping[str, Tensor],
        *,
        rows: Tensor,
        columns: Tensor,
    ) -> PositionStates:
        """See ``Original``."""
        own, trained = next(self._network.parameters()), next(model.parameters())
        if own.device != trained.device:
            self._network.to(trained.device)
            self._states = None
        if own.dtype != trained.dtype and trained.dtype is torch.bfloat16:
            self._network = in_bf16(self._network)
            self._states = None
        if self._states is None:
            self._states = reader.frozen(self._network)
        return self._states(inputs, rows, columns)


class OriginalBesideAdapters:
    """The weights of a model whose adapters alone are trained: the same ones, with the adapters switched off."""

    def states(
        self,
        reader: PositionReader,
        model: nn.Module,
        inputs: Mapping[str, Tensor],
        *,
        rows: Tensor,
        columns: Tensor,
    ) -> PositionStates:
        """See ``Original``."""
        with eval_mode(model), adapters_disabled(model), torch.no_grad():
            states = reader.states(model, inputs, rows=rows, columns=columns)

        def head(vectors: Tensor) -> Tensor:
            with eval_mode(model), adapters_disabled(model):
                return states.head(vectors)

        return replace(states, head=head)
