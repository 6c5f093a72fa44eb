"""The plan: every input of a forward pass once, with all that is read from it, packed into batches.

It is made before anything runs. It depends on the requests and the budget alone, never on progress; so a resumed run
goes through the very same batches as an undisturbed one.
"""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from evenhand.models.engine.memory import BatchMemory
from evenhand.models.engine.requests import (
    CausalRequest,
    MaskedRequest,
    PairRequest,
    Seq2SeqRequest,
    TokenRequest,
    Tokens,
)
from evenhand.models.engine.trees import JOINED_ROW, CausalInput, Read, build_tree, shared_prefix


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

    def add_reads(self, number: int, new_reads: Iterable[Read]) -> ReadIndex:
        """Where reads of an input are found, each added if it is new."""
        reads = self.inputs[number].reads
        known = self._read_places[number]
        places = []
        for read in new_reads:
            place = known.setdefault(read, len(reads))
            if place == len(reads):
                reads.append(read)
            places.append(place)
        return number, places


def merge_requests(
    requests: Sequence[TokenRequest], *, share_prefixes: bool = True, longest_tree: int | None = None
) -> ForwardInputs:
    """Turn requests into inputs that occur once.

    Args:
        requests: What is asked.
        share_prefixes: Whether what sequences of a group share is computed once.
        longest_tree: Most tokens in a tree, as far as its sequences are no longer themselves. A group that needs more
            makes several trees, each with the beginning that its sequences share.
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
        _gather_trees(members, forward, longest_tree)
    return forward


def _gather_trees(
    members: list[tuple[int, CausalRequest]], forward: ForwardInputs, longest: int | None
) -> None:
    """Trees for the sequences of a group.

    A sequence's last token is only asked for and nothing comes after it, so the model need not see it.
    """
    places: dict[Tokens, tuple[int, list[int]]] = {}
    for sequences in _parted(sorted({request.ids[:-1] for _, request in members}), longest):
        tree, paths = build_tree(sequences)
        key = ("causal", tree.ids, tree.depths, tree.ends)
        number = forward.add_input(key, lambda tree=tree: tree)  # type: ignore[misc]
        places |= {sequence: (number, path) for sequence, path in zip(sequences, paths, strict=True)}
    for index, request in members:
        number, path = places[request.ids[:-1]]
        tree_reads = zip(path[request.first - 1 :], request.ids[request.first :], strict=True)
        forward.places[index] = forward.add_reads(number, tree_reads)


def _parted(sequences: Sequence[Tokens], longest: int | None) -> Iterator[list[Tokens]]:
    """Sorted sequences in runs whose trees are no longer than wanted; a sequence that is longer stands alone."""
    run: list[Tokens] = []
    length = 0
    for sequence in sequences:
        added = len(sequence) - (shared_prefix(run[-1], sequence) if run else 0)
        if run and longest is not None and length + added > longest:
            yield run
            run, length, added = [], 0, len(sequence)
        run.append(sequence)
        length += added
    if run:
        yield run


@dataclass(frozen=True, slots=True)
class Batch:
    """Inputs of one kind that go through the model together, by their numbers."""

    inputs: tuple[int, ...]
    reads: int


@dataclass(frozen=True, slots=True)
class ForwardPlan:
    """Batches in the order in which they run."""

    inputs: Sequence[ForwardInput]
    batches: tuple[Batch, ...]
    joined: bool
    """Whether several inputs stand in one row."""

    @property
    def fingerprint(self) -> str:
        """Digest of all batches and what is read from them."""
        return _fingerprint(self.inputs, self.batches)

    @property
    def tokens(self) -> int:
        """Tokens that the model will see, padding not counted."""
        return sum(entry.length for entry in self.inputs)


def make_plan(
    forward: ForwardInputs, *, max_tokens: int, memory: BatchMemory | None = None, joined: bool = False
) -> ForwardPlan:
    """Sort and pack inputs, longest first, so that running out of memory shows at once.

    Args:
        forward: The inputs.
        max_tokens: Most tokens in a batch, padding included. A single longer entry makes a batch of its own.
        memory: What fits into a batch; if not given, only tokens are counted.
        joined: Whether several inputs stand in one row of a batch, so that there is hardly any padding.
    """
    inputs = forward.inputs
    order = sorted(
        range(len(inputs)), key=lambda number: (_kind(inputs[number]), _negative_size(inputs[number]))
    )
    batches = tuple(
        Batch(inputs=tuple(numbers), reads=sum(len(inputs[number].reads) for number in numbers))
        for numbers in _packed(inputs, order, _Room(max_tokens, memory, joined))
    )
    return ForwardPlan(inputs=inputs, batches=batches, joined=joined)


def _kind(entry: ForwardInput) -> str:
    if isinstance(entry, Seq2SeqInput):
        return f"seq2seq-{entry.greedy_first}"
    return type(entry).__name__


def _negative_size(entry: ForwardInput) -> tuple[int, ...]:
    """Longest first; inputs with the same encoder input next to each other."""
    match entry:
        case Seq2SeqInput():
            return (-len(entry.encoder_ids), *entry.encoder_ids, -len(entry.decoder_ids), *entry.decoder_ids)
        case CausalInput():
            return (-entry.length, *entry.ids, *entry.depths)
        case MaskedInput() | PairInput():
            return (-entry.length, *entry.ids)


@dataclass(frozen=True, slots=True)
class _Room:
    """What may stand in a batch."""

    max_tokens: int
    memory: BatchMemory | None
    joined: bool

    def holds(self, *, count: int, tokens: int, widest: int) -> bool:
        """Whether so many inputs fit that have so many tokens together, and so many in the widest of them."""
        laid_out = tokens if self.joined else widest * count
        if laid_out > self.max_tokens:
            return False
        if self.memory is None:
            return True
        if not self.joined:
            return self.memory.holds(laid_out, width=widest)
        width = max(widest, *JOINED_ROW.values())
        # The last of the rows that inputs are joined in is not full.
        return self.memory.holds(tokens + width, width=width)


def _packed(inputs: Sequence[ForwardInput], order: Sequence[int], room: _Room) -> Iterator[list[int]]:
    current: list[int] = []
    tokens = widest = 0
    for number in order:
        length = inputs[number].length
        fits = room.holds(count=len(current) + 1, tokens=tokens + length, widest=max(widest, length))
        if current and not (fits and _kind(inputs[current[0]]) == _kind(inputs[number])):
            yield current
            current, tokens, widest = [], 0, 0
        current.append(number)
        tokens += length
        widest = max(widest, length)
    if current:
        yield current


def _fingerprint(inputs: Sequence[ForwardInput], batches: Sequence[Batch]) -> str:
    digest = hashlib.sha256()
    for batch in batches:
        for number in batch.inputs:
            digest.update(_content(inputs[number]))
        digest.update(b"\n")
    return digest.hexdigest()


def _content(entry: ForwardInput) -> bytes:
    """All that an input is made of, as bytes that differ for inputs that differ."""
    match entry:
        case MaskedInput():
            parts: list[Sequence[int]] = [entry.ids]
        case CausalInput():
            parts = [entry.ids, entry.depths]
        case Seq2SeqInput():
            parts = [entry.encoder_ids, entry.decoder_ids, [int(entry.greedy_first)]]
        case PairInput():
            parts = [entry.ids, entry.types]
    numbers = array("q", [number for read in entry.reads for number in read])
    for part in parts:
        numbers.append(-1 - len(part))
        numbers.extend(part)
    return _kind(entry).encode() + numbers.tobytes()
