"""What a batch may take: a budget in bytes, given or a share of what the device has free.

It bounds all that stands beside the weights while a batch is computed: tokens, mask, hidden values and scores over the
vocabulary. Where it is too small all the same, or somebody else took the memory, work is halved.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import nn

from evenhand.core.memory import free_memory
from evenhand.models.engine.allocator import give_back_freed_memory

SHARE = 0.25
"""Of the free memory: the rest is for what libraries keep, and for other processes."""

MOST = {"cpu": 2 * 2**30, "cuda": 16 * 2**30}
"""By device, where nothing else was asked for: larger batches are not faster."""

LEAST = 2**26
"""A device without free memory is tried all the same."""

LAYER_VALUES = 6
"""Values of a token that stand at once, in units of the widest layer: its input, its output and what is between."""

SCORE_COPIES = 4
"""Blocks as large as the scores over the vocabulary that stand at once while they are normalised, at most."""

MASK_BYTES = 12
"""The mask, what it is made from, and the copy that some kernels make of it, for each two tokens of a row."""

EAGER_COPIES = 8
"""Scores of attention, of positions and their softmax, where no kernel keeps them out of memory."""


@dataclass(frozen=True, slots=True)
class MemoryBudget:
    """Most bytes that one batch takes beside the weights."""

    bytes: int

    @classmethod
    def on(cls, device: torch.device, memory: int | None = None) -> MemoryBudget:
        """The budget on a device.

        A share of what is free is rounded down to a power of two. So batches, and with them the last bits of scores,
        seldom depend on what else the computer is doing.

        Args:
            device: Where the work is done.
            memory: Bytes that somebody asked for; a share of what is free if not given.
        """
        if memory is not None:
            return cls(memory)
        share = min(MOST.get(device.type, MOST["cpu"]), max(LEAST, int(SHARE * free_on(device))))
        return cls(1 << (share.bit_length() - 1))


@dataclass(frozen=True, slots=True)
class Footprint:
    """Bytes that a batch takes on a model beside the weights, from the model's shape."""

    per_token: int
    """Hidden values, and scores over the vocabulary where all positions have them."""
    per_pair: int
    """For each two tokens of a row: the mask, and scores of attention where they stand in memory."""

    @classmethod
    def of_model(cls, model: nn.Module, *, projects_all: bool) -> Footprint:
        """The footprint of a model, rather too large than too small.

        Args:
            model: The model.
            projects_all: Whether every position is projected to the vocabulary, not only those that are read.
        """
        vocabulary = model.get_input_embeddings().num_embeddings  # type: ignore[operator]
        size = max((weight.element_size() for weight in model.parameters()), default=4)
        scores = SCORE_COPIES * 4 * vocabulary if projects_all else 0
        heads = EAGER_COPIES * 4 * _heads(model) if _keeps_attention(model) else 0
        return cls(
            per_token=LAYER_VALUES * size * _widest(model, vocabulary) + scores,
            per_pair=MASK_BYTES + heads,
        )

    def of_batch(self, tokens: int, *, width: int) -> int:
        """What a batch takes that has so many tokens in rows of this width."""
        return tokens * (self.per_token + width * self.per_pair)

    def longest_row(self, budget: MemoryBudget) -> int:
        """The longest row that fits into a budget on its own; at least one token."""
        half = self.per_token / (2 * self.per_pair)
        return max(1, int(math.sqrt(half * half + budget.bytes / self.per_pair) - half))


def _widest(model: nn.Module, vocabulary: int) -> int:
    """The widest layer of a model, embeddings and the head over the vocabulary left out."""
    widths = [
        max(weight.shape[-2:])
        for module in model.modules()
        if not isinstance(module, nn.Embedding)
        for weight in module.parameters(recurse=False)
        if weight.dim() >= 2 and vocabulary not in weight.shape
    ]
    return max(widths, default=1024)


def _keeps_attention(model: nn.Module) -> bool:
    """Whether the scores of attention stand in memory; relative positions make a bias of every head."""
    config = model.config
    return getattr(config, "_attn_implementation", "eager") in (None, "eager") or hasattr(
        config, "relative_attention_num_buckets"
    )


def _heads(model: nn.Module) -> int:
    return _shape(model, "num_attention_heads", default=16)


def cache_bytes(model: nn.Module) -> int:
    """What the keys and values of one token take in all layers, rather too much than too little."""
    size = max((weight.element_size() for weight in model.parameters()), default=4)
    heads = _heads(model)
    width = _shape(model, "head_dim", default=_shape(model, "hidden_size", default=1024) // heads)
    kept = _shape(model, "num_key_value_heads", default=heads)
    return 2 * size * kept * width * _shape(model, "num_hidden_layers", default=32)


def _shape(model: nn.Module, name: str, *, default: int) -> int:
    """A number of the configuration, or that of a usual model."""
    value = getattr(model.config.get_text_config(), name, None)  # type: ignore[operator,union-attr]
    return value if isinstance(value, int) and value > 0 else default


@dataclass(frozen=True, slots=True)
class BatchMemory:
    """What fits into one batch of a model."""

    budget: MemoryBudget
    footprint: Footprint

    def holds(self, tokens: int, *, width: int) -> bool:
        """Whether so many tokens in rows of this width fit."""
        return self.footprint.of_batch(tokens, width=width) <= self.budget.bytes

    @property
    def longest_row(self) -> int:
        """The longest row that fits on its own."""
        return self.footprint.longest_row(self.budget)


def free_on(device: torch.device) -> int:
    """Bytes that a device has free."""
    if device.type != "cuda":
        return free_memory()
    free, _ = torch.cuda.mem_get_info(device)
    return int(free) + torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)


def is_out_of_memory(problem: BaseException) -> bool:
    """Whether there was no memory left; PyTorch has a class of its own for that on a GPU only."""
    if isinstance(problem, torch.OutOfMemoryError | MemoryError):
        return True
    if not isinstance(problem, RuntimeError):
        return False
    return "not enough memory" in str(problem) or "can't allocate memory" in str(problem)


def give_back_memory() -> None:
    """Give memory back that is kept for later, before work that did not fit is tried in halves."""
    give_back_freed_memory()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
