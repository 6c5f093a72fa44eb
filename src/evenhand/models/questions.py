"""Questions and methods: what is asked about an item, where its candidate stands, and how the answers become scores."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol, TypeAlias

from evenhand.core.items import BLANK, Association, Candidate, Span, filled_spans, overlong_reason
from evenhand.models.engine.modes import gc_disabled
from evenhand.models.engine.requests import Request, Requests, Tokens
from evenhand.models.references import UnscorableError
from evenhand.models.tokenised_text import TokenisedText, prepare, tokenise

LogProbabilities: TypeAlias = Sequence[float]
"""Natural logarithms."""

Combine: TypeAlias = Callable[[Sequence[LogProbabilities]], float]


class ScoreKind(StrEnum):
    """How the log-probabilities of a candidate's tokens become its score."""

    MEAN_PROB = "mean-prob"
    MEAN_LOG = "mean-log"
    SUM_LOG = "sum-log"
    PLL = "pll"
    PLL_WITHIN_WORD = "pll-within-word"


def mean_probability(values: LogProbabilities) -> float:
    """Arithmetic mean of the tokens' probabilities."""
    return math.fsum(map(math.exp, values)) / len(values)


def geometric_mean(values: LogProbabilities) -> float:
    """2 to the power of the mean binary logarithm."""
    return math.exp(math.fsum(values) / len(values))


def sum_of_logs(values: LogProbabilities) -> float:
    """Sum of the binary logarithms."""
    return math.fsum(values) / math.log(2)


COMBINATIONS: dict[ScoreKind, Callable[[LogProbabilities], float]] = {
    ScoreKind.MEAN_PROB: mean_probability,
    ScoreKind.MEAN_LOG: geometric_mean,
    ScoreKind.SUM_LOG: sum_of_logs,
    ScoreKind.PLL: sum_of_logs,
    ScoreKind.PLL_WITHIN_WORD: sum_of_logs,
}


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked for one candidate, and how the answers become its score."""

    candidate: str
    requests: Requests
    combine: Combine
    whole: bool = True
    """Whether the answers together are the candidate's probability; quotients and pseudo-likelihoods are not."""


@dataclass(frozen=True, slots=True)
class WordMethod:
    """How the probability of a word in a blank is read."""

    requests: Callable[[str, str], Requests]
    """From a context with a blank and a word to what is requested.

    Raises:
        UnscorableError: If the word cannot be asked for.
    """
    by_sentence: bool = False
    """Whether the answers are those of the whole sentence, so that they compare only with each other."""


class Method(Protocol):
    """Turns an item into questions."""

    @property
    def name(self) -> str:
        """A short name for records and tables."""
        ...

    @property
    def description(self) -> str:
        """What it does, in a sentence."""
        ...

    def texts(self, item: Association) -> Iterable[tuple[str, bool]]:
        """Texts that the questions will tokenise, each with or without special tokens.

        They are tokenised ahead, all in one go. Nothing breaks if some are missing.
        """
        ...

    def questions(self, item: Association) -> list[Question]:
        """One question for each candidate.

        Raises:
            UnscorableError: If the item cannot be asked about.
        """
        ...


def of_all(combine: Callable[[LogProbabilities], float]) -> Combine:
    """Combine the answers to all requests as one list."""
    return lambda answers: combine([value for answer in answers for value in answer])


def questions_of(method: Method, tokenizer: Any, items: Sequence[Association]) -> list[list[Question] | str]:
    """For each item its questions, or the reason why it cannot be asked about.

    The tokenizer is the model's, or None where the model is asked about plain text.
    """
    overlong = [
        overlong_reason(item.context, *(candidate.text for candidate in item.candidates)) for item in items
    ]
    with gc_disabled():
        texts = [
            entry
            for item, reason in zip(items, overlong, strict=True)
            if reason is None
            for entry in method.texts(item)
        ]
        for special in (True, False):
            prepare(tokenizer, (text for text, wanted in texts if wanted is special), special=special)
        return [
            reason or _questions_or_reason(method, item) for item, reason in zip(items, overlong, strict=True)
        ]


