"""Decoders (GPT-2, Llama, Mistral, ...): the probability of whole sentences, read from left to right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from transformers.models.auto import modeling_auto as auto

from evenhand.core.items import BLANK, Association, Candidate, SentencePair
from evenhand.core.protocols import DEFAULT_PROTOCOL, SentenceScoring
from evenhand.models.capabilities import Generates, ScoresText, Trains
from evenhand.models.engine.projection import Projection
from evenhand.models.engine.requests import CausalRequest, Request, Tokens
from evenhand.models.engine.runners import CausalRunner, JoinedCausalRunner, ReadyRunner
from evenhand.models.families.family import Family, refuse_pseudo_likelihood
from evenhand.models.families.published_decoder import NOTHING, PublishedDecoder, StereosetSentence
from evenhand.models.measurable import MethodOptions
from evenhand.models.objectives.gap_contexts import LeftContexts
from evenhand.models.objectives.held_out import HeldOutRows, decoder_rows
from evenhand.models.objectives.pretraining import NextTokenPretraining
from evenhand.models.questions import (
    COMBINATIONS,
    CONTINUATION_SCORES,
    DESCRIPTIONS,
    NEEDS_ALONE,
    NEEDS_CANDIDATE,
    NEEDS_CONTEXT,
    WHOLE,
    Continuation,
    Method,
    Question,
    ScoreKind,
    WordMethod,
    fill_of,
    filled_context,
    filled_texts,
    of_all,
    with_final_punctuation,
)
from evenhand.models.references import ModelError, UnscorableError
from evenhand.models.sentence_pairs import PairRequests
from evenhand.models.tokenised_text import TokenisedText, start_token, tokenise
from evenhand.runs.head_records import HeadKind

if TYPE_CHECKING:
    from evenhand.models.language_model import LanguageModel
    from evenhand.models.loading import Loaded
    from evenhand.models.objectives.objective import PretrainingOptions


@dataclass(frozen=True, slots=True)
class SentenceScore:
    """The candidate's own sentence from its start; without a start token the first token is not scored."""

    tokenizer: Any
    start: int | None
    kind: ScoreKind = ScoreKind.MEAN_LOG
    prefix: str = ""
    """What stands before every text, and is not scored."""
    name: str = "own sentence"
    description: str = "the candidate's own sentence, the first token after the start token"

    def request(self, text: str, group: str) -> CausalRequest:
        """All tokens of a text that have something before them."""
        return CausalRequest(*started(self.tokenizer, text, self.start, prefix=self.prefix), group)

    def texts(self, item: Association) -> list[tuple[str, bool]]:
        """The candidates' sentences."""
        return [(self.prefix + candidate.text, False) for candidate in item.candidates]

    def questions(self, item: Association) -> list[Question]:
        """One question for each candidate."""
        return [self.question(item, candidate, candidate.text) for candidate in item.candidates]

    def question(self, item: Association, candidate: Candidate, sentence: str) -> Question:
        """The question about a candidate, by the sentence that stands for it."""
        return Question(
            candidate.id,
            (self.request(sentence, item.id),),
            of_all(COMBINATIONS[self.kind]),
            whole=self.start is not None or bool(self.prefix),
        )


@dataclass(frozen=True, slots=True)
class FilledSentenceScore:
    """The context with the candidate in its blank, scored like a sentence of its own."""

    sentence: SentenceScore
    name: str = "sentence"
    description: str = "the whole sentence with the candidate in place, the first token after the start token"

    @property
    def kind(self) -> ScoreKind:
        """How the tokens of the sentence become its score."""
        return self.sentence.kind

    def texts(self, item: Association) -> list[tuple[str, bool]]:
        """The filled contexts."""
        return [(self.sentence.prefix + text, False) for text in filled_texts(item)]

    def questions(self, item: Association) -> list[Question]:
        """One question for each candidate."""
        return [
            self.sentence.question(item, candidate, filled_context(item.context, fill_of(item, candidate))[0])
            for candidate in item.candidates
        ]


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
    """The place of the first token behind a prefix."""
    if not prefix:
        return 0
    first = tokenised.first_from(len(prefix))
    if not first:
        raise UnscorableError("the prefix and the sentence cannot be told apart in tokens")
    return first


@dataclass(frozen=True, slots=True)
class ContinuationScore:
    """The candidate as the sentence after the context, in one of six ways."""

    tokenizer: Any
    start: int | None
    variant: Continuation = Continuation.GIVEN_CONTEXT
    prefix: str = ""
    """What stands before every text, and is not scored."""

    @property
    def name(self) -> str:
        """The variant's letter."""
        return f"continuation {self.variant.value}"

    @property
    def description(self) -> str:
        """What is divided by what."""
        return DESCRIPTIONS[self.variant]

    def texts(self, item: Association) -> list[tuple[str, bool]]:
        """Context and candidate together, and the candidates alone where they are needed."""
        context = self.prefix + with_final_punctuation(item.context)
        texts = [(f"{context} {candidate.text}", False) for candidate in item.candidates]
        if self.variant in NEEDS_ALONE:
            texts += [(self.prefix + candidate.text, False) for candidate in item.candidates]
        return texts

    def questions(self, item: Association) -> list[Question]:
        """One question for each candidate."""
        context = self.prefix + with_final_punctuation(item.context)
        offset = 0 if self.start is None else 1
        score = CONTINUATION_SCORES[self.variant]
        questions = []
        for candidate in item.candidates:
            text = f"{context} {candidate.text}"
            tokenised = tokenise(self.tokenizer, text, special=False)
            first = tokenised.first_from(len(context))
            if not first:
                raise UnscorableError("context and candidate cannot be told apart in tokens")
            ids = tokenised.ids if self.start is None else (self.start, *tokenised.ids)
            cut = first + offset
            requests = [NOTHING] * 3
            if self.variant in NEEDS_CONTEXT:
                begin = max(1, offset + _first_of_text(tokenised, self.prefix))
                requests[0] = CausalRequest(ids[:cut], begin, item.id)
            if self.variant in NEEDS_CANDIDATE:
                requests[1] = CausalRequest(ids, cut, item.id)
            if self.variant in NEEDS_ALONE:
                alone = started(self.tokenizer, candidate.text, self.start, prefix=self.prefix)
                requests[2] = CausalRequest(*alone, f"{item.id} alone")
            questions.append(Question(candidate.id, tuple(requests), score, whole=self.variant in WHOLE))
        return questions


