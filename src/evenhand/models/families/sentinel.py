"""T5-style encoder-decoders (T5, mT5, ...): a sentinel stands for a gap, and the decoder writes what fills it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from evenhand.models.alignment import recovered_places, with_token
from evenhand.models.engine.requests import Seq2SeqRequest
from evenhand.models.families.encoder_decoder import EncoderDecoderFamily
from evenhand.models.families.family import AS_PUBLISHED, Ways, unanswered
from evenhand.models.families.masked import published_steps
from evenhand.models.objectives.gap_contexts import SentinelContexts
from evenhand.models.objectives.held_out import HeldOutRows, sentinel_rows
from evenhand.models.objectives.pretraining import SpanPretraining
from evenhand.models.references import ModelError, UnscorableError
from evenhand.models.requests import Continue, Fill, Part, Recover, ScoringRequest, Train, Write
from evenhand.models.tokenised_text import filled_blanks, tokenise
from evenhand.store.head_records import HeadKind

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


class SentinelFamily(EncoderDecoderFamily):
    """Writes what numbered gaps stand for."""

    name = "encoder-decoder with sentinels"
    head_kind = HeadKind.LABELS
    capabilities = frozenset({Fill, Write, Train})
    also_answers = frozenset({Continue, Recover})
    ways: ClassVar[Ways] = {
        (Fill, ""): (
            "stepwise-sentinel",
            "each token of the candidate after the sentinel in the decoder, earlier tokens in the encoder",
        ),
        (Fill, AS_PUBLISHED): (
            "sentinel, as text",
            "as published in 2023: tokens inserted as text, the first decoder token chosen greedily",
        ),
        (Continue, ""): (
            "continuation d",
            "the candidate after the sentinel in the decoder, given the context; end token not counted",
        ),
        (Continue, AS_PUBLISHED): (
            "sentinel, as text",
            "as published in 2023: tokens inserted as text, the first decoder token chosen greedily",
        ),
        (Recover, ""): (
            "shared-tokens, sentinel",
            "pseudo-log-likelihood of the tokens that both sentences share, each asked for after a sentinel that "
            "stands in its place",
        ),
    }

    def recognises(self, config: Any, tokenizer: Any) -> bool:
        """By its sentinels."""
        return super().recognises(config, tokenizer) and sentinel_id(tokenizer) is not None

    def texts(self, model: LanguageModel, request: ScoringRequest) -> Iterable[tuple[str, bool]]:
        """Also prefixes as the encoder sees them, and what the decoder writes."""
        if isinstance(request, Continue) and not request.variant:
            yield request.prefix, True
            yield request.text, False
        yield from super().texts(model, request)

    def token_requests(
        self, model: LanguageModel, request: ScoringRequest, group: str
    ) -> Sequence[Seq2SeqRequest]:
        """What the decoder writes after the sentinel that stands for a word, a text or a token."""
        del group
        tokenizer, start = model.loaded.tokenizer, decoder_start(model.loaded)
        gap = sentinel_id(tokenizer)
        if gap is None:
            raise UnscorableError("the tokenizer has no sentinel")
        match request:
            case Fill(variant=variant) if variant == AS_PUBLISHED:
                return tuple(
                    Seq2SeqRequest(tuple(tokenizer(text)["input_ids"]), (start,), (1,), (token,), True)
                    for text, token in published_steps(tokenizer, request.text, request.word, FIRST_SENTINEL)
                )
            case Fill():
                return tuple(_stepwise(tokenizer, request, start, gap))
            case Continue(part=Part.TEXT, messages=()) if request.prefix:
                asked = _published_continuation if request.variant == AS_PUBLISHED else _continuation
                return (asked(tokenizer, request, start, gap),)
            case Recover():
                tokenised, places = recovered_places(tokenizer, request)
                ids = tokenised.ids
                return tuple(
                    Seq2SeqRequest(with_token(ids, place, gap), (start, gap), (1,), (ids[place],))
                    for place in places
                )
        raise unanswered(model, request)

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


def _stepwise(tokenizer: Any, request: Fill, start: int, gap: int) -> Iterator[Seq2SeqRequest]:
    """Earlier tokens of the word, then the sentinel; the decoder continues after the sentinel."""
    for blank in filled_blanks(tokenizer, request.text, request.word):
        for step, token in enumerate(blank.word):
            shown = (*blank.before, *blank.word[:step], gap, *blank.after)
            yield Seq2SeqRequest(shown, (start, gap), (1,), (token,))


def _continuation(tokenizer: Any, request: Continue, start: int, gap: int) -> Seq2SeqRequest:
    """The encoder sees the prefix and a sentinel, the decoder is led through the text."""
    prefix = tokenise(tokenizer, request.prefix, special=True).ids
    end = tokenizer.eos_token_id
    has_end = bool(prefix) and prefix[-1] == end
    shown = (*prefix[:-1], gap, end) if has_end else (*prefix, gap)
    tokens = tokenise(tokenizer, request.text, special=False).ids
    return Seq2SeqRequest(shown, (start, gap, *tokens[:-1]), tuple(range(1, 1 + len(tokens))), tokens)


def _published_continuation(tokenizer: Any, request: Continue, _start: int, _gap: int) -> Seq2SeqRequest:
    """The end token is scored too, because the study's loop runs one step further than its comment says."""
    shown = tuple(tokenizer(f"{request.prefix} {FIRST_SENTINEL}")["input_ids"])
    ids = tuple(tokenizer(f"{tokenizer.pad_token} {FIRST_SENTINEL} {request.text}")["input_ids"])
    places = tuple(range(1, len(ids) - 1))
    return Seq2SeqRequest(shown, ids, places, tuple(ids[place + 1] for place in places))


SENTINEL = SentinelFamily()
