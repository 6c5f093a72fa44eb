"""A batch a few pieces at a time: as many as fit into memory, with the gradients of the whole batch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

import torch
from torch import Tensor, nn
from torch.autograd.graph import saved_tensors_hooks

from evenhand.models.engine.memory import MemoryBudget, give_back_memory, is_out_of_memory
from evenhand.models.objectives.objective import Piece

MOST_TOKENS = {"cpu": 4_096, "cuda": 8_192}
"""Tokens that are run together, padding included, by device; more are hardly any faster."""

SAMPLE_TOKENS = 256
"""Tokens that show how many bytes one of them takes."""

PieceLoss = Callable[[nn.Module], Tensor]
"""The loss of some pieces, of a model."""


class Gradients(Protocol):
    """Gradients of a batch that add up over its pieces."""

    def start(self) -> None:
        """Another batch; the gradients of the one before are gone."""
        ...

    def network(self, model: nn.Module) -> nn.Module:
        """What computes in the place of the model in training."""
        ...

    def add(self, model: nn.Module, loss: PieceLoss) -> Tensor:
        """Add the gradients of a loss, and say how much it is. Where that fails, the gradients are as they were."""
        ...

    def clip(self, most: float) -> Tensor:
        """Shorten the gradients, taken as one vector, to a length; how long they were."""
        ...


class FullPrecision:
    """Gradients in the number format of the weights."""

    def __init__(self, model: nn.Module) -> None:
        self._weights = [weight for weight in model.parameters() if weight.requires_grad]

    def start(self) -> None:
        """See ``Gradients``."""
        for weight in self._weights:
            weight.grad = None

    def network(self, model: nn.Module) -> nn.Module:
        """The model itself."""
        return model

    def add(self, model: nn.Module, loss: PieceLoss) -> Tensor:
        """See ``Gradients``."""
        before = [weight.grad for weight in self._weights]
        self.start()
        try:
            lost = loss(model)
            torch.autograd.backward(lost)
        except (RuntimeError, MemoryError):
            # What went back before it failed is in some of the weights already.
            for weight, gradient in zip(self._weights, before, strict=True):
                weight.grad = gradient
            raise
        for weight, gradient in zip(self._weights, before, strict=True):
            if gradient is not None:
                weight.grad = gradient if weight.grad is None else gradient.add_(weight.grad)
        return lost.detach()

    def clip(self, most: float) -> Tensor:
        """See ``Gradients``."""
        return nn.utils.clip_grad_norm_(self._weights, most)


class MicroBatches:
    """Runs the pieces of a batch in groups, halves a group that does not fit, and skips a piece that never will."""

    def __init__(self, max_tokens: int, *, pads: bool = True) -> None:
        self.pads = pads
        """Whether rows are filled up to the longest of their group; otherwise they are joined."""
        self.max_tokens = max_tokens
        """In a group, padding included; it falls when memory does not suffice."""
        self.skipped: Counter[str] = Counter()
        """How many pieces were left out, by reason."""

    def run(self, pieces: Sequence[Piece], step: Callable[[Sequence[Piece]], Tensor]) -> Tensor | float:
        """Take a step with every group of pieces; the sum of what the steps give.

        Args:
            pieces: Of one batch.
            step: Adds the gradients of a group; where it fails for want of memory, it has added none.
        """
        total: Tensor | float = 0.0
        waiting = grouped(pieces, self.max_tokens, pads=self.pads)
        while waiting:
            group = waiting.pop(0)
            try:
                total = total + step(group)
                continue
            except (RuntimeError, MemoryError) as problem:
                if not is_out_of_memory(problem):
                    raise
            # Not while the error is being handled: it holds on to what was computed.
            give_back_memory()
            if len(group) > 1:
                self.max_tokens = max(1, tokens_in(group, pads=self.pads) // 2)
                remaining = [*group, *(piece for other in waiting for piece in other)]
                waiting = grouped(remaining, self.max_tokens, pads=self.pads)
            else:
                tokens = tokens_in(group, pads=self.pads)
                self.skipped[f"there is no memory for {tokens:,} tokens at once"] += 1
        return total


def grouped(pieces: Iterable[Piece], max_tokens: int, *, pads: bool = True) -> list[list[Piece]]:
    """Pieces of about one length together, in groups of at most so many tokens or of a single piece."""
    groups: list[list[Piece]] = []
    total = 0
    for piece in sorted(pieces, key=lambda piece: -piece.length):
        own = piece.rows if pads else piece.tokens
        total += own
        if not groups or total * (groups[-1][0].length if pads else 1) > max_tokens:
            groups.append([])
            total = own
        groups[-1].append(piece)
    return groups


def tokens_in(group: Sequence[Piece], *, pads: bool = True) -> int:
    """Tokens of a group, padding included."""
    if not pads:
        return sum(piece.tokens for piece in group)
    return sum(piece.rows for piece in group) * max(piece.length for piece in group)


def tokens_that_fit(
    pieces: Sequence[Piece],
    forward: Callable[[Sequence[Piece]], Tensor],
    memory: MemoryBudget,
    *,
    most: int,
    pads: bool = True,
) -> int:
    """How many tokens can be run together, from what a few of them keep for their gradients.

    It is a power of two. So groups, and with them the last bits of weights, seldom depend on what memory is free.

    Args:
        pieces: Some of those that will be run, the same ones whenever a training is resumed.
        forward: The loss of pieces; no gradients are computed.
        memory: What they may keep.
        most: More than so many are never run together.
        pads: Whether rows are filled up to the longest; otherwise they are joined.
    """
    sample = grouped(pieces, SAMPLE_TOKENS, pads=pads)[0]
    tokens = tokens_in(sample, pads=pads)
    sizes: dict[int, int] = {}

    def note(tensor: Tensor) -> Tensor:
        if not isinstance(tensor, nn.Parameter):
            storage = tensor.untyped_storage()
            sizes[storage.data_ptr()] = storage.nbytes()
        return tensor

    devices = [torch.cuda.current_device()] if torch.cuda.is_available() else []
    try:
        with torch.random.fork_rng(devices), saved_tensors_hooks(note, lambda tensor: tensor):
            forward(sample)
    except (RuntimeError, MemoryError) as problem:
        if not is_out_of_memory(problem):
            raise
        return max(1, tokens // 2)
    fitting = memory.bytes * tokens // max(1, sum(sizes.values()))
    return min(most, 1 << max(0, fitting.bit_length() - 1))
