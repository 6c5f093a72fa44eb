"""Words that all pages share: languages, verdicts, lists, missing intervals, and whether two runs differ."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from evenhand.core.counts import plural
from evenhand.core.estimates import Estimate
from evenhand.core.items import OVERALL
from evenhand.data.language_names import LANGUAGE_NAMES
from evenhand.reporting.numbers import clear_side, decimals, has_interval, interval_words, measure_words
from evenhand.stats.intervals import unseen_share
from evenhand.stats.significance import NO_ITEM_DIFFERS
from evenhand.store.comparison import (
    ALL_ITEMS,
    Comparison,
    Difference,
    TranslationEffect,
    different_precisions,
)
from evenhand.store.coverage import Coverage
from evenhand.store.figures import Figure
from evenhand.store.run import Run

TASK_TITLES = {
    OVERALL: "Both tasks together",
    "intrasentence": "Intra-sentence",
    "intersentence": "Inter-sentence",
}


class Lean(StrEnum):
    """What an interval says about the side of neutral that a value lies on."""

    TOWARDS = "towards"
    AGAINST = "against"
    OPEN = "open"
    UNKNOWN = "unknown"


VERDICTS = {
    Lean.TOWARDS: "Leans towards the stereotypes",
    Lean.AGAINST: "Leans against the stereotypes",
    Lean.OPEN: "No lean shown either way",
    Lean.UNKNOWN: "Not enough data to say",
}


@dataclass(frozen=True, slots=True)
class Interpretation:
    """What a result says: a verdict in a few words, and the sentences behind it."""

    lean: Lean
    verdict: str
    sentences: tuple[str, ...]
    about: str = ""
    """Which result of a run it is about, where there are several."""


_MOST_UNSEEN = 0.05


def unseen_words(clusters: int, noun: str, *, what: str, effective: float | None = None) -> str:
    """What no interval over so few documents or contexts can rule out; nothing where there are enough of them.

    Args:
        clusters: How many there are.
        noun: What they are.
        what: What could go unseen.
        effective: As many of one length as would tell as much.
    """
    share = unseen_share(clusters if effective is None else effective)
    if share <= _MOST_UNSEEN:
        return ""
    alike = clusters if effective is None else round(effective)
    unequal = f" of unequal length, which tell as much as {alike} of one length" if alike < clusters else ""
    return f"With {plural(clusters, noun)}{unequal}, {what} that only {share:.0%} of such {noun}s have could go unseen."


def lean_of(estimate: Estimate, neutral: float) -> Lean:
    """Which side of neutral the whole interval lies on."""
    if not estimate.defined or not has_interval(estimate):
        return Lean.UNKNOWN
    return {1: Lean.TOWARDS, -1: Lean.AGAINST, 0: Lean.OPEN}[clear_side(estimate, neutral)]


def interpret_undefined(estimate: Estimate) -> Interpretation:
    """Of a result without a value."""
    return Interpretation(
        Lean.UNKNOWN, VERDICTS[Lean.UNKNOWN], (f"No score could be computed: {estimate.reason}.",)
    )


def interpret_figure(figure: Figure, *, level: str, digits: int) -> Interpretation:
    """What a figure of any instrument says, from its neutral value and its interval alone."""
    estimate, neutral = figure.estimate, figure.neutral
    if not estimate.defined:
        return interpret_undefined(estimate)
    details = in_brackets(
        interval_words(estimate, digits=digits, level=level),
        "" if neutral is None else f"neutral is {neutral:g}",
    )
    unit = f" {figure.unit}" if figure.unit else ""
    sentence = f"{figure.title} is {estimate.value:.{digits}f}{unit}{details}."
    if neutral is None:
        return Interpretation(
            Lean.OPEN, f"{figure.title}: {estimate.value:.{digits}f}{unit}", (sentence,), about=figure.title
        )
    if not has_interval(estimate):
        return Interpretation(
            Lean.UNKNOWN, VERDICTS[Lean.UNKNOWN], (sentence, unsure(estimate)), about=figure.title
        )
    lean = lean_of(estimate, neutral)
    verdict = {
        Lean.TOWARDS: f"{figure.title} is above neutral",
        Lean.AGAINST: f"{figure.title} is below neutral",
        Lean.OPEN: f"{figure.title} is not shown to differ from neutral",
    }[lean]
    says = (
        f"The interval includes {neutral:g}, so neither side is shown. That is not proof of neutrality."
        if lean is Lean.OPEN
        else f"The whole interval lies on one side of {neutral:g}, so chance alone is an unlikely explanation."
    )
    return Interpretation(lean, verdict, (sentence, says), about=figure.title)


def headline_figures(run: Run) -> dict[str, Figure]:
    """The few figures that a run is known by: those of the whole, or one of each experiment."""
    figures = run.figures
    headline = [figure for figure in figures if figure.is_headline] or list(figures[:1])
    of_the_whole = [figure for figure in headline if figure.group == headline[0].group]
    if len(of_the_whole) > 1:
        return {figure.measure: figure for figure in of_the_whole}
    return {figure.key: figure for figure in headline}


def interpret_figures(run: Run) -> tuple[Interpretation, ...]:
    """What the headline figures of a run say."""
    figures = list(headline_figures(run).values())
    digits = decimals([figure.estimate for figure in figures])
    level = confidence_level(run)
    return tuple(interpret_figure(figure, level=level, digits=digits) for figure in figures)


def unsure(estimate: Estimate) -> str:
    """Of a value without an interval."""
    return f"How sure that is cannot be said: {estimate.reason}."


def language_name(tag: str) -> str:
    """The English name of a language, or its tag."""
    return LANGUAGE_NAMES.get(tag.split("-", maxsplit=1)[0], tag)


def task_title(task: str) -> str:
    """The title of a task, or its name where there is none."""
    return TASK_TITLES.get(task, task)


def confidence_level(run: Run) -> str:
    """The level of a run's intervals, as people write it."""
    return f"{run.record.statistics.confidence:.0%}"