@dataclass(frozen=True, slots=True)
class WholeSentences:
    """Sentence pairs: each sentence from its start to its end."""

    sentence: SentenceScore
    name: str = "sentence"
    description: str = "log-probability of the whole sentence, the first token after the start token"
    special: bool = False

    def requests(self, pair: SentencePair) -> PairRequests:
        """One request for each sentence; what both start with is computed once."""
        more, less = (self.sentence.request(text, pair.id) for text in (pair.more, pair.less))
        return PairRequests((more,), (less,))


class DecoderFamily(Family):
    """Predicts each token from those before it."""

    name = "decoder"
    head_kind = HeadKind.POOLED
    auto_class = "AutoModelForCausalLM"
    capabilities = frozenset({ScoresText, Generates, Trains})
    reads_left_to_right = True
    adds_special_tokens = False
    forward_options: Mapping[str, Any] = MappingProxyType({"use_cache": False})

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

    def sample_requests(self, tokens: Tokens, _tokenizer: Any) -> list[Request]:
        """See ``Family``."""
        branches = (tokens[4:7], tokens[5:9], (tokens[8],))
        return [CausalRequest((*tokens[:4], *branch), 1, "sample") for branch in branches]

    def intrasentence_method(self, model: LanguageModel, options: MethodOptions) -> Method:
        """See ``Family``."""
        refuse_pseudo_likelihood(model, options.score)
        _refuse_published_prefix(model, options)
        if options.as_published:
            return PublishedDecoder(model.loaded.tokenizer)
        kind = options.score or ScoreKind.MEAN_LOG
        if options.protocol.sentences is SentenceScoring.AS_STEREOSET:
            return self._stereoset_sentence(model, kind, protocol=options.protocol.name)
        sentence = self._sentence(model, kind)
        filled = options.protocol.sentences is SentenceScoring.FILLED_CONTEXT
        return FilledSentenceScore(sentence) if filled else sentence

    def intersentence_method(self, model: LanguageModel, options: MethodOptions) -> Method:
        """See ``Family``."""
        variant = options.inter or Continuation.GIVEN_CONTEXT
        _refuse_published_prefix(model, options)
        if options.as_published:
            return PublishedDecoder(model.loaded.tokenizer, variant)
        start = self.text_start(model.loaded)
        return ContinuationScore(model.loaded.tokenizer, start, variant, model.ref.prefix)

    def pair_method(self, model: LanguageModel) -> WholeSentences:
        """See ``Family``."""
        return WholeSentences(self._sentence(model))

    def word_method(self, model: LanguageModel) -> WordMethod:
        """The whole sentence with the word in place, because what follows the word counts too."""
        sentence = self._sentence(model)
        return WordMethod(
            lambda context, word: (
                sentence.request(filled_context(context, word)[0], context.partition(BLANK)[0]),
            ),
            by_sentence=True,
        )

    def text_requests(self, model: LanguageModel, text: str) -> tuple[CausalRequest, ...]:
        """Every token of a text after those before it."""
        return (self._sentence(model).request(text, text),)

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

    def _stereoset_sentence(
        self, model: LanguageModel, kind: ScoreKind, *, protocol: str
    ) -> StereosetSentence:
        start = self.text_start(model.loaded)
        if start is None:
            raise ModelError(
                f"Protocol {protocol} reads the first token of a sentence after a start token; the tokenizer of "
                f"{model.ref.id} has neither a start nor an end token. Use {DEFAULT_PROTOCOL}."
            )
        return StereosetSentence(model.loaded.tokenizer, start, kind)

    def _sentence(self, model: LanguageModel, kind: ScoreKind = ScoreKind.MEAN_LOG) -> SentenceScore:
        return SentenceScore(
            model.loaded.tokenizer, self.text_start(model.loaded), kind, prefix=model.ref.prefix
        )


def _refuse_published_prefix(model: LanguageModel, options: MethodOptions) -> None:
    """Refuse a prefix where a published protocol scores the first token apart: it has no place before both."""
    apart = options.protocol.sentences is SentenceScoring.AS_STEREOSET
    if model.ref.prefix and (apart or options.as_published):
        raise ModelError(
            f"{model.ref.id} has the prefix {model.ref.prefix!r}, and protocol {options.protocol.name} scores the "
            f"first token of a sentence without what stands before it. Use {DEFAULT_PROTOCOL}."
        )


DECODER = DecoderFamily()
