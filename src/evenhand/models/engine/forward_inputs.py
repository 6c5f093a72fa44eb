"""Inputs of forward passes: each occurs once, with everything that is read from it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from evenhand.models.engine.requests import (
    CausalRequest,
    MaskedRequest,
    PairRequest,
    Request,
    Seq2SeqRequest,
    Tokens,
)

Read: TypeAlias = tuple[int, int]
"""A position of an input and a token: the token's log-probability in the distribution there.

A plain pair, because there are a dozen for every sentence.
"""


@dataclass(slots=True)
class MaskedInput:
    """One input with masks."""

    ids: Tokens
    reads: list[Read] = field(default_factory=list)

    @property
    def length(self) -> int:
        """Tokens that the model sees."""
        return len(self.ids)


@dataclass(slots=True)
class CausalInput:
    """Sequences as a tree: what they share stands once.

    The tokens stand in one row, each before those that follow it in a sequence and each branch before the next.
    ``depths`` are the tokens' positions in their sequences; ``ends`` is, for each token, the last place of the
    row that comes after it in some sequence. So place j is seen from place i if j <= i <= ends[j].
    """

    ids: Tokens
    depths: Tokens
    ends: Tokens
    reads: list[Read] = field(default_factory=list)

    @property
    def length(self) -> int:
        """Tokens that the model sees."""
        return len(self.ids)


@dataclass(slots=True)
class Seq2SeqInput:
    """One input of an encoder with one input of its decoder."""

    encoder_ids: Tokens
    decoder_ids: Tokens
    greedy_first: bool
    reads: list[Read] = field(default_factory=list)

    @property
    def length(self) -> int:
        """Tokens that the model sees."""
        return len(self.encoder_ids) + len(self.decoder_ids) + self.greedy_first


@dataclass(slots=True)
class PairInput:
    """One encoded pair of sentences. What is read is one value, whatever the position."""

    ids: Tokens
    types: Tokens
    reads: list[Read] = field(default_factory=list)

    @property
    def length(self) -> int:
        """Tokens that the model sees."""
        return len(self.ids)


ForwardInput: TypeAlias = MaskedInput | CausalInput | Seq2SeqInput | PairInput

ReadIndex: TypeAlias = tuple[int, list[int]]
"""Which input, and which of its reads, in the order in which they are asked for."""


@dataclass(slots=True)
class ForwardInputs:
    """Inputs that occur once, and for each request the place where its values will be.

    A request for nothing has no place.
    """

    inputs: list[ForwardInput] = field(default_factory=list)
    places: list[ReadIndex | None] = field(default_factory=list)
    _known: dict[Hashable, int] = field(default_factory=dict)
    _read_places: list[dict[Read, int]] = field(default_factory=list)

    def add_input(self, key: Hashable, make: Callable[[], ForwardInput]) -> int:
        """The number of the input with this key, made if it is new."""
        number = self._known.setdefault(key, len(self.inputs))
        if number == len(self.inputs):
            self.inputs.append(make())
            self._read_places.append({})
        return number

    def add_reads(self, number: int, wanted: Iterable[Read]) -> ReadIndex:
        """Where reads of an input are found, each added if it is new."""
        reads = self.inputs[number].reads
        known = self._read_places[number]
        found = []
        for read in wanted:
            place = known.setdefault(read, len(reads))
            if place == len(reads):
                reads.append(read)
            found.append(place)
        return number, found


def merge_requests(requests: Sequence[Request], *, share_prefixes: bool = True) -> ForwardInputs:
    """Turn requests into inputs that occur once.

    Args:
        requests: What is asked.
        share_prefixes: Whether what sequences of a group share is computed once.
    """
    forward = ForwardInputs(places=[None] * len(requests))
    groups: dict[Hashable, list[tuple[int, CausalRequest]]] = {}
    for index, request in enumerate(requests):
        match request:
            case CausalRequest():
                if request.first >= len(request.ids):
                    continue
                groups.setdefault(request.group if share_prefixes else request.ids, []).append(
                    (index, request)
                )
                continue
            case MaskedRequest():
                number = forward.add_input(("masked", request.ids), lambda r=request: MaskedInput(r.ids))  # type: ignore[misc]
                reads = [(request.position, request.token)]
            case Seq2SeqRequest():
                key = ("seq2seq", request.encoder_ids, request.decoder_ids, request.greedy_first)
                number = forward.add_input(
                    key,
                    lambda r=request: Seq2SeqInput(r.encoder_ids, r.decoder_ids, r.greedy_first),  # type: ignore[misc]
                )
                reads = list(zip(request.positions, request.tokens, strict=True))
            case PairRequest():
                number = forward.add_input(
                    ("pair", request.ids, request.types),
                    lambda r=request: PairInput(r.ids, r.types),  # type: ignore[misc]
                )
                reads = [(0, 0)]
        forward.places[index] = forward.add_reads(number, reads)
    for members in groups.values():
        _gather_tree(members, forward)
    return forward


def _gather_tree(members: list[tuple[int, CausalRequest]], forward: ForwardInputs) -> None:
    """One tree for the sequences of a group.

    A sequence's last token is only asked for and nothing comes after it, so the model need not see it.
    """
    rows: dict[Tokens, list[int]] = {}
    ids: list[int] = []
    depths: list[int] = []
    ends: list[int] = []
    before: Tokens = ()
    path: list[int] = []
    for sequence in sorted({request.ids[:-1] for _, request in members}):
        shared = _shared_prefix(before, sequence)
        for place in path[shared:]:
            ends[place] = len(ids) - 1
        path = [*path[:shared], *range(len(ids), len(ids) + len(sequence) - shared)]
        ids += sequence[shared:]
        depths += range(shared, len(sequence))
        ends += [0] * (len(sequence) - shared)
        rows[sequence] = path
        before = sequence
    for place in path:
        ends[place] = len(ids) - 1
    row = (tuple(ids), tuple(depths), tuple(ends))
    number = forward.add_input(("causal", *row), lambda: CausalInput(*row))
    for index, request in members:
        places = rows[request.ids[:-1]]
        wanted = zip(places[request.first - 1 :], request.ids[request.first :], strict=True)
        forward.places[index] = forward.add_reads(number, wanted)


def _shared_prefix(one: Tokens, other: Tokens) -> int:
    return next(
        (place for place, (left, right) in enumerate(zip(one, other, strict=False)) if left != right),
        min(len(one), len(other)),
    )
