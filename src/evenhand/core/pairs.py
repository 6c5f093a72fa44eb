"""Pairs of sentences that differ in the group they are about."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum


class Direction(StrEnum):
    """What the sentence about the disadvantaged group does with a stereotype."""

    STEREO = "stereo"
    """It shows the stereotype, and is the more stereotypical sentence."""
    ANTISTEREO = "antistereo"
    """It goes against the stereotype, and is the less stereotypical sentence."""


@dataclass(frozen=True, slots=True)
class SentencePair:
    """Two sentences that differ in the group they are about; ``more`` is the more stereotypical of them.

    That holds for both directions, so a preference for ``more`` always means the same. A sentence that its file
    does not have is empty.
    """

    id: str
    language: str
    bias_type: str
    direction: Direction
    more: str
    less: str

    @property
    def complete(self) -> bool:
        """Whether both sentences are there."""
        return bool(self.more and self.less)


@dataclass(frozen=True, slots=True)
class PairSet:
    """Pairs of one language, and the file they come from."""

    name: str
    language: str
    pairs: tuple[SentencePair, ...]
    source: str
    sha256: str
    licence: str | None = None

    def __len__(self) -> int:
        return len(self.pairs)

    def __iter__(self) -> Iterator[SentencePair]:
        return iter(self.pairs)

    def first(self, limit: int | None) -> PairSet:
        """The same with the first pairs only; all of them if there is no limit."""
        return self if limit is None else replace(self, pairs=self.pairs[:limit])
