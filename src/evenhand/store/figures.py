"""Figures: the numbers of a run, one kind for every instrument."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evenhand.core.estimates import Estimate

Group = tuple[str, ...]
"""What a figure is about, from the whole to the part."""

FigureGroups = Mapping[str, Sequence[Group]]
"""By measure the groups that there are figures of."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One number of a run with what it takes to read it.

    ``group`` says what it is about, from the whole to the part: ``("overall",)``, ``("overall", "gender")``,
    ``("he-she", "gender")``. Group and measure together are its key: ``overall.gender.SS``.
    """

    measure: str
    group: Group
    estimate: Estimate
    title: str
    neutral: float | None
    """The value that means no lean either way; None where there is no such point."""
    unit: str = "points"
    is_headline: bool = False
    """Whether it is among the few that a table of runs shows."""

    @property
    def key(self) -> str:
        """The name under which conditions and tables find it."""
        return ".".join((*self.group, self.measure))
