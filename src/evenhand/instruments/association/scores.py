"""The scores of an association run: one row per candidate, and shorter forms of it."""

from __future__ import annotations

import json
from collections.abc import Mapping

import polars as pl

from evenhand.core.items import Label, Task

SCORES_SCHEMA: Mapping[str, pl.DataType] = {
    "item": pl.String(),
    "task": pl.String(),
    "language": pl.String(),
    "bias_type": pl.String(),
    "target": pl.String(),
    "cluster": pl.String(),
    "context": pl.String(),
    "defects": pl.List(pl.String()),
    "candidate": pl.String(),
    "label": pl.String(),
    "text": pl.String(),
    "token_log_probabilities": pl.List(pl.Float64()),
    "log2_probability": pl.Float64(),
    "score": pl.Float64(),
    "skipped_reason": pl.String(),
}
"""Columns of ``scores.parquet``, one row per candidate. The texts are there so that a report needs nothing
but the folder."""


def items_from_scores(scores: pl.DataFrame) -> pl.DataFrame:
    """From one row per candidate to one row per item, the candidates' scores in columns named by label.

    ``log_ratio`` says by how many bits the stereotype is more probable than the anti-stereotype; it is
    null where one of the two probabilities is not known.
    """
    keys = ["item", "task", "language", "bias_type", "target", "cluster"]
    stereotype, anti_stereotype = (
        _of_candidate("log2_probability", label) for label in (Label.STEREOTYPE, Label.ANTI_STEREOTYPE)
    )
    return scores.group_by(keys, maintain_order=True).agg(
        *[_of_candidate("score", label).alias(label.value) for label in Label],
        (stereotype - anti_stereotype).alias("log_ratio"),
        pl.col("skipped_reason").drop_nulls().first(),
    )


def _of_candidate(column: str, label: Label) -> pl.Expr:
    return pl.col(column).filter(pl.col("label") == label.value).first()


def with_later_columns(scores: pl.DataFrame) -> pl.DataFrame:
    """Scores of an earlier version, with nulls for what it did not write."""
    if "log2_probability" in scores.columns:
        return scores
    return scores.with_columns(pl.lit(None, SCORES_SCHEMA["log2_probability"]).alias("log2_probability"))


def predictions_json(scores: pl.DataFrame) -> str:
    """Scores in StereoSet's own layout, so that other tools read them."""
    usable = scores.filter(pl.col("score").is_not_null() & pl.col("score").is_finite())
    document = {
        task.value: [
            {"id": candidate, "score": score}
            for candidate, score in usable.filter(pl.col("task") == task.value)
            .select("candidate", "score")
            .iter_rows()
        ]
        for task in Task
    }
    return json.dumps({task: rows for task, rows in document.items() if rows}, indent=1) + "\n"
