"""What a probe skipped, by reason."""

from __future__ import annotations

import polars as pl

from evenhand.instruments.probe_results import Skipped

MOST_EXAMPLES = 5
"""Names that are given for each reason to skip something."""


def skipped_rows(frame: pl.DataFrame, names: str) -> tuple[Skipped, ...]:
    """The reasons in the column ``skipped_reason``, those that hit most first, with examples from another column."""
    reasons = (
        frame.filter(pl.col("skipped_reason").is_not_null())
        .group_by("skipped_reason", maintain_order=True)
        .agg(pl.len().alias("count"), pl.col(names).head(MOST_EXAMPLES).alias("examples"))
        .sort("count", descending=True, maintain_order=True)
    )
    return tuple(
        Skipped(reason=row["skipped_reason"], count=row["count"], examples=tuple(row["examples"]))
        for row in reasons.iter_rows(named=True)
    )
