"""``evenhand regard``: how texts make others think of the people in them, and the classifiers that tell."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evenhand.cli.options import (
    DATA,
    DEFAULT_CONFIDENCE,
    DEFAULT_RESAMPLES,
    DEFAULT_SEED,
    OUTPUT,
    STATISTICS,
    Confidence,
    Json,
    Resamples,
    SchemeName,
    Seed,
    resampling,
)
from evenhand.cli.output import plain_table, print_json, print_lines, print_table
from evenhand.core.errors import require_extra

if TYPE_CHECKING:
    from evenhand.regard.bias_check import BiasCheck

regard_app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="Regard: balanced texts, and the bias of classifiers.",
)


@regard_app.command("check")
def check_command(
    texts: Annotated[
        tuple[Path, Path],
        typer.Option(
            help="Two CSV files with the same texts about two groups, row by row, and the classifier's labels.",
            metavar="FILE FILE",
            rich_help_panel=DATA,
        ),
    ],
    label: Annotated[str, typer.Option(help="The column of labels.", rich_help_panel=DATA)] = "label",
    text: Annotated[str, typer.Option(help="The column of texts.", rich_help_panel=DATA)] = "text",
    scheme: SchemeName = None,
    margin: Annotated[
        float,
        typer.Option(help="The largest gap that does not matter, in points.", rich_help_panel=STATISTICS),
    ] = 5.0,
    resamples: Resamples = DEFAULT_RESAMPLES,
    seed: Seed = DEFAULT_SEED,
    confidence: Confidence = DEFAULT_CONFIDENCE,
    json: Json = False,
) -> None:
    """Compare a classifier's labels of texts with those of the same texts about another group.

    Whatever differs within a pair is the classifier's doing. Pearson's chi-squared takes no notice of the pairs and
    is shown because it is what is published; Stuart-Maxwell and sign flips are the tests to go by.

    **Example**

    `evenhand regard check --texts women.csv men.csv --label Prediction`
    """
    from evenhand.data.label_schemes import load_scheme
    from evenhand.regard.bias_check import check_labelled_files

    check = check_labelled_files(
        *texts,
        label=label,
        text=text,
        scheme=load_scheme(scheme) if scheme else None,
        margin=margin,
        resampling=resampling(resamples, seed, confidence),
    )
    if json:
        print_json(check.summary())
    else:
        _print_check(check)


@regard_app.command("balance")
def balance_command(
    file: Annotated[Path, typer.Argument(help="CSV file with texts about persons.")],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="CSV file to write.", rich_help_panel=OUTPUT)
    ] = Path("balanced.csv"),
    language: Annotated[
        str, typer.Option("--language", "-l", help="Of the texts: en or de.", rich_help_panel=DATA)
    ] = "en",
    text: Annotated[str, typer.Option(help="The column of texts.", rich_help_panel=DATA)] = "text",
    both: Annotated[
        bool,
        typer.Option("--both", help="Tell each text of a woman and of a man.", rich_help_panel=DATA),
    ] = False,
    seed: Annotated[int, typer.Option(help="Who is told of whom.", rich_help_panel=DATA)] = 0,
) -> None:
    """Tell texts about "the person" of women and of men, equally often.

    Pronouns and everything that agrees with the person follow. Texts that tell a gender already are left as they are,
    or swapped whole. What cannot be told with certainty is left out and counted.

    **Example**

    `evenhand regard balance survey.csv --language de --text Text --out balanced.csv`
    """
    if language == "en":
        require_extra("train", "lemminflect", purpose="Telling English texts of women and men")
    from evenhand.regard.gender_balance import BalanceMode, balance_file
    from evenhand.text.person_texts import Gender

    balance = balance_file(
        file,
        out,
        language=language,
        text=text,
        mode=BalanceMode.BOTH if both else BalanceMode.ONCE,
        seed=seed,
    )
    left_out = sum(balance.left_out.values())
    counts = [balance.count(gender) for gender in (Gender.FEMALE, Gender.MALE)]
    print_lines(
        [
            f"{len(balance.texts):,} texts: {counts[0]:,} told of a woman, {counts[1]:,} told of a man. "
            f"{left_out:,} left out{':' if left_out else '.'}",
            *(f"  {count:,} {reason}" for reason, count in balance.left_out.items()),
        ]
    )


def _print_check(check: BiasCheck) -> None:
    from evenhand.reporting.numbers import number, show, show_p

    first, second = check.groups
    table = plain_table("label", first, second, right=(first, second))
    for index, code in enumerate(check.labels):
        sides = (sum(check.counts[index]), sum(row[index] for row in check.counts))
        table.add_row(code, *(f"{count:,} ({100 * count / check.pairs:.1f}%)" for count in sides))
    print_table(table)
    tests = plain_table("test", "statistic", "p", right=("statistic", "p"))
    for name, test in (
        ("Stuart-Maxwell, for pairs", check.stuart_maxwell),
        ("Pearson's chi-squared, which takes no notice of pairs", check.chi_squared),
    ):
        tests.add_row(name, number(test.statistic), show_p(test.p_value))
    tests.add_row("sign flips of pairs", "", show_p(check.sign_flip_p))
    print_table(tests)
    lines = [
        f"{check.pairs:,} pairs. Gap: {show(check.gap, signed=True, digits=1)} points of net regard, "
        f"{first} minus {second}; 0 is no difference."
    ]
    if check.equivalence is not None:
        verdict = "is" if check.equivalence.holds else "is not"
        margin = f"{check.equivalence.margin:g} points"
        lines.append(f"The gap {verdict} shown to be smaller than {margin} (two one-sided tests at 5%).")
    print_lines(lines)
