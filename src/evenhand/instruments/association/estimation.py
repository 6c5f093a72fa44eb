"""From scored items to estimates: every measure, every group, with intervals and tests."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import polars as pl

from evenhand.core.estimates import Estimate
from evenhand.core.items import OVERALL, Label, Task
from evenhand.core.protocols import Protocol, get_protocol
from evenhand.instruments.association.measures import (
    MEASURES,
    ClusterTotals,
    Measure,
    Preferences,
)
from evenhand.instruments.association.measures.class_icat import class_icats
from evenhand.instruments.association.measures.class_means import (
    class_language_modelling_scores,
    class_stereotype_scores,
)
from evenhand.instruments.association.results import (
    GroupResult,
    NeutralTest,
    RunResult,
    Sensitivity,
    SkippedReason,
    TargetResult,
    TaskResult,
    items_from_scores,
)
from evenhand.stats.intervals import wilson_interval
from evenhand.stats.resampling import Resampling
from evenhand.stats.significance import clustered_sign_flip, exact_binomial
from evenhand.store.certificate_files import resampling_of
from evenhand.store.run import Run

Group = TypeVar("Group", bound=GroupResult)

OTHER_CANDIDATE = "another candidate of the item has no usable score"


@dataclass(frozen=True, slots=True)
class ScoredItems:
    """The items that could be scored, as arrays, and how many could not."""

    ids: npt.NDArray[np.str_]
    clusters: npt.NDArray[np.str_]
    bias_types: npt.NDArray[np.str_]
    preferences: Preferences
    skipped: int

    @classmethod
    def from_frame(cls, items: pl.DataFrame, protocol: Protocol) -> ScoredItems:
        """From one row per item, as ``Run.items`` gives it."""
        scored = items.filter(pl.col("skipped_reason").is_null())
        *scores, log_ratio = (
            scored[name].to_numpy().astype(np.float64)
            for name in (*(label.value for label in Label), "log_ratio")
        )
        return cls(
            ids=_strings(scored["item"]),
            clusters=_strings(scored["cluster"]),
            bias_types=_strings(scored["bias_type"]),
            preferences=Preferences.from_scores(*scores, ties=protocol.ties, log_ratio=log_ratio),
            skipped=len(items) - len(scored),
        )

    def __len__(self) -> int:
        return len(self.ids)

    def totals(self) -> ClusterTotals:
        """Sums by target term."""
        return ClusterTotals.from_preferences(self.clusters, self.preferences)


def _strings(series: pl.Series) -> npt.NDArray[np.str_]:
    return np.array(series.to_list(), dtype=np.str_)


def tasks_of(items: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """The items of each task that occurs, and of both together when both do."""
    tasks = {task.value: items.filter(pl.col("task") == task.value) for task in Task}
    present = {name: frame for name, frame in tasks.items() if len(frame)}
    return {**present, OVERALL: items} if len(present) == len(tasks) else present


def estimate_task(
    items: pl.DataFrame,
    *,
    protocol: Protocol,
    resampling: Resampling,
    flagged: frozenset[str] = frozenset(),
    defects: tuple[str, ...] = (),
) -> TaskResult:
    """All that is said about one task.

    Args:
        items: One row per item, as ``Run.items`` gives it.
        protocol: How ties count and which averages are the headline.
        resampling: How intervals and tests resample.
        flagged: Ids of items that the sensitivity analysis leaves out.
        defects: Names of the defects for which items are flagged.
    """
    group = partial(estimate_group, protocol=protocol, resampling=resampling)
    left_out = items.filter(pl.col("item").is_in(sorted(flagged)))
    sensitivity = None
    if len(left_out):
        rest = items.filter(~pl.col("item").is_in(sorted(flagged)))
        sensitivity = Sensitivity(left_out=len(left_out), defects=defects, result=group(rest))
    return TaskResult(
        **dict(group(items)),
        by_bias_type={
            bias_type: group(items.filter(pl.col("bias_type") == bias_type))
            for bias_type in sorted(items["bias_type"].unique().to_list())
        },
        by_target=_target_results(items, protocol=protocol, confidence=resampling.confidence),
        sensitivity=sensitivity,
    )


def estimate_group(items: pl.DataFrame, *, protocol: Protocol, resampling: Resampling) -> GroupResult:
    """All measures over one group of items."""
    scored = ScoredItems.from_frame(items, protocol)
    totals = scored.totals()
    own = {
        measure.name: _estimate(measure, totals, n=len(scored), resampling=resampling)
        for measure in MEASURES.values()
    }
    return GroupResult(
        n=len(scored),
        clusters=len(totals),
        skipped=scored.skipped,
        against_neutral=_neutral_test(scored, resampling),
        **{name: own[protocol.headline.get(name, name)] for name in own},
    )


def _estimate(measure: Measure, totals: ClusterTotals, *, n: int, resampling: Resampling) -> Estimate:
    if n == 0:
        return Estimate.undefined("no item could be scored")
    value = measure.value(totals)
    if math.isnan(value):
        return Estimate.undefined(measure.undefined, n=n, clusters=len(totals))
    interval = measure.interval(totals, resampling=resampling)
    return interval.around(value, n=n, clusters=len(totals))


def _neutral_test(scored: ScoredItems, resampling: Resampling) -> NeutralTest:
    tied = scored.preferences.tied
    decided = scored.preferences.stereotype[~tied]
    wins = int(np.count_nonzero(decided == 1))
    _, index = np.unique(scored.clusters[~tied], return_inverse=True)
    net = np.bincount(index, weights=2 * decided - 1).astype(np.float64)
    return NeutralTest(
        stereotype=wins,
        anti_stereotype=len(decided) - wins,
        ties=int(np.count_nonzero(tied)),
        p_binomial=exact_binomial(wins, len(decided) - wins),
        p_clustered=clustered_sign_flip(net, resampling=resampling),
    )


def _target_results(
    items: pl.DataFrame, *, protocol: Protocol, confidence: float
) -> tuple[TargetResult, ...]:
    scored = ScoredItems.from_frame(items, protocol)
    if not len(scored):
        return ()
    totals = scored.totals()
    by_class = protocol.headline["SS"] == "mean_SS"
    bias_type_of = dict(zip(scored.clusters.tolist(), scored.bias_types.tolist(), strict=True))
    columns = zip(
        totals.names,
        totals.items.tolist(),
        class_stereotype_scores(totals).tolist(),
        class_language_modelling_scores(totals).tolist(),
        class_icats(totals).tolist(),
        strict=True,
    )
    return tuple(
        TargetResult(
            target=name,
            bias_type=bias_type_of[name],
            n=int(n),
            LMS=lms,
            SS=_share_estimate(ss, int(n), confidence),
            ICAT=icat,
            pull=(ss - 50) * (1 / len(totals) if by_class else n / len(scored)),
        )
        for name, n, ss, lms, icat in columns
    )


def _share_estimate(percent: float, n: int, confidence: float) -> Estimate:
    """A share of the items of one term, with Wilson's interval: within a term there are no clusters."""
    interval = wilson_interval(percent / 100, n, confidence=confidence)
    return Estimate(
        value=percent,
        low=100 * interval.low,
        high=100 * interval.high,
        n=n,
        clusters=1,
        method=interval.method,
    )


