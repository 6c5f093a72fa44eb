"""What encoder-decoders have in common, whatever stands for a gap in the encoder's input."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

from torch import nn
from transformers.models.auto import modeling_auto as auto

from evenhand.models.engine.projection import Projection
from evenhand.models.engine.requests import Seq2SeqRequest, TokenRequest, Tokens
from evenhand.models.engine.runners import Seq2SeqRunner
from evenhand.models.families.family import Family

if TYPE_CHECKING:
    from evenhand.models.loading import Loaded


class EncoderDecoderFamily(Family):
    """An encoder reads a text with a gap, a decoder writes."""

    auto_class = "AutoModelForSeq2SeqLM"

    @abstractmethod
    def recognises(self, config: Any, tokenizer: Any) -> bool:
        """By the class that Transformers has for the type; families tell themselves apart by the tokenizer."""
        del tokenizer
        return bool(
            config.is_encoder_decoder
            and config.model_type in auto.MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES
        )

    def body(self, network: Any) -> nn.Module:
        """The encoder."""
        encoder: nn.Module = network.get_encoder()
        return encoder

    def runner(self, loaded: Loaded, projection: Projection, *, share_prefixes: bool) -> Seq2SeqRunner:
        """See ``Family``; decoder inputs share nothing."""
        del share_prefixes
        return Seq2SeqRunner(loaded.model, projection, loaded.device, loaded.pad_id)

    def sample_requests(self, tokens: Tokens, _tokenizer: Any) -> list[TokenRequest]:
        """See ``Family``."""
        return [
            Seq2SeqRequest(tokens[:5], tokens[5:8], (0, 2), (tokens[1], tokens[2])),
            Seq2SeqRequest(tokens[:3], tokens[4:6], (1,), (tokens[6],)),
        ]
