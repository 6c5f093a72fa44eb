"""Comparisons: two runs of one instrument over what both were asked."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
import polars as pl
from pydantic import Field

from evenhand.core.errors import ComparisonError
from evenhand.core.estimates import Estimate, Number
from evenhand.core.frozen import FrozenModel
from evenhand.stats.intervals import Interval
from evenhand.stats.resampling import Floats, Resampling
from evenhand.stats.significance import (
    clustered_sign_flip,
    difference_of_means,
    distance_interval,
    holm,
    ratio_interval,
    sign_flip_name,
)
from evenhand.store.coverage import Coverage
from evenhand.store.figures import Figure
from evenhand.store.run import INSTRUMENTS, Run

ALL_ITEMS = "all"


class Difference(FrozenModel):
    """One measure in two runs over the same items: second minus first."""

    task: str
    group: str
    measure: str
    first: Number
    second: Number
    difference: Estimate
    p_value: Number
    """Paired: the two runs answered the same items."""
    test: str
    """What the p-value comes from, in words."""
    p_holm: Number = math.nan
    """The same, adjusted for all rows of the table."""
    neutral: float | None = None
    unit: str = "points"
    title: str = ""
    distance: Estimate | None = None
    """How much farther from neutral the second is than the first, paired; None without a neutral value."""

    @property
    def key(self) -> str:
        """The key of the figure that differs."""
        return ".".join((self.task, *(() if self.group == ALL_ITEMS else (self.group,)), self.measure))


class McNemar(FrozenModel):
    """Item by item: on how many do the two runs prefer different candidates?"""

    task: str
    only_first: int
    """Items on which only the first run prefers the stereotype."""
    only_second: int
    p_value: Number
    p_value_assumes: str = "independent items"


class ProblemShare(FrozenModel):
    """How much of a difference between two languages rests on the items with a problem.

    The contribution is the measure of the second run, minus what it would be if that run had preferred on these items
    what the first one did.
    """

    task: str
    measure: str
    problem: str
    items: int
    """Shared items of the task that have the problem."""
    of_items: int
    """Shared items of the task."""
    difference: Number
    contribution: Estimate
    share: Number
    """Of the difference; NaN where the difference itself is not clear."""


class TermProblems(FrozenModel):
    """How many items about a target term have which problem."""

    term: str
    bias_type: str
    items: int
    with_problem: int
    """Items with a problem that counts: flagged, repaired, or without their target."""
    counts: Mapping[str, int]
    """Items by problem."""


class TranslationEffect(FrozenModel):
    """What translation may have to do with the difference between two languages."""

    first: str
    second: str
    first_language: str
    second_language: str
    shares: tuple[ProblemShare, ...]
    terms: tuple[TermProblems, ...]
    """Those with the most problems first."""


class Comparison(FrozenModel):
    """Two runs over the items that both scored."""

    instrument: str
    first: str
    second: str
    first_language: str
    second_language: str
    protocol: str | None = None
    n: int
    left_out: int
    """Items that only one of the two runs scored."""
    shared: str | None = None
    """What both runs have in common, in words, where that is not items."""
    differences: tuple[Difference, ...]
    mcnemar: tuple[McNemar, ...] = ()
    notes: tuple[str, ...] = ()
    """What was taken for granted, in sentences."""
    coverage: dict[str, Coverage] = Field(default_factory=dict)
    """Of the runs that were made from files of scores, by name."""
    translation: TranslationEffect | None = None
    """For association tests in two languages; None elsewhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonOptions:
    """What of two runs is compared, and how."""

    measures: tuple[str, ...] | None = None
    """Names; the headline ones if None. Holm's adjustment covers every row, so ask for what you want to know."""
    by_group: bool = False
    """Add a row for each part: bias types, fields of work."""
    resampling: Resampling = field(default_factory=Resampling)


