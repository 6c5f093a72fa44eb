"""``evenhand report``: runs as one page, a table or a model-card snippet."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evenhand.cli.output import print_text, progress, say, warn
from evenhand.core.errors import ComparisonError, EvenhandError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenhand.runs.comparison import Comparison
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
    from evenhand.report import format_table, model_card_snippet, write_page
    from evenhand.runs.run import is_probe_run, open_run

    probes = [folder for folder in runs if is_probe_run(folder)]
    if probes:
        if len(probes) < len(runs):
            raise EvenhandError(
                f"{probes[0]} is a probe and others are not. A page shows probes, or other runs; make two pages."
            )
        _report_probes(probes, out, format_)
        return
    opened = [open_run(folder) for folder in progress(runs, "Reading")]
    if format_ is ReportFormat.HTML:
        if out is None:
            raise EvenhandError("Where should the page go? Say --out page.html.")
        write_page(opened, out, comparisons=_differences_from_first(opened))
        say(f"Wrote {out}")
        return
    text = (
        model_card_snippet(opened)
        if format_ is ReportFormat.MODEL_CARD
        else format_table(opened, format_.value)
    )
    if out is None:
        print_text(text)
    else:
        write_text(out, text)
        say(f"Wrote {out}")


def _report_probes(folders: Sequence[Path], out: Path | None, format_: ReportFormat) -> None:
    from evenhand.core.files import write_text
    from evenhand.report.probes.page import write_probe_page
    from evenhand.report.probes.questions import different_questions
    from evenhand.report.probes.tables import format_probe_table
    from evenhand.runs.run import open_run

    opened = [open_run(folder) for folder in folders]
    for notice in different_questions(opened):
        warn(notice)
    if format_ is ReportFormat.MODEL_CARD:
        raise EvenhandError("There is no model-card snippet for probes; use --format markdown.")
    if format_ is ReportFormat.HTML:
        if out is None:
            raise EvenhandError("Where should the page go? Say --out page.html.")
        say(f"Wrote {write_probe_page(opened, out)}")
        return
    text = format_probe_table(opened, format_.value)
    if out is None:
        print_text(text)
    else:
        write_text(out, text)
        say(f"Wrote {out}")


def _differences_from_first(runs: Sequence[Run]) -> list[Comparison]:
    """Comparisons with the first run, where runs can be compared."""
    from evenhand.instruments.association.comparison import compare_pairs, shared_items

    pairs = []
    for other in runs[1:]:
        try:
            shared_items(runs[0], other)
        except ComparisonError as reason:
            warn(f"no differences are shown for {other.name}: {reason}")
            continue
        pairs.append((runs[0], other))
    return compare_pairs(pairs)
