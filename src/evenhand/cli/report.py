"""``evenhand report``: runs as one page, a table or a model-card snippet."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evenhand.cli.output import print_text, progress, say, warn
from evenhand.core.errors import EvenhandError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenhand.runs.run import Run


class ReportFormat(StrEnum):
    """What a report is written as."""

    HTML = "html"
    CSV = "csv"
    MARKDOWN = "markdown"
    LATEX = "latex"
    MODEL_CARD = "model-card"


def report_command(
    runs: Annotated[list[Path], typer.Argument(help="Run folders.")],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="File to write. Tables go to standard output without it."),
    ] = None,
    format_: Annotated[ReportFormat, typer.Option("--format", help="What to write.")] = ReportFormat.HTML,
) -> None:
    """Show runs: one self-contained page, a table, or a snippet for a model card.

    The page works offline and puts several runs side by side. Associations (evenhand audit, evenhand evaluate) are
    shown with their differences from the first run. Probes stand beside each other without differences; evenhand
    certify tests those.

    **Examples**

    `evenhand report runs/gpt2 --out gpt2.html`

    `evenhand report runs/* --out all.html`

    `evenhand report runs/gpt2 --format model-card >> README.md`

    `evenhand report runs/before_en_malor runs/after_en_malor --out probes.html`
    """
    from evenhand.core.files import write_text
    from evenhand.report import write_page
    from evenhand.runs.comparison import comparable_pairs, compare_pairs
    from evenhand.runs.run import open_run

    opened = [open_run(folder) for folder in progress(runs, "Reading")]
    if format_ is ReportFormat.HTML:
        if out is None:
            raise EvenhandError("Where should the page go? Say --out page.html.")
        pairs, reasons = comparable_pairs(opened)
        for name, reason in reasons.items():
            warn(f"no differences are shown for {name}: {reason}")
        write_page(opened, out, comparisons=compare_pairs(pairs))
        say(f"Wrote {out}")
        return
    text = _as_text(opened, format_)
    if out is None:
        print_text(text)
    else:
        write_text(out, text)
        say(f"Wrote {out}")


def _as_text(runs: Sequence[Run], format_: ReportFormat) -> str:
    from evenhand.report import format_probe_table, format_table, model_card_snippet

    associations = [run for run in runs if run.record.instrument == "association"]
    others = [run for run in runs if run.record.instrument != "association"]
    if format_ is ReportFormat.MODEL_CARD:
        if others:
            raise EvenhandError("There is no model-card snippet for probes; use --format markdown.")
        return model_card_snippet(associations)
    tables = [format_table(associations, format_.value)] if associations else []
    return "\n".join(tables + ([format_probe_table(others, format_.value)] if others else []))
