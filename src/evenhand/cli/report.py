"""``evenhand report``: runs as one page, a table or a model-card snippet."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from evenhand.cli.options import OUTPUT, TranslationChanges
from evenhand.cli.output import TerminalMonitor, print_text, say
from evenhand.core.errors import EvenhandError

HTML = "html"


def report_command(
    runs: Annotated[
        list[Path], typer.Argument(help="Run folders, of one instrument or of several ($instruments).")
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="File to write. Tables go to standard output without it.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    format_: Annotated[
        str,
        typer.Option(
            "--format",
            help="What to write: html (a page), csv, markdown or latex (a table), paper-markdown or paper-latex "
            "(models by languages, the best in bold), model-card (for its YAML header), lm-eval "
            "(results of lm-evaluation-harness), inspect (a log of Inspect) or every-eval-ever.",
            rich_help_panel=OUTPUT,
        ),
    ] = HTML,
    changes: TranslationChanges = None,
) -> None:
    """Show runs: one self-contained page, a table, a snippet for a model card, or the format of another tool.

    The page works offline and puts several runs side by side, of whatever instruments, with their differences from the
    first run of each instrument.

    **Examples**

    `evenhand report runs/gpt2 --out gpt2.html`

    `evenhand report runs/* --out all.html`

    `evenhand report runs/gpt2 --format model-card >> README.md`

    `evenhand report runs/before_en runs/before_en_malor --out before.html`

    `evenhand report runs/* --format paper-latex --out table.tex`

    `evenhand report runs/gpt2 --format inspect --out gpt2.json`
    """
    if format_ == HTML and out is None:
        raise EvenhandError("Where should the page go? Say --out page.html.")
    say(f"Reading {len(runs)} runs" if len(runs) > 1 else f"Reading {runs[0]}")
    from evenhand.workflows.show import report

    text = report(runs, out=out, format=format_, changes=changes or (), monitor=TerminalMonitor())
    if out is None:
        print_text(text)
