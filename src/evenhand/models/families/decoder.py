"""Decoders: the probability of whole sentences, read from left to right."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from evenhand.core.items import Association, Task
from evenhand.models.engine.requests import CausalRequest, Tokens
from evenhand.models.families.blanks import fill_of, filled_context, filled_texts
from evenhand.models.families.method import (
    COMBINATIONS,
    LogProbabilities,
    Question,
    ScoreKind,
    UnscorableError,
    geometric_mean,
    of_all,
)
from evenhand.models.tokenised_text import tokenise

FINAL_PUNCTUATION = ".!?…\"'”’»)"
PUBLISHED_FINAL_PUNCTUATION = ".!?"
PUBLISHED_START = "<|endoftext|>"


class Continuation(StrEnum):
    """Which parts of context and candidate make the score of a continuation."""

    ORIG = "orig"
    B = "b"
    C = "c"
    D = "d"
    E = "e"
    F = "f"


NOTHING = CausalRequest((), 0, "")
"""A request for no token, where a score has no use for a part."""

Parts = Sequence[LogProbabilities]
"""Context, candidate after it, candidate alone."""


def _ratio(over: Callable[[Parts], float], under: Callable[[Parts], float]) -> Callable[[Parts], float]:
    return lambda parts: over(parts) / under(parts)


def _context(parts: Parts) -> float:
    return geometric_mean(parts[0])


def _candidate(parts: Parts) -> float:
    return geometric_mean(parts[1])


def _alone(parts: Parts) -> float:
    return geometric_mean(parts[2])


def _full(parts: Parts) -> float:
    return geometric_mean([*parts[0], *parts[1]])


CONTINUATION_SCORES: dict[Continuation, Callable[[Parts], float]] = {
    Continuation.ORIG: _ratio(_alone, _context),
    Continuation.B: _ratio(_candidate, _full),
    Continuation.C: _full,
    Continuation.D: _candidate,
    Continuation.E: _ratio(_candidate, _alone),
    Continuation.F: _ratio(_full, _alone),
}

DESCRIPTIONS = {
    Continuation.ORIG: "candidate alone / context",
    Continuation.B: "candidate given context / context and candidate",
    Continuation.C: "context and candidate",
    Continuation.D: "candidate given context",
    Continuation.E: "candidate given context / candidate alone",
    Continuation.F: "context and candidate / candidate alone",
}

_NEEDS_ALONE = (Continuation.ORIG, Continuation.E, Continuation.F)
_NEEDS_CONTEXT = (Continuation.ORIG, Continuation.B, Continuation.C, Continuation.F)
_NEEDS_CANDIDATE = tuple(kind for kind in Continuation if kind is not Continuation.ORIG)
_WHOLE = (Continuation.C, Continuation.D)
"""No quotient: the tokens that are asked for make the candidate's probability, with or without its context's."""


def start_token(tokenizer: Any, config: Any) -> int | None:
    """What stands before the first token of a text: the start token, or the end of the text before.

    A number in the configuration counts only if the tokenizer has a special token there: models made from
    another's configuration keep a number that is some word of their own vocabulary.
    """
    configured = getattr(config, "bos_token_id", None)
    for candidate in (
        tokenizer.bos_token_id,
        configured if configured in tokenizer.all_special_ids else None,
        tokenizer.eos_token_id,
    ):
        if isinstance(candidate, int) and 0 <= candidate < config.vocab_size:
            return candidate
    return None


def with_final_punctuation(context: str, marks: str = FINAL_PUNCTUATION) -> str:
    """A context that ends like a sentence."""
    return context if context[-1] in marks else f"{context}."


@dataclass(frozen=True, slots=True)
class SentenceScore:
    """The filled sentence from its start; without a start token the first token is not scored."""

    tokenizer: Any
    start: int | None
    kind: ScoreKind = ScoreKind.MEAN_LOG
    name: str = "sentence"
    description: str = "the whole sentence with the candidate in place, the first token after the start token"

    def request(self, text: str, group: str) -> CausalRequest:
        """All tokens of a text that have something before them."""
        return CausalRequest(started(self.tokenizer, text, self.start), 1, group)

    def texts(self, item: Association) -> list[tuple[str, bool]]:
        """The filled sentences."""
        return [(text, False) for text in filled_texts(item)]

    def questions(self, item: Association) -> list[Question]:
        """One question a candidate."""
        return [
            Question(
                candidate.id,
                (self.request(filled_context(item.context, fill_of(item, candidate))[0], item.id),),
                of_all(COMBINATIONS[self.kind]),
                whole=self.start is not None,
            )
            for candidate in item.candidates
        ]


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
    variant: Continuation = Continuation.D

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
        found = [(f"{context} {candidate.text}", False) for candidate in item.candidates]
        if self.variant in _NEEDS_ALONE:
            found += [(candidate.text, False) for candidate in item.candidates]
        return found

    def questions(self, item: Association) -> list[Question]:
        """One question a candidate."""
        context = with_final_punctuation(item.context)
        offset = 0 if self.start is None else 1
        score = CONTINUATION_SCORES[self.variant]
        asked = []
        for candidate in item.candidates:
            text = f"{context} {candidate.text}"
            tokenised = tokenise(self.tokenizer, text, special=False)
            first = tokenised.first_from(len(context))
            if not first:
                raise UnscorableError("context and candidate cannot be told apart in tokens")
            ids = tokenised.ids if self.start is None else (self.start, *tokenised.ids)
            cut = first + offset
            requests = [NOTHING] * 3
            if self.variant in _NEEDS_CONTEXT:
                requests[0] = CausalRequest(ids[:cut], 1, item.id)
            if self.variant in _NEEDS_CANDIDATE:
                requests[1] = CausalRequest(ids, cut, item.id)
            if self.variant in _NEEDS_ALONE:
                alone = started(self.tokenizer, candidate.text, self.start)
                requests[2] = CausalRequest(alone, 1, f"{item.id} alone")
            asked.append(Question(candidate.id, tuple(requests), score, whole=self.variant in _WHOLE))
        return asked


@dataclass(frozen=True, slots=True)
class PublishedDecoder:
    """Sentences as the multilingual study's code scores them.

    The first token comes after the start token, all others after the sentence's own tokens without it; special
    tokens that the tokenizer adds by itself are scored like any other.
    """

    tokenizer: Any
    variant: Continuation = Continuation.D
    name: str = "sentence, first token apart"
    description: str = "as published in 2023: the first token after the start token, the rest without it"

    def texts(self, _item: Association) -> list[tuple[str, bool]]:
        """Nothing: these texts are tokenised in ways of their own."""
        return []

    def questions(self, item: Association) -> list[Question]:
        """One question a candidate, of either task."""
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
        before = self._whole(ids[:cut], item.id) if self.variant in _NEEDS_CONTEXT else (NOTHING, NOTHING)
        parts = (*before, CausalRequest(ids, cut, item.id))
        only = self._whole(alone, f"{item.id} alone") if self.variant in _NEEDS_ALONE else ()
        score = CONTINUATION_SCORES[self.variant]

        def combine(answers: Sequence[LogProbabilities]) -> float:
            rest = [value for answer in answers[3:] for value in answer]
            return score([[*answers[0], *answers[1]], answers[2], rest])

        return Question(candidate, (*parts, *only), combine, whole=self.variant in _WHOLE)

    def _whole(self, ids: Tokens, group: str) -> tuple[CausalRequest, CausalRequest]:
        start = self.tokenizer.encode(PUBLISHED_START)[0]
        return CausalRequest((start, ids[0]), 1, f"{group} start"), CausalRequest(ids, 1, group)
