"""Families: how models predict tokens, one file for each. Another package adds one under ``evenhand.families``."""

from __future__ import annotations

from typing import Any

from evenhand.core.registry import Registry, lacks
from evenhand.models.families.family import Family
from evenhand.models.references import ModelError

FAMILIES: Registry[Family] = Registry(
    "model family",
    "evenhand.families",
    order=("sentinel", "denoiser", "masked", "decoder"),
    check=lambda entry: lacks(entry, "name", "auto_class", "capabilities", "recognises", "token_requests"),
)


def recognise(config: Any, tokenizer: Any, source: str) -> Family:
    """The family of a model, from its configuration and its classes, never from its name.

    Families of other packages are asked first: they know their own models best.
    """
    names = sorted(FAMILIES.names(), key=lambda name: FAMILIES.package_of(name) == "evenhand")
    for family in map(FAMILIES.get, names):
        if family.recognises(config, tokenizer):
            return family
    if config.is_encoder_decoder:
        raise ModelError(
            f"{source} is an encoder-decoder of type {config.model_type!r}. Either there is no class for it that "
            "predicts tokens, or its tokenizer has neither a sentinel (<extra_id_0>) nor a mask token, so a blank "
            "cannot be shown to it."
        )
    raise ModelError(
        f"{source} is of type {config.model_type!r}, for which there is no class that predicts tokens. Masked "
        "models, decoders and encoder-decoders can be measured."
    )


__all__ = ["FAMILIES", "Family", "recognise"]
