"""Decoders (GPT-2, Llama, Mistral, ...): the probability of whole sentences, read from left to right."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

from transformers.models.auto import modeling_auto as auto

from evenhand.core.items import BLANK
from evenhand.models.engine.projection import Projection
from evenhand.models.engine.requests import CausalRequest, TokenRequest, Tokens
from evenhand.models.engine.runners import CausalRunner, JoinedCausalRunner, ReadyRunner
from evenhand.models.families.family import AS_PUBLISHED, FIRST_TOKEN_APART, Family, Ways, unanswered
from evenhand.models.objectives.gap_contexts import LeftContexts
from evenhand.models.objectives.held_out import HeldOutRows, decoder_rows
from evenhand.models.objectives.pretraining import NextTokenPretraining
from evenhand.models.references import UnscorableError
from evenhand.models.requests import (
    Continue,
    Fill,
    Part,
    Recover,
    ScoringRequest,
    Train,
    Write,
    filled_text,
    with_prefix,
)
from evenhand.models.tokenised_text import TokenisedText, chat_text, start_token, tokenise
from evenhand.store.head_records import HeadKind

if TYPE_CHECKING:
    from evenhand.models.language_model import LanguageModel
    from evenhand.models.loading import Loaded
    from evenhand.models.objectives.objective import PretrainingOptions

PUBLISHED_START = "<|endoftext|>"


def started(tokenizer: Any, text: str, start: int | None, *, prefix: str = "") -> tuple[Tokens, int]:
    """The tokens of a text after the start token, if there is one, and a prefix; and the first that can be scored.

    The prefix is tokenised with the text, as it is when the model writes: a word inside a text may have other tokens
    than at its start.
    """
    tokenised = tokenise(tokenizer, prefix + text, special=False)
    ids = tokenised.ids if start is None else (start, *tokenised.ids)
    first = max(1, len(ids) - len(tokenised.ids) + _first_of_text(tokenised, prefix))
    if first >= len(ids):
        raise UnscorableError("the sentence has no token that could be scored")
    return ids, first


def _first_of_text(tokenised: TokenisedText, prefix: str) -> int:
    """The place of the first token after a prefix."""
    if not prefix:
        return 0
    first = tokenised.first_from(len(prefix))
    if not first:
        raise UnscorableError("the prefix and the sentence cannot be told apart in tokens")
    return first


def first_token_apart(ids: Tokens, *, start: int, group: str) -> tuple[CausalRequest, CausalRequest]:
    """The first token after the start token, and all others after those before them without it.

    As published code scores sentences; special tokens that the tokenizer adds by itself are scored like any other.
    """
    if not ids:
        raise UnscorableError("the sentence has no token that could be scored")
    return CausalRequest((start, ids[0]), 1, f"{group} start"), CausalRequest(ids, 1, group)


class DecoderFamily(Family):
    """Predicts each token from those before it."""

    name = "decoder"
    head_kind = HeadKind.POOLED
    auto_class = "AutoModelForCausalLM"
    capabilities = frozenset({Continue, Write, Train})
    also_answers = frozenset({Fill, Recover})
    fills_by_sentence = True
    reads_left_to_right = True
    adds_special_tokens = False
    forward_options: Mapping[str, Any] = MappingProxyType({"use_cache": False})
    ways: ClassVar[Ways] = {
        (Recover, ""): (
            "sentence",
            "log-probability of the whole sentence, the first token after the start token",
        ),
        (Continue, AS_PUBLISHED): (
            "sentence, first token apart",
            "as published in 2023: the first token after the start token, the rest without it",
        ),
        (Continue, FIRST_TOKEN_APART): (
            "own sentence, first token apart",
            "as in StereoSet's code: the candidate's own sentence, its first token after the start token, the rest "
            "without it",
        ),
    }

    def recognises(self, config: Any, _tokenizer: Any) -> bool:
        """By the class that Transformers has for the type."""
        return not config.is_encoder_decoder and config.model_type in auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

    def text_start(self, loaded: Loaded) -> int | None:
        """The start token."""
        return start_token(loaded.tokenizer, loaded.config)

    def runner(self, loaded: Loaded, projection: Projection, *, share_prefixes: bool) -> ReadyRunner:
        """See ``Family``."""
        if share_prefixes:
            return JoinedCausalRunner(projection, loaded.device, loaded.pad_id, loaded.dtype)
        return CausalRunner(projection, loaded.device, loaded.pad_id)

    def sample_requests(self, tokens: Tokens, _tokenizer: Any) -> list[TokenRequest]:
        """See ``Family``."""
        branches = (tokens[4:7], tokens[5:9], (tokens[8],))
        return [CausalRequest((*tokens[:4], *branch), 1, "sample") for branch in branches]

    def texts(self, model: LanguageModel, request: ScoringRequest) -> Iterable[tuple[str, bool]]:
        """Filled sentences, and prefix and text as one."""
        match request:
            case Fill():
                yield model.ref.prefix + filled_text(request.text, request.word)[0], False
            case Continue(variant="", messages=()):
                yield model.ref.prefix + request.joined, False
            case Recover(shared_with=str()):
                yield model.ref.prefix + request.text, False

    def is_whole(self, model: LanguageModel, request: ScoringRequest) -> bool:
        """The first token of a text counts only after something."""
        is_continuation = isinstance(request, Continue) and bool(
            request.prefix or request.variant or request.messages
        )
        return is_continuation or bool(model.ref.prefix) or self.text_start(model.loaded) is not None

    def token_requests(
        self, model: LanguageModel, request: ScoringRequest, group: str
    ) -> Sequence[CausalRequest]:
        """The tokens of a text after all before them; a word by its sentence, since what follows it counts too."""
        tokenizer, start = model.loaded.tokenizer, self.text_start(model.loaded)
        if isinstance(request, Recover) and request.shared_with is not None:
            request = Continue("", request.text)
        match request:
            case Fill():
                text = filled_text(request.text, request.word)[0]
                ids, first = started(tokenizer, text, start, prefix=model.ref.prefix)
                return (CausalRequest(ids, first, request.text.partition(BLANK)[0]),)
            case Continue(prefix="", variant="", messages=()):
                return (
                    CausalRequest(*started(tokenizer, request.text, start, prefix=model.ref.prefix), group),
                )
            case Continue(variant=""):
                continued = self._reply if request.messages else self._continuation
                return (continued(model, request, group),)
            case Continue(prefix="", messages=()):
                ids = tuple(tokenizer(request.text)["input_ids"])
                return self._published_text(model, ids, request.variant, group)
            case Continue(messages=()):
                ids = tuple(tokenizer(request.joined)["input_ids"])
                cut = len(tokenizer.encode(request.prefix))
                if not 0 < cut < len(ids):
                    raise UnscorableError("context and candidate cannot be told apart in tokens")
                if request.part is Part.PREFIX:
                    return self._published_text(model, ids[:cut], request.variant, group)
                return (CausalRequest(ids, cut, group),)
        raise unanswered(model, request)

    def _continuation(self, model: LanguageModel, request: Continue, group: str) -> CausalRequest:
        start = self.text_start(model.loaded)
        before = model.ref.prefix + request.prefix
        tokenised = tokenise(model.loaded.tokenizer, model.ref.prefix + request.joined, special=False)
        first = tokenised.first_from(len(before))
        if not first:
            raise UnscorableError("context and candidate cannot be told apart in tokens")
        offset = 0 if start is None else 1
        ids = tokenised.ids if start is None else (start, *tokenised.ids)
        if request.part is Part.PREFIX:
            begin = max(1, offset + _first_of_text(tokenised, model.ref.prefix))
            return CausalRequest(ids[: first + offset], begin, group)
        return CausalRequest(ids, first + offset, group)

    def _reply(self, model: LanguageModel, request: Continue, group: str) -> CausalRequest:
        """A text as what the model says next; the template of its messages has the start token in it."""
        if request.part is not Part.TEXT:
            raise UnscorableError("after messages, only the tokens of the text itself can be asked for")
        before = chat_text(model.tokenizer, with_prefix(request.messages, model.ref.prefix))
        tokenised = tokenise(model.tokenizer, before + request.text, special=False)
        first = tokenised.first_from(len(before))
        if not first:
            raise UnscorableError("the messages and the text cannot be told apart in tokens")
        return CausalRequest(tokenised.ids, first, group)

    def _published_text(
        self, model: LanguageModel, ids: Tokens, variant: str, group: str
    ) -> tuple[CausalRequest, CausalRequest]:
        start = self.text_start(model.loaded)
        if variant == AS_PUBLISHED:
            start = model.loaded.tokenizer.encode(PUBLISHED_START)[0]
        if start is None:
            raise UnscorableError("the tokenizer has neither a start nor an end token")
        return first_token_apart(ids, start=start, group=group)

    def pretraining_objective(
        self, model: LanguageModel, sentences: Sequence[str], options: PretrainingOptions
    ) -> NextTokenPretraining:
        """Next-token prediction."""
        return NextTokenPretraining(sentences, model, options)

    def held_out_rows(self, model: LanguageModel, sentences: Sequence[str], *, seed: int) -> HeldOutRows:
        """Every token that has something before it; nothing is left to chance, so the seed has no part."""
        del seed
        return decoder_rows(sentences, model.loaded.tokenizer, model.loaded.config, prefix=model.ref.prefix)

    def gap_contexts(self, _model: LanguageModel) -> LeftContexts:
        """The sentence with a male and with a female word."""
        return LeftContexts()


DECODER = DecoderFamily()
