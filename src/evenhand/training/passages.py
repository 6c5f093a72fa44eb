"""Held-out passages: whether a decoder still makes use of what it read some sentences ago.

A model may lose that and know single sentences as well as ever, or better.
"""

from __future__ import annotations

from collections.abc import Sequence

from evenhand.models.language_model import LanguageModel
from evenhand.models.objectives.held_out import HeldOutRows, decoder_rows
from evenhand.models.requests import Train
from evenhand.training.perplexity import HeldOut

PASSAGE_TOKENS = 1_024
"""What is longer is cut."""

LONG_ENOUGH = 512
"""Tokens that a model must be able to read for passages to tell more than sentences."""


def reads_passages(model: LanguageModel) -> bool:
    """Whether a model reads from left to right, and far enough."""
    return model.has_capability(Train) and model.reads_left_to_right and model.longest_input >= LONG_ENOUGH


def held_out_passages(passages: Sequence[str], model: LanguageModel) -> HeldOut:
    """Passages as questions to a model: every token, given all that it read of the passage before."""
    return HeldOut(passages, model, rows=passage_rows(passages, model))


def passage_rows(passages: Sequence[str], model: LanguageModel) -> HeldOutRows:
    """What is asked of each passage."""
    loaded = model.loaded
    return decoder_rows(
        passages, loaded.tokenizer, loaded.config, longest=PASSAGE_TOKENS, prefix=loaded.ref.prefix
    )
