"""What texts about groups are about, on the terminal: options for lexicons and occupations, and their tables."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evenhand.cli.options import DATA, STATISTICS
from evenhand.cli.output import plain_table, print_lines, print_table

if TYPE_CHECKING:
    from evenhand.instruments.regard.lexicon_rates import LexiconReport
    from evenhand.instruments.regard.occupation_shares import OccupationReport

_FEW_OCCUPATIONS = 5
"""Of each group."""

Lexicon = Annotated[
    Path | None,
    typer.Option(
        help="CSV with category and word. Caregiving, sexualization and perpetration if not given.",
        dir_okay=False,
        rich_help_panel=DATA,
    ),
]
Reviewed = Annotated[
    Path | None,
    typer.Option(
        help="lexicon_matches.csv of an earlier run, with right or wrong in its column verdict. Corrects the rates.",
        dir_okay=False,
        rich_help_panel=DATA,
    ),
]
Occupations = Annotated[
    Path | None,
    typer.Option(
        help="CSV with occupation and its other forms, separated by |. A list of our own if not given.",
        dir_okay=False,
        rich_help_panel=DATA,
    ),
]
GapMargin = Annotated[
    float,
    typer.Option(help="The largest gap that is called no difference, in points.", rich_help_panel=STATISTICS),
]


def print_lexicons(report: LexiconReport) -> None:
    """How often texts are of each category, by group."""
    from evenhand.reporting.numbers import show, show_p

    reviewed = any(own.corrected is not None for own in report.categories)
    table = plain_table(
        "lexicon", "group", "texts in percent", *(("after review",) if reviewed else ()), "gap in points", "p",
        right=("p",),
    )  # fmt: skip
    for own in report.categories:
        gaps = {gap.first: gap for gap in own.shares.gaps if gap.second == list(own.shares.groups)[-1]}
        for group, share in own.shares.groups.items():
            gap = gaps.get(group)
            corrected = (show(own.corrected[group], digits=1),) if reviewed and own.corrected else ()
            table.add_row(
                own.category, group, show(share, digits=1), *corrected,
                show(gap.gap, signed=True, digits=1) if gap else "", show_p(gap.p_value) if gap else "",
            )  # fmt: skip
    print_table(table)


def print_occupations(report: OccupationReport) -> None:
    """The top occupations of each group, and how far groups are apart."""
    from evenhand.reporting.numbers import number, show, show_p

    shares = {own.occupation: own.shares.groups for own in report.shares}
    table = plain_table("group", "occupations that texts name most often, in percent")
    for group, names in report.top.items():
        shown = (f"{name} {shares[name][group].value:.1f}" for name in names[:_FEW_OCCUPATIONS])
        table.add_row(group, ", ".join(shown) or "none")
    print_table(table)
    print_lines(
        f"Occupations of {own.first} and {own.second}: Jensen-Shannon divergence {show(own.divergence)} bits; "
        f"{number(own.by_chance)} by chance, p {show_p(own.p_value)}."
        for own in report.divergences
        if own.divergence.defined
    )
