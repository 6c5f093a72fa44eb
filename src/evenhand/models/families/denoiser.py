"""BART-style encoder-decoders (BART, mBART, ...): the decoder writes the whole sentence anew."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import torch

from evenhand.core.items import Span
from evenhand.models.alignment import recovered_places, with_token
from evenhand.models.engine.requests import Seq2SeqRequest, Tokens
from evenhand.models.families.encoder_decoder import EncoderDecoderFamily
from evenhand.models.families.family import Ways, unanswered
from evenhand.models.references import UnscorableError
from evenhand.models.requests import Continue, Fill, Part, Recover, ScoringRequest, Write, filled_text
from evenhand.models.tokenised_text import tokenise

if TYPE_CHECKING:
    from evenhand.models.language_model import LanguageModel
    from evenhand.models.loading import Loaded

_DENOISING = (
    "denoising",
    "a mask for the candidate in the encoder, its tokens read in the decoder that writes the text",
)


def shifted(loaded: Loaded, ids: Tokens) -> Tokens:
    """A decoder's input for a text, as the model makes it in training."""
    labels = torch.tensor([ids], device=loaded.device)
    inputs = loaded.model.prepare_decoder_input_ids_from_labels(labels)  # type: ignore[operator]
    return tuple(int(token) for token in inputs[0])


class DenoiserFamily(EncoderDecoderFamily):
    """Reads a text with masks and writes the whole text. A single word's probability cannot be read from it."""

    name = "encoder-decoder with a mask"
    capabilities = frozenset({Write})
    also_answers = frozenset({Fill, Continue, Recover})
    ways: ClassVar[Ways] = {
        (Fill, ""): _DENOISING,
        (Continue, ""): _DENOISING,
        (Recover, ""): (
            "shared-tokens, denoising",
            "pseudo-log-likelihood of the tokens that both sentences share, each masked in the encoder and read in the "
            "decoder that writes the sentence",
        ),
    }

    def recognises(self, config: Any, tokenizer: Any) -> bool:
        """By its mask; T5-style models, some of which have one too, are recognised before."""
        return super().recognises(config, tokenizer) and tokenizer.mask_token_id is not None

    def token_requests(
        self, model: LanguageModel, request: ScoringRequest, group: str
    ) -> Sequence[Seq2SeqRequest]:
        """A mask in the encoder, what it stands for where the decoder writes it."""
        del group
        mask = model.loaded.tokenizer.mask_token
        match request:
            case Fill():
                text, spans = filled_text(request.text, request.word)
                return (_written(model.loaded, filled_text(request.text, mask)[0], text, spans),)
            case Continue(part=Part.TEXT, messages=()) if request.prefix:
                span = Span(len(request.prefix) + 1, len(request.joined))
                return (_written(model.loaded, f"{request.prefix} {mask}", request.joined, [span]),)
            case Recover():
                return _recovered(model.loaded, request)
        raise unanswered(model, request)


def _written(loaded: Loaded, shown: str, text: str, spans: Sequence[Span]) -> Seq2SeqRequest:
    """The tokens of some characters, read where the decoder writes the text."""
    encoder_ids = tuple(loaded.tokenizer(shown)["input_ids"])
    written = tokenise(loaded.tokenizer, text, special=True)
    decoder_ids = shifted(loaded, written.ids)
    offset = len(decoder_ids) - len(written.ids)
    places = tuple(place for span in spans for place in written.overlapping(span))
    if not places:
        raise UnscorableError("the candidate has no token of its own")
    return Seq2SeqRequest(
        encoder_ids,
        decoder_ids,
        tuple(place + offset for place in places),
        tuple(written.ids[place] for place in places),
    )


def _recovered(loaded: Loaded, request: Recover) -> tuple[Seq2SeqRequest, ...]:
    tokenised, places = recovered_places(loaded.tokenizer, request)
    ids, mask = tokenised.ids, loaded.tokenizer.mask_token_id
    written = shifted(loaded, ids)
    offset = len(written) - len(ids)
    return tuple(
        Seq2SeqRequest(with_token(ids, place, mask), written, (place + offset,), (ids[place],))
        for place in places
    )


DENOISER = DenoiserFamily()