def listed(words: Sequence[str]) -> str:
    """Words as a list in a sentence."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def coverage_words(covered: Mapping[str, Coverage]) -> str:
    """The coverage of runs by name; only once where it is the same of all."""
    shared = dict.fromkeys(map(str, covered.values()))
    if len(shared) == 1:
        return next(iter(shared))
    return ", ".join(f"{name} {own}" for name, own in covered.items())


def in_brackets(*parts: str) -> str:
    """What there is to say behind a value."""
    said = "; ".join(part for part in parts if part)
    return f" ({said})" if said else ""


def as_sentence(words: str) -> str:
    """A phrase with a capital letter and a full stop; nothing stays nothing."""
    return f"{words[0].upper()}{words[1:]}." if words else ""


SIGNIFICANT = 0.05
"""The p-value, adjusted for all rows that are compared, below which a difference counts as shown."""

_MOST_NAMED = 3


def is_shown(difference: Difference) -> bool:
    """Whether a difference is more than chance explains."""
    return difference.p_holm < SIGNIFICANT


def comparison_sentence(comparison: Comparison) -> str:
    """Whether two runs differ, with the differences that show it or the one that matters most."""
    first, second = comparison.first, comparison.second
    if first == second:
        languages = comparison.first_language, comparison.second_language
        told_by = languages if languages[0] != languages[1] else ("1", "2")
        first, second = (f"{first} ({own})" for own in told_by)
    rows = sorted(comparison.differences, key=_importance)
    shown = [row for row in rows if is_shown(row)]
    if shown:
        named = "; ".join(_words(row, comparison) for row in shown[:_MOST_NAMED])
        more = len(shown) - _MOST_NAMED
        rest = f"; and {more} more" if more > 0 else ""
        return f"{first} and {second} differ: {named}{rest}."
    if not rows:
        return f"{first} and {second} have no figure that can be compared."
    main = rows[0]
    if all(row.difference.method == NO_ITEM_DIFFERS for row in rows):
        return f"{first} and {second} agree on every item that both scored ({comparison.n:,})."
    if math.isnan(main.p_holm):
        return f"Whether {first} and {second} differ cannot be tested: {main.difference.reason}."
    low, high = main.difference.low, main.difference.high
    tests = len(comparison.differences)
    doubt = f"; with {tests} tests chance could explain it" if tests > 1 and (low > 0 or high < 0) else ""
    return f"No difference is shown between {first} and {second}: {_words(main, comparison)}{doubt}."


def _importance(row: Difference) -> tuple[bool, bool, bool]:
    """What says most comes first: figures with a neutral value, over all items, of all tasks together."""
    return row.group != ALL_ITEMS, row.neutral is None, row.task not in (OVERALL, ALL_ITEMS)


def _words(row: Difference, comparison: Comparison) -> str:
    tasks = {each.task for each in comparison.differences}
    part = [row.task] if len(tasks) > 1 and row.task != OVERALL else []
    part += (
        [row.group]
        if row.group != ALL_ITEMS and len({each.group for each in comparison.differences}) > 1
        else []
    )
    name = " ".join([*part, measure_words(row.measure)])
    estimate = row.difference
    digits = 1 if row.unit == "points" else 2
    interval = "" if math.isnan(estimate.low) else f" [{estimate.low:.{digits}f}, {estimate.high:.{digits}f}]"
    p_value = "p < 0.001" if row.p_holm < 0.001 else f"p {row.p_holm:.3f}"
    return f"{name} {estimate.value:+.{digits}f} {row.unit}{interval}, {p_value} after Holm"


def translation_sentence(effect: TranslationEffect) -> str:
    """How much of the difference between two languages rests on items with a problem."""
    rows = [row for row in effect.shares if row.problem == effect.shares[-1].problem]
    main = OVERALL if any(row.task == OVERALL for row in rows) else rows[0].task
    parts = []
    for row in rows:
        if row.task != main:
            continue
        if not row.items:
            return "No item has such a problem."
        if math.isnan(row.share):
            parts.append(f"the difference in {row.measure} is not clear, so no share of it is given")
        else:
            parts.append(
                f"{row.share:.0%} of the difference in {row.measure} ({row.contribution.value:+.1f} of "
                f"{row.difference:+.1f} points) rests on them"
            )
    count = next(row for row in rows if row.task == main)
    return (
        f"{count.items:,} of {count.of_items:,} items ({count.items / count.of_items:.0%}) have a problem in "
        f"{language_name(effect.first_language)} or {language_name(effect.second_language)}: {'; '.join(parts)}."
    )


def precision_notes(runs: Sequence[Run]) -> list[str]:
    """How far scores in half precision are from fp32, and whether runs differ in precision."""
    checked = [
        f"{run.name}: scores in {run.record.model.precision} are {run.record.precision_check}."
        for run in runs
        if run.record.model and run.record.precision_check
    ]
    return [*checked, *different_precisions(runs)]
