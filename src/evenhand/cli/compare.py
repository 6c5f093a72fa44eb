"""``evenhand compare``: differences between runs over the same items."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evenhand.cli.options import (
    DEFAULT_CONFIDENCE,
    DEFAULT_RESAMPLES,
    DEFAULT_SEED,
    Confidence,
    Format,
    Json,
    Resamples,
    Seed,
    TableChoice,
    refuse_two_formats,
    resampling,
)
from evenhand.cli.output import console, plain_table, print_json, print_table, print_text, progress

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenhand.runs.comparison import Comparison


def compare_command(
    runs: Annotated[list[Path], typer.Argument(help="Run folders. The first is the baseline of the others.")],
    all_pairs: Annotated[
        bool, typer.Option("--all-pairs", help="Compare every run with every other.")
    ] = False,
    all_measures: Annotated[
        bool, typer.Option("--all-measures", help="Compare class means, class ICAT and log-ratio too.")
    ] = False,
    by_bias_type: Annotated[
        bool, typer.Option("--by-bias-type", help="Add a row for each bias type.")
    ] = False,
    json: Json = False,
    format_: Format = TableChoice.TABLE,
    resamples: Resamples = DEFAULT_RESAMPLES,
    seed: Seed = DEFAULT_SEED,
    confidence: Confidence = DEFAULT_CONFIDENCE,
) -> None:
    """Compare runs over the items that both scored: two models, two languages, before and after.

    Shows each difference with a paired interval (whole target terms resampled) and a p-value adjusted for all
    rows of the table (Holm), and McNemar's test of the single decisions.

    **Examples**

    `evenhand compare runs/base runs/mitigated`

    `evenhand compare runs/bert_en runs/bert_de runs/bert_fr --all-pairs --format latex`
    """
    from evenhand.runs.comparison import compare_pairs, pairs_to_compare
    from evenhand.runs.run import open_run

    refuse_two_formats(json=json, form=format_)
    opened = [open_run(folder) for folder in progress(runs, "Reading")]
    comparisons = compare_pairs(
        pairs_to_compare(opened, all_pairs=all_pairs),
        measures=tuple(dict.fromkeys(figure.measure for run in opened for figure in run.figures))
        if all_measures
        else None,
        by_group=by_bias_type,
        resampling=resampling(resamples, seed, confidence),
    )
    if json:
        print_json({"comparisons": [comparison.model_dump(mode="json") for comparison in comparisons]})
    else:
        show_comparisons(comparisons, format_)


def show_comparisons(comparisons: Sequence[Comparison], form: TableChoice) -> None:
    """Print comparisons."""
    from evenhand.report import format_comparisons
    from evenhand.report.association.tables import number, show, show_p

    if form is not TableChoice.TABLE:
        print_text(format_comparisons(comparisons, form.value))
        return
    target = console()
    for comparison in comparisons:
        target.print(
            f"{comparison.second} - {comparison.first}   {comparison.protocol or comparison.instrument}",
            style="bold",
        )
        right = ("first", "second", "difference", "p", "p (Holm)")
        table = plain_table("task", "group", "measure", *right, right=right)
        for row in comparison.differences:
            table.add_row(
                row.task, row.group, row.measure, number(row.first), number(row.second),
                show(row.difference, signed=True), show_p(row.p_value), show_p(row.p_holm),
                style="bold" if row.p_holm < 0.05 else None,
            )  # fmt: skip
        print_table(table)
        target.print(
            f"{comparison.n:,} shared items, {comparison.left_out:,} scored by one run only and left out."
        )
        for test in comparison.mcnemar:
            target.print(
                f"McNemar, {test.task}: stereotype preferred by the first alone on {test.only_first:,} items, by the "
                f"second alone on {test.only_second:,}; p {show_p(test.p_value)}."
            )
        target.print()
