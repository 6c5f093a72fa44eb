"""Pairs of sentences: what is asked about each sentence of a pair, by family.

Models that see both sides of a gap are asked for the tokens that both sentences share, each in a gap of its own
while all other tokens stand, also those that differ (Nangia et al. 2020, equation 1). The words that differ are
not scored: their own frequency would decide most pairs. Decoders cannot be asked so, because a token is never
given what comes after it; they are asked for the whole sentence.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Protocol

from evenhand.core.items import PairDirection, SentencePair, overlong_reason
from evenhand.core.progress import Progress
from evenhand.models.engine.modes import gc_disabled
from evenhand.models.engine.requests import Request, RequestGroup, Requests, RequestValues, Tokens, too_long
from evenhand.models.measurable import Measurable
from evenhand.models.references import UnscorableError
from evenhand.models.tokenised_text import TokenisedText, prepare, tokenise
from evenhand.runs.store import Parts


@dataclass(frozen=True, slots=True)
class PairRequests:
    """What is asked about the more and about the less stereotypical sentence."""

    more: Requests
    less: Requests


class PairMethod(Protocol):
    """Turns a pair into requests; a sentence's score is the sum of the log-probabilities that they give."""

    @property
    def name(self) -> str:
        """A short name for records and tables."""
        ...

    @property
    def description(self) -> str:
        """What it does, in a sentence."""
        ...

    @property
    def special(self) -> bool:
        """Whether sentences are tokenised with special tokens."""
        ...

    def requests(self, pair: SentencePair) -> PairRequests:
        """What is asked about a pair.

        Raises:
            UnscorableError: If the pair cannot be asked about.
        """
        ...


MOST_ALIGNED_TOKENS = 2_048
"""Tokens of a sentence that is aligned with another, for which the time grows with the square."""


def requests_of_shared(
    tokenizer: Any, pair: SentencePair, requests: Callable[[Tokens, Sequence[int]], Iterable[Request]]
) -> PairRequests:
    """Requests for the shared tokens, by their places in each sentence."""
    more, less = (tokenise(tokenizer, text, special=True) for text in (pair.more, pair.less))
    if max(len(more.ids), len(less.ids)) > MOST_ALIGNED_TOKENS:
        raise UnscorableError("the sentences are too long to find the tokens that they share")
    places = shared_places(pair, more, less)
    if not places:
        raise UnscorableError("the two sentences share no token")
    return PairRequests(
        more=tuple(requests(more.ids, [place for place, _ in places])),
        less=tuple(requests(less.ids, [place for _, place in places])),
    )


def shared_places(pair: SentencePair, more: TokenisedText, less: TokenisedText) -> list[tuple[int, int]]:
    """Where the tokens that both sentences share stand in each of them; special tokens are left out.

    The authors compare the sentence about the disadvantaged group, which comes first in their code, with the
    other. The order can matter: of two alignments that are equally long, difflib takes the one that comes first.
    """
    if pair.direction is PairDirection.ANTISTEREO:
        return [(place, other) for other, place in _aligned(less, more)]
    return _aligned(more, less)


def _aligned(first: TokenisedText, second: TokenisedText) -> list[tuple[int, int]]:
    # In sequences of 200 tokens or more, which CrowS-Pairs does not have, autojunk would ignore frequent tokens.
    matcher = difflib.SequenceMatcher(None, first.ids, second.ids, autojunk=False)
    return [
        (block.a + step, block.b + step)
        for block in matcher.get_matching_blocks()
        for step in range(block.size)
        if first.spans[block.a + step] is not None
    ]


def with_token(ids: Tokens, place: int, token: int) -> Tokens:
    """Tokens with another one at a place."""
    return (*ids[:place], token, *ids[place + 1 :])


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
    groups = [
        RequestGroup(pair.id, requests)
        for pair, question in zip(pairs, questions, strict=True)
        if isinstance(question, PairRequests)
        for requests in (question.more, question.less)
    ]
    answers = iter(model.answer_groups(groups, max_tokens=max_tokens, parts=parts, progress=progress))
    return [
        PairScore.missing(question) if isinstance(question, str) else _score(next(answers), next(answers))
        for question in questions
    ]


def _questions(
    tokenizer: Any, pairs: Sequence[SentencePair], method: PairMethod, *, longest: int | None
) -> list[PairRequests | str]:
    """For each pair its requests, or the reason why it cannot be asked about."""
    with gc_disabled():
        texts = (
            text
            for pair in pairs
            if pair.complete and not overlong_reason(pair.more, pair.less)
            for text in (pair.more, pair.less)
        )
        prepare(tokenizer, texts, special=method.special)
        return [_question(pair, method, longest) for pair in pairs]


def _question(pair: SentencePair, method: PairMethod, longest: int | None) -> PairRequests | str:
    unfit = _unfit_reason(pair)
    if unfit:
        return unfit
    try:
        requests = method.requests(pair)
    except UnscorableError as reason:
        return str(reason)
    if too_long((*requests.more, *requests.less), longest):
        # Without the length of each, so that pairs are counted under one reason.
        return f"the input is longer than the {longest:,} tokens that the model takes"
    return requests


def _score(more: RequestValues, less: RequestValues) -> PairScore:
    if isinstance(more, str):
        return PairScore.missing(more)
    if isinstance(less, str):
        return PairScore.missing(less)
    if not all(math.isfinite(value) for values in (*more, *less) for value in values):
        return PairScore.missing("the model gave NaN or infinite values")
    return PairScore(math.fsum(chain.from_iterable(more)), math.fsum(chain.from_iterable(less)))


def _unfit_reason(pair: SentencePair) -> str | None:
    if pair.beyond_repair:
        return "people marked the pair as beyond repair"
    if pair.neutral:
        return "the sentence is the same for both groups"
    if not pair.complete:
        return "the pair has one sentence only"
    return overlong_reason(pair.more, pair.less)