def compare(
    first: Run,
    second: Run,
    *,
    measures: Sequence[str] | None = None,
    by_group: bool = False,
    resampling: Resampling | None = None,
) -> Comparison:
    """Differences between two runs of one instrument, second minus first, with paired intervals and tests.

    Args:
        first: The baseline.
        second: The run that is compared with it.
        measures: What to compare; the headline measures if not given. Holm's adjustment covers every row, so ask for
            what you want to know.
        by_group: Add a row for each part: bias types, fields of work.
        resampling: Number of resamples, seed and confidence level.
    """
    pairs = [(first, second)]
    return compare_pairs(pairs, measures=measures, by_group=by_group, resampling=resampling)[0]


def compare_pairs(
    pairs: Sequence[tuple[Run, Run]],
    *,
    measures: Sequence[str] | None = None,
    by_group: bool = False,
    resampling: Resampling | None = None,
) -> list[Comparison]:
    """Compare several pairs of runs; Holm's adjustment covers the rows of all of them.

    Raises:
        ComparisonError: If two runs are of different instruments or were not asked the same.
    """
    chosen = ComparisonOptions(
        measures=None if measures is None else tuple(measures),
        by_group=by_group,
        resampling=resampling or Resampling(),
    )
    comparisons = [_compare(first, second, chosen) for first, second in pairs]
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


def pairs_to_compare(runs: Sequence[Run], *, all_pairs: bool) -> list[tuple[Run, Run]]:
    """Each run with the first one of its instrument, or every run with every other of its instrument.

    Raises:
        ComparisonError: If no two runs are of one instrument.
    """
    groups: dict[str, list[Run]] = {}
    for run in runs:
        groups.setdefault(run.record.instrument, []).append(run)
    pairs = [
        pair
        for group in groups.values()
        for pair in (combinations(group, 2) if all_pairs else ((group[0], other) for other in group[1:]))
    ]
    if not pairs:
        raise ComparisonError(
            "At least two runs of one instrument are needed for a comparison"
            + (f"; these are of {', '.join(groups)}." if len(groups) > 1 else ".")
        )
    return pairs


def comparable_pairs(runs: Sequence[Run]) -> tuple[list[tuple[Run, Run]], dict[str, str]]:
    """Each run with the first of its instrument where the two can be compared, and why others cannot, by name."""
    firsts: dict[str, Run] = {}
    pairs, reasons = [], {}
    for run in runs:
        first = firsts.setdefault(run.record.instrument, run)
        if first is run:
            continue
        try:
            INSTRUMENTS.get(run.record.instrument).refuse_incomparable(first, run)
        except ComparisonError as problem:
            reasons[run.name] = str(problem)
        else:
            pairs.append((first, run))
    return pairs, reasons


def _compare(first: Run, second: Run, options: ComparisonOptions) -> Comparison:
    if first.record.instrument != second.record.instrument:
        raise ComparisonError(
            f"{first.name} was measured with {first.record.instrument}, {second.name} with "
            f"{second.record.instrument}. Only runs of one instrument can be compared."
        )
    for run in (first, second):
        if any(getattr(result, "ungated", None) is not None for result in run.results):
            raise ComparisonError(
                f"{run.name} has no figures to compare: its model is not shown to know the words that it was asked "
                "for. Its record has the warning that says so."
            )
    instrument = INSTRUMENTS.get(first.record.instrument)
    comparison: Comparison = instrument.compare(first, second, options)
    coverage = {run.name: run.whole_coverage for run in (first, second) if run.whole_coverage}
    notes = (*comparison.notes, *different_precisions([first, second]))
    return comparison.model_copy(update={"coverage": coverage, "notes": notes})


def different_precisions(runs: Sequence[Run]) -> tuple[str, ...]:
    """A warning where the models of runs were asked in different number formats."""
    formats = {run.name: run.record.model.precision for run in runs if run.record.model}
    if len(set(formats.values())) < 2:
        return ()
    listed = ", ".join(f"{name} in {precision}" for name, precision in formats.items())
    return (f"Differences may come from rounding, because precisions differ: {listed}.",)


