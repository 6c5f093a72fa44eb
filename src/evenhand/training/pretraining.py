"""Continued pre-training: a model goes on learning in the way that it was first taught."""

from __future__ import annotations

from collections.abc import Sequence

from evenhand.models.language_model import LanguageModel
from evenhand.models.objectives.objective import PretrainingObjective, PretrainingOptions


def pretraining_objective(
    sentences: Sequence[str],
    model: LanguageModel,
    *,
    whole_words: bool = False,
    max_tokens: int | None = None,
) -> PretrainingObjective:
    """The objective that a model was first taught with, over other sentences.

    Args:
        sentences: What it learns from.
        model: The model.
        whole_words: For masked models: hide all tokens of a word or none.
        max_tokens: Longer sentences are cut.

    Raises:
        ModelError: If there is no objective that sentences serve for.
    """
    return model.pretraining_objective(sentences, PretrainingOptions(whole_words, max_tokens))
