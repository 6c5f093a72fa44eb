"""Pairs of sentences: what is requested for each sentence of a pair, and their scores.

Models that see both sides of a gap are asked for the tokens that both sentences share, each in a gap of its own
while all other tokens stand, also those that differ (Nangia et al. 2020, equation 1). The words that differ are
not scored: their own frequency would decide most pairs. Decoders cannot be asked so, because a token is never
given what comes after it; they are asked for the whole sentence.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from evenhand.core.items import PairDirection, SentencePair, common_reason, overlong_reason
from evenhand.core.progress import Progress
from evenhand.models.model import Model, missing_capability
from evenhand.models.requests import Answer, Continue, Recover, ScoringRequest
from evenhand.runs.store import Parts


@dataclass(frozen=True, slots=True)
class PairMethod:
    """How the two sentences of a pair are scored; a sentence's score is the sum of the log-probabilities."""

    name: str
    description: str
    by_shared_tokens: bool

    def requests(self, pair: SentencePair) -> tuple[ScoringRequest, ScoringRequest]:
        """What is asked about the more and about the less stereotypical sentence.

        The authors compare the sentence about the disadvantaged group, which comes first in their code, with the
        other. The order can matter: of two alignments that are equally long, difflib takes the one that comes first.
        """
        if not self.by_shared_tokens:
            return Continue("", pair.more), Continue("", pair.less)
        more_first = pair.direction is not PairDirection.ANTISTEREO
        return (
            Recover(pair.more, shared_with=pair.less, comes_first=more_first),
            Recover(pair.less, shared_with=pair.more, comes_first=not more_first),
        )


def pair_method(model: Model) -> PairMethod:
    """How pairs are scored by a model.

    Raises:
        ModelError: If it cannot be asked for the probability of sentences.
    """
    if model.has_capability(Recover) or Recover in model.also_answers:
        known = model.way_of(Recover) or ("shared-tokens", "pseudo-log-likelihood of the shared tokens")
        return PairMethod(*known, by_shared_tokens=True)
    if not model.has_capability(Continue):
        raise missing_capability(model, Continue, purpose="compare the sentences of pairs")
    known = model.way_of(Continue) or (
        "sentence in text",
        "log-probability of the whole sentence, as the model gives it",
    )
    return PairMethod(*known, by_shared_tokens=False)


@dataclass(frozen=True, slots=True)
class PairScore:
    """Natural log-probabilities of both sentences, NaN with a reason where there are none."""

    more: float
    less: float
    problem: str | None = None

    @classmethod
    def missing(cls, problem: str) -> PairScore:
        """No score, and why."""
        return cls(math.nan, math.nan, problem)


def score_pairs(
    model: Model,
    pairs: Sequence[SentencePair],
    method: PairMethod,
    *,
    max_tokens: int | None = None,
    parts: Parts | None = None,
    progress: Progress | None = None,
) -> list[PairScore]:
    """The score of every pair, or the reason why it has none.

    Args:
        model: The model.
        pairs: The pairs.
        method: How it is asked.
        max_tokens: Most tokens in a batch.
        parts: Where finished batches are kept, so that an interrupted job resumes.
        progress: Told how many pairs are done, of how many.
    """
    reasons = [_unfit_reason(pair) for pair in pairs]
    asked = [pair for pair, reason in zip(pairs, reasons, strict=True) if reason is None]
    answers = model.answer(
        [request for pair in asked for request in method.requests(pair)],
        items=[pair.id for pair in asked for _ in range(2)],
        whole_items=True,
        max_tokens=max_tokens,
        parts=parts,
        progress=progress,
    )
    both = zip(answers[::2], answers[1::2], strict=True)
    return [_score(*next(both)) if reason is None else PairScore.missing(reason) for reason in reasons]


def _score(more: Answer, less: Answer) -> PairScore:
    problem = more.problem or less.problem
    if problem:
        # Without the length of each, so that pairs are counted under one reason.
        return PairScore.missing(common_reason(problem))
    return PairScore(more.total, less.total)


def _unfit_reason(pair: SentencePair) -> str | None:
    if pair.beyond_repair:
        return "people marked the pair as beyond repair"
    if pair.neutral:
        return "the sentence is the same for both groups"
    if not pair.complete:
        return "the pair has one sentence only"
    return overlong_reason(pair.more, pair.less)
