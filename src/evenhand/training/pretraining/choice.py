"""The objective that a model was first taught with."""

from __future__ import annotations

from collections.abc import Sequence

from evenhand.models.language_model import LanguageModel
from evenhand.models.references import Family, ModelError
from evenhand.training.objective import Objective
from evenhand.training.pretraining.decoder import DecoderPretraining
from evenhand.training.pretraining.masked import MaskedPretraining
from evenhand.training.pretraining.spans import SpanPretraining


def pretraining_objective(
    sentences: Sequence[str],
    model: LanguageModel,
    *,
    whole_words: bool = False,
    max_tokens: int | None = None,
) -> Objective:
    """How a model goes on learning from sentences.

    Args:
        sentences: What it learns from.
        model: The model.
        whole_words: For masked models: hide all tokens of a word or none.
        max_tokens: Longer sentences are cut.

    Raises:
        ModelError: If the model's family has no objective that sentences serve for.
    """
    refuse_untrainable(model)
    if whole_words and model.family is not Family.MASKED:
        raise ModelError(f"{model.loaded.ref.id} is no masked model, so it has no whole words to hide.")
    match model.family:
        case Family.MASKED:
            return MaskedPretraining(sentences, model, whole_words=whole_words, max_tokens=max_tokens)
        case Family.DECODER:
            return DecoderPretraining(sentences, model, max_tokens=max_tokens)
        case _:
            return SpanPretraining(sentences, model, max_tokens=max_tokens)


def refuse_untrainable(model: LanguageModel) -> None:
    """Refuse a model that no objective is known for."""
    if model.family is Family.DENOISER:
        raise ModelError(
            f"{model.loaded.ref.id} writes whole sentences anew ({model.family.value}); neither its training nor its "
            "bias can be read at a single gap, so it cannot be mitigated. Masked models, decoders and T5's kin can."
        )
