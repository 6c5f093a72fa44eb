"""Pairs of sentences: what is asked about each sentence of a pair, by family.

Models that see both sides of a gap are asked for the tokens that both sentences share, each in a gap of its own
while all other tokens stand, also those that differ (Nangia et al. 2020, equation 1). The words that differ are
not scored: their own frequency would decide most pairs. Decoders cannot be asked so, because a token is never
given what comes after it; they are asked for the whole sentence.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from evenhand.core.items import Direction, SentencePair
from evenhand.models.engine.requests import Request, Requests, Tokens
from evenhand.models.questions import UnscorableError
from evenhand.models.tokenised_text import TokenisedText, tokenise


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


def requests_of_shared(
    tokenizer: Any, pair: SentencePair, requests: Callable[[Tokens, Sequence[int]], Iterable[Request]]
) -> PairRequests:
    """Requests for the shared tokens, by their places in each sentence."""
    more, less = (tokenise(tokenizer, text, special=True) for text in (pair.more, pair.less))
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
    if pair.direction is Direction.ANTISTEREO:
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
