"""Which tokens of a text are asked for: all of them, those of some characters, or those shared with another text."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from evenhand.models.engine.requests import Tokens
from evenhand.models.references import UnscorableError
from evenhand.models.requests import Recover
from evenhand.models.tokenised_text import TokenisedText, check_token_budget, tokenise

MAX_ALIGNED_TOKENS = 2_048
"""Tokens of a text that is aligned with another, for which the time grows with the square."""


def recovered_places(tokenizer: Any, request: Recover) -> tuple[TokenisedText, Sequence[int]]:
    """A text as tokens, and the places of those that a request asks for; special tokens are left out.

    Raises:
        UnscorableError: If there are none, or too many.
    """
    if request.shared_with is not None:
        own, other = (_of_pair(tokenizer, text) for text in (request.text, request.shared_with))
        return own, _shared_places(own, other, request)
    tokenised = tokenise(tokenizer, request.text, special=True)
    places: Sequence[int]
    if request.span is None:
        check_token_budget(len(tokenised.ids), inputs=len(tokenised.ids))
        places = [place for place, span in enumerate(tokenised.spans) if span is not None]
    else:
        places = tokenised.overlapping(request.span)
        check_token_budget(len(tokenised.ids), inputs=len(places))
    if not places:
        raise UnscorableError("the text has no token of its own")
    return tokenised, places


@lru_cache(maxsize=4)
def _of_pair(tokenizer: Any, text: str) -> TokenisedText:
    """Both sentences of a pair are asked for one after the other, and each is aligned with the other."""
    return tokenise(tokenizer, text, special=True)


def _shared_places(own: TokenisedText, other: TokenisedText, request: Recover) -> list[int]:
    if max(len(own.ids), len(other.ids)) > MAX_ALIGNED_TOKENS:
        raise UnscorableError("the sentences are too long to find the tokens that they share")
    first, second = (own, other) if request.comes_first else (other, own)
    side = 0 if request.comes_first else 1
    places = [pair[side] for pair in _aligned(first.ids, second.ids) if first.spans[pair[0]] is not None]
    if not places:
        raise UnscorableError("the two sentences share no token")
    return places


@lru_cache(maxsize=64)
def _aligned(first: Tokens, second: Tokens) -> tuple[tuple[int, int], ...]:
    """Places of equal tokens in two sequences, as difflib matches them."""
    # In sequences of 200 tokens or more, which CrowS-Pairs does not have, autojunk would ignore frequent tokens.
    matcher = difflib.SequenceMatcher(None, first, second, autojunk=False)
    return tuple(
        (block.a + step, block.b + step)
        for block in matcher.get_matching_blocks()
        for step in range(block.size)
    )


def with_token(ids: Tokens, place: int, token: int) -> Tokens:
    """Tokens with another one at a place."""
    return (*ids[:place], token, *ids[place + 1 :])