def compare_units(
    first: Run, second: Run, units: tuple[pl.DataFrame, pl.DataFrame], options: ComparisonOptions
) -> Comparison:
    """Compare figures that are means over units which both runs have.

    Args:
        first: The baseline.
        second: The run that is compared with it.
        units: For each run one row per figure and unit: ``key``, ``unit`` and ``value``. A figure's value is the mean.
        options: What is compared, and how.
    """
    ours, theirs = (frame.drop_nulls("value") for frame in units)
    shared = ours.join(theirs, on=["key", "unit"], suffix="_second", maintain_order="left")
    if shared.is_empty():
        raise ComparisonError(f"{first.name} and {second.name} were not asked the same questions.")
    figures = {figure.key: figure for figure in first.figures if _is_compared(figure, options)}
    rows = []
    for key, figure in figures.items():
        values = shared.filter(pl.col("key") == key)
        if values.is_empty():
            continue
        before, after = (values[name].to_numpy().astype(np.float64) for name in ("value", "value_second"))
        rows.append(difference_row(figure, before, after, resampling=options.resampling))
    # A unit stands once for each figure that it is part of.
    asked = {unit for frame in (ours, theirs) for unit in frame["unit"]}
    n = shared["unit"].n_unique()
    return comparison_of(first, second, rows, n=n, left_out=len(asked) - n)


def _is_compared(figure: Figure, options: ComparisonOptions) -> bool:
    if options.measures is not None and figure.measure not in options.measures:
        return False
    return figure.is_headline or options.by_group or options.measures is not None


def difference_row(figure: Figure, before: Floats, after: Floats, *, resampling: Resampling) -> Difference:
    """The difference of two means over the same units."""
    weights = np.ones(len(before))
    value, interval = difference_of_means(before, after, weights=weights, resampling=resampling)
    difference = interval.around(value, n=len(before), clusters=len(before))
    means = float(before.mean()), float(after.mean())
    total = ratio_interval(before + after, weights, resampling=resampling)
    return Difference(
        task=figure.group[0] if figure.group else ALL_ITEMS,
        group=".".join(figure.group[1:]) or ALL_ITEMS,
        measure=figure.measure,
        first=means[0],
        second=means[1],
        difference=difference,
        p_value=clustered_sign_flip(after - before, resampling=resampling),
        test=sign_flip_name(after - before, resampling=resampling, of="items"),
        neutral=figure.neutral,
        unit=figure.unit,
        title=figure.title,
        distance=None
        if figure.neutral is None
        else change_of_distance(means, difference, total, neutral=figure.neutral),
    )


def change_of_distance(
    values: tuple[float, float], difference: Estimate, total: Interval, *, neutral: float
) -> Estimate:
    """How much farther from neutral the second of two values is than the first.

    Args:
        values: First and second.
        difference: Of both, with its interval.
        total: The interval of their sum.
        neutral: The neutral value.
    """
    first, second = (abs(value - neutral) for value in values)
    own = Interval(difference.low, difference.high, difference.method, difference.reason)
    interval = distance_interval(own, total, neutral=neutral)
    return interval.around(second - first, n=difference.n, clusters=difference.clusters)


def comparison_of(
    first: Run,
    second: Run,
    differences: Sequence[Difference],
    *,
    n: int,
    left_out: int,
    mcnemar: Sequence[McNemar] = (),
) -> Comparison:
    """A comparison of two runs with these rows."""
    return Comparison(
        instrument=first.record.instrument,
        first=first.name,
        second=second.name,
        first_language=first.record.language,
        second_language=second.record.language,
        protocol=first.record.protocol.name if first.record.protocol else None,
        n=n,
        left_out=left_out,
        differences=tuple(differences),
        mcnemar=tuple(mcnemar),
    )
