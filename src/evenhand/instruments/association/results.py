"""Results and scores of the context association tests: typed, frozen, and equal to the JSON that is printed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Literal

import polars as pl
from pydantic import ConfigDict, Field

from evenhand.core.errors import UnknownNameError
from evenhand.core.estimates import Estimate, Number
from evenhand.core.frozen import FrozenModel
from evenhand.core.items import Label, Task

MEASURE_NAMES = (
    "LMS",
    "SS",
    "ICAT",
    "mean_LMS",
    "mean_SS",
    "macro_ICAT",
    "macro_ICAT_corrected",
    "micro_ICAT",
    "log_ratio",
)
"""The measures of an association result, in the order in which they are shown."""


class NeutralTest(FrozenModel):
    """SS against 50: the exact binomial test over items, and a test that respects target terms."""

    stereotype: int
    """Items on which the stereotype was preferred."""
    anti_stereotype: int
    ties: int
    """Items that say nothing either way; both tests leave them out."""
    p_binomial: Number
    """As published; judge by ``p_clustered``. With a correlation of 0.1 between items of one term it is below 0.05 for
    some 30 of 100 neutral models."""
    p_binomial_assumes: str = "independent items"
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
    macro_ICAT_corrected: Estimate = Estimate.undefined("the run is of a version that did not measure it")
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


def score_in_bits() -> pl.Expr:
    """The score of a candidate in bits: scores are probabilities, their quotients, or sums of binary logarithms."""
    score = pl.col("score")
    return pl.when(score > 0).then(score.log(2)).otherwise(score)


def with_later_columns(scores: pl.DataFrame) -> pl.DataFrame:
    """Scores of an earlier version, with nulls for what it did not write."""
    if "log2_probability" in scores.columns:
        return scores
    return scores.with_columns(pl.lit(None, SCORES_SCHEMA["log2_probability"]).alias("log2_probability"))


def checked_candidates(scores: pl.DataFrame) -> pl.DataFrame:
    """The scores, if they are of known tasks and of three candidates per item.

    Raises:
        ValueError: If they are not.
    """
    for name, known in (("task", Task), ("label", Label)):
        strange = set(scores[name].unique().to_list()) - {each.value for each in known}
        if strange:
            raise ValueError(f"{min(strange)!r} is no {name}")
    if len(scores) != len(Label) * scores["item"].n_unique():
        raise ValueError("an item has other than three candidates")
    facts = scores.select("item", "task", "language", "bias_type", "target", "cluster").unique()
    if len(facts) != facts["item"].n_unique():
        raise ValueError("the candidates of an item differ in more than their texts and scores")
    return scores


def predictions_json(scores: pl.DataFrame) -> str:
    """Scores in StereoSet's own layout, so that other tools read them."""
    usable = scores.filter(pl.col("score").is_not_null() & pl.col("score").is_finite())
    tasks = []
    for task in Task:
        rows = usable.filter(pl.col("task") == task.value).select("candidate", "score").iter_rows()
        # As json.dumps indents it, which takes many times as long for hundreds of thousands of rows.
        entries = [
            f'  {{\n   "id": {json.dumps(candidate)},\n   "score": {json.dumps(score)}\n  }}'
            for candidate, score in rows
        ]
        if entries:
            tasks.append(f' "{task.value}": [\n' + ",\n".join(entries) + "\n ]")
    return "{\n" + ",\n".join(tasks) + "\n}\n" if tasks else "{}\n"
