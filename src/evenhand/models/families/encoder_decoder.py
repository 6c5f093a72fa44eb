"""Encoder-decoders: the encoder sees the context with a gap, the decoder is asked what fills it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from evenhand.core.items import Association, Task
from evenhand.core.spans import Span
from evenhand.models.engine.requests import Seq2SeqRequest, Tokens
from evenhand.models.families.blanks import (
    fill_of,
    fill_questions,
    filled_blanks,
    filled_context,
    filled_texts,
)
from evenhand.models.families.decoder import (
    PUBLISHED_FINAL_PUNCTUATION,
    with_final_punctuation,
)
from evenhand.models.families.masked import published_steps
from evenhand.models.families.method import (
    COMBINATIONS,
    Question,
    ScoreKind,
    UnscorableError,
    geometric_mean,
    of_all,
)
from evenhand.models.recognise import sentinel_id
from evenhand.models.tokenised_text import tokenise

SENTINEL = "<extra_id_0>"


@dataclass(frozen=True, slots=True)
class SentinelBlank:
    """T5: earlier tokens of the candidate, then the sentinel; the decoder continues after the sentinel."""

    tokenizer: Any
    decoder_start: int
    kind: ScoreKind = ScoreKind.MEAN_PROB
    name: str = "stepwise-sentinel"
    description: str = (
        "each token of the candidate after the sentinel in the decoder, earlier tokens in the encoder"
    )

    def requests(self, context: str, fill: str) -> tuple[Seq2SeqRequest, ...]:
        """A request a token of the fill."""
        gap = sentinel_id(self.tokenizer)
        if gap is None:
            raise UnscorableError("the tokenizer has no sentinel")
        return tuple(
            Seq2SeqRequest(
                encoder_ids=(*blank.before, *blank.fill[:step], gap, *blank.after),
                decoder_ids=(self.decoder_start, gap),
                positions=(1,),
                tokens=(token,),
            )
            for blank in filled_blanks(self.tokenizer, context, fill)
            for step, token in enumerate(blank.fill)
        )

    def texts(self, item: Association) -> list[tuple[str, bool]]:
        """The filled sentences."""
        return [(text, True) for text in filled_texts(item)]

    def questions(self, item: Association) -> list[Question]:
        """One question a candidate."""
        return fill_questions(item, self.requests, kind=self.kind)


@dataclass(frozen=True, slots=True)
class PublishedSentinel:
    """T5 as the multilingual study's code scores it, both tasks.

    Blanks: earlier tokens inserted as text, and the decoder's first token is whatever the model prefers.
    Continuations: the end token is scored too, because its loop runs one step further than its comment says.
    """

    tokenizer: Any
    decoder_start: int
    name: str = "sentinel, as text"
    description: str = (
        "as published in 2023: tokens inserted as text, the first decoder token chosen greedily"
    )

    def texts(self, _item: Association) -> list[tuple[str, bool]]:
        """Nothing: these texts are tokenised in ways of their own."""
        return []

    def questions(self, item: Association) -> list[Question]:
        """One question a candidate, of either task."""
        if item.task is Task.INTRASENTENCE:
            mean = of_all(COMBINATIONS[ScoreKind.MEAN_PROB])
            return [
                Question(candidate.id, self._blank(item, candidate.word or fill_of(item, candidate)), mean)
                for candidate in item.candidates
            ]
        context = with_final_punctuation(item.context, PUBLISHED_FINAL_PUNCTUATION)
        encoder_ids = tuple(self.tokenizer(f"{context} {SENTINEL}")["input_ids"])
        return [
            Question(candidate.id, (self._continuation(encoder_ids, candidate.text),), of_all(geometric_mean))
            for candidate in item.candidates
        ]

    def _blank(self, item: Association, word: str) -> tuple[Seq2SeqRequest, ...]:
        return tuple(
            Seq2SeqRequest(
                tuple(self.tokenizer(text)["input_ids"]), (self.decoder_start,), (1,), (token,), True
            )
            for text, token in published_steps(self.tokenizer, item.context, word, SENTINEL)
        )

    def _continuation(self, encoder_ids: Tokens, sentence: str) -> Seq2SeqRequest:
        ids = tuple(self.tokenizer(f"{self.tokenizer.pad_token} {SENTINEL} {sentence}")["input_ids"])
        places = tuple(range(1, len(ids) - 1))
        return Seq2SeqRequest(encoder_ids, ids, places, tuple(ids[place + 1] for place in places))


@dataclass(frozen=True, slots=True)
class SentinelContinuation:
    """T5: the encoder sees the context and a sentinel, the decoder is led through the candidate."""

    tokenizer: Any
    decoder_start: int
    name: str = "continuation d"
    description: str = (
        "the candidate after the sentinel in the decoder, given the context; end token not counted"
    )

    def texts(self, item: Association) -> list[tuple[str, bool]]:
        """The context as the encoder sees it, and the candidates alone."""
        alone = [(candidate.text, False) for candidate in item.candidates]
        return [(with_final_punctuation(item.context), True), *alone]

    def questions(self, item: Association) -> list[Question]:
        """One question a candidate."""
        gap = sentinel_id(self.tokenizer)
        if gap is None:
            raise UnscorableError("the tokenizer has no sentinel")
        context = tokenise(self.tokenizer, with_final_punctuation(item.context), special=True).ids
        end = self.tokenizer.eos_token_id
        ended = bool(context) and context[-1] == end
        encoder_ids = (*context[:-1], gap, end) if ended else (*context, gap)
        asked = []
        for candidate in item.candidates:
            tokens = tokenise(self.tokenizer, candidate.text, special=False).ids
            decoder_ids = (self.decoder_start, gap, *tokens[:-1])
            places = tuple(range(1, 1 + len(tokens)))
            request = Seq2SeqRequest(encoder_ids, decoder_ids, places, tokens)
            asked.append(Question(candidate.id, (request,), of_all(geometric_mean)))
        return asked


@dataclass(frozen=True, slots=True)
class Denoiser:
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
        """One question a candidate, of either task."""
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
