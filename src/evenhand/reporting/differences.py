"""Differences between runs of one instrument, against a baseline that the reader chooses, led by a sentence."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any

from evenhand.core.counts import plural
from evenhand.core.errors import ComparisonError
from evenhand.core.estimates import Estimate
from evenhand.reporting.numbers import (
    clear_side,
    has_interval,
    measure_words,
    show_p,
    signed,
    signed_interval,
)
from evenhand.reporting.plotting import ShownRun, bounds
from evenhand.reporting.views import Column, main_figures
from evenhand.reporting.words import in_brackets, is_shown, listed, unsure
from evenhand.stats.resampling import Resampling
from evenhand.stats.significance import holm
from evenhand.store.comparison import ALL_ITEMS, Comparison, Difference, compare

MOST_BASELINES = 12
"""With more runs, only the first is a baseline: all pairs would be too many to compute and to read."""

WORDS = {
    "SS": ("leans more towards the stereotypes than", "leans less towards the stereotypes than"),
    "LMS": ("tells sense from nonsense more often than", "tells sense from nonsense less often than"),
    "ICAT": ("is closer to the ideal than", "is farther from the ideal than"),
    "MALoR": ("lets occupations lean farther than", "lets occupations lean less far than"),
    "score": (
        "prefers the more stereotypical sentence more often than",
        "prefers the more stereotypical sentence less often than",
    ),
    "cosine": (
        "lets the pronoun change an occupation less than",
        "lets the pronoun change an occupation more than",
    ),
    "direct_bias": (
        "has professions that point farther along the direction than",
        "has professions that point less far along the direction than",
    ),
    "signed_gap": (
        "speaks better of the first group, compared with the second, than",
        "speaks worse of the first group, compared with the second, than",
    ),
}
"""What a higher and a lower value of a measure says about one run beside another."""


@dataclass(frozen=True, slots=True)
class ComparedRun:
    """One run beside the baseline."""

    shown: ShownRun
    comparison: Comparison
    rows: tuple[Difference, ...]
    main: tuple[Difference | None, ...]
    """The differences of the main figures, in the order of their columns."""
    sentences: tuple[str, ...]
    """One per main figure, those about bias first."""
    verdict: str
    """The first of them in a few words."""


@dataclass(frozen=True, slots=True)
class Baseline:
    """A run, and all that were compared with it."""

    place: int
    shown: ShownRun
    runs: tuple[ComparedRun, ...]
    summary: str


@dataclass(frozen=True, slots=True)
class Differences:
    """Runs of one instrument against each of their baselines."""

    instrument: str
    columns: tuple[Column, ...]
    reach: tuple[float, ...]
    """For each column the largest distance from 0 that is drawn."""
    baselines: tuple[Baseline, ...]
    refused: tuple[tuple[str, str], ...]
    """Runs that could not be compared with the first one, and why."""

    @property
    def scales(self) -> tuple[Callable[[float], float], ...]:
        """For each column where a difference lies on it, in percent."""
        return tuple(partial(_place, reach) for reach in self.reach)

    @property
    def rows(self) -> list[dict[str, Any]]:
        """Every difference from every baseline."""
        return [
            {
                "instrument": self.instrument,
                "baseline": baseline.shown.label,
                "run": own.shown.label,
                "task": row.task,
                "group": row.group,
                "measure": row.measure,
                "baseline_value": row.first,
                "run_value": row.second,
                "difference": row.difference.value,
                "low": row.difference.low,
                "high": row.difference.high,
                "p_value": row.p_value,
                "p_holm": row.p_holm,
            }
            for baseline in self.baselines
            for own in baseline.runs
            for row in own.rows
        ]


def _place(reach: float, value: float) -> float:
    return 50 + 50 * max(-1.0, min(1.0, value / reach))


def differences(
    runs: Sequence[ShownRun], comparisons: Sequence[Comparison] | None = None
) -> Differences | None:
    """Runs of one instrument against each other; None where nothing can be compared.

    Args:
        runs: All of one instrument.
        comparisons: Those that were made already; made here if None: of all pairs where there are few runs, else of
            each run with the first.
    """
    if len(runs) < 2:
        return None
    refused: dict[str, str] = {}
    pairs = _given(runs, comparisons) if comparisons is not None else _made(runs, refused)
    columns = tuple(main_figures(runs))
    beside: dict[int, dict[int, Comparison]] = {}
    for (first, second), comparison in pairs.items():
        beside.setdefault(first, {})[second] = comparison
        if len(runs) <= MOST_BASELINES:
            beside.setdefault(second, {})[first] = _turned(comparison)
    if not beside:
        return (
            None
            if not refused
            else Differences(runs[0].run.record.instrument, columns, (), (), tuple(refused.items()))
        )
    baselines = tuple(_baseline(place, runs, others, columns) for place, others in sorted(beside.items()))
    reach = tuple(
        max(
            (
                abs(bound)
                for baseline in baselines
                for own in baseline.runs
                if (row := own.main[place]) is not None
                for bound in bounds(row.difference)
                if math.isfinite(bound)
            ),
            default=1.0,
        )
        or 1.0
        for place in range(len(columns))
    )
    return Differences(runs[0].run.record.instrument, columns, reach, baselines, tuple(refused.items()))


def difference_sentence(row: Difference, *, first: str, second: str, about: str = "") -> str:
    """Whether one run differs from another in a measure, and how far.

    Args:
        row: The difference, second minus first.
        first: The baseline.
        second: The run beside it.
        about: What the measure was taken on, where there are several.
    """
    name = row.title or measure_words(row.measure)
    where = f" ({about})" if about else ""
    if not row.difference.defined:
        return f"{second} and {first} cannot be compared in {name}{where}: {row.difference.reason}."
    digits = 1 if row.unit == "points" else 2 if row.unit == "bits" else 3
    unit = f" {row.unit}" if row.unit else ""
    interval = signed_interval(row.difference, digits=digits)
    figure = f"{signed(row.difference.value, digits)}{unit}{in_brackets(interval)}"
    if not has_interval(row.difference):
        return f"{second} differs from {first} in {name}{where} by {figure}. {unsure(row.difference)}"
    if not clear_side(row.difference):
        return f"No difference between {second} and {first} is shown in {name}{where}: {figure}."
    chance = (
        ""
        if is_shown(row)
        else f", but not clearly once all tests are counted (p {show_p(row.p_holm)} after Holm)"
    )
    return f"{second} {_phrase(row)} {first}{where}: {figure}{chance}."


def difference_verdict(row: Difference | None) -> str:
    """Whether a run differs from the baseline, in a few words."""
    if row is None or not row.difference.defined or not has_interval(row.difference):
        return "Cannot be said"
    if not clear_side(row.difference):
        return "No difference shown"
    phrase = _phrase(row).removesuffix(" than")
    return f"{phrase[0].upper()}{phrase[1:]}{'' if is_shown(row) else ', not clearly'}"


def _phrase(row: Difference) -> str:
    name = row.title or measure_words(row.measure)
    more, less = WORDS.get(row.measure, (f"has a higher {name} than", f"has a lower {name} than"))
    return more if row.difference.value > 0 else less


def _made(runs: Sequence[ShownRun], refused: dict[str, str]) -> dict[tuple[int, int], Comparison]:
    """Compare what can be compared."""
    places = range(len(runs))
    chosen = (
        list(combinations(places, 2)) if len(runs) <= MOST_BASELINES else [(0, place) for place in places[1:]]
    )
    made = {}
    for first, second in chosen:
        statistics = runs[first].run.record.statistics
        resampling = Resampling(
            resamples=statistics.resamples, seed=statistics.seed, confidence=statistics.confidence
        )
        try:
            made[first, second] = compare(runs[first].run, runs[second].run, resampling=resampling)
        except ComparisonError as problem:
            if first == 0:
                refused[runs[second].label] = str(problem)
    return made


def _given(runs: Sequence[ShownRun], comparisons: Sequence[Comparison]) -> dict[tuple[int, int], Comparison]:
    places: dict[tuple[str, str], int] = {}
    for place, shown in enumerate(runs):
        places.setdefault((shown.run.name, shown.run.record.language), place)
    given = {}
    for comparison in comparisons:
        if comparison.instrument != runs[0].run.record.instrument:
            continue
        first = places.get((comparison.first, comparison.first_language))
        second = places.get((comparison.second, comparison.second_language))
        if first is not None and second is not None:
            given[first, second] = comparison
    return given


def _turned(comparison: Comparison) -> Comparison:
    """The same comparison with the other run as the baseline; intervals and tests are symmetric."""
    return comparison.model_copy(
        update={
            "first": comparison.second,
            "second": comparison.first,
            "first_language": comparison.second_language,
            "second_language": comparison.first_language,
            "differences": tuple(
                row.model_copy(
                    update={"first": row.second, "second": row.first, "difference": _negated(row.difference)}
                )
                for row in comparison.differences
            ),
            "mcnemar": tuple(
                test.model_copy(update={"only_first": test.only_second, "only_second": test.only_first})
                for test in comparison.mcnemar
            ),
        }
    )


def _negated(estimate: Estimate) -> Estimate:
    return estimate.model_copy(
        update={"value": -estimate.value, "low": -estimate.high, "high": -estimate.low}
    )


def _baseline(
    place: int, runs: Sequence[ShownRun], others: dict[int, Comparison], columns: Sequence[Column]
) -> Baseline:
    """Holm's adjustment covers all rows of one baseline, because that is what a reader sees at once."""
    ordered = [(runs[other], others[other]) for other in sorted(others)]
    adjusted = iter(holm([row.p_value for _, comparison in ordered for row in comparison.differences]))
    compared = []
    for shown, comparison in ordered:
        rows = tuple(row.model_copy(update={"p_holm": next(adjusted)}) for row in comparison.differences)
        main = tuple(_main_row(column, rows, runs.index(shown)) for column in columns)
        leading = [(column, row) for column, row in zip(columns, main, strict=True) if row is not None]
        several = len({column.about for column, _ in leading}) > 1
        sentences = tuple(
            difference_sentence(
                row,
                first=runs[place].label,
                second=shown.label,
                about=column.about if several else "",
            )
            for column, row in _leading_first(leading)
        )
        first = next((row for _, row in _leading_first(leading)), None)
        compared.append(ComparedRun(shown, comparison, rows, main, sentences, difference_verdict(first)))
    return Baseline(place, runs[place], tuple(compared), _summary(runs[place], compared))


