"""Models that are asked about plain text, through their capabilities alone: remote ones, and fakes in tests.

The definitions are those of local models. What such a model cannot be asked, because it takes tokens, is refused.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any, cast

from evenhand.core.items import Task
from evenhand.core.progress import Progress
from evenhand.core.protocols import DEFAULT_PROTOCOL, SentenceScoring
from evenhand.models.capabilities import (
    EstimatesCost,
    FillsBlanks,
    JudgesNextSentence,
    Model,
    ScoresText,
    TextScore,
    missing_capability,
)
from evenhand.models.engine.requests import RequestGroup, Requests, RequestValues
from evenhand.models.measurable import Measurable, MethodOptions, ScoringFacts
from evenhand.models.questions import Continuation, Method, ScoreKind, WordMethod, filled_context
from evenhand.models.references import ModelError, ModelRef
from evenhand.models.sentence_pairs import PairMethod
from evenhand.models.text_methods import (
    BlankInText,
    ContinuationInText,
    ContinuationRequest,
    FilledSentenceInText,
    FillRequest,
    FollowerInText,
    FollowerRequest,
    SentenceInText,
    SentencesInText,
    TextRequest,
    WholeTextRequest,
)
from evenhand.runs.records import ModelRecord
from evenhand.runs.store import Parts

REQUESTS_AT_ONCE = 64
"""Requests whose answers are kept together."""


def measurable(model: Model) -> Measurable:
    """What instruments ask: the model itself if it answers requests of its own, else its capabilities."""
    # Not isinstance: that would look at every property, and some load weights or read files.
    if callable(getattr(type(model), "answer_groups", None)):
        return cast("Measurable", model)
    return TextModel(model)


def cost_notices(model: Measurable, texts: Iterable[str]) -> tuple[str, ...]:
    """What should be known before texts are scored by a model that costs something; nothing for others.

    Raises:
        EvenhandError: If it costs more than is allowed.
    """
    if isinstance(model, TextModel) and isinstance(model.model, EstimatesCost):
        return (model.model.describe_cost(texts),)
    return ()


class TextModel:
    """Makes a model measurable that has capabilities and nothing else."""

    longest_input = None
    """How long a text may be is the model's own business; it refuses longer ones."""
    tokenizer = None

    def __init__(self, model: Model) -> None:
        self.model = model

    @property
    def ref(self) -> ModelRef:
        """What it was loaded from."""
        return self.model.ref

    @property
    def record(self) -> ModelRecord:
        """What identifies it in records and fingerprints."""
        return self.model.record

    @property
    def capabilities(self) -> frozenset[type]:
        """What it can be asked."""
        return self.model.capabilities

    @property
    def tasks(self) -> tuple[Task, ...]:
        """What it can be measured with."""
        intra, inter = {FillsBlanks, ScoresText}, {JudgesNextSentence, ScoresText}
        needed = {Task.INTRASENTENCE: intra, Task.INTERSENTENCE: inter}
        return tuple(task for task, capabilities in needed.items() if capabilities & self.capabilities)

    @property
    def libraries(self) -> Mapping[str, str]:
        """None that are known here."""
        return {}

    @property
    def scoring_facts(self) -> ScoringFacts:
        """Nothing is known about how it computes."""
        return ScoringFacts()

    def method(self, task: Task, options: MethodOptions) -> Method:
        """How the candidates of a task are scored."""
        if options.as_published:
            raise ModelError(
                f"Protocol {options.protocol.name} scores the tokens of models in this process; {self.ref.id} is asked "
                f"about plain text. Use {DEFAULT_PROTOCOL}."
            )
        if options.score in (ScoreKind.PLL, ScoreKind.PLL_WITHIN_WORD):
            raise ModelError(
                f"--score {options.score.value} is for masked models in this process; {self.ref.id} is asked about "
                "plain text."
            )
        return (
            self._blank_method(options)
            if task is Task.INTRASENTENCE
            else self._continuation_method(options.inter)
        )

    def _blank_method(self, options: MethodOptions) -> Method:
        if FillsBlanks in self.capabilities:
            return BlankInText(options.score or ScoreKind.MEAN_PROB)
        if ScoresText in self.capabilities:
            filled = options.protocol.sentences is SentenceScoring.FILLED_CONTEXT
            made = FilledSentenceInText if filled else SentenceInText
            return made(options.score or ScoreKind.MEAN_LOG)
        raise missing_capability(self.model, FillsBlanks, ScoresText, purpose="do the intra-sentence task")

    def _continuation_method(self, variant: Continuation | None) -> Method:
        if variant is Continuation.PSEUDO_LIKELIHOOD:
            raise ModelError(
                f"--inter {variant.value} is for masked models in this process; {self.ref.id} is asked about plain "
                "text. Leave it out."
            )
        judges = JudgesNextSentence in self.capabilities
        if variant is Continuation.NEXT_SENTENCE or (variant is None and judges):
            if not judges:
                raise missing_capability(self.model, JudgesNextSentence, purpose="judge next sentences")
            return FollowerInText()
        if ScoresText not in self.capabilities:
            raise missing_capability(
                self.model, JudgesNextSentence, ScoresText, purpose="do the inter-sentence task"
            )
        return ContinuationInText(variant or Continuation.GIVEN_CONTEXT)

    def pair_method(self) -> PairMethod:
        """Both sentences of a pair from their start."""
        if ScoresText not in self.capabilities:
            raise missing_capability(self.model, ScoresText, purpose="compare the sentences of pairs")
        return SentencesInText()

    def word_method(self) -> WordMethod:
        """A word in a blank, or the whole sentence with the word in place."""
        if FillsBlanks in self.capabilities:
            return WordMethod(lambda context, word: (FillRequest(context, word),))
        if ScoresText in self.capabilities:
            return WordMethod(
                lambda context, word: (WholeTextRequest(filled_context(context, word)[0]),), by_sentence=True
            )
        raise missing_capability(
            self.model, FillsBlanks, ScoresText, purpose="be asked for the probability of a word"
        )

    def shows_unknown_word(self, _requests: Requests) -> bool:
        """Whether a word is unknown cannot be told from outside."""
        return False

    def language_warnings(self, _texts: Sequence[str], *, name: str, language: str) -> tuple[str, ...]:
        """Nothing is known about its languages."""
        del name, language
        return ()

    def answer_groups(
        self,
        groups: Sequence[RequestGroup],
        *,
        max_tokens: int | None = None,
        parts: Parts | None = None,
        progress: Progress | None = None,
    ) -> list[RequestValues]:
        """For each group, the natural log-probabilities of each of its requests; equal requests are asked once."""
        del max_tokens
        requests = list(dict.fromkeys(request for group in groups for request in group.requests))
        requests.sort(key=lambda request: type(request).__name__)
        answers: dict[TextRequest, list[float]] = {}
        counter = _ItemCounter(groups, progress) if progress else None
        for first in range(0, len(requests), REQUESTS_AT_ONCE):
            batch = requests[first : first + REQUESTS_AT_ONCE]
            values = _kept(parts, batch)
            if values is None:
                values = self._answers(batch)
                if parts is not None:
                    parts.put(_key(batch), json.dumps(values).encode())
            answers.update(zip(batch, values, strict=True))
            if counter:
                counter.add(batch)
        return [[answers[request] for request in group.requests] for group in groups]

    def _answers(self, batch: Sequence[TextRequest]) -> list[list[float]]:
        return [
            values
            for kind, requests in groupby(batch, key=type)
            for values in _ASK[kind](self.model, list(requests))
        ]


