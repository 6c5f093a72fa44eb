"""Items: what a benchmark asks a model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum


class Label(StrEnum):
    """What a candidate stands for."""

    STEREOTYPE = "stereotype"
    ANTI_STEREOTYPE = "anti-stereotype"
    UNRELATED = "unrelated"


class Task(StrEnum):
    """Where the candidate stands: in a blank of the context, or as the sentence after it."""

    INTRASENTENCE = "intrasentence"
    INTERSENTENCE = "intersentence"


OVERALL = "overall"


"""Name of the pool of both tasks."""


BLANK = "BLANK"


"""The marker that stands for the gap of an intra-sentence context."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """One way to complete a context.

    ``text`` is the whole sentence; ``word`` is what the file says fills the blank, which is not
    always what stands there (see ``evenhand.core.spans``).
    """

    id: str
    text: str
    label: Label
    word: str | None = None


@dataclass(frozen=True, slots=True)
class Association:
    """A context with three labelled candidates.

    ``target`` is the term as it appears in this language; ``cluster`` is the term that all
    translations share. Items of one cluster are not independent, so intervals resample clusters.
    """

    id: str
    language: str
    bias_type: str
    target: str
    cluster: str
    task: Task
    context: str
    candidates: tuple[Candidate, Candidate, Candidate]

    def candidate(self, label: Label) -> Candidate:
        """The candidate with this label."""
        return next(candidate for candidate in self.candidates if candidate.label is label)


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A set of items in one language, and where it came from."""

    name: str
    language: str
    items: tuple[Association, ...]
    source: str
    sha256: str
    licence: str | None = None

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Association]:
        return iter(self.items)

    def of_task(self, task: Task) -> tuple[Association, ...]:
        """The items of one task, in file order."""
        return tuple(item for item in self.items if item.task is task)

    @property
    def tasks(self) -> tuple[Task, ...]:
        """The tasks that have at least one item."""
        present = {item.task for item in self.items}
        return tuple(task for task in Task if task in present)


def repeated(values: Iterable[str]) -> list[str]:
    """The values that occur more than once, in order of first appearance."""
    return [value for value, count in Counter(values).items() if count > 1]


class PairDirection(StrEnum):
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
    direction: PairDirection
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
