"""The plan: works sorted by length and packed into batches, before anything runs.

It depends on the works and the budget alone, never on progress; so a resumed run goes through the very
same batches as an undisturbed one.
"""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from evenhand.models.engine.forward_inputs import (
    CausalWork,
    Gathered,
    MaskedWork,
    PairWork,
    Seq2SeqWork,
    Work,
)


@dataclass(frozen=True, slots=True)
class Batch:
    """Works of one kind that go through the model together, by their numbers."""

    works: tuple[int, ...]
    reads: int


@dataclass(frozen=True, slots=True)
class Plan:
    """Batches in the order in which they run."""

    works: Sequence[Work]
    batches: tuple[Batch, ...]
    joined: bool
    """Whether several works stand in one row."""

    @property
    def fingerprint(self) -> str:
        """Digest of all batches and what is read from them."""
        return _fingerprint(self.works, self.batches)

    @property
    def tokens(self) -> int:
        """Tokens that the model will see, padding not counted."""
        return sum(work.length for work in self.works)


def make_plan(gathered: Gathered, *, max_tokens: int, joined: bool = False) -> Plan:
    """Sort and pack works, longest first, so that running out of memory shows at once.

    Args:
        gathered: The works.
        max_tokens: Most tokens in a batch, padding included. A single longer work makes a batch of its own.
        joined: Whether several works stand in one row of a batch, so that there is hardly any padding.
    """
    works = gathered.works
    order = sorted(
        range(len(works)), key=lambda number: (_kind(works[number]), _negative_size(works[number]))
    )
    batches = tuple(
        Batch(works=tuple(numbers), reads=sum(len(works[number].reads) for number in numbers))
        for numbers in _packed(works, order, max_tokens, joined)
    )
    return Plan(works=works, batches=batches, joined=joined)


def _kind(work: Work) -> str:
    if isinstance(work, Seq2SeqWork):
        return f"seq2seq-{work.greedy_first}"
    return type(work).__name__


def _negative_size(work: Work) -> tuple[int, ...]:
    """Longest first; works with the same encoder input next to each other."""
    match work:
        case Seq2SeqWork():
            return (-len(work.encoder_ids), *work.encoder_ids, -len(work.decoder_ids), *work.decoder_ids)
        case CausalWork():
            return (-work.length, *work.ids, *work.depths)
        case MaskedWork() | PairWork():
            return (-work.length, *work.ids)


def _packed(
    works: Sequence[Work], order: Sequence[int], max_tokens: int, joined: bool
) -> Iterator[list[int]]:
    current: list[int] = []
    tokens = widest = 0
    for number in order:
        length = works[number].length
        cost = tokens + length if joined else max(widest, length) * (len(current) + 1)
        if current and (_kind(works[current[0]]) != _kind(works[number]) or cost > max_tokens):
            yield current
            current, tokens, widest = [], 0, 0
        current.append(number)
        tokens += length
        widest = max(widest, length)
    if current:
        yield current


def _fingerprint(works: Sequence[Work], batches: Sequence[Batch]) -> str:
    digest = hashlib.sha256()
    for batch in batches:
        for number in batch.works:
            digest.update(_content(works[number]))
        digest.update(b"\n")
    return digest.hexdigest()


def _content(work: Work) -> bytes:
    """All that a work is made of, as bytes that differ for works that differ."""
    match work:
        case MaskedWork():
            parts: list[Sequence[int]] = [work.ids]
        case CausalWork():
            parts = [work.ids, work.depths]
        case Seq2SeqWork():
            parts = [work.encoder_ids, work.decoder_ids, [int(work.greedy_first)]]
        case PairWork():
            parts = [work.ids, work.types]
    numbers = array("q", [number for read in work.reads for number in read])
    for part in parts:
        numbers.append(-1 - len(part))
        numbers.extend(part)
    return _kind(work).encode() + numbers.tobytes()