def _leading_first(
    rows: Sequence[tuple[Column, Difference]],
) -> Iterator[tuple[Column, Difference]]:
    """Measures with a neutral value first: they are about bias, the others about quality."""
    yield from ((column, row) for column, row in rows if row.neutral is not None)
    yield from ((column, row) for column, row in rows if row.neutral is None)


def _main_row(column: Column, rows: Sequence[Difference], place: int) -> Difference | None:
    """The difference of a main figure: of the group that the runs are known by."""
    groups = [figure.group for figure in column.figures if figure is not None]
    own = column.figures[place]
    wanted = own.group if own is not None else groups[0]
    by_group = {_group_of(row): row for row in rows if measure_words(row.measure) == column.measure}
    if wanted in by_group:
        return by_group[wanted]
    return next(iter(by_group.values()), None) if len(set(groups)) > 1 or len(by_group) == 1 else None


def _group_of(row: Difference) -> tuple[str, ...]:
    return (row.task,) if row.group == ALL_ITEMS else (row.task, *row.group.split("."))


def _summary(baseline: ShownRun, compared: Sequence[ComparedRun]) -> str:
    """Of many runs, how many differ and to which side, in the main figure about bias."""
    rows = [
        row
        for own in compared
        if (row := next((row for row in own.main if row is not None and row.neutral is not None), None))
    ]
    if len(rows) < 2:
        return ""
    sides = [clear_side(row.difference) if is_shown(row) else 0 for row in rows]
    parts = [
        f"{plural(count, 'run is', 'runs are')} {says}"
        for side, says in ((1, "clearly higher"), (-1, "clearly lower"), (0, "not clearly different"))
        if (count := sides.count(side))
    ]
    return f"{rows[0].title or rows[0].measure} beside {baseline.label}: {listed(parts)}."
