"""Scores of pairs of sentences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from evenhand.core.items import SentencePair
from evenhand.core.progress import Progress
from evenhand.models.engine.modes import gc_disabled
from evenhand.models.engine.requests import RequestGroup, too_long
from evenhand.models.measurable import Measurable
from evenhand.models.questions import UnscorableError
from evenhand.models.sentence_pairs import PairMethod, PairRequests
from evenhand.models.tokenised_text import prepare
from evenhand.runs.store import Parts


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

    @property
    def preference(self) -> float:
        """1 if the more stereotypical sentence is more likely, 0 if the other is, a half if none is."""
        if self.problem is not None:
            return math.nan
        return 0.5 if self.more == self.less else float(self.more > self.less)


def score_pairs(
    model: Measurable,
    pairs: Sequence[SentencePair],
    method: PairMethod,
    *,
    max_tokens: int | None = None,
    parts: Parts | None = None,
    progress: Progress | None = None,
) -> list[PairScore]:
    """The score of every pair, or the reason why it has none.

    Args:
        model: Who is asked.
        pairs: The pairs.
        method: How it is asked.
        max_tokens: Most tokens in a batch.
        parts: Where finished batches are kept, so that an interrupted job goes on.
        progress: Told how many pairs are done, of how many.
    """
    questions = _questions(model.tokenizer, pairs, method, longest=model.longest_input)
    asked = [
        RequestGroup(pair.id, requests)
        for pair, question in zip(pairs, questions, strict=True)
        if isinstance(question, PairRequests)
        for requests in (question.more, question.less)
    ]
    found = iter(model.answer_groups(asked, max_tokens=max_tokens, parts=parts, progress=progress))
    return [
        PairScore.missing(question) if isinstance(question, str) else _score(next(found), next(found))
        for question in questions
    ]


def _questions(
    tokenizer: Any, pairs: Sequence[SentencePair], method: PairMethod, *, longest: int | None
) -> list[PairRequests | str]:
    """For each pair its requests, or the reason why it cannot be asked about."""
    with gc_disabled():
        texts = (text for pair in pairs if pair.complete for text in (pair.more, pair.less))
        prepare(tokenizer, texts, special=method.special)
        return [_question(pair, method, longest) for pair in pairs]


def _question(pair: SentencePair, method: PairMethod, longest: int | None) -> PairRequests | str:
    if not pair.complete:
        return "the pair has one sentence only"
    try:
        requests = method.requests(pair)
    except UnscorableError as reason:
        return str(reason)
    if too_long((*requests.more, *requests.less), longest):
        # Without the length of each, so that pairs are counted under one reason.
        return f"the input is longer than the {longest:,} tokens that the model takes"
    return requests


def _score(more: Sequence[Sequence[float]], less: Sequence[Sequence[float]]) -> PairScore:
    if not all(math.isfinite(value) for values in (*more, *less) for value in values):
        return PairScore.missing("the model gave NaN or infinite values")
    return PairScore(math.fsum(chain.from_iterable(more)), math.fsum(chain.from_iterable(less)))