def _ask_fills(model: Model, requests: Sequence[FillRequest]) -> Iterable[list[float]]:
    for context, of_context in groupby(requests, key=lambda request: request.context):
        words = [request.word for request in of_context]
        yield from _values(cast("FillsBlanks", model).score_fills(context, words), len(words))


def _ask_texts(model: Model, requests: Sequence[WholeTextRequest]) -> Iterable[list[float]]:
    texts = [request.text for request in requests]
    return _values(cast("ScoresText", model).score_texts(texts), len(texts))


def _ask_continuations(model: Model, requests: Sequence[ContinuationRequest]) -> Iterable[list[float]]:
    """The tokens behind those of the context, where the context's tokens are the text's first."""
    texts = [text for request in requests for text in (request.context, request.text)]
    scores = cast("ScoresText", model).score_texts(texts)
    for request, context, whole in zip(requests, scores[::2], scores[1::2], strict=True):
        first = len(context.tokens)
        if whole.tokens[:first] != context.tokens or len(whole.tokens) == first:
            raise ModelError(
                f"{model.ref.id} cuts {request.text[:60]!r} into other tokens than its context, so the two cannot be "
                "told apart. Score it with --inter c, which takes context and candidate together."
            )
        yield list(whole.log_probabilities[first:])


def _ask_followers(model: Model, requests: Sequence[FollowerRequest]) -> Iterable[list[float]]:
    for first, of_first in groupby(requests, key=lambda request: request.first):
        seconds = [request.second for request in of_first]
        judged = cast("JudgesNextSentence", model).score_followers(first, seconds)
        yield from ([math.log(value) if value > 0 else -math.inf] for value in judged)


_ASK: Mapping[type, Any] = {
    FillRequest: _ask_fills,
    WholeTextRequest: _ask_texts,
    ContinuationRequest: _ask_continuations,
    FollowerRequest: _ask_followers,
}


def _values(scores: Sequence[TextScore], count: int) -> list[list[float]]:
    if len(scores) != count:
        raise ModelError(
            f"The model gave {len(scores)} scores for {count} texts. It needs to give one for each."
        )
    return [list(score.log_probabilities) for score in scores]


def _key(batch: Sequence[TextRequest]) -> str:
    """The key under which the answers to these very requests are kept."""
    return f"answers-{hashlib.sha256(repr(batch).encode()).hexdigest()[:32]}"


def _kept(parts: Parts | None, batch: Sequence[TextRequest]) -> list[list[float]] | None:
    piece = parts.get(_key(batch)) if parts is not None else None
    values: list[list[float]] | None = None if piece is None else json.loads(piece)
    return values if values is not None and len(values) == len(batch) else None


class _ItemCounter:
    """Counts items whose requests are all answered."""

    def __init__(self, groups: Sequence[RequestGroup], progress: Progress) -> None:
        self.progress = progress
        self.waiting: dict[str, set[TextRequest]] = {}
        for group in groups:
            self.waiting.setdefault(group.item, set()).update(group.requests)
        self.total = len(self.waiting)

    def add(self, answered: Iterable[TextRequest]) -> None:
        done = set(answered)
        for item, requests in list(self.waiting.items()):
            requests.difference_update(done)
            if not requests:
                del self.waiting[item]
        self.progress(self.total - len(self.waiting), self.total)