def _questions_or_reason(method: Method, item: Association) -> list[Question] | str:
    try:
        return method.questions(item)
    except UnscorableError as reason:
        return str(reason)


FINAL_PUNCTUATION = ".!?…\"'”’»)"

PUBLISHED_FINAL_PUNCTUATION = ".!?"


PSEUDO_LIKELIHOOD_AFTER_CONTEXT = "pseudo-log-likelihood after the context"


class Continuation(StrEnum):
    """How a sentence after a context is scored. The letters are those of the multilingual study."""

    NEXT_SENTENCE = "next-sentence"
    """By the model's next-sentence head; all others by token probabilities."""
    PSEUDO_LIKELIHOOD = "pll"
    """Masked models: the candidate's tokens, each at a mask of its own, given the context."""
    ALONE_PER_CONTEXT = "orig"
    GIVEN_CONTEXT_PER_FULL = "b"
    FULL = "c"
    GIVEN_CONTEXT = "d"
    GIVEN_CONTEXT_PER_ALONE = "e"
    FULL_PER_ALONE = "f"

    ORIG = "orig"
    B = "b"
    C = "c"
    D = "d"
    E = "e"
    F = "f"


def choice_of(method: str) -> str | None:
    """The score or the way after a context that a method's name in a record stands for; None where it has neither."""
    if method.startswith("continuation "):
        return method.split()[1]
    if method.startswith(Continuation.NEXT_SENTENCE.value):
        return Continuation.NEXT_SENTENCE.value
    if method == PSEUDO_LIKELIHOOD_AFTER_CONTEXT:
        return Continuation.PSEUDO_LIKELIHOOD.value
    kind = method.rpartition(", ")[2]
    return kind if kind in set(ScoreKind) else None


ScoredParts: TypeAlias = Sequence[LogProbabilities]
"""Context, candidate after it, candidate alone."""


def _ratio(
    over: Callable[[ScoredParts], float], under: Callable[[ScoredParts], float]
) -> Callable[[ScoredParts], float]:
    return lambda parts: over(parts) / under(parts)


def _context(parts: ScoredParts) -> float:
    return geometric_mean(parts[0])


def _candidate(parts: ScoredParts) -> float:
    return geometric_mean(parts[1])


def _alone(parts: ScoredParts) -> float:
    return geometric_mean(parts[2])


def _full(parts: ScoredParts) -> float:
    return geometric_mean([*parts[0], *parts[1]])


CONTINUATION_SCORES: dict[Continuation, Callable[[ScoredParts], float]] = {
    Continuation.ALONE_PER_CONTEXT: _ratio(_alone, _context),
    Continuation.GIVEN_CONTEXT_PER_FULL: _ratio(_candidate, _full),
    Continuation.FULL: _full,
    Continuation.GIVEN_CONTEXT: _candidate,
    Continuation.GIVEN_CONTEXT_PER_ALONE: _ratio(_candidate, _alone),
    Continuation.FULL_PER_ALONE: _ratio(_full, _alone),
}

DESCRIPTIONS = {
    Continuation.ALONE_PER_CONTEXT: "candidate alone / context",
    Continuation.GIVEN_CONTEXT_PER_FULL: "candidate given context / context and candidate",
    Continuation.FULL: "context and candidate",
    Continuation.GIVEN_CONTEXT: "candidate given context",
    Continuation.GIVEN_CONTEXT_PER_ALONE: "candidate given context / candidate alone",
    Continuation.FULL_PER_ALONE: "context and candidate / candidate alone",
}

NEEDS_ALONE = (
    Continuation.ALONE_PER_CONTEXT,
    Continuation.GIVEN_CONTEXT_PER_ALONE,
    Continuation.FULL_PER_ALONE,
)

