"""How long an input to a model may be, and how much of it stands in a batch."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import torch
from torch import nn

from evenhand.models.engine.requests import TokenRequest, length_of
from evenhand.models.loading import Loaded

_UNLIMITED = 10**6

MOST_TOKENS = 16_384
"""Tokens of an input to a model that names no limit. What attention needs grows with their square."""


def longest_input(loaded: Loaded) -> int | None:
    """The most tokens that the model takes; None where nothing limits it."""
    limits = [
        value
        for value in (
            _positions(loaded.config),
            _embedded_positions(loaded.model),
            _tokenizer_limit(loaded.tokenizer),
        )
        if value is not None
    ]
    return min(limits, default=None)


def attention_window(config: Any) -> int | None:
    """How far back the nearest-sighted layer looks; None where all layers see everything.

    A row that holds several sequences must be no longer: its mask takes the place of the model's own.
    """
    names = ("sliding_window", "window_size", "attention_chunk_size")
    windows = [getattr(config, name, None) for name in names]
    return min((window for window in windows if isinstance(window, int) and window > 0), default=None)


def fits_window(config: Any, requests: Iterable[TokenRequest]) -> bool:
    """Whether no sequence is longer than the model's attention window, which joined rows have no notion of."""
    window = attention_window(config)
    return window is None or all(length_of(request) <= window for request in requests)


CPU_TOKENS = 1024
GPU_TOKENS = 16_384


def batch_tokens(device: torch.device) -> int:
    """Tokens in a batch, unless somebody knows better."""
    return GPU_TOKENS if device.type == "cuda" else CPU_TOKENS


SHORT_TREE = 512
"""Tokens of a tree that is never too long: what its parts would repeat costs more than they save."""

CHEAP_ATTENTION = 10**10
"""Operations that take a moment on any device."""


def longest_tree(config: Any) -> int:
    """Most tokens in a tree: each is compared with each other, so a long one is slower than its parts."""
    shape = config.get_text_config()
    per_pair = 4 * shape.hidden_size * shape.num_hidden_layers
    return max(SHORT_TREE, math.isqrt(CHEAP_ATTENTION // max(1, per_pair)))


def _positions(config: Any) -> int | None:
    """What the configuration says; relative positions have no limit and say nothing."""
    for name in ("max_position_embeddings", "n_positions", "max_seq_len"):
        value = getattr(config, name, None)
        if isinstance(value, int) and value > 0 and not hasattr(config, "relative_attention_num_buckets"):
            return value
    return None


def _embedded_positions(model: nn.Module) -> int | None:
    """Learned positions that start behind the padding's, as RoBERTa's do, leave fewer than they seem."""
    for name, module in model.named_modules():
        if name.endswith("embeddings.position_embeddings") and isinstance(module, nn.Embedding):
            used = 0 if module.padding_idx is None else module.padding_idx + 1
            return module.num_embeddings - used
    return None


def _tokenizer_limit(tokenizer: Any) -> int | None:
    limit = tokenizer.model_max_length
    return int(limit) if isinstance(limit, int | float) and 0 < limit < _UNLIMITED else None
