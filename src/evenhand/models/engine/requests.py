"""What a method wants to know: log-probabilities of tokens under inputs. Plain values, no torch."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from evenhand.core.items import too_long_reason

Tokens: TypeAlias = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class MaskedRequest:
    """The token at one masked position of an input."""

    ids: Tokens
    position: int
    token: int


@dataclass(frozen=True, slots=True)
class CausalRequest:
    """The tokens of a sequence from ``first`` on, each after all before it.

    Requests of one ``group`` are likely to start alike; what they share is computed once.
    """

    ids: Tokens
    first: int
    group: str


@dataclass(frozen=True, slots=True)
class Seq2SeqRequest:
    """Tokens that a decoder is asked for at positions of its input, given an encoder's input.

    With ``greedy_first`` the decoder's input is continued by the token that the model itself prefers,
    and the last position is the one after that token.
    """

    encoder_ids: Tokens
    decoder_ids: Tokens
    positions: Tokens
    tokens: Tokens
    greedy_first: bool = False


@dataclass(frozen=True, slots=True)
class PairRequest:
    """Whether the second sentence of an encoded pair follows the first."""

    ids: Tokens
    types: Tokens


TokenRequest: TypeAlias = MaskedRequest | CausalRequest | Seq2SeqRequest | PairRequest


def requested_tokens(request: TokenRequest) -> Tokens:
    """The tokens whose log-probabilities a request asks for, in order."""
    match request:
        case MaskedRequest():
            return (request.token,)
        case CausalRequest():
            return request.ids[request.first :]
        case Seq2SeqRequest():
            return request.tokens
        case PairRequest():
            return ()


def shown_tokens(request: TokenRequest) -> Tokens:
    """Every token that a request shows or asks for, without the start token of a text."""
    match request:
        case MaskedRequest():
            return (*request.ids, request.token)
        case Seq2SeqRequest():
            return (*request.encoder_ids, *request.tokens)
        case CausalRequest():
            # GPT-2's unknown token is its start token too, which stands first and is no word.
            return request.ids[1:]
        case PairRequest():
            return request.ids


def length_of(request: TokenRequest) -> int:
    """The longest input that a request makes."""
    if isinstance(request, Seq2SeqRequest):
        return max(len(request.encoder_ids), len(request.decoder_ids) + request.greedy_first)
    return len(request.ids)


def too_long(requests: Iterable[TokenRequest], longest: int | None) -> str | None:
    """Why requests do not fit into the model, if one of them does not."""
    if longest is None:
        return None
    needed = max(map(length_of, requests), default=0)
    return None if needed <= longest else too_long_reason(needed, longest)
