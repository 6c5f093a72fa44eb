"""How long an input may be."""

from __future__ import annotations

from typing import Any

from torch import nn

from evenhand.models.loading import Loaded

_UNLIMITED = 10**6


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
    return int(limit) if limit and limit < _UNLIMITED else None
