"""Counts of a benchmark: by task, bias type, target term and language."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenhand.core.items import Benchmark

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, slots=True)
class Description:
    """What a benchmark holds, in one or several languages."""

    name: str
    licence: str | None
    items: pl.DataFrame
    """A row an item: language, task, bias_type, cluster, target."""

    def counts(self, *by: str) -> pl.DataFrame:
        """Numbers of items and of target terms by any of the columns of ``items``."""
        import polars as pl

        return (
            self.items.group_by(*by)
            .agg(pl.len().alias("items"), pl.col("cluster").n_unique().alias("target_terms"))
            .sort(*by)
        )

    def targets(self) -> pl.DataFrame:
        """A row a target term and language: items of each task, and the forms it takes."""
        import polars as pl

        return (
            self.items.group_by("language", "bias_type", pl.col("cluster").alias("target_term"))
            .agg(
                (pl.col("task") == "intrasentence").sum().alias("intrasentence"),
                (pl.col("task") == "intersentence").sum().alias("intersentence"),
                pl.col("target").unique().sort().alias("forms"),
            )
            .sort("language", "bias_type", "target_term")
        )


def describe(benchmarks: Benchmark | Sequence[Benchmark]) -> Description:
    """Count the items of one benchmark, or of several languages of one benchmark."""
    import polars as pl

    listed = [benchmarks] if isinstance(benchmarks, Benchmark) else list(benchmarks)
    rows = [
        (item.language, item.task.value, item.bias_type, item.cluster, item.target)
        for benchmark in listed
        for item in benchmark
    ]
    frame = pl.DataFrame(rows, schema=["language", "task", "bias_type", "cluster", "target"], orient="row")
    return Description(name=listed[0].name, licence=listed[0].licence, items=frame)
