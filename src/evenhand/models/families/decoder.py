"""Decoders (GPT-2, Llama, Mistral, ...): the probability of whole sentences, read from left to right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from transformers.models.auto import modeling_auto as auto

from evenhand.core.items import BLANK, Association, Candidate, SentencePair, Task
from evenhand.core.protocols import DEFAULT_PROTOCOL, SentenceScoring
from evenhand.models.capabilities import Generates, ScoresText, Trains
from evenhand.models.engine.projection import Projection
from evenhand.models.engine.requests import CausalRequest, Request, Tokens
from evenhand.models.engine.runners import CausalRunner, JoinedCausalRunner, ReadyRunner
from evenhand.models.families.family import Family, refuse_pseudo_likelihood
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
    PUBLISHED_FINAL_PUNCTUATION,
    WHOLE,
    Continuation,
    LogProbabilities,
    Method,
    Question,
    ScoreKind,
    WordMethod,
    fill_of,
    filled_context,
    filled_texts,
    geometric_mean,
    of_all,
    with_final_punctuation,
)
from evenhand.models.references import ModelError, UnscorableError
from evenhand.models.sentence_pairs import PairRequests
from evenhand.models.tokenised_text import start_token, tokenise
from evenhand.runs.head_records import HeadKind

if TYPE_CHECKING:
    from evenhand.models.language_model import LanguageModel
    from evenhand.models.loading import Loaded
    from evenhand.models.objectives.objective import PretrainingOptions

PUBLISHED_START = "<|endoftext|>"

NOTHING = CausalRequest((), 0, "")
"""A request for no token, where a score has no use for a part."""


@dataclass(frozen=True, slots=True)
class SentenceScore:
    """The candidate's own sentence from its start; without a start token the first token is not scored."""

    tokenizer: Any
    start: int | None
    kind: ScoreKind = ScoreKind.MEAN_LOG
    name: str = "own sentence"
    description: str = "the candidate's own sentence, the first token after the start token"

    def request(self, text: str, group: str) -> CausalRequest:
        """All tokens of a text that have something before them."""
        return CausalRequest(started(self.tokenizer, text, self.start), 1, group)

    def texts(self, item: Association) -> list[tuple[str, bool]]:
        """The candidates' sentences."""
        return [(candidate.text, False) for candidate in item.candidates]

    def questions(self, item: Association) -> list[Question]:
        """One question for each candidate."""
        return [self.question(item, candidate, candidate.text) for candidate in item.candidates]

    def question(self, item: Association, candidate: Candidate, sentence: str) -> Question:
        """The question about a candidate, by the sentence that stands for it."""
        return Question(
            candidate.id,
            (self.request(sentence, item.id),),
            of_all(COMBINATIONS[self.kind]),
            whole=self.start is not None,
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
        return [(text, False) for text in filled_texts(item)]

    def questions(self, item: Association) -> list[Question]:
        """One question for each candidate."""
        return [
            self.sentence.question(item, candidate, filled_context(item.context, fill_of(item, candidate))[0])
            for candidate in item.candidates
        ]


@dataclass(frozen=True, slots=True)
class StereosetSentence:
    """The candidate's own sentence as StereoSet's code scores it.

    The first token comes after the start token, all others after the sentence's own tokens without it; special
    tokens that the tokenizer adds by itself are scored like any other.
    """

    tokenizer: Any
    start: int
    kind: ScoreKind = ScoreKind.MEAN_LOG
    name: str = "own sentence, first token apart"
    description: str = (
        "as in StereoSet's code: the candidate's own sentence, its first token after the start token, the rest "
        "without it"
    )

    def texts(self, _item: Association) -> list[tuple[str, bool]]:
        """Nothing: these texts are tokenised in a way of their own."""
        return []

    def questions(self, item: Association) -> list[Question]:
        """One question for each candidate."""
        return [
            Question(
                candidate.id,
                first_token_apart(
                    tuple(self.tokenizer(candidate.text)["input_ids"]), start=self.start, group=item.id
                ),
                of_all(COMBINATIONS[self.kind]),
            )
            for candidate in item.candidates
        ]


def first_token_apart(ids: Tokens, *, start: int, group: str) -> tuple[CausalRequest, CausalRequest]:
    """The first token after the start token, and all others after those before them without it."""
    if not ids:
        raise UnscorableError("the sentence has no token that could be scored")
    return CausalRequest((start, ids[0]), 1, f"{group} start"), CausalRequest(ids, 1, group)


def started(tokenizer: Any, text: str, start: int | None) -> Tokens:
    """A text's tokens after the start token, if there is one."""
    ids = tokenise(tokenizer, text, special=False).ids
    if not ids or (start is None and len(ids) < 2):
        raise UnscorableError("the sentence has no token that could be scored")
    return ids if start is None else (start, *ids)


@dataclass(frozen=True, slots=True)
class ContinuationScore:
    """The candidate as the sentence after the context, in one of six ways."""

    tokenizer: Any
    start: int | None
    variant: Continuation = Continuation.GIVEN_CONTEXT

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
        context = with_final_punctuation(item.context)
        texts = [(f"{context} {candidate.text}", False) for candidate in item.candidates]
        if self.variant in NEEDS_ALONE:
            texts += [(candidate.text, False) for candidate in item.candidates]
        return texts

    def questions(self, item: Association) -> list[Question]:
        """One question for each candidate."""
        context = with_final_punctuation(item.context)
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
                requests[0] = CausalRequest(ids[:cut], 1, item.id)
            if self.variant in NEEDS_CANDIDATE:
                requests[1] = CausalRequest(ids, cut, item.id)
            if self.variant in NEEDS_ALONE:
                alone = started(self.tokenizer, candidate.text, self.start)
                requests[2] = CausalRequest(alone, 1, f"{item.id} alone")
            questions.append(Question(candidate.id, tuple(requests), score, whole=self.variant in WHOLE))
        return questions


@dataclass(frozen=True, slots=True)
class PublishedDecoder:
    """Sentences as the multilingual study's code scores them.

    The first token comes after the start token, all others after the sentence's own tokens without it; special
    tokens that the tokenizer adds by itself are scored like any other.
    """

    tokenizer: Any
    variant: Continuation = Continuation.GIVEN_CONTEXT
    name: str = "sentence, first token apart"
    description: str = "as published in 2023: the first token after the start token, the rest without it"

    def texts(self, _item: Association) -> list[tuple[str, bool]]:
        """Nothing: these texts are tokenised in ways of their own."""
        return []

    def questions(self, item: Association) -> list[Question]:
        """One question for each candidate, of either task."""
        return [self._question(item, candidate.id, candidate.text) for candidate in item.candidates]

    def _question(self, item: Association, candidate: str, sentence: str) -> Question:
        if item.task is Task.INTRASENTENCE:
            ids = tuple(self.tokenizer(sentence)["input_ids"])
            return Question(candidate, self._whole(ids, item.id), of_all(geometric_mean))
        context = with_final_punctuation(item.context, PUBLISHED_FINAL_PUNCTUATION)
        ids = tuple(self.tokenizer(f"{context} {sentence}")["input_ids"])
        cut = len(self.tokenizer.encode(context))
        if not 0 < cut < len(ids):
            raise UnscorableError("context and candidate cannot be told apart in tokens")
        alone = tuple(self.tokenizer(sentence)["input_ids"])
        before = self._whole(ids[:cut], item.id) if self.variant in NEEDS_CONTEXT else (NOTHING, NOTHING)
        parts = (*before, CausalRequest(ids, cut, item.id))
        only = self._whole(alone, f"{item.id} alone") if self.variant in NEEDS_ALONE else ()
        score = CONTINUATION_SCORES[self.variant]

        def combine(answers: Sequence[LogProbabilities]) -> float:
            rest = [value for answer in answers[3:] for value in answer]
            return score([[*answers[0], *answers[1]], answers[2], rest])

        return Question(candidate, (*parts, *only), combine, whole=self.variant in WHOLE)

    def _whole(self, ids: Tokens, group: str) -> tuple[CausalRequest, CausalRequest]:
        return first_token_apart(ids, start=self.tokenizer.encode(PUBLISHED_START)[0], group=group)


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
        if options.as_published:
            return PublishedDecoder(model.loaded.tokenizer, variant)
        return ContinuationScore(model.loaded.tokenizer, self.text_start(model.loaded), variant)

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
        return decoder_rows(sentences, model.loaded.tokenizer, model.loaded.config)

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
        return SentenceScore(model.loaded.tokenizer, self.text_start(model.loaded), kind)


DECODER = DecoderFamily()
