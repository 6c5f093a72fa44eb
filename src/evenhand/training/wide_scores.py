"""Scores over the vocabulary in 32 bits, from weights and states in 16.

In bf16 a score of 20 has neighbours at 19.875 and 20.125, so two words that are nearly even look exactly even, or an
eighth of a nat apart. Where the differences between scores are what is learnt, that rounding is most of the gradient
near the end of a training. Products of 16-bit numbers are added up in 32 bits anyway; here the sums stay as wide.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

_ADDS_WIDE = hasattr(torch.ops.aten.mm, "dtype")
"""Whether this PyTorch multiplies 16-bit matrices on a GPU without rounding the sums."""


class WideLinear(nn.Linear):
    """A linear layer in 16 bits whose output has 32."""

    @classmethod
    def of(cls, layer: nn.Linear) -> WideLinear:
        """A layer with the very weights of another."""
        wide = cls(layer.in_features, layer.out_features, bias=layer.bias is not None, device="meta")
        wide.weight, wide.bias = layer.weight, layer.bias
        return wide.train(layer.training)

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002 - its name in PyTorch
        """Scores, (..., out_features)."""
        product: Tensor = _WideProduct.apply(  # type: ignore[no-untyped-call]
            input.flatten(end_dim=-2), self.weight
        )
        scores = product.reshape(*input.shape[:-1], self.out_features)
        return scores if self.bias is None else scores + self.bias.float()


class _WideProduct(torch.autograd.Function):
    """Of states, (rows, width), and weights, (scores, width)."""

    @staticmethod
    def forward(context: Any, states: Tensor, weight: Tensor) -> Tensor:
        context.save_for_backward(states, weight)
        if _ADDS_WIDE and states.is_cuda and states.dtype == weight.dtype:
            return torch.mm(states, weight.T, out_dtype=torch.float32)
        return states.float() @ weight.float().T

    @staticmethod
    def backward(context: Any, *gradients: Tensor) -> tuple[Tensor, Tensor]:
        # Gradients are rounded in proportion to their own size; a small one stays a small one.
        states, weight = context.saved_tensors
        gradient = gradients[0].to(weight.dtype)
        return gradient.to(states.dtype) @ weight.to(states.dtype), gradient.T @ states.to(weight.dtype)


def widen_scores(model: nn.Module) -> None:
    """Let a model in 16 bits give its scores over the vocabulary in 32, where its last layer is an ordinary linear one.

    Other last layers (adapters, layers of a model's own) round as they did.
    """
    last_layer = getattr(model, "get_output_embeddings", None)
    layer = last_layer() if callable(last_layer) else None
    if type(layer) is nn.Linear:
        model.set_output_embeddings(WideLinear.of(layer))  # type: ignore[operator]
