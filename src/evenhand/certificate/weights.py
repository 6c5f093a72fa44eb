"""Whether two models really differ: tensor by tensor as they are loaded, whatever their files say."""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
from torch import Tensor, nn

from evenhand.models.adapters import adapter_kind
from evenhand.models.language_model import LanguageModel
from evenhand.store.weights_changes import TensorChange, WeightsChange

_MOST_NAMED = 5


def weights_change(before: LanguageModel, after: LanguageModel) -> WeightsChange:
    """How the loaded weights of one model differ from those of another.

    What is compared is what answers the questions: an adapter that lies beside a model without being loaded changes
    nothing here, and one that is loaded is merged into the weights.
    """
    first, second = (_tensors(model.loaded.model) for model in (before, after))
    # A dictionary keeps the order of the tensors.
    shared = dict.fromkeys(
        name for name in first if name in second and first[name].shape == second[name].shape
    )
    changes, squares, moved = [], 0.0, 0.0
    for name in shared:
        own, change = _lengths(first[name], second[name])
        squares += own**2
        moved += change**2
        if change:
            changes.append(TensorChange(name=name, relative=change / own if 0 < own < math.inf else math.inf))
    changes.sort(key=lambda tensor: -tensor.relative)
    return WeightsChange(
        tensors=len(first),
        changed=len(changes),
        parameters=sum(tensor.numel() for tensor in first.values()),
        relative=math.sqrt(moved / squares) if squares else math.nan,
        largest=tuple(changes[:_MOST_NAMED]),
        only_before=tuple(name for name in first if name not in shared),
        only_after=tuple(name for name in second if name not in shared),
        adapter=adapter_kind(after.loaded.ref),
    )


def _tensors(model: nn.Module) -> Mapping[str, Tensor]:
    """Every parameter once, and what else a model keeps."""
    return {**dict(model.named_parameters()), **{f"buffer {name}": own for name, own in _buffers(model)}}


def _buffers(model: nn.Module) -> list[tuple[str, Tensor]]:
    """Buffers that are saved with the model; those that are made anew at each loading say nothing."""
    saved = model.state_dict().keys()
    return [(name, tensor) for name, tensor in model.named_buffers() if name in saved]


def _lengths(first: Tensor, second: Tensor) -> tuple[float, float]:
    """Length of a tensor and of its change."""
    own, other = (tensor.detach().to("cpu", torch.float64) for tensor in (first, second))
    if torch.equal(own, other):
        return float(own.norm()), 0.0
    # A change too small to have a length, or one between values that are no numbers, is one all the same.
    change = float((other - own).norm())
    return float(own.norm()), change if change > 0 and math.isfinite(change) else math.inf