NEEDS_CONTEXT = (
    Continuation.ALONE_PER_CONTEXT,
    Continuation.GIVEN_CONTEXT_PER_FULL,
    Continuation.FULL,
    Continuation.FULL_PER_ALONE,
)

NEEDS_CANDIDATE = tuple(kind for kind in CONTINUATION_SCORES if kind is not Continuation.ALONE_PER_CONTEXT)

WHOLE = (Continuation.FULL, Continuation.GIVEN_CONTEXT)
"""No quotient: the tokens that are asked for make the candidate's probability, with or without its context's."""


def with_final_punctuation(context: str, marks: str = FINAL_PUNCTUATION) -> str:
    """A context that ends like a sentence."""
    return context if context[-1] in marks else f"{context}."


@dataclass(frozen=True, slots=True)
class FilledBlank:
    """The tokens of a filled context, parted at one of its blanks."""

    before: Tokens
    fill: Tokens
    after: Tokens


def fill_of(item: Association, candidate: Candidate) -> str:
    """What fills the blank, in the case it has in the candidate's sentence."""
    spans = filled_spans(item.context, candidate.text)
    if not spans:
        raise UnscorableError("the candidate cannot be aligned with its context")
    return spans[0].of(candidate.text)


def filled_context(context: str, fill: str) -> tuple[str, list[Span]]:
    """The context with every blank filled, and where the fills stand."""
    pieces = context.split(BLANK)
    if len(pieces) < 2:
        raise UnscorableError("the context has no blank")
    text = pieces[0]
    spans = []
    for piece in pieces[1:]:
        spans.append(Span(len(text), len(text) + len(fill)))
        text += fill + piece
    return text, spans


def filled_texts(item: Association) -> list[str]:
    """The context filled with each candidate; none where a candidate cannot be aligned."""
    try:
        return [filled_context(item.context, fill_of(item, candidate))[0] for candidate in item.candidates]
    except UnscorableError:
        return []


def fill_questions(
    item: Association, requests: Callable[[str, str], tuple[Request, ...]], *, kind: ScoreKind
) -> list[Question]:
    """One question for each candidate: what is requested, from the context and what fills its blank."""
    combine = of_all(COMBINATIONS[kind])
    return [
        Question(candidate.id, requests(item.context, fill_of(item, candidate)), combine)
        for candidate in item.candidates
    ]


MOST_SHOWN_TOKENS = 2**26
"""Tokens of all inputs that one text is asked about with: each of 8,192 tokens with all others."""


def refuse_endless(tokens: int, *, inputs: int) -> None:
    """Refuse a text whose inputs would fill the memory before anybody could say that the model does not take them.

    Args:
        tokens: In each input.
        inputs: How many there would be, one for each token that is asked for.

    Raises:
        UnscorableError: If they are too many.
    """
    if tokens * inputs > MOST_SHOWN_TOKENS:
        raise UnscorableError("the text is too long to ask about its tokens one by one")


def filled_blanks(tokenizer: Any, context: str, fill: str) -> list[FilledBlank]:
    """The filled context as tokens, once for each blank.

    The whole sentence is tokenised, and the fill's tokens are those that stand for its characters: so a word
    inside a sentence gets its leading space where the tokenizer has such a thing, and none at the start.
    """
    text, spans = filled_context(context, fill)
    tokenised = tokenise(tokenizer, text, special=True)
    blanks = [_parted(tokenised, span) for span in spans]
    refuse_endless(len(tokenised.ids), inputs=sum(len(blank.fill) for blank in blanks))
    return blanks


def _parted(tokenised: TokenisedText, span: Span) -> FilledBlank:
    places = tokenised.overlapping(span)
    if not places:
        raise UnscorableError("the fill has no token of its own")
    first, last = places[0], places[-1]
    return FilledBlank(tokenised.ids[:first], tokenised.ids[first : last + 1], tokenised.ids[last + 1 :])
