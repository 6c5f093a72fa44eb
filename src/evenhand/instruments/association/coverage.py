"""Coverage of association items: what a file of scores has of the dataset, by task and bias type."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import polars as pl

from evenhand.core.items import OVERALL
from evenhand.instruments.association.estimation import tasks_of
from evenhand.instruments.association.evaluation import REPLACED
from evenhand.store.coverage import Coverage
from evenhand.store.figures import Group
from evenhand.store.run import Run


def association_coverage(run: Run) -> Mapping[Group, Coverage]:
    """Items with scores, of those that the dataset has.

    The whole counts a task without any score too. A bias type without a task is only there where every task is.
    """
    predictions, total = run.record.predictions, run.record.dataset.items
    if predictions is None:
        return {}
    rows = run.items()
    items = rows.filter(pl.col("skipped_reason").is_null() | (pl.col("skipped_reason") != REPLACED))
    replaced = len(rows) - len(items)
    is_complete = total == len(rows)
    parts: dict[Group, pl.DataFrame] = {}
    for task, own in tasks_of(items).items():
        parts[task,] = own
        parts |= {(task, name): part for name, part in _by_bias_type(own)}
    if is_complete:
        parts |= {(name,): part for name, part in _by_bias_type(items)}
    knows_parts = is_complete or not predictions.holds_items
    coverage = {
        group: Coverage(scored=_scored(part), total=len(part) if knows_parts else None)
        for group, part in parts.items()
    }
    whole = Coverage(scored=_scored(items), total=None if total is None else total - replaced)
    return {(): whole, **coverage, (OVERALL,): whole}


def _by_bias_type(items: pl.DataFrame) -> Iterator[tuple[str, pl.DataFrame]]:
    return ((str(name), rows) for (name,), rows in items.group_by("bias_type", maintain_order=True))


def _scored(items: pl.DataFrame) -> int:
    return len(items.filter(pl.col("skipped_reason").is_null()))
