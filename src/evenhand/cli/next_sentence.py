"""``evenhand data next-sentence`` and ``evenhand train next-sentence``: pairs, and heads that judge them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evenhand.cli.options import DATA, DEFAULT_ON, OUTPUT, Json, On
from evenhand.cli.output import (
    TerminalMonitor,
    exit_when_interrupted,
    plain_table,
    print_json,
    print_table,
    say,
)

if TYPE_CHECKING:
    from evenhand.data.next_sentence_pairs import NextSentencePairs

SHOWN_PAIRS = 4


def next_sentence_pairs_command(
    corpus: Annotated[
        list[str],
        typer.Option(
            help="Text with a blank line between articles, JSON Lines, MediaWiki dumps, folders of text, or "
            "hub:NAME[:CONFIG][@REVISION]. May be repeated.",
            rich_help_panel=DATA,
        ),
    ],
    language: Annotated[str, typer.Option("--language", "-l", help="Of the corpus.", rich_help_panel=DATA)],
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the pairs.", rich_help_panel=OUTPUT)],
    test_share: Annotated[
        float, typer.Option(help="Share of the articles that is kept for testing.", rich_help_panel=DATA)
    ] = 0.05,
    seed: Annotated[
        int, typer.Option(help="Of the order of articles and of the strangers.", min=0, rich_help_panel=DATA)
    ] = 0,
    split: Annotated[str, typer.Option(help="Of a dataset of the hub.", rich_help_panel=DATA)] = "train",
    column: Annotated[
        str, typer.Option(help="Of a dataset of the hub, the one with the text.", rich_help_panel=DATA)
    ] = "text",
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace other pairs at --out.", rich_help_panel=OUTPUT)
    ] = False,
    json: Json = False,
    on: On = DEFAULT_ON,
) -> None:
    """Pair sentences of articles with the ones that follow them, and with strangers from other articles.

    Half of the pairs follow. No sentence stands in articles for training and in articles for testing, no pair occurs
    twice, and memory does not grow with the corpus. A run that was stopped goes on with the sources that it had not
    finished.

    **Examples**

    `evenhand data next-sentence --corpus novels/ --language en --out pairs/en`

    `evenhand data next-sentence --corpus dewiki-20220301-pages-articles.xml.bz2 --language de --out pairs/de`

    `evenhand data next-sentence --corpus hub:wikimedia/wikipedia:20231101.de --language de --on ray --out pairs/de`
    """
    say(f"Reading {', '.join(corpus[:3])}{' ...' if len(corpus) > 3 else ''}")
    from evenhand.data.next_sentence_building import NextSentenceOptions
    from evenhand.workflows.next_sentence_pairs import build_next_sentence_pairs

    options = NextSentenceOptions(language, seed=seed, test_share=test_share)
    with exit_when_interrupted():
        pairs = build_next_sentence_pairs(
            corpus,
            out,
            options=options,
            split=split,
            column=column,
            on=on,
            replace=replace,
            monitor=TerminalMonitor(),
        )
    if json:
        print_json(pairs.record.model_dump(mode="json"))
    else:
        _show_pairs(pairs)


def _show_pairs(pairs: NextSentencePairs) -> None:
    record = pairs.record
    table = plain_table("", "pairs", "articles", right=("pairs", "articles"))
    table.add_row("train", f"{record.train_pairs:,}", f"{record.train_articles:,}")
    table.add_row("test", f"{record.test_pairs:,}", f"{record.test_articles:,}")
    print_table(table)
    if record.left_out:
        left_out = plain_table("left out", "number", right=("number",))
        for reason, number in record.left_out.items():
            left_out.add_row(reason, f"{number:,}")
        print_table(left_out)
    examples = plain_table("sentence", "paired with", "follows")
    for row in next(pairs.frames("train")).head(SHOWN_PAIRS).iter_rows(named=True):
        examples.add_row(row["first"], row["second"], "yes" if row["follows"] else "no")
    print_table(examples)
