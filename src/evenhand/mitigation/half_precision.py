"""Compute in bf16 and keep the weights in 32 bits, without turning every weight into bf16 again by itself.

What comes out is what autocast makes of the model: matrix products in bf16, all the rest in 32 bits. But autocast
casts each weight where it is used and each gradient where it arises. For small batches of short sentences those
hundreds of tiny pieces of work are a quarter of a step. Here all weights are copied at once before a step, and all
gradients after it. The model itself is left as it is, so that it can be read in 32 bits at any time.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable

import torch
from torch import Tensor, nn
from transformers.pytorch_utils import Conv1D

_MATRIX_LAYERS = (nn.Linear, Conv1D)
"""Layers whose weights autocast would cast; of others, such as embeddings and norms, it leaves them as they are."""


class HalfPrecision:
    """A model in training, and its double that computes in bf16 on copies of the model's weights."""

    def __init__(self, model: nn.Module) -> None:
        shared = [*model.parameters(), *model.buffers()]
        device = shared[0].device.type
        double = copy.deepcopy(model, {id(tensor): tensor for tensor in shared}).train()
        self._matrices = [_Matrix(*found) for found in _matrices(double)]
        # Only the model itself computes in bf16, the loss does not.
        double.forward = torch.autocast(device, torch.bfloat16)(double.forward)
        self._double = double

    def backward(self, loss: Callable[[nn.Module], Tensor]) -> Tensor:
        """The loss of the model as it is now; the gradients are with the model's own weights."""
        with torch.no_grad():
            torch._foreach_copy_(
                [known.copied for known in self._matrices], [known.weight for known in self._matrices]
            )
        found = loss(self._double)
        torch.autograd.backward(found)
        self._hand_back()
        return found.detach()

    def _hand_back(self) -> None:
        """Gradients of copies become those of the weights; a weight that had no part in the loss has none."""
        found = [(known, known.copied.grad) for known in self._matrices if known.copied.grad is not None]
        torch._foreach_copy_([known.gradient for known, _ in found], [gradient for _, gradient in found])
        for known, _ in found:
            known.weight.grad = known.gradient
            known.copied.grad = None


class _Matrix:
    """A weight, its copy in bf16 inside the double, and the place where its gradient comes to in 32 bits."""

    def __init__(self, layer: nn.Module, name: str, weight: nn.Parameter) -> None:
        self.weight = weight
        self.copied = nn.Parameter(weight.detach().bfloat16(), requires_grad=weight.requires_grad)
        self.gradient = torch.empty_like(weight) if weight.requires_grad else weight
        setattr(layer, name, self.copied)


def _matrices(model: nn.Module) -> list[tuple[nn.Module, str, nn.Parameter]]:
    """Weights of matrix layers, but not a word embedding that is also the last layer's matrix."""
    owned = [
        (module, name, weight)
        for module in model.modules()
        for name, weight in module.named_parameters(recurse=False)
    ]
    owners = Counter(id(weight) for _, _, weight in owned)
    return [found for found in owned if isinstance(found[0], _MATRIX_LAYERS) and owners[id(found[2])] == 1]