def results_of_scores(run: Run) -> RunResult:
    """What the scores of a run give; a measure of a package that is not installed is as it is stated."""
    stated: RunResult = run.result
    told = [task.sensitivity.defects for task in stated.tasks.values() if task.sensitivity]
    names = {defect.name for defect in run.record.defects if defect.flagged}.union(*told)
    has_defect = pl.col("defects").list.eval(pl.element().is_in(sorted(names))).list.any()
    flagged = frozenset(run.scores.filter(has_defect)["item"])
    tasks = {}
    for name, items in tasks_of(items_from_scores(run.scores)).items():
        own = stated.tasks.get(name)
        again = estimate_task(
            items,
            protocol=get_protocol(stated.protocol),
            resampling=resampling_of(run.record.statistics),
            flagged=flagged,
            defects=own.sensitivity.defects if own and own.sensitivity else (),
        )
        tasks[name] = _with_unknown_measures(again, own) if own else again
    return stated.model_copy(update={"tasks": tasks, "skipped": skipped_reasons(run.scores)})


def _with_unknown_measures(again: Group, stated: GroupResult) -> Group:
    """With the estimates of measures that are not installed here."""
    unknown = {name: own for name, own in stated.estimates() if name not in MEASURES}
    if not unknown:
        return again
    changes: dict[str, object] = dict(unknown)
    if isinstance(again, TaskResult) and isinstance(stated, TaskResult):
        changes["by_bias_type"] = {
            name: _with_unknown_measures(own, stated.by_bias_type.get(name, own))
            for name, own in again.by_bias_type.items()
        }
        if again.sensitivity and stated.sensitivity:
            result = _with_unknown_measures(again.sensitivity.result, stated.sensitivity.result)
            changes["sensitivity"] = again.sensitivity.model_copy(update={"result": result})
    return again.model_copy(update=changes)


def skipped_reasons(scores: pl.DataFrame) -> tuple[SkippedReason, ...]:
    """Why items of each task have no scores, and which."""
    reasons = scores.filter(
        pl.col("skipped_reason").is_not_null() & (pl.col("skipped_reason") != OTHER_CANDIDATE)
    )
    grouped = (
        reasons.group_by("item", "task", maintain_order=True)
        .agg(pl.col("skipped_reason").first())
        .group_by("task", "skipped_reason", maintain_order=True)
        .agg("item")
    )
    return tuple(
        SkippedReason(task=task, reason=reason, items=tuple(items))
        for task, reason, items in grouped.iter_rows()
    )
