"""Results of the context association tests: typed, frozen, and equal to the JSON that is printed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from pydantic import ConfigDict, Field

from evenhand.core.errors import UnknownNameError
from evenhand.core.estimates import Estimate, Number
from evenhand.core.frozen import FrozenModel

MEASURE_NAMES = ("LMS", "SS", "ICAT", "mean_LMS", "mean_SS", "macro_ICAT", "micro_ICAT", "log_ratio")
"""The measures of an association result, in the order in which they are shown."""


class NeutralTest(FrozenModel):
    """SS against 50: the exact binomial test over items, and a test that respects target terms."""

    stereotype: int
    """Items on which the stereotype was preferred."""
    anti_stereotype: int
    ties: int
    """Items that say nothing either way; both tests leave them out."""
    p_binomial: Number
    p_clustered: Number
    """From random sign flips of whole target terms."""


class GroupResult(FrozenModel):
    """All measures over one group of items; those of other packages are attributes like our own."""

    model_config = ConfigDict(frozen=True, extra="allow")
    __pydantic_extra__: dict[str, Estimate] = Field(init=False)

    n: int
    clusters: int
    skipped: int
    LMS: Estimate
    SS: Estimate
    ICAT: Estimate
    mean_LMS: Estimate
    mean_SS: Estimate
    macro_ICAT: Estimate
    micro_ICAT: Estimate
    log_ratio: Estimate = Estimate.undefined("the run is of a version that did not measure it")
    against_neutral: NeutralTest

    def estimate(self, measure: str) -> Estimate:
        """An estimate by the measure's name."""
        by_name = dict(self.estimates())
        if measure not in by_name:
            raise UnknownNameError("measure", measure, by_name)
        return by_name[measure]

    def estimates(self) -> Iterator[tuple[str, Estimate]]:
        """Measure names with their estimates, in the order in which they are shown."""
        yield from ((name, getattr(self, name)) for name in MEASURE_NAMES)
        yield from (self.__pydantic_extra__ or {}).items()


class TargetResult(FrozenModel):
    """One target term: its scores, and how far it moves the stereotype score of its task."""

    target: str
    bias_type: str
    n: int
    LMS: Number
    SS: Estimate
    ICAT: Number
    pull: Number
    """Points that this term adds to SS minus 50; the pulls of all terms sum to that difference."""


class Sensitivity(FrozenModel):
    """The same measures without the items that the data check flags."""

    left_out: int
    defects: tuple[str, ...]
    result: GroupResult


class TaskResult(GroupResult):
    """All measures over one task, by bias type and by target term."""

    by_bias_type: dict[str, GroupResult]
    by_target: tuple[TargetResult, ...] = ()
    sensitivity: Sensitivity | None = None


class SkippedReason(FrozenModel):
    """Why some items were not scored, and which."""

    reason: str
    task: str
    items: tuple[str, ...]

    @property
    def count(self) -> int:
        """How many items share the reason."""
        return len(self.items)


class RunResult(FrozenModel):
    """What one set of scores says about one language of one benchmark."""

    name: str
    language: str
    protocol: str
    kind: Literal["context-association"] = "context-association"
    tasks: dict[str, TaskResult]
    skipped: tuple[SkippedReason, ...] = ()
    warnings: tuple[str, ...] = Field(default=())
