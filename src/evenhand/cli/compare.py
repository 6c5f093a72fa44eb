"""``evenhand compare``: do runs over the same items differ?"""

from __future__ import annotations

from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evenhand.cli.options import (
    DEFAULT_CONFIDENCE,
    DEFAULT_RESAMPLES,
    DEFAULT_SEED,
    SCORING,
    Confidence,
    Format,
    Json,
    Resamples,
    Seed,
    TableChoice,
    TranslationChanges,
    refuse_two_formats,
    resampling,
)
from evenhand.cli.output import (
    TerminalMonitor,
    console,
    plain_table,
    print_json,
    print_lines,
    print_table,
    print_text,
    say,
)
from evenhand.core.protocols import PAIR_PROTOCOLS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenhand.store.comparison import Comparison, TranslationEffect

_MOST_TERMS = 8
_MOST_PROBLEMS = 3
_BAR = 16
"""Of the table of target terms: rows, named problems, and characters of the longest bar."""


def compare_command(
    runs: Annotated[
        list[Path],
        typer.Argument(
            help="Run folders, of one instrument or of several, or files of CrowS-Pairs scores such as sample logs of "
            "lm-evaluation-harness. The first of each instrument is the baseline."
        ),
    ],
    all_pairs: Annotated[
        bool,
        typer.Option("--all-pairs", help="Compare every run with every other.", rich_help_panel=SCORING),
    ] = False,
    all_measures: Annotated[
        bool,
        typer.Option(
            "--all-measures",
            help="Compare every measure ($measures, and those of probes), not the headline ones alone.",
            rich_help_panel=SCORING,
        ),
    ] = False,
    by_bias_type: Annotated[
        bool,
        typer.Option(
            "--by-bias-type",
            help="Add a row for each part: bias types, fields of work.",
            rich_help_panel=SCORING,
        ),
    ] = False,
    changes: TranslationChanges = None,
    protocol: Annotated[
        str | None,
        typer.Option(
            "--protocol",
            "-p",
            help=f"For files of scores: {', '.join(PAIR_PROTOCOLS)}. The first of them if not given.",
            rich_help_panel=SCORING,
        ),
    ] = None,
    resamples: Resamples = DEFAULT_RESAMPLES,
    seed: Seed = DEFAULT_SEED,
    confidence: Confidence = DEFAULT_CONFIDENCE,
    json: Json = False,
    format_: Format = TableChoice.TABLE,
) -> None:
    """Compare runs over the items that both scored: two models, two languages, before and after.

    Says in a sentence whether two runs differ, and shows each difference with a paired interval (whole target terms or
    occupations resampled) and a p-value adjusted for all rows of the table (Holm). For two languages it also says how
    much of the difference rests on items that are flagged, lack their target or were repaired.

    **Examples**

    `evenhand compare runs/base runs/mitigated`

    `evenhand compare runs/bert_*_en runs/bert_*_de runs/bert_*_fr --all-pairs --format latex`

    `evenhand compare runs/before_* runs/after_*`

    `evenhand compare runs/bert_*_en runs/bert_*_de --changes translations/de`

    `evenhand compare base/samples_crows_pairs_english.jsonl tuned/samples_crows_pairs_english.jsonl`
    """
    say(f"Comparing {len(runs)} runs")
    refuse_two_formats(json=json, form=format_)
    from evenhand.api.show import compare_all, opened
    from evenhand.store.comparison import ComparisonOptions

    monitor = TerminalMonitor()
    chosen = opened(runs, protocol=protocol, monitor=monitor)
    every = tuple(dict.fromkeys(figure.measure for run in chosen for figure in run.figures))
    comparisons = compare_all(
        chosen,
        all_pairs=all_pairs,
        options=ComparisonOptions(
            measures=every if all_measures else None,
            by_group=by_bias_type,
            resampling=resampling(resamples, seed, confidence),
        ),
        changes=changes or (),
        monitor=monitor,
    )
    if json:
        print_json({"comparisons": [_entry(comparison) for comparison in comparisons]})
    else:
        show_comparisons(comparisons, format_)


def _entry(comparison: Comparison) -> dict[str, object]:
    from evenhand.reporting.words import comparison_sentence

    return {**comparison.model_dump(mode="json"), "answer": comparison_sentence(comparison)}


def show_comparisons(comparisons: Sequence[Comparison], form: TableChoice) -> None:
    """Print comparisons: first in words, then the numbers."""
    from evenhand.reporting import format_comparisons
    from evenhand.reporting.words import comparison_sentence

    if form is not TableChoice.TABLE:
        print_text(format_comparisons(comparisons, form.value))
        return
    print_lines(comparison_sentence(comparison) for comparison in comparisons)
    for comparison in comparisons:
        _show_numbers(comparison)


def _show_numbers(comparison: Comparison) -> None:
    from evenhand.reporting.numbers import number, show, show_p
    from evenhand.reporting.words import coverage_words, is_shown

    target = console()
    target.print(
        f"\n{comparison.second} - {comparison.first}   {comparison.protocol or comparison.instrument}",
        style="bold",
    )
    right = ("first", "second", "difference", "p", "p (Holm)")
    table = plain_table("task", "group", "measure", *right, right=right)
    for row in comparison.differences:
        table.add_row(
            row.task, row.group, row.measure, number(row.first), number(row.second),
            show(row.difference, signed=True), show_p(row.p_value), show_p(row.p_holm),
            style="bold" if is_shown(row) else None,
        )  # fmt: skip
    print_table(table)
    target.print(
        comparison.shared
        or f"{comparison.n:,} shared items, {comparison.left_out:,} scored by one run only and left out."
    )
    if comparison.coverage:
        target.print(f"Coverage: {coverage_words(comparison.coverage)}.")
    tests = dict.fromkeys(row.test for row in comparison.differences if row.test)
    if tests:
        target.print(f"p: {'; '.join(tests)}.")
    for note in comparison.notes:
        target.print(note)
    for test in comparison.mcnemar:
        target.print(
            f"McNemar, {test.task}: stereotype preferred by the first alone on {test.only_first:,} items, by the "
            f"second alone on {test.only_second:,}; p {show_p(test.p_value)} if items were independent."
        )
    if comparison.translation:
        _show_translation(comparison.translation)


def _show_translation(effect: TranslationEffect) -> None:
    """What rests on items with a problem, and the target terms that have the most of them."""
    from evenhand.reporting.numbers import show
    from evenhand.reporting.words import translation_sentence

    target = console()
    target.print("\nWhat rests on items with a problem in either language", style="bold")
    right = ("items", "difference", "rests on them", "share")
    table = plain_table("task", "measure", "problem", *right, right=right)
    for row in effect.shares:
        table.add_row(
            row.task, row.measure, row.problem, f"{row.items:,} of {row.of_items:,}", f"{row.difference:+.2f}",
            show(row.contribution, signed=True), "" if isnan(row.share) else f"{row.share:.0%}",
        )  # fmt: skip
    print_table(table)
    print_lines([translation_sentence(effect)])
    worst = [term for term in effect.terms if term.with_problem][:_MOST_TERMS]
    if not worst:
        return
    table = plain_table("target term", "with a problem", "", "which", right=("with a problem",))
    widest = max(term.with_problem for term in worst)
    for term in worst:
        table.add_row(
            term.term,
            f"{term.with_problem:,} of {term.items:,}",
            "━" * max(1, round(_BAR * term.with_problem / widest)),
            ", ".join(f"{name} {count:,}" for name, count in list(term.counts.items())[:_MOST_PROBLEMS]),
        )
    print_table(table)
    say("All target terms: the same command with --json, or evenhand report, which draws them.")
