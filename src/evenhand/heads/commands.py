"""``evenhand data next-sentence`` and ``evenhand train next-sentence``: pairs, and heads that judge them."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evenhand.cli.help import CommandWithNames
from evenhand.cli.mitigation_options import ReportTo
from evenhand.cli.options import (
    DATA,
    DEFAULT_ON,
    MODEL,
    MODEL_FORMS,
    OUTPUT,
    TRAINING,
    AllowPickleWeights,
    Device,
    Fresh,
    Json,
    KernelsName,
    Memory,
    On,
    TrustRemoteCode,
    model_reference,
    precision_named,
)
from evenhand.cli.output import (
    TerminalMonitor,
    exit_when_interrupted,
    plain_table,
    print_json,
    print_lines,
    print_table,
    say,
)
from evenhand.core.errors import require_extra

if TYPE_CHECKING:
    from evenhand.heads.pairs import NextSentencePairs

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
        bool,
        typer.Option("--fresh", "--replace", help="Replace other pairs at --out.", rich_help_panel=OUTPUT),
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
    from evenhand.heads.pairs import NextSentenceOptions
    from evenhand.heads.pairs_workflow import build_next_sentence_pairs

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


train_app = typer.Typer(
    no_args_is_help=True, rich_markup_mode="markdown", help="Train models to judge what follows."
)


@train_app.callback()
def _train() -> None:
    """Train models to judge what follows."""


@train_app.command("next-sentence", cls=CommandWithNames)
def train_command(
    model: Annotated[str, typer.Argument(help=MODEL_FORMS)],
    pairs: Annotated[
        list[Path],
        typer.Option(
            help="Folder of pairs, from evenhand data next-sentence. May be repeated, one per language; as many pairs "
            "are taken of each.",
            file_okay=False,
            rich_help_panel=DATA,
        ),
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Folder for the model with its head.", rich_help_panel=OUTPUT)
    ],
    max_pairs: Annotated[
        int | None, typer.Option(help="Pairs to train on; all if not given.", min=2, rich_help_panel=DATA)
    ] = None,
    test_pairs: Annotated[
        int | None,
        typer.Option(help="Pairs to test on.", min=2, show_default="10000", rich_help_panel=DATA),
    ] = None,
    device: Device = "auto",
    kernels: KernelsName = "auto",
    allow_pickle_weights: AllowPickleWeights = False,
    trust_remote_code: TrustRemoteCode = False,
    learning_rate: Annotated[
        float | None,
        typer.Option(
            help="Of the body; of everything where the head is not new.",
            show_default="5e-6 below a new head, 1e-4 for T5-style models, 2e-5 for BERT's own head",
            rich_help_panel=TRAINING,
        ),
    ] = None,
    head_learning_rate: Annotated[
        float | None, typer.Option(help="Of a new head.", show_default="1e-3", rich_help_panel=TRAINING)
    ] = None,
    batch_size: Annotated[
        int | None,
        typer.Option(
            help="Pairs in a batch, run as many at a time as memory allows.",
            min=1,
            show_default="64",
            rich_help_panel=TRAINING,
        ),
    ] = None,
    passes: Annotated[
        int | None,
        typer.Option(help="How often each pair is seen.", min=1, show_default="1", rich_help_panel=TRAINING),
    ] = None,
    restarts: Annotated[
        int | None,
        typer.Option(
            help="Cosine waves of the learning rates.", min=1, show_default="1", rich_help_panel=TRAINING
        ),
    ] = None,
    checkpoints: Annotated[
        int | None,
        typer.Option(
            help="About so many, evenly spaced.", min=1, show_default="20", rich_help_panel=TRAINING
        ),
    ] = None,
    max_tokens: Annotated[
        int | None,
        typer.Option(help="Longer pairs are cut.", min=8, show_default="256", rich_help_panel=TRAINING),
    ] = None,
    prompt: Annotated[
        str | None,
        typer.Option(
            help="What stands before a pair, for models that answer in text.",
            show_default="as published: a few words for T5 in one language, else nothing",
            rich_help_panel=TRAINING,
        ),
    ] = None,
    precision: Annotated[
        str | None,
        typer.Option(
            help="What is computed in: bf16, fp16 or fp32. Weights stay in 32 bits.",
            show_default="bf16 on a GPU, else fp32",
            rich_help_panel=TRAINING,
        ),
    ] = None,
    seed: Annotated[
        int, typer.Option(help="Of the head and the order of pairs.", min=0, rich_help_panel=TRAINING)
    ] = 0,
    report_to: ReportTo = None,
    json: Json = False,
    fresh: Fresh = False,
    memory: Memory = None,
) -> None:
    """Train a model to judge whether one sentence follows another, for the inter-sentence task.

    A decoder or an encoder gets a new head of three linear layers over the mean of its states, and BERT goes on with
    its own; T5-style models learn to answer 1 or 0 in text. `--out` has the original model, and beside it the head
    with its own copy of the body, a record that says which class means "follows", and a page with the learning curves.
    A stopped run goes on from its last checkpoint when the same command is given again.

    **Examples**

    `evenhand train next-sentence gpt2 --pairs pairs/en --out models/gpt2-judge`

    `evenhand train next-sentence google/mt5-small --pairs pairs/en --pairs pairs/de --max-pairs 500000 --out mt5`

    `evenhand audit models/gpt2-judge --inter next-sentence --data stereoset`
    """
    say(f"Training {model}")
    require_extra("train", purpose="evenhand train next-sentence")
    ref = model_reference(
        model,
        device=device,
        kernels=kernels,
        allow_pickle_weights=allow_pickle_weights,
        trust_remote_code=trust_remote_code,
        memory=memory,
    )
    from evenhand.heads.page import reading
    from evenhand.heads.workflow import train_next_sentence

    recipe = {
        "body_rate": learning_rate,
        "head_rate": head_learning_rate,
        "batch_size": batch_size,
        "passes": passes,
        "restarts": restarts,
        "checkpoints": checkpoints,
        "max_tokens": max_tokens,
        "test_pairs": test_pairs,
        "precision": None if precision is None else precision_named(precision),
        "seed": seed,
        "report_to": tuple(report_to or ()),
    }
    with exit_when_interrupted():
        trained = train_next_sentence(
            ref,
            pairs,
            out=out,
            recipe=recipe,
            max_pairs=max_pairs,
            prompt=prompt,
            replace=fresh,
            monitor=TerminalMonitor(),
        )
    if json:
        print_json({"model": str(out), **trained.record.model_dump(mode="json")})
    else:
        print_lines(reading(trained.record))
    say(
        f"Wrote {out}. Measure with it: {shlex.join(['evenhand', 'audit', str(out), '--inter', 'next-sentence'])}"
    )


def convert_head_command(
    model: Annotated[str, typer.Argument(help=MODEL_FORMS)],
    head: Annotated[
        Path,
        typer.Option(
            help="State dict of StereoSet's code: nsp_head.0 to nsp_head.2, and core_model if it has one.",
            dir_okay=False,
            rich_help_panel=MODEL,
        ),
    ],
    follows_class: Annotated[
        int,
        typer.Option(
            help='The class that means "follows", 0 or 1. The file does not say, and it is not guessed.',
            min=0,
            max=1,
            rich_help_panel=MODEL,
        ),
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Folder for the model with its head.", rich_help_panel=OUTPUT)
    ],
    allow_pickle_weights: AllowPickleWeights = False,
    json: Json = False,
    fresh: Fresh = False,
) -> None:
    """Put a next-sentence head of StereoSet's own code beside the model that it was trained with.

    **Example**

    `evenhand models convert-head gpt2 --head gpt2_nsp.safetensors --follows-class 1 --out models/gpt2-stereoset`
    """
    say(f"Converting {head}")
    require_extra("hf", purpose="evenhand models convert-head")
    ref = model_reference(model, device="cpu", allow_pickle_weights=allow_pickle_weights)
    from evenhand.heads.workflow import convert_stereoset_head

    record = convert_stereoset_head(
        ref,
        head,
        out=out,
        follows_class=1 if follows_class else 0,
        replace=fresh,
        monitor=TerminalMonitor(),
    )
    if json:
        print_json({"model": str(out), **record.model_dump(mode="json")})
    say(
        f"Wrote {out}. Measure with it: {shlex.join(['evenhand', 'audit', str(out), '--inter', 'next-sentence'])}"
    )


def attach(groups: Mapping[str, typer.Typer]) -> None:
    """Add the commands."""
    groups["data"].command("next-sentence", cls=CommandWithNames)(next_sentence_pairs_command)
    groups["models"].command("convert-head", cls=CommandWithNames)(convert_head_command)
    groups[""].add_typer(train_app, name="train")
