"""Measures over rows: each says what its units are; value, interval, test and paired comparison follow from that.

A unit is what was drawn: a profession, a pair of sentences, a template. A measure gives one value for each unit and its
figure is their mean, so that two runs are compared over the units that both have.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field

import numpy as np
import polars as pl

from evenhand.core.estimates import Estimate
from evenhand.stats.intervals import wilson_interval
from evenhand.stats.resampling import Resampling
from evenhand.stats.significance import ratio_interval
from evenhand.store.comparison import ALL_ITEMS
from evenhand.store.figures import Group

WHOLE: Group = (ALL_ITEMS,)


@dataclass(frozen=True, slots=True)
class RowMeasure(ABC):
    """What is measured over the rows of an instrument."""

    name: str
    title: str
    _: KW_ONLY
    neutral: float | None = None
    """The value that means no bias either way; None where there is no such value."""
    unit: str = "points"
    is_headline: bool = False
    """Whether the figure of all rows is among the few that a table of runs shows."""
    undefined: str = "nothing could be scored"
    """Why there is no value where there are no units."""

    @abstractmethod
    def units(self, rows: pl.DataFrame) -> Iterator[tuple[Group, pl.DataFrame]]:
        """For each group of rows its units: columns ``unit`` and ``value``."""

    def estimate(
        self, values: np.ndarray[tuple[int], np.dtype[np.float64]], resampling: Resampling
    ) -> Estimate:
        """The mean over units with its interval."""
        n = len(values)
        if not n:
            return Estimate.undefined(self.undefined)
        interval = ratio_interval(values, np.ones(n), resampling=resampling)
        return interval.around(math.fsum(values) / n, n=n, clusters=n)

    def groups_of(self, rows: pl.DataFrame) -> Iterator[tuple[Group, pl.DataFrame]]:
        """The groups that figures are about, with all of their rows."""
        yield WHOLE, rows

    def estimates(self, rows: pl.DataFrame, resampling: Resampling) -> dict[Group, Estimate]:
        """Of each group."""
        return {
            group: self.estimate(units["value"].to_numpy().astype(np.float64), resampling)
            for group, units in self.units(rows)
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Mean(RowMeasure):
    """The mean of a column: of rows within a cluster, then over clusters.

    Attributes:
        of: The column.
        over: The column that names the clusters.
        by: Columns whose values part the rows into groups, from the whole to the part.
        order: The groups in their order, as far as it is given.
        parts_only: Whether there is no figure of all rows.
        scale: What values are multiplied with.
    """

    of: str
    over: str
    by: tuple[str, ...] = ()
    order: Sequence[Group] = ()
    parts_only: bool = False
    scale: float = 1.0

    def units(self, rows: pl.DataFrame) -> Iterator[tuple[Group, pl.DataFrame]]:
        """The means of clusters, of all rows and of each group."""
        for group, own in self.groups_of(rows):
            yield group, self._means(own.drop_nulls(self.of))

    def groups_of(self, rows: pl.DataFrame) -> Iterator[tuple[Group, pl.DataFrame]]:
        """All rows, and those of each combination of values."""
        if not self.parts_only:
            yield WHOLE, rows
        for part in parts(rows, self.by, self.order):
            yield (*WHOLE, *part), of_part(rows, self.by, part)

    def _means(self, rows: pl.DataFrame) -> pl.DataFrame:
        return rows.group_by(pl.col(self.over).alias("unit"), maintain_order=True).agg(
            value=self.scale * pl.col(self.of).mean()
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Share(Mean):
    """The percentage of rows that count, with Wilson's interval: every row is a unit of its own."""

    scale: float = 100.0

    def estimate(
        self, values: np.ndarray[tuple[int], np.dtype[np.float64]], resampling: Resampling
    ) -> Estimate:
        """The share with its interval."""
        n = len(values)
        if not n:
            return Estimate.undefined(self.undefined)
        share = math.fsum(values / self.scale) / n
        interval = wilson_interval(share, n, confidence=resampling.confidence)
        return Estimate(
            value=self.scale * share,
            low=self.scale * interval.low,
            high=self.scale * interval.high,
            n=n,
            clusters=n,
            method=interval.method,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap(RowMeasure):
    """The mean of a column on one side less that on the other, within a cluster, then over clusters.

    Attributes:
        of: The column.
        over: The column that names the clusters; one without both sides is left out.
        between: The column that names the sides, and the two sides: first less second.
        by: The column whose values part the clusters into groups; None for all together.
        order: The groups in their order.
        signs: By the value of ``by`` what a gap is multiplied with: then there is one figure of all, over the values
            that are named.
    """

    of: str
    over: str
    between: tuple[str, str, str]
    by: str | None = None
    order: Sequence[Group] = ()
    signs: Mapping[str, float] = field(default_factory=dict)

    def units(self, rows: pl.DataFrame) -> Iterator[tuple[Group, pl.DataFrame]]:
        """The gaps of clusters."""
        gaps = self._gaps(rows.drop_nulls(self.of))
        if self.signs and self.by is not None:
            signed = gaps.filter(pl.col(self.by).is_in(list(self.signs)))
            sign = pl.col(self.by).replace_strict(dict(self.signs), return_dtype=pl.Float64())
            yield WHOLE, signed.select("unit", value=sign * pl.col("value"))
        elif self.by is not None:
            for part in parts(gaps, (self.by,), self.order):
                yield (*WHOLE, *part), of_part(gaps, (self.by,), part).select("unit", "value")
        else:
            yield WHOLE, gaps.select("unit", "value")

    def _gaps(self, rows: pl.DataFrame) -> pl.DataFrame:
        column, first, second = self.between
        keys = [pl.col(self.over).alias("unit"), *([self.by] if self.by else [])]
        sides = [pl.col(self.of).filter(pl.col(column) == side).mean() for side in (first, second)]
        return rows.group_by(keys, maintain_order=True).agg(value=sides[0] - sides[1]).drop_nulls("value")


def parts(rows: pl.DataFrame, by: Sequence[str], order: Sequence[Group] = ()) -> list[Group]:
    """The combinations of values that some columns have: those of a given order first, the others sorted."""
    if not by:
        return []
    present = {tuple(map(str, row)) for row in rows.select(by).unique().iter_rows() if all(row)}
    return [*(part for part in order if part in present), *sorted(present.difference(order))]


def of_part(rows: pl.DataFrame, by: Sequence[str], part: Group) -> pl.DataFrame:
    """The rows with these values."""
    return rows.filter(*(pl.col(column) == value for column, value in zip(by, part, strict=True)))


def keyed_units(measures: Iterable[RowMeasure], rows: pl.DataFrame) -> pl.DataFrame:
    """The units of all figures: ``key`` of the figure, ``unit`` and ``value``."""
    frames = [
        units.select(
            pl.lit(".".join((*group, measure.name))).alias("key"), pl.col("unit").cast(pl.String()), "value"
        )
        for measure in measures
        for group, units in measure.units(rows)
    ]
    schema = {"key": pl.String(), "unit": pl.String(), "value": pl.Float64()}
    return pl.concat(frames) if frames else pl.DataFrame(schema=schema)
