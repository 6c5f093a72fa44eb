"""Masked models (BERT, RoBERTa, XLM-R, ModernBERT, ...): a mask stands for a token, which is read there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from transformers.models.auto import modeling_auto as auto

from evenhand.core.items import BLANK, Association, SentencePair, Span, Task
from evenhand.models.capabilities import FillsBlanks, ScoresText, Trains
from evenhand.models.engine.projection import Projection
from evenhand.models.engine.requests import MaskedRequest, Request, Tokens
from evenhand.models.engine.runners import MaskedRunner
from evenhand.models.families.family import Family
from evenhand.models.measurable import MethodOptions
from evenhand.models.objectives.gap_contexts import MaskedContexts
from evenhand.models.objectives.held_out import HeldOutRows, masked_rows
from evenhand.models.objectives.pretraining import MaskedPretraining
from evenhand.models.questions import (
    COMBINATIONS,
    PSEUDO_LIKELIHOOD_AFTER_CONTEXT,
    Method,
    Question,
    ScoreKind,
    WordMethod,
    fill_of,
    fill_questions,
    filled_blanks,
    filled_context,
    filled_texts,
    geometric_mean,
    of_all,
    refuse_endless,
    with_final_punctuation,
)
from evenhand.models.references import ModelError, UnscorableError
from evenhand.models.sentence_pairs import PairRequests, requests_of_shared, with_token
from evenhand.models.tokenised_text import refuse_long_text, tokenise
from evenhand.runs.head_records import HeadKind

if TYPE_CHECKING:
    from evenhand.models.language_model import LanguageModel
    from evenhand.models.loading import Loaded
    from evenhand.models.objectives.objective import PretrainingOptions

_MASKED = auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES
_CAUSAL = auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES


@dataclass(frozen=True, slots=True)
class StepwiseBlank:
    """Step i: the candidate's first tokens stand in the blank, then one mask, then the right context."""

    tokenizer: Any
    kind: ScoreKind = ScoreKind.MEAN_PROB
    name: str = "stepwise-blank"
    description: str = "each token of the candidate at a single mask, after its earlier tokens"

    def requests(self, context: str, fill: str) -> tuple[MaskedRequest, ...]:
        """One request for each token; a context with several blanks is asked about each, the others filled."""
        mask = self.tokenizer.mask_token_id
        return tuple(
            MaskedRequest(
                ids=(*blank.before, *blank.fill[:step], mask, *blank.after),
                position=len(blank.before) + step,
                token=token,
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
class PublishedStepwiseBlank:
    """The same as text: earlier tokens are decoded, put before the mask, and tokenised anew.

    As in the code of the multilingual study: the word is tokenised alone, without the space that some
    tokenizers want inside a sentence. Where a context has several blanks, the first mask is read.
    """

    tokenizer: Any
    name: str = "stepwise-blank, as text"
    description: str = "as published in 2023: earlier tokens inserted as text, the word tokenised alone"

    def texts(self, _item: Association) -> list[tuple[str, bool]]:
        """Nothing: these texts are tokenised in ways of their own."""
        return []

    def questions(self, item: Association) -> list[Question]:
        """One question for each candidate."""
        combine = of_all(COMBINATIONS[ScoreKind.MEAN_PROB])
        return [
            Question(
                candidate.id,
                tuple(self._requests(item.context, candidate.word or fill_of(item, candidate))),
                combine,
            )
            for candidate in item.candidates
        ]

    def _requests(self, context: str, word: str) -> Iterator[MaskedRequest]:
        for text, token in published_steps(self.tokenizer, context, word, self.tokenizer.mask_token):
            ids = tuple(self.tokenizer(text)["input_ids"])
            if self.tokenizer.mask_token_id not in ids:
                raise UnscorableError("the context has no blank")
            yield MaskedRequest(ids, ids.index(self.tokenizer.mask_token_id), token)


def published_steps(tokenizer: Any, context: str, word: str, mask: str) -> Iterator[tuple[str, int]]:
    """For each token of a word, the context with the earlier ones and a mask as text, and the token."""
    refuse_long_text(context)
    refuse_long_text(word)
    tokens = tokenizer.encode(word, add_special_tokens=False)
    refuse_endless(len(context) + len(word), inputs=len(tokens))
    for step, token in enumerate(tokens):
        insertion = tokenizer.decode(tokens[:step])
        yield context.replace(BLANK, f"{insertion}{mask}"), token


@dataclass(frozen=True, slots=True)
class PseudoLogLikelihood:
    """Every token of the filled sentence at a mask of its own, all others in place.

    Within words, the tokens to the right in the same word can be masked too, so that a rare word's later
    pieces do not give away the earlier ones.
    """

    tokenizer: Any
    kind: ScoreKind = ScoreKind.PLL

    @property
    def name(self) -> str:
        """The name of the score."""
        return self.kind.value

    @property
    def description(self) -> str:
        """What is masked."""
        if self.kind is ScoreKind.PLL:
            return "pseudo-log-likelihood of the filled sentence"
        return "pseudo-log-likelihood of the filled sentence, later tokens of the same word masked too"

    def requests(self, text: str) -> tuple[MaskedRequest, ...]:
        """One request for each token of the text."""
        tokenised = tokenise(self.tokenizer, text, special=True)
        refuse_endless(len(tokenised.ids), inputs=len(tokenised.ids))
        mask = self.tokenizer.mask_token_id
        requests = []
        for place, span in enumerate(tokenised.spans):
            if span is None:
                continue
            ids = list(tokenised.ids)
            ids[place] = mask
            word = tokenised.words[place]
            if self.kind is ScoreKind.PLL_WITHIN_WORD and word is not None:
                for later in range(place + 1, len(ids)):
                    if tokenised.words[later] != word:
                        break
                    ids[later] = mask
            requests.append(MaskedRequest(tuple(ids), place, tokenised.ids[place]))
        return tuple(requests)

    def texts(self, item: Association) -> list[tuple[str, bool]]:
        """The filled sentences."""
        return [(text, True) for text in filled_texts(item)]

    def questions(self, item: Association) -> list[Question]:
        """One question for each candidate."""
        return [
            Question(
                candidate.id,
                self.requests(filled_context(item.context, fill_of(item, candidate))[0]),
                of_all(COMBINATIONS[self.kind]),
                whole=False,  # each token is given all others, so their product is no probability
            )
            for candidate in item.candidates
        ]


@dataclass(frozen=True, slots=True)
class SentenceAtMask:
    """A sentence after a context: every token of the sentence at a mask of its own, all others in place.

    Context and sentence are one text, so that no segment has to mean anything to the model.
    """

    tokenizer: Any
    name: str = PSEUDO_LIKELIHOOD_AFTER_CONTEXT
    description: str = (
        "geometric mean over the candidate's tokens, each at a mask of its own, given all others"
    )

    def texts(self, item: Association) -> list[tuple[str, bool]]:
        """The context with each candidate after it."""
        return [(self._joined(item.context, candidate.text), True) for candidate in item.candidates]

    def questions(self, item: Association) -> list[Question]:
        """One question for each candidate."""
        return [
            Question(
                candidate.id,
                self._requests(item.context, candidate.text),
                of_all(geometric_mean),
                whole=False,  # each token is given all others, so their product is no probability
            )
            for candidate in item.candidates
        ]

    def _requests(self, context: str, sentence: str) -> tuple[MaskedRequest, ...]:
        text = self._joined(context, sentence)
        tokenised = tokenise(self.tokenizer, text, special=True)
        places = tokenised.overlapping(Span(len(text) - len(sentence), len(text)))
        refuse_endless(len(tokenised.ids), inputs=len(places))
        if not places:
            raise UnscorableError("the candidate has no token of its own")
        ids, mask = tokenised.ids, self.tokenizer.mask_token_id
        return tuple(MaskedRequest(with_token(ids, place, mask), place, ids[place]) for place in places)

    @staticmethod
    def _joined(context: str, sentence: str) -> str:
        return f"{with_final_punctuation(context)} {sentence}"


@dataclass(frozen=True, slots=True)
class SharedAtMask:
    """Sentence pairs: each shared token at a mask."""

    tokenizer: Any
    name: str = "shared-tokens"
    description: str = (
        "pseudo-log-likelihood of the tokens that both sentences share, each at a mask of its own"
    )
    special: bool = True

    def requests(self, pair: SentencePair) -> PairRequests:
        """One request for each shared token."""
        return requests_of_shared(self.tokenizer, pair, self._requests)

    def _requests(self, ids: Tokens, places: Sequence[int]) -> list[MaskedRequest]:
        mask = self.tokenizer.mask_token_id
        return [MaskedRequest(with_token(ids, place, mask), place, ids[place]) for place in places]


class MaskedFamily(Family):
    """Sees both sides of a mask."""

    name = "masked"
    head_kind = HeadKind.POOLED
    encodes_pairs = True
    without_head = "Use --inter pll to score candidates by the probability of their tokens."
    auto_class = "AutoModelForMaskedLM"
    capabilities = frozenset({FillsBlanks, ScoresText, Trains})

    def recognises(self, config: Any, _tokenizer: Any) -> bool:
        """By the class that Transformers has for the type, unless the model was made to predict the next token."""
        declared = set(getattr(config, "architectures", None) or ())
        causal_only = bool(getattr(config, "is_decoder", False) or getattr(config, "causal", False))
        predicts_next_only = set(_CAUSAL.values()) - set(_MASKED.values())
        return (
            not config.is_encoder_decoder
            and config.model_type in _MASKED
            and not causal_only
            and not declared & predicts_next_only
        )

    def runner(self, loaded: Loaded, projection: Projection, *, share_prefixes: bool) -> MaskedRunner:
        """See ``Family``; masked inputs share nothing."""
        del share_prefixes
        return MaskedRunner(projection, loaded.device, loaded.pad_id)

    def sample_requests(self, tokens: Tokens, tokenizer: Any) -> list[Request]:
        """See ``Family``."""
        mask = tokenizer.mask_token_id
        return [
            MaskedRequest((*tokens[:3], mask, *tokens[4:6]), 3, tokens[3]),
            MaskedRequest((tokens[0], mask), 1, tokens[1]),
        ]

    def tasks(self, model: LanguageModel) -> tuple[Task, ...]:
        """Sentences after a context need a next-sentence head, or a way that is asked for by name."""
        return super().tasks(model) if model.judges_next_sentence else (Task.INTRASENTENCE,)

    def intrasentence_method(self, model: LanguageModel, options: MethodOptions) -> Method:
        """See ``Family``."""
        tokenizer = model.loaded.tokenizer
        if options.as_published:
            return PublishedStepwiseBlank(tokenizer)
        kind = options.score or ScoreKind.MEAN_PROB
        if kind in (ScoreKind.PLL, ScoreKind.PLL_WITHIN_WORD):
            return PseudoLogLikelihood(tokenizer, kind)
        return StepwiseBlank(tokenizer, kind)

    def intersentence_method(self, model: LanguageModel, options: MethodOptions) -> Method:
        """By the next-sentence head, unless another way is asked for by name."""
        if options.inter is not None:
            raise ModelError(
                f"--inter {options.inter.value} needs a model that writes text; {model.ref.id} fills blanks. Use "
                "--inter next-sentence or --inter pll."
            )
        return self.next_sentence_method(model)

    def pseudo_likelihood_method(self, model: LanguageModel) -> SentenceAtMask:
        """See ``Family``."""
        return SentenceAtMask(model.loaded.tokenizer)

    def pair_method(self, model: LanguageModel) -> SharedAtMask:
        """See ``Family``."""
        return SharedAtMask(model.loaded.tokenizer)

    def word_method(self, model: LanguageModel) -> WordMethod:
        """Step by step at a mask."""
        return WordMethod(StepwiseBlank(model.loaded.tokenizer).requests)

    def text_requests(self, model: LanguageModel, text: str) -> tuple[MaskedRequest, ...]:
        """Each token of a text at a mask of its own."""
        return PseudoLogLikelihood(model.loaded.tokenizer).requests(text)

    def pretraining_objective(
        self, model: LanguageModel, sentences: Sequence[str], options: PretrainingOptions
    ) -> MaskedPretraining:
        """Masked language modelling."""
        return MaskedPretraining(sentences, model, options)

    def held_out_rows(self, model: LanguageModel, sentences: Sequence[str], *, seed: int) -> HeldOutRows:
        """A mask in place of some tokens."""
        return masked_rows(sentences, model.loaded.tokenizer, model.loaded.config, seed=seed)

    def gap_contexts(self, model: LanguageModel) -> MaskedContexts:
        """The earlier tokens of the word, then a mask."""
        tokenizer = model.loaded.tokenizer
        return MaskedContexts(tokenizer.mask_token_id, frozenset(tokenizer.all_special_ids))


MASKED = MaskedFamily()
