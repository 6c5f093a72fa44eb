"""Compare two runs over the items that both scored: two models, two languages, before and after."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations

import numpy as np
import polars as pl

from evenhand.core.errors import ComparisonError
from evenhand.core.estimates import Estimate
from evenhand.core.protocols import HEADLINE, get_protocol
from evenhand.instruments.association.estimation import ScoredItems, tasks_of
from evenhand.instruments.association.measures import MEASURES, ClusterTotals, Measure, get_measure
from evenhand.instruments.association.results import Comparison, Difference, McNemar
from evenhand.runs.run import Run
from evenhand.stats.differences import difference_interval
from evenhand.stats.resampling import Resampling
from evenhand.stats.significance import holm, mcnemar_test, swap_test

ALL_ITEMS = "all"


def compare(
    first: Run,
    second: Run,
    *,
    measures: Sequence[str] = HEADLINE,
    by_bias_type: bool = False,
    resampling: Resampling | None = None,
) -> Comparison:
    """Differences of measures, second minus first, with paired intervals and tests.

    Args:
        first: The baseline.
        second: The run that is compared with it.
        measures: What to compare. Holm's adjustment covers every row, so ask for what you want to know.
        by_bias_type: Add a row for each bias type.
        resampling: Number of resamples, seed and confidence level.
    """
    return compare_pairs(
        [(first, second)], measures=measures, by_bias_type=by_bias_type, resampling=resampling
    )[0]


def compare_pairs(
    pairs: Sequence[tuple[Run, Run]],
    *,
    measures: Sequence[str] = HEADLINE,
    by_bias_type: bool = False,
    resampling: Resampling | None = None,
) -> list[Comparison]:
    """Compare several pairs of runs; Holm's adjustment covers the rows of all of them."""
    plan = resampling or Resampling()
    chosen = [get_measure(name) for name in measures]
    comparisons = [_compare(first, second, chosen, by_bias_type, plan) for first, second in pairs]
    adjusted = iter(holm([row.p_value for comparison in comparisons for row in comparison.differences]))
    return [
        comparison.model_copy(
            update={
                "differences": tuple(
                    row.model_copy(update={"p_holm": next(adjusted)}) for row in comparison.differences
                )
            }
        )
        for comparison in comparisons
    ]


def _compare(
    first: Run, second: Run, measures: Sequence[Measure], by_bias_type: bool, resampling: Resampling
) -> Comparison:
    if first.record.protocol.name != second.record.protocol.name:
        raise ComparisonError(
            f"{first.name} uses protocol {first.record.protocol.name}, {second.name} uses "
            f"{second.record.protocol.name}. Figures of different protocols do not compare; evaluate both with one."
        )
    ours, theirs, left_out = shared_items(first, second)
    rows: list[Difference] = []
    mcnemars: list[McNemar] = []
    their_tasks = tasks_of(theirs)
    for task, frame in tasks_of(ours).items():
        groups = {ALL_ITEMS: (frame, their_tasks[task])}
        if by_bias_type:
            groups |= {
                bias_type: (
                    frame.filter(frame["bias_type"] == bias_type),
                    their_tasks[task].filter(frame["bias_type"] == bias_type),
                )
                for bias_type in sorted(frame["bias_type"].unique().to_list())
            }
        for group, sides in groups.items():
            rows += _differences(task, group, *sides, measures=measures, first=first, resampling=resampling)
        mcnemars.append(_mcnemar(task, frame, their_tasks[task], first))
    return Comparison(
        first=first.name,
        second=second.name,
        first_language=first.record.dataset.language,
        second_language=second.record.dataset.language,
        protocol=first.record.protocol.name,
        n=len(ours),
        left_out=left_out,
        differences=tuple(rows),
        mcnemar=tuple(mcnemars),
    )


def pairs_to_compare(runs: list[Run], *, all_pairs: bool) -> list[tuple[Run, Run]]:
    """Each run with the first one, or every run with every other."""
    if len(runs) < 2:
        raise ComparisonError("At least two runs are needed for a comparison.")
    return list(combinations(runs, 2)) if all_pairs else [(runs[0], other) for other in runs[1:]]


def shared_items(first: Run, second: Run) -> tuple[pl.DataFrame, pl.DataFrame, int]:
    """The items that both runs scored, in the same order, and how many only one of them scored."""
    sides = [run.items().filter(pl.col("skipped_reason").is_null()) for run in (first, second)]
    common = sorted(set(sides[0]["item"].to_list()) & set(sides[1]["item"].to_list()))
    if not common:
        raise ComparisonError(
            f"{first.name} and {second.name} have no item in common. Only runs over the same benchmark, or over "
            "its translations, can be compared."
        )
    ours, theirs = (side.filter(pl.col("item").is_in(common)).sort("item") for side in sides)
    if (ours["cluster"] != theirs["cluster"]).any() or (ours["task"] != theirs["task"]).any():
        raise ComparisonError(
            f"{first.name} and {second.name} share item ids but not target terms; they are not versions of one "
            "benchmark."
        )
    return ours, theirs, sum(len(side) for side in sides) - 2 * len(common)


def _differences(
    task: str,
    group: str,
    ours: pl.DataFrame,
    theirs: pl.DataFrame,
    *,
    measures: Sequence[Measure],
    first: Run,
    resampling: Resampling,
) -> list[Difference]:
    protocol = get_protocol(first.record.protocol.name)
    before, after = (ScoredItems.from_frame(side, protocol).totals() for side in (ours, theirs))
    rows = []
    for measure in measures:
        source = MEASURES[protocol.headline.get(measure.name, measure.name)]
        difference, p_value = _difference(source, before, after, n=len(ours), resampling=resampling)
        rows.append(
            Difference(
                task=task,
                group=group,
                measure=measure.name,
                first=source.value(before),
                second=source.value(after),
                difference=difference,
                p_value=p_value,
                p_holm=math.nan,
            )
        )
    return rows


def _difference(
    measure: Measure, first: ClusterTotals, second: ClusterTotals, *, n: int, resampling: Resampling
) -> tuple[Estimate, float]:
    """Second minus first with its interval, and the p-value from swapping."""
    value = measure.value(second) - measure.value(first)
    clusters = len(first)
    if math.isnan(value):
        return Estimate.undefined(measure.undefined, n=n, clusters=clusters), math.nan
    statistic = partial(measure.compute, first.beside(second))
    interval = difference_interval(
        statistic, clusters, resampling=resampling, widest=measure.highest - measure.lowest
    )
    estimate = replace(interval, method=f"paired {interval.method}").around(value, n=n, clusters=clusters)
    return estimate, swap_test(statistic, clusters, resampling=resampling)


def _mcnemar(task: str, ours: pl.DataFrame, theirs: pl.DataFrame, first: Run) -> McNemar:
    protocol = get_protocol(first.record.protocol.name)
    sides = [ScoredItems.from_frame(side, protocol).preferences for side in (ours, theirs)]
    decided = ~(sides[0].tied | sides[1].tied)
    one, two = (side.stereotype[decided] == 1 for side in sides)
    return McNemar(
        task=task,
        only_first=int(np.count_nonzero(one & ~two)),
        only_second=int(np.count_nonzero(two & ~one)),
        p_value=mcnemar_test(one, two),
    )
