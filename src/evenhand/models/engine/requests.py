"""What a method wants to know: log-probabilities of tokens under inputs. Plain values, no torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

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


Request: TypeAlias = MaskedRequest | CausalRequest | Seq2SeqRequest | PairRequest
