"""BART-style encoder-decoders (BART, mBART, ...): the decoder writes the whole sentence anew."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import torch

from evenhand.core.items import Association, SentencePair, Span, Task
from evenhand.models.capabilities import Generates
from evenhand.models.engine.requests import Seq2SeqRequest, Tokens
from evenhand.models.families.encoder_decoder import EncoderDecoderFamily
from evenhand.models.families.family import refuse_pseudo_likelihood
from evenhand.models.measurable import MethodOptions
from evenhand.models.questions import (
    COMBINATIONS,
    Question,
    ScoreKind,
    fill_of,
    filled_context,
    of_all,
    with_final_punctuation,
)
from evenhand.models.references import UnscorableError
from evenhand.models.sentence_pairs import PairRequests, requests_of_shared, with_token
from evenhand.models.tokenised_text import tokenise

if TYPE_CHECKING:
    from evenhand.models.language_model import LanguageModel
    from evenhand.models.loading import Loaded


def shifted(loaded: Loaded, ids: Tokens) -> Tokens:
    """A decoder's input for a text, as the model makes it in training."""
    labels = torch.tensor([ids], device=loaded.device)
    inputs = loaded.model.prepare_decoder_input_ids_from_labels(labels)  # type: ignore[operator]
    return tuple(int(token) for token in inputs[0])


@dataclass(frozen=True, slots=True)
class DenoisedText:
    """BART: a mask for the candidate in the encoder, the whole filled text in the decoder.

    The candidate's tokens are read where the decoder writes them.
    """

    tokenizer: Any
    shift: Any
    """From the tokens of a text to the decoder's input, as the model does it in training."""
    kind: ScoreKind = ScoreKind.MEAN_PROB
    name: str = "denoising"
    description: str = (
        "a mask for the candidate in the encoder, its tokens read in the decoder that writes the text"
    )

    def texts(self, _item: Association) -> list[tuple[str, bool]]:
        """Nothing: these texts are tokenised in ways of their own."""
        return []

    def questions(self, item: Association) -> list[Question]:
        """One question for each candidate, of either task."""
        return [
            self._question(item, candidate.id, *self._text(item, candidate)) for candidate in item.candidates
        ]

    def _text(self, item: Association, candidate: Any) -> tuple[str, str, list[Span]]:
        """What the encoder sees, what the decoder writes, and where the candidate stands in that."""
        mask = self.tokenizer.mask_token
        if item.task is Task.INTRASENTENCE:
            text, spans = filled_context(item.context, fill_of(item, candidate))
            return filled_context(item.context, mask)[0], text, spans
        context = with_final_punctuation(item.context)
        text = f"{context} {candidate.text}"
        return f"{context} {mask}", text, [Span(len(context) + 1, len(text))]

    def _question(
        self, item: Association, candidate: str, shown: str, text: str, spans: list[Span]
    ) -> Question:
        encoder_ids = tuple(self.tokenizer(shown)["input_ids"])
        written = tokenise(self.tokenizer, text, special=True)
        decoder_ids = self.shift(written.ids)
        offset = len(decoder_ids) - len(written.ids)
        places = tuple(place for span in spans for place in written.overlapping(span))
        if not places:
            raise UnscorableError("the candidate has no token of its own")
        request = Seq2SeqRequest(
            encoder_ids,
            decoder_ids,
            tuple(place + offset for place in places),
            tuple(written.ids[place] for place in places),
        )
        kind = self.kind if item.task is Task.INTRASENTENCE else ScoreKind.MEAN_LOG
        return Question(candidate, (request,), of_all(COMBINATIONS[kind]))


@dataclass(frozen=True, slots=True)
class SharedInDenoiser:
    """Sentence pairs: a mask for each shared token in the encoder; the decoder writes the sentence."""

    tokenizer: Any
    shift: Callable[[Tokens], Tokens]
    """From the tokens of a text to the decoder's input, as the model does it in training."""
    name: str = "shared-tokens, denoising"
    description: str = (
        "pseudo-log-likelihood of the tokens that both sentences share, each masked in the encoder and read in the "
        "decoder that writes the sentence"
    )
    special: bool = True

    def requests(self, pair: SentencePair) -> PairRequests:
        """One request for each shared token."""
        return requests_of_shared(self.tokenizer, pair, self._requests)

    def _requests(self, ids: Tokens, places: Sequence[int]) -> list[Seq2SeqRequest]:
        mask = self.tokenizer.mask_token_id
        written = self.shift(ids)
        offset = len(written) - len(ids)
        return [
            Seq2SeqRequest(with_token(ids, place, mask), written, (place + offset,), (ids[place],))
            for place in places
        ]


class DenoiserFamily(EncoderDecoderFamily):
    """Reads a text with masks and writes the whole text. A single word's probability cannot be read from it."""

    name = "encoder-decoder with a mask"
    capabilities = frozenset({Generates})

    def recognises(self, config: Any, tokenizer: Any) -> bool:
        """By its mask; T5-style models, some of which have one too, are recognised before."""
        return super().recognises(config, tokenizer) and tokenizer.mask_token_id is not None

    def intrasentence_method(self, model: LanguageModel, options: MethodOptions) -> DenoisedText:
        """The same under every protocol: the multilingual study had no such model."""
        refuse_pseudo_likelihood(model, options.score)
        return self._text(model, options.score or ScoreKind.MEAN_PROB)

    def intersentence_method(self, model: LanguageModel, options: MethodOptions) -> DenoisedText:
        """See ``Family``."""
        self.refuse_other_continuations(options.inter)
        return self._text(model)

    def pair_method(self, model: LanguageModel) -> SharedInDenoiser:
        """See ``Family``."""
        return SharedInDenoiser(model.loaded.tokenizer, partial(shifted, model.loaded))

    def _text(self, model: LanguageModel, kind: ScoreKind = ScoreKind.MEAN_PROB) -> DenoisedText:
        return DenoisedText(model.loaded.tokenizer, partial(shifted, model.loaded), kind)


DENOISER = DenoiserFamily()
