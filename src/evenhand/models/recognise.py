"""Which family a model belongs to: read from its configuration and its classes, never from its name."""

from __future__ import annotations

from typing import Any

from transformers.models.auto import modeling_auto as auto

from evenhand.models.references import Family, ModelError

_MASKED = auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES
_CAUSAL = auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES
_SEQ2SEQ = auto.MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES
_NEXT_SENTENCE = auto.MODEL_FOR_NEXT_SENTENCE_PREDICTION_MAPPING_NAMES


def recognise(config: Any, tokenizer: Any, source: str) -> Family:
    """The family of a model."""
    if config.is_encoder_decoder:
        if config.model_type not in _SEQ2SEQ:
            raise _unsupported(config, source)
        if sentinel_id(tokenizer) is not None:
            return Family.SENTINEL
        if tokenizer.mask_token_id is not None:
            return Family.DENOISER
        raise ModelError(
            f"{source} is an encoder-decoder whose tokenizer has neither a sentinel (<extra_id_0>) nor a mask "
            "token, so a blank cannot be shown to it."
        )
    declared = set(getattr(config, "architectures", None) or ())
    causal_only = bool(getattr(config, "is_decoder", False) or getattr(config, "causal", False))
    if config.model_type in _MASKED and not causal_only and not declared & _causal_classes():
        return Family.MASKED
    if config.model_type in _CAUSAL:
        return Family.DECODER
    raise _unsupported(config, source)


def has_next_sentence_class(config: Any) -> bool:
    """Whether Transformers has a next-sentence class for this type of model."""
    return config.model_type in _NEXT_SENTENCE


def sentinel_id(tokenizer: Any) -> int | None:
    """The id of the first sentinel of T5's kind, if the tokenizer has one."""
    found = tokenizer.convert_tokens_to_ids("<extra_id_0>")
    return found if found is not None and found != tokenizer.unk_token_id and found >= 0 else None


def _causal_classes() -> set[str]:
    """Classes that predict the next token and nothing else."""
    return set(_CAUSAL.values()) - set(_MASKED.values())


def _unsupported(config: Any, source: str) -> ModelError:
    return ModelError(
        f"{source} is of type {config.model_type!r}, for which there is no class that predicts tokens. Masked "
        "models, decoders and encoder-decoders can be measured."
    )
