"""Coverage: how many of a dataset's items have scores, in a run that was made from files of scores."""

from __future__ import annotations

import math
from collections.abc import Mapping

from pydantic import computed_field

from evenhand.core.estimates import Number
from evenhand.core.frozen import FrozenModel
from evenhand.store.figures import Group

COVERAGE = "coverage"

LEAST_COVERAGE = 99.0
"""Percent. Conditions on figures with less are refused unless somebody allows it."""


class Coverage(FrozenModel):
    """The items with scores, and how many there are."""

    scored: int
    total: int | None
    """None where nothing says how many items the dataset has."""
    unit: str = "items"

    @computed_field  # type: ignore[prop-decorator] # as pydantic documents it
    @property
    def percent(self) -> Number:
        """The share that has scores; NaN where the number of items is not known."""
        return 100 * self.scored / self.total if self.total else math.nan

    @property
    def is_enough(self) -> bool:
        """Whether conditions are judged without further ado; not where the number of items is not known."""
        return self.percent >= LEAST_COVERAGE

    @property
    def short(self) -> str:
        """The percentage, rounded down so that only a complete file has 100%."""
        if math.isnan(self.percent):
            return "unknown"
        if self.percent < 1:
            return f"{self.percent:.1g}%"
        return f"{math.floor(10 * self.percent) / 10:g}%"

    def __str__(self) -> str:
        if self.total is None:
            return f"unknown ({self.scored:,} {self.unit}, of how many is not known)"
        return f"{self.short} ({self.scored:,} of {self.total:,} {self.unit})"


def coverage_of(coverage: Mapping[Group, Coverage], group: Group) -> Coverage:
    """The coverage of a group, or of the smallest part around it; the whole is the group without names."""
    known = (group[:length] for length in range(len(group), -1, -1))
    return next(coverage[part] for part in known if part in coverage)
