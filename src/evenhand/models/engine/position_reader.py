"""Logits at the places that are needed, with gradients, and without the rest of the vocabulary's work."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from evenhand.models.engine.projection import SplitProjection
from evenhand.models.engine.runners import Projection


class PositionReader:
    """Reads a model, its copies and its wrapped self at chosen places."""

    def __init__(self, projection: Projection) -> None:
        self._vocabulary = 0
        self._body: str | None = None
        if isinstance(projection, SplitProjection):
            names = {module: name for name, module in projection.model.named_modules()}
            self._body = names[projection.body]
            self._vocabulary = projection.vocabulary

    def logits(self, model: nn.Module, inputs: Mapping[str, Any], rows: Tensor, columns: Tensor) -> Tensor:
        """Logits in 32 bits, one row for each place."""
        # torchrun wraps the model of a single process too; the wrapper gathers gradients in its own forward, so it is
        # called whole.
        if self._body is None or isinstance(model, DistributedDataParallel):
            whole: Tensor = model(**inputs)[0]
            return whole[rows, columns].float()
        inner = _without_adapters_wrapper(model)
        split = SplitProjection(inner, inner.get_submodule(self._body), self._vocabulary)
        return split.logits(inputs, rows, columns).float()


def _without_adapters_wrapper(model: nn.Module) -> nn.Module:
    """The model inside peft's wrapper, which has the adapters' layers in place."""
    inner = getattr(model, "get_base_model", None)
    return inner() if callable(inner) else model
