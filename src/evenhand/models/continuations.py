"""How a sentence after a context is scored: which parts of the two make the score."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import TypeAlias

from evenhand.models.questions import LogProbabilities, geometric_mean

FINAL_PUNCTUATION = ".!?…\"'”’»)"
PUBLISHED_FINAL_PUNCTUATION = ".!?"


class Continuation(StrEnum):
    """How a sentence after a context is scored. The letters are those of the multilingual study."""

    NEXT_SENTENCE = "next-sentence"
    """By the model's next-sentence head; all others by token probabilities."""
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
