"""The plan: inputs sorted by length and packed into batches, before anything runs.

It depends on the inputs and the budget alone, never on progress; so a resumed run goes through the very
same batches as an undisturbed one.
"""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from evenhand.models.engine.forward_inputs import (
    CausalInput,
    ForwardInput,
    ForwardInputs,
    MaskedInput,
    PairInput,
    Seq2SeqInput,
)


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


def make_plan(forward: ForwardInputs, *, max_tokens: int, joined: bool = False) -> ForwardPlan:
    """Sort and pack inputs, longest first, so that running out of memory shows at once.

    Args:
        forward: The inputs.
        max_tokens: Most tokens in a batch, padding included. A single longer entry makes a batch of its own.
        joined: Whether several inputs stand in one row of a batch, so that there is hardly any padding.
    """
    inputs = forward.inputs
    order = sorted(
        range(len(inputs)), key=lambda number: (_kind(inputs[number]), _negative_size(inputs[number]))
    )
    batches = tuple(
        Batch(inputs=tuple(numbers), reads=sum(len(inputs[number].reads) for number in numbers))
        for numbers in _packed(inputs, order, max_tokens, joined)
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


def _packed(
    inputs: Sequence[ForwardInput], order: Sequence[int], max_tokens: int, joined: bool
) -> Iterator[list[int]]:
    current: list[int] = []
    tokens = widest = 0
    for number in order:
        length = inputs[number].length
        cost = tokens + length if joined else max(widest, length) * (len(current) + 1)
        if current and (_kind(inputs[current[0]]) != _kind(inputs[number]) or cost > max_tokens):
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
