"""Compute in bf16 or fp16 and keep the weights in 32 bits, in which small steps of training are not lost.

A double of the model does the computing. All weights are copied to it at once before a step, and all its gradients to
the model's own weights after it, where they lie one after the other and are clipped as one. Casting each weight and
each activation where it is used, as autocast does, would be hundreds of tiny pieces of work in a step; for small
batches of short sentences they are a third of it. The model itself is left as it is, so that it can be read in 32 bits
at any time.
"""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from evenhand.models.references import ModelError
from evenhand.training.micro_batches import PieceLoss
from evenhand.training.wide_scores import widen_scores

_ALIGNED = 64
"""Gradients start at multiples of so many numbers, as fast kernels like it."""


_GOOD_STEPS = 2_000
"""Steps after which losses are scaled up more."""


class HalfPrecision:
    """A model in training, and its double."""

    def __init__(self, model: nn.Module, dtype: torch.dtype = torch.bfloat16) -> None:
        self._double = in_half(model, dtype).train()
        self._format = "bf16" if dtype is torch.bfloat16 else "fp16"
        pairs = zip(model.parameters(), self._double.parameters(), strict=True)
        trained = [(weight, copied) for weight, copied in pairs if weight.requires_grad]
        rooms = [math.ceil(weight.numel() / _ALIGNED) * _ALIGNED for weight, _ in trained]
        self._gradients = torch.zeros(sum(rooms), device=next(model.parameters()).device)
        self._pairs = [
            _Pair(weight, copied, room[: weight.numel()].view_as(weight))
            for (weight, copied), room in zip(trained, torch.split(self._gradients, rooms), strict=True)
        ]

    def start(self) -> None:
        """See ``Gradients``; the double gets the weights of now."""
        with torch.no_grad():
            torch._foreach_copy_([pair.copied for pair in self._pairs], [pair.weight for pair in self._pairs])
        self._gradients.zero_()
        for pair in self._pairs:
            pair.weight.grad = None

    def network(self, _model: nn.Module) -> nn.Module:
        """The double."""
        return self._double

    def add(self, _model: nn.Module, loss: PieceLoss) -> Tensor:
        """See ``Gradients``; the double computes, and its gradients go to the model's own weights.

        Raises:
            ModelError: If the model's own code mixes number formats.
        """
        try:
            lost = loss(self._double)
            torch.autograd.backward(lost)
        except (RuntimeError, MemoryError) as problem:
            self._double.zero_grad()  # what went back before it failed
            if not any(name in str(problem) for name in ("BFloat16", "Half")):
                raise
            raise ModelError(
                f"{type(self._double).__name__} does not compute in {self._format}: {problem}. Use --precision fp32."
            ) from problem
        self._hand_back()
        return lost.detach()

    def clip(self, most: float) -> Tensor:
        """Shorten the gradients, taken as one vector, to a length; how long they were."""
        length: Tensor = torch.linalg.vector_norm(self._gradients)
        self._gradients.mul_((most / (length + 1e-6)).clamp(max=1))
        return length

    def _hand_back(self) -> None:
        """Add gradients of copies to those of the weights; a weight that had no part in any loss has none."""
        received = [(pair, pair.copied.grad) for pair in self._pairs if pair.copied.grad is not None]
        torch._foreach_add_([pair.gradient for pair, _ in received], [gradient for _, gradient in received])
        for pair, _ in received:
            pair.weight.grad = pair.gradient
            pair.copied.grad = None


class ScaledHalfPrecision(HalfPrecision):
    """In fp16, whose small numbers vanish: losses are scaled up and gradients down again.

    Where gradients are no numbers, the scale was too large: it is halved and the step left out. After many good steps
    it is doubled.
    """

    def __init__(self, model: nn.Module, scale: float = 2.0**16) -> None:
        super().__init__(model, torch.float16)
        self.scale = scale
        self._good = 0

    def forget_good_steps(self) -> None:
        """Count the steps after which losses are scaled up more from now on."""
        self._good = 0

    def add(self, model: nn.Module, loss: PieceLoss) -> Tensor:
        """See ``Gradients``; the loss that it says is not scaled."""
        return super().add(model, lambda network: loss(network) * self.scale) / self.scale

    def clip(self, most: float) -> Tensor:
        """See ``Gradients``; weights without gradients are left as they are by the optimizer."""
        self._gradients.div_(self.scale)
        length = super().clip(most)
        if torch.isfinite(length):
            self._good += 1
            if self._good == _GOOD_STEPS:
                self._good, self.scale = 0, 2 * self.scale
        else:
            self._good, self.scale = 0, self.scale / 2
            for pair in self._pairs:
                pair.weight.grad = None
        return length


def in_bf16(model: nn.Module) -> nn.Module:
    """A copy in bf16."""
    return in_half(model, torch.bfloat16)


def in_half(model: nn.Module, dtype: torch.dtype) -> nn.Module:
    """A copy as Transformers would load it in 16 bits: what is not saved, such as rotary frequencies, stays as it is.

    Its scores over the vocabulary are not rounded to 16 bits (see ``wide_scores``). Weights that have this format
    already and that no training changes are not copied but shared.
    """
    shared = [weight for weight in model.parameters() if weight.dtype is dtype and not weight.requires_grad]
    double = copy.deepcopy(model, {id(weight): weight for weight in shared})
    for saved in double.state_dict(keep_vars=True).values():
        if saved.is_floating_point():
            saved.data = saved.data.to(dtype)
    widen_scores(double)
    return double


@dataclass(frozen=True, slots=True)
class _Pair:
    """A weight, its copy in the double, and the place where the copy's gradient comes to in 32 bits."""

    weight: nn.Parameter
    copied: nn.Parameter
    gradient: Tensor
