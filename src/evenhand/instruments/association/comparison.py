"""Compare two runs over the items that both scored: two models, two languages, before and after."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from evenhand.core.errors import ComparisonError
from evenhand.core.estimates import Estimate
from evenhand.core.items import BLANK, OVERALL, Label, Task, filled_spans
from evenhand.core.protocols import EVENHAND_V1, EVENHAND_V2, HEADLINE, Protocol, get_protocol
from evenhand.data.stereoset import STARTER
from evenhand.instruments.association.estimation import ScoredItems, tasks_of
from evenhand.instruments.association.measures import MEASURES, ClusterTotals, Measure
from evenhand.instruments.association.measures.measure import Compute
from evenhand.instruments.association.results import items_from_scores
from evenhand.stats.intervals import Interval, cluster_interval
from evenhand.stats.resampling import Resampling
from evenhand.stats.score_intervals import effective_items, score_interval
from evenhand.stats.significance import (
    NO_ITEM_DIFFERS,
    difference_interval,
    mcnemar_test,
    swap_test,
    total_interval,
)
from evenhand.store.certificate_bias import BiasRow
from evenhand.store.certificate_quality import POINTS, QualityRow, QualityVerdict
from evenhand.store.comparison import (
    ALL_ITEMS,
    Comparison,
    ComparisonOptions,
    Difference,
    McNemar,
    change_of_distance,
    comparison_of,
)
from evenhand.store.run import Run

_CERTAIN = {"low": 0.0, "high": 0.0, "method": NO_ITEM_DIFFERS, "reason": None}

LMS_MEASURE, LMS_TITLE = "LMS", "Language modelling score of the association tests"

_FILLED_SENTENCE = "sentence"
"""How the names of the methods begin that read filled contexts from left to right."""

_CERTIFICATE_TITLES = {
    ("SS", ALL_ITEMS): "Stereotype score of the association tests",
    ("SS", "gender"): "Stereotype score, items about gender",
    ("ICAT", ALL_ITEMS): "ICAT of the association tests",
}


def compare_associations(first: Run, second: Run, options: ComparisonOptions) -> Comparison:
    """Differences of measures, second minus first, over the items that both runs scored."""
    protocol = shared_protocol(first, second)
    measures = [MEASURES.get(name) for name in options.measures or HEADLINE]
    ours, theirs, left_out = shared_items(first, second)
    rows: list[Difference] = []
    mcnemars: list[McNemar] = []
    their_tasks = tasks_of(theirs)
    for task, frame in tasks_of(ours).items():
        groups = {ALL_ITEMS: (frame, their_tasks[task])}
        if options.by_group:
            groups |= {
                bias_type: (
                    frame.filter(frame["bias_type"] == bias_type),
                    their_tasks[task].filter(frame["bias_type"] == bias_type),
                )
                for bias_type in sorted(frame["bias_type"].unique().to_list())
            }
        for group, sides in groups.items():
            rows += _differences(
                task, group, *sides, measures=measures, protocol=protocol, resampling=options.resampling
            )
        mcnemars.append(_mcnemar(task, frame, their_tasks[task], protocol))
    comparison = comparison_of(first, second, rows, n=len(ours), left_out=left_out, mcnemar=mcnemars)
    return comparison.model_copy(update={"protocol": protocol.name})


def contributions(
    first: Run, second: Run, items: Collection[str], *, measures: Sequence[str], resampling: Resampling
) -> list[Difference]:
    """How much of the difference between two runs rests on some of the items, by task and measure.

    Each row leads from the second run as it would be, had it preferred on these items what the first did, to the second
    run as it is. For a measure that is a mean over items, rows of disjoint items add up to the whole difference.
    """
    protocol = shared_protocol(first, second)
    ours, theirs, _ = shared_items(first, second)
    chosen = theirs["item"].is_in(sorted(items))
    columns = [*(label.value for label in Label), "log_ratio"]
    replaced = tasks_of(
        theirs.with_columns(
            pl.when(chosen).then(ours[name]).otherwise(theirs[name]).alias(name) for name in columns
        )
    )
    return [
        row
        for task, frame in tasks_of(theirs).items()
        for row in _differences(
            task,
            ALL_ITEMS,
            replaced[task],
            frame,
            measures=[MEASURES.get(name) for name in measures],
            protocol=protocol,
            resampling=resampling,
        )
    ]


def shared_protocol(first: Run, second: Run) -> Protocol:
    """The protocol under which two runs compare.

    Runs of ``evenhand.v1`` and ``evenhand.v2`` do where the two give the same scores: where scores come from
    elsewhere, where blanks are filled, and where every candidate's sentence is its filled context.

    Raises:
        ComparisonError: If there is none.
    """
    runs = {run.record.protocol.name if run.record.protocol else "": run for run in (first, second)}
    if len(runs) == 1:
        return get_protocol(next(iter(runs)))
    advice = "evaluate both with one"
    if runs.keys() == {EVENHAND_V1.name, EVENHAND_V2.name}:
        filled = runs[EVENHAND_V1.name]
        others = _candidates_given_another_sentence(filled)
        if not others:
            return EVENHAND_V2
        advice = (
            f"{filled.name} was given the filled context instead of the candidate's own sentence, and {others:,} "
            "candidates differ in it. Audit both with one protocol"
        )
    one, two = runs
    raise ComparisonError(
        f"{first.name} uses protocol {one}, {second.name} uses {two}. Figures of different protocols do not "
        f"compare; {advice}."
    )


def _candidates_given_another_sentence(run: Run) -> int:
    """How many candidates of a run of ``evenhand.v1`` a model was not given by their own sentence."""
    scoring = run.record.scoring
    if scoring is None or not scoring.methods.get(Task.INTRASENTENCE, "").startswith(_FILLED_SENTENCE):
        return 0
    rows = run.scores.filter(pl.col("task") == Task.INTRASENTENCE.value).select("context", "text")
    return sum(text != _filled(context, text) for context, text in rows.iter_rows())


def _filled(context: str, sentence: str) -> str | None:
    spans = filled_spans(context, sentence)
    return context.replace(BLANK, spans[0].of(sentence)) if spans else None


def association_bias_rows(before: Run, after: Run, *, resampling: Resampling) -> dict[str, BiasRow]:
    """For a certificate: SS and ICAT over all items, and SS over items about gender where there are any."""
    options = ComparisonOptions(measures=("SS", "ICAT"), by_group=True, resampling=resampling)
    differences = main_task(compare_associations(before, after, options).differences)
    rows = {}
    for row in differences:
        if (row.measure, row.group) not in _CERTIFICATE_TITLES:
            continue
        measure = MEASURES.get(row.measure)
        certain = certain_where_equal(row, before, after)
        if measure.neutral is None:
            # An ideal is an end of the range: whoever falls is farther from it.
            certain = certain.model_copy(update={"distance": _mirrored(certain.difference)})
        rows[row.key] = BiasRow.of(
            certain,
            (before.figure(row.key).estimate, after.figure(row.key).estimate),
            measure=row.measure if row.group == ALL_ITEMS else f"{row.measure} {row.group}",
            title=_CERTIFICATE_TITLES[row.measure, row.group],
            neutral=measure.ideal if measure.neutral is None else measure.neutral,
        )
    return rows


def _mirrored(estimate: Estimate) -> Estimate:
    return estimate.model_copy(
        update={"value": -estimate.value, "low": -estimate.high, "high": -estimate.low}
    )


def main_task(differences: Sequence[Difference]) -> list[Difference]:
    """Rows over both tasks where both models do both, else over the one that they do."""
    tasks = [row.task for row in differences]
    main = OVERALL if OVERALL in tasks else tasks[0]
    return [row for row in differences if row.task == main]


def shared_items(first: Run, second: Run) -> tuple[pl.DataFrame, pl.DataFrame, int]:
    """The items that both runs scored, in the same order, and how many only one of them scored."""
    sides = [_scored_items(run) for run in (first, second)]
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


def _scored_items(run: Run) -> pl.DataFrame:
    return items_from_scores(run.scores).filter(pl.col("skipped_reason").is_null())


def _differences(
    task: str,
    group: str,
    ours: pl.DataFrame,
    theirs: pl.DataFrame,
    *,
    measures: Sequence[Measure],
    protocol: Protocol,
    resampling: Resampling,
) -> list[Difference]:
    before, after = (ScoredItems.from_frame(side, protocol).totals() for side in (ours, theirs))
    rows = []
    for measure in measures:
        source = MEASURES.get(protocol.headline.get(measure.name, measure.name))
        difference, p_value = _difference(source, before, after, n=len(ours), resampling=resampling)
        is_bounded = math.isfinite(difference.low) or not difference.defined or ours.equals(theirs)
        if measure.name == LMS_MEASURE and not is_bounded:
            # Other scores, and every item came out alike: how many there are bounds what resampling cannot.
            score = _score_interval_of_lms(ours, theirs, protocol, confidence=resampling.confidence)
            difference = _reaching(difference, score)
        values = source.value(before), source.value(after)
        rows.append(
            Difference(
                task=task,
                group=group,
                measure=measure.name,
                first=values[0],
                second=values[1],
                difference=difference,
                p_value=p_value,
                test="runs swapped within whole target terms",
                neutral=measure.neutral,
                unit=measure.unit or "points",
                title=measure.title,
                distance=None
                if measure.neutral is None or not difference.defined
                else change_of_distance(
                    values,
                    difference,
                    _total(source, before, after, resampling=resampling),
                    neutral=measure.neutral,
                ),
            )
        )
    return rows


def lms_difference(before: Run, after: Run, *, resampling: Resampling) -> Difference:
    """For a certificate: LMS over both tasks, or over the one that both models do, held to how many items there are.

    Few items change their preference between a model and its mitigation, perhaps none. So the interval reaches at least
    as far as the score test allows, which counts items; resampling target terms sees what it saw. Where not a single
    score differs, both runs are of one model, and the difference is surely 0.
    """
    options = ComparisonOptions(measures=("LMS",), resampling=resampling)
    (row,) = main_task(compare_associations(before, after, options).differences)
    if before.scores.equals(after.scores):
        return row.model_copy(update={"difference": row.difference.model_copy(update=_CERTAIN)})
    score = _score_interval_of_lms(
        *shared_items(before, after)[:2], shared_protocol(before, after), confidence=resampling.confidence
    )
    if row.difference.method == score.method:  # the comparison had nothing else
        return row
    return row.model_copy(update={"difference": _reaching(row.difference, score)})


def _score_interval_of_lms(
    ours: pl.DataFrame, theirs: pl.DataFrame, protocol: Protocol, *, confidence: float
) -> Interval:
    """By how many points LMS may differ, by the score test over items."""
    first, second = (ScoredItems.from_frame(side, protocol) for side in (ours, theirs))
    _, numbers, sizes = np.unique(first.clusters, return_inverse=True, return_counts=True)
    # Published protocols average over target terms, so that an item of a rare term counts more.
    weights = np.ones(len(first)) if protocol.headline["LMS"] == "LMS" else 1 / sizes[numbers]
    score = score_interval(
        second.preferences.meaningful - first.preferences.meaningful,
        confidence=confidence,
        weights=weights,
        effective=effective_items(first.clusters, weights=weights),
    )
    return Interval(100 * score.low, 100 * score.high, score.method)


def _reaching(own: Estimate, score: Interval) -> Estimate:
    """A difference whose interval reaches at least as far as another one."""
    ends = {
        "low": float(np.fmin(own.low, score.low)),
        "high": float(np.fmax(own.high, score.high)),
        "method": score.method
        if math.isnan(own.low)
        else f"{own.method}; {score.method}, whichever is wider",
        "reason": None,
    }
    return own.model_copy(update=ends)


def lms_of_runs(before: Run, after: Run, *, margin: float, resampling: Resampling) -> QualityRow:
    """For a certificate: the difference of LMS against a margin.

    The starter set, which is asked where nobody names other items, is too small to show that LMS was kept within the
    usual margin. It can show a loss, and a fall beyond the margin leaves quality undecided; otherwise it is not judged.
    Items that the model after could not be asked are counted.
    """
    difference = lms_difference(before, after, resampling=resampling)
    sides, change = (difference.first, difference.second), difference.difference
    row = QualityRow.judged(LMS_MEASURE, LMS_TITLE, sides, change, unit=POINTS, margin=margin)
    if left_out := len(_scored_items(before)) - change.n:
        lacking = f"{left_out:,} items could be asked of the model before only"
        row = row.model_copy(update={"left_out": left_out, "reason": lacking})
    if row.verdict is not QualityVerdict.UNDECIDED or row.is_incomplete or change.value < margin:
        return row
    clusters = shared_items(before, after)[0]["cluster"].to_numpy()
    reason = too_few_items(
        before.record.dataset.name, clusters, margin=-margin, confidence=resampling.confidence
    )
    update = {"verdict": QualityVerdict.NOT_MEASURED, "reason": reason}
    return row if reason is None else row.model_copy(update=update)


def too_few_items(
    dataset: str, clusters: npt.NDArray[Any], *, margin: float, confidence: float
) -> str | None:
    """Why LMS over items of the starter set is not judged; None where it is, as over any other items.

    Args:
        dataset: The name of the items.
        clusters: The target term of each item.
        margin: By how many points LMS may fall.
        confidence: The confidence level.
    """
    unchanged = score_interval(
        np.zeros(len(clusters)), confidence=confidence, effective=effective_items(clusters)
    )
    if dataset != STARTER.name or 100 * unchanged.low > -margin:
        return None
    return (
        f"the {len(clusters)} items of the starter set are too few to exclude a loss of {margin:g} points; name others "
        "with --data"
    )


def certain_where_equal(row: Difference, before: Run, after: Run) -> Difference:
    """For a certificate: a difference without an interval is surely 0 where both models prefer the same everywhere."""
    if row.difference.value != 0 or not math.isnan(row.difference.low):
        return row
    protocol = shared_protocol(before, after)
    first, second = (
        ScoredItems.from_frame(side, protocol).preferences for side in shared_items(before, after)[:2]
    )
    counted = ("stereotype",) if row.measure == "SS" else ("stereotype", "meaningful")
    if not all(np.array_equal(getattr(first, name), getattr(second, name)) for name in counted):
        return row
    difference = row.difference.model_copy(update=_CERTAIN)
    distance = difference if row.distance is not None else None
    return row.model_copy(update={"difference": difference, "distance": distance})


def _difference(
    measure: Measure, first: ClusterTotals, second: ClusterTotals, *, n: int, resampling: Resampling
) -> tuple[Estimate, float]:
    """Second minus first with its interval, and the p-value from swapping."""
    value, clusters = measure.value(second) - measure.value(first), len(first)
    if math.isnan(value):
        return Estimate.undefined(measure.undefined, n=n, clusters=clusters), math.nan
    statistic = partial(measure.compute, first.beside(second))
    widest = measure.highest - measure.lowest
    found = _kinked_difference(measure, first, second, resampling=resampling) or difference_interval(
        statistic, clusters, resampling=resampling, widest=widest
    )
    interval = found.within(-widest, widest, value=value)
    estimate = replace(interval, method=f"paired {interval.method}").around(value, n=n, clusters=clusters)
    return estimate, swap_test(statistic, clusters, resampling=resampling)


def _total(
    measure: Measure, first: ClusterTotals, second: ClusterTotals, *, resampling: Resampling
) -> Interval:
    """The interval of first plus second."""
    return total_interval(
        partial(measure.compute, first.beside(second)),
        len(first),
        resampling=resampling,
        lowest=measure.lowest,
        highest=measure.highest,
    )


def _kinked_difference(
    measure: Measure, first: ClusterTotals, second: ClusterTotals, *, resampling: Resampling
) -> Interval | None:
    """The interval of a difference of measures with a kink; None if there is no kink, or no difference.

    The smallest of some values minus the smallest of others is the smallest over the former of the largest over the
    latter of their differences, which are smooth; so are its ends of theirs.
    """
    if not measure.branches:
        return None

    def between(before: Compute, after: Compute) -> Interval:
        return cluster_interval(
            lambda weights: after(second, weights) - before(first, weights), len(first), resampling=resampling
        )

    rows = [[between(before, after) for before in measure.branches] for after in measure.branches]
    if any(math.isnan(interval.low) for row in rows for interval in row):
        return None
    return Interval(
        min(max(interval.low for interval in row) for row in rows),
        min(max(interval.high for interval in row) for row in rows),
        f"smaller of two: {rows[0][0].method}",
    )


def _mcnemar(task: str, ours: pl.DataFrame, theirs: pl.DataFrame, protocol: Protocol) -> McNemar:
    sides = [ScoredItems.from_frame(side, protocol).preferences for side in (ours, theirs)]
    decided = ~(sides[0].tied | sides[1].tied)
    one, two = (side.stereotype[decided] == 1 for side in sides)
    return McNemar(
        task=task,
        only_first=int(np.count_nonzero(one & ~two)),
        only_second=int(np.count_nonzero(two & ~one)),
        p_value=mcnemar_test(one, two),
    )
