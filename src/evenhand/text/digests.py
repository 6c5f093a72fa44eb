"""Sentences as digests of eight bytes, and a sample of a stream that does not depend on its order."""

from __future__ import annotations

import hashlib
import heapq
from typing import Generic, TypeVar

Kept = TypeVar("Kept")


def digest_of(sentence: str) -> int:
    """A digest that is the same for sentences which differ only in case and white space.

    Two sentences in ten million share a digest by chance once in 370,000 times.
    """
    normal = " ".join(sentence.split()).casefold()
    return int.from_bytes(hashlib.blake2b(normal.encode(), digest_size=8).digest(), "big")


class LowestDigests(Generic[Kept]):
    """Keeps at most so many things of a stream, those with the lowest digests; if ``distinct``, one per digest."""

    def __init__(self, most: int, *, distinct: bool) -> None:
        self.most = most
        self._distinct = distinct
        self._heap: list[tuple[int, int, Kept]] = []
        self._digests: set[int] = set()
        self._offered = 0

    def __len__(self) -> int:
        return len(self._heap)

    def __contains__(self, digest: int) -> bool:
        """Whether a thing with this digest is kept."""
        return digest in self._digests

    def offer(self, digest: int, thing: Kept) -> None:
        """Keep a thing unless its digest is too high or is kept already."""
        is_full = len(self) == self.most
        if (self._distinct and digest in self) or (is_full and digest >= self._highest):
            return
        self._offered += 1
        self._digests.add(digest)
        entry = (-digest, self._offered, thing)
        if is_full:
            former = self._highest
            heapq.heapreplace(self._heap, entry)
            if self._highest != former:
                self._digests.discard(former)
        else:
            heapq.heappush(self._heap, entry)

    @property
    def _highest(self) -> int:
        """The highest digest that is kept; -1 if nothing is."""
        return -self._heap[0][0] if self._heap else -1

    def by_digest(self) -> list[Kept]:
        """The things that were kept, lowest digest first."""
        return [thing for _, _, thing in sorted(self._heap, key=lambda kept: -kept[0])]

    def as_offered(self) -> list[Kept]:
        """The things that were kept, in the order of the stream."""
        return [thing for _, _, thing in sorted(self._heap, key=lambda kept: kept[1])]
