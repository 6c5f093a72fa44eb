"""T5-style encoder-decoders (T5, mT5, ...): a sentinel stands for a gap, and the decoder writes what fills it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evenhand.core.items import Association, SentencePair, Task
from evenhand.models.capabilities import FillsBlanks, Generates, Trains
from evenhand.models.engine.requests import Seq2SeqRequest, Tokens
from evenhand.models.families.encoder_decoder import EncoderDecoderFamily
from evenhand.models.families.family import refuse_pseudo_likelihood
from evenhand.models.families.masked import published_steps
from evenhand.models.measurable import MethodOptions
from evenhand.models.objectives.gap_contexts import SentinelContexts
from evenhand.models.objectives.held_out import HeldOutRows, sentinel_rows
from evenhand.models.objectives.pretraining import SpanPretraining
from evenhand.models.questions import (
    COMBINATIONS,
    PUBLISHED_FINAL_PUNCTUATION,
    Method,
    Question,
    ScoreKind,
    WordMethod,
    fill_of,
    fill_questions,
    filled_blanks,
    filled_texts,
    geometric_mean,
    of_all,
    with_final_punctuation,
)
from evenhand.models.references import ModelError, UnscorableError
from evenhand.models.sentence_pairs import PairRequests, requests_of_shared, with_token
from evenhand.models.tokenised_text import tokenise
from evenhand.runs.head_records import HeadKind

if TYPE_CHECKING:
    from evenhand.models.language_model import LanguageModel
    from evenhand.models.loading import Loaded
    from evenhand.models.objectives.objective import PretrainingOptions


FIRST_SENTINEL = "<extra_id_0>"


def sentinel_id(tokenizer: Any) -> int | None:
    """The id of the first T5-style sentinel, if the tokenizer has one."""
    known = tokenizer.convert_tokens_to_ids(FIRST_SENTINEL)
    return known if known is not None and known != tokenizer.unk_token_id and known >= 0 else None


def decoder_start(loaded: Loaded) -> int:
    """What the decoder of an encoder-decoder starts with."""
    start = getattr(loaded.config, "decoder_start_token_id", None)
    if start is None:
        return loaded.pad_id
    entries = loaded.model.get_input_embeddings().num_embeddings  # type: ignore[operator]
    if not 0 <= start < entries:
        raise ModelError(
            f"The configuration of {loaded.ref.id} has the decoder start with token {start:,}, beyond the {entries:,} "
            "entries of the embedding. Correct decoder_start_token_id in its config.json."
        )
    return int(start)


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
        """One request for each token of the fill."""
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
        """One question for each candidate."""
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
        """One question for each candidate, of either task."""
        if item.task is Task.INTRASENTENCE:
            mean = of_all(COMBINATIONS[ScoreKind.MEAN_PROB])
            return [
                Question(candidate.id, self._blank(item, candidate.word or fill_of(item, candidate)), mean)
                for candidate in item.candidates
            ]
        context = with_final_punctuation(item.context, PUBLISHED_FINAL_PUNCTUATION)
        encoder_ids = tuple(self.tokenizer(f"{context} {FIRST_SENTINEL}")["input_ids"])
        return [
            Question(candidate.id, (self._continuation(encoder_ids, candidate.text),), of_all(geometric_mean))
            for candidate in item.candidates
        ]

    def _blank(self, item: Association, word: str) -> tuple[Seq2SeqRequest, ...]:
        return tuple(
            Seq2SeqRequest(
                tuple(self.tokenizer(text)["input_ids"]), (self.decoder_start,), (1,), (token,), True
            )
            for text, token in published_steps(self.tokenizer, item.context, word, FIRST_SENTINEL)
        )

    def _continuation(self, encoder_ids: Tokens, sentence: str) -> Seq2SeqRequest:
        ids = tuple(self.tokenizer(f"{self.tokenizer.pad_token} {FIRST_SENTINEL} {sentence}")["input_ids"])
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
        """One question for each candidate."""
        gap = sentinel_id(self.tokenizer)
        if gap is None:
            raise UnscorableError("the tokenizer has no sentinel")
        context = tokenise(self.tokenizer, with_final_punctuation(item.context), special=True).ids
        end = self.tokenizer.eos_token_id
        ended = bool(context) and context[-1] == end
        encoder_ids = (*context[:-1], gap, end) if ended else (*context, gap)
        questions = []
        for candidate in item.candidates:
            tokens = tokenise(self.tokenizer, candidate.text, special=False).ids
            decoder_ids = (self.decoder_start, gap, *tokens[:-1])
            places = tuple(range(1, 1 + len(tokens)))
            request = Seq2SeqRequest(encoder_ids, decoder_ids, places, tokens)
            questions.append(Question(candidate.id, (request,), of_all(geometric_mean)))
        return questions


@dataclass(frozen=True, slots=True)
class SharedAtSentinel:
    """Sentence pairs: a sentinel for each shared token, which the decoder is asked for after the sentinel."""

    tokenizer: Any
    decoder_start: int
    name: str = "shared-tokens, sentinel"
    description: str = (
        "pseudo-log-likelihood of the tokens that both sentences share, each asked for after a sentinel that stands "
        "in its place"
    )
    special: bool = True

    def requests(self, pair: SentencePair) -> PairRequests:
        """One request for each shared token."""
        return requests_of_shared(self.tokenizer, pair, self._requests)

    def _requests(self, ids: Tokens, places: Sequence[int]) -> list[Seq2SeqRequest]:
        gap = sentinel_id(self.tokenizer)
        if gap is None:
            raise UnscorableError("the tokenizer has no sentinel")
        start = (self.decoder_start, gap)
        return [Seq2SeqRequest(with_token(ids, place, gap), start, (1,), (ids[place],)) for place in places]


class SentinelFamily(EncoderDecoderFamily):
    """Writes what numbered gaps stand for."""

    name = "encoder-decoder with sentinels"
    head_kind = HeadKind.LABELS
    capabilities = frozenset({FillsBlanks, Generates, Trains})

    def recognises(self, config: Any, tokenizer: Any) -> bool:
        """By its sentinels."""
        return super().recognises(config, tokenizer) and sentinel_id(tokenizer) is not None

    def intrasentence_method(self, model: LanguageModel, options: MethodOptions) -> Method:
        """See ``Family``."""
        refuse_pseudo_likelihood(model, options.score)
        tokenizer, start = model.loaded.tokenizer, decoder_start(model.loaded)
        if options.as_published:
            return PublishedSentinel(tokenizer, start)
        return SentinelBlank(tokenizer, start, options.score or ScoreKind.MEAN_PROB)

    def intersentence_method(self, model: LanguageModel, options: MethodOptions) -> Method:
        """See ``Family``."""
        self.refuse_other_continuations(options.inter)
        made = PublishedSentinel if options.as_published else SentinelContinuation
        return made(model.loaded.tokenizer, decoder_start(model.loaded))

    def pair_method(self, model: LanguageModel) -> SharedAtSentinel:
        """See ``Family``."""
        return SharedAtSentinel(model.loaded.tokenizer, decoder_start(model.loaded))

    def word_method(self, model: LanguageModel) -> WordMethod:
        """Step by step after the sentinel."""
        return WordMethod(SentinelBlank(model.loaded.tokenizer, decoder_start(model.loaded)).requests)

    def pretraining_objective(
        self, model: LanguageModel, sentences: Sequence[str], options: PretrainingOptions
    ) -> SpanPretraining:
        """Span corruption."""
        return SpanPretraining(sentences, model, options)

    def held_out_rows(self, model: LanguageModel, sentences: Sequence[str], *, seed: int) -> HeldOutRows:
        """Sentinels in place of spans, which the decoder writes."""
        return sentinel_rows(sentences, model.loaded.tokenizer, model.loaded.config, seed=seed)

    def gap_contexts(self, model: LanguageModel) -> SentinelContexts:
        """The earlier tokens of the word, then the sentinel."""
        mark = sentinel_id(model.loaded.tokenizer)
        if mark is None:
            raise ModelError(f"The tokenizer of {model.ref.id} has no sentinel, so no gap can be shown.")
        return SentinelContexts(mark, (decoder_start(model.loaded), mark))


SENTINEL = SentinelFamily()
