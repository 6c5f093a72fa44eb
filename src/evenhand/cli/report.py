"""``evenhand report``: runs as one page, a table or a model-card snippet."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from evenhand.cli.gates import close_gate, conditions_of, refuse_conditions
from evenhand.cli.options import OUTPUT, FailIf, MinCoverage, TranslationChanges
from evenhand.cli.output import TerminalMonitor, print_text, say
from evenhand.core.errors import EvenhandError

HTML = "html"


def report_command(
    runs: Annotated[
        list[Path],
        typer.Argument(
            help="Run folders, of one instrument or of several ($instruments); or the JSON file of a certificate."
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="File to write. Tables go to standard output without it, and conditions are judged without a page.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    format_: Annotated[
        str,
        typer.Option(
            "--format",
            help="What to write: html (a page), csv, markdown or latex (a table), paper-markdown or paper-latex "
            "(models by languages, the best in bold where tests show it), model-card (for its YAML header), lm-eval "
            "(results of lm-evaluation-harness), inspect (a log of Inspect) or every-eval-ever.",
            rich_help_panel=OUTPUT,
        ),
    ] = HTML,
    changes: TranslationChanges = None,
    fail_if: FailIf = None,
    min_coverage: MinCoverage = None,
) -> None:
    """Show runs: one self-contained page, a table, a snippet for a model card, or the format of another tool.

    The page works offline and puts several runs side by side, of whatever instruments, with their differences from the
    first run of each instrument.

    The JSON file of a certificate is verified against the folder beside it, which every figure and sentence must follow
    from, and its figures and verdicts are printed. The exit code is 5 when quality is lost, and 6
    when it could not be compared on enough texts or items.

    **Examples**

    `evenhand report runs/gpt2 --out gpt2.html`

    `evenhand report runs/* --out all.html`

    `evenhand report runs/gpt2 --format model-card >> README.md`

    `evenhand report runs/before_* --out before.html`

    `evenhand report runs/* --format paper-latex --out table.tex`

    `evenhand report runs/gpt2 --format inspect --out gpt2.json`

    `evenhand report runs/gpt2 --fail-if "SS.low>55" --fail-if "LMS<80"`

    `evenhand report certificate.json`
    """
    conditions = conditions_of(fail_if, min_coverage=min_coverage)
    if any(_is_certificate(path) for path in runs):
        if conditions:
            raise EvenhandError("--fail-if is for runs. A certificate has an exit code of its own.")
        _show_certificate(runs, out=out, form=format_)
        return
    gates_alone = format_ == HTML and out is None and bool(conditions)
    if format_ == HTML and out is None and not conditions:
        raise EvenhandError("Where should the page go? Say --out page.html.")
    say(f"Reading {len(runs)} runs" if len(runs) > 1 else f"Reading {runs[0]}")
    from evenhand.api.show import opened, refuse_changed_estimates, report

    monitor = TerminalMonitor()
    chosen = opened(runs, monitor=monitor)
    refuse_conditions(conditions, chosen, min_coverage=min_coverage)
    refuse_changed_estimates(chosen, runs, monitor)
    if not gates_alone:
        text = report(chosen, out=out, format=format_, changes=changes or (), monitor=monitor)
        if out is None:
            print_text(text)
    close_gate(conditions, chosen)
    if conditions:
        say("Gate open: no condition holds.")


def _is_certificate(path: Path) -> bool:
    if path.suffix != ".json":  # a run, whose first line is not to wait for what reads certificates
        return False
    from evenhand.store.certificate_files import is_certificate

    return is_certificate(path)


def _show_certificate(paths: list[Path], *, out: Path | None, form: str) -> None:
    """Verify a certificate and print it, with sentences that follow from its rows, whatever the file says."""
    from evenhand.certificate.verification import read_certificate
    from evenhand.cli.certify import show_certificate

    if len(paths) > 1 or out is not None or form != HTML:
        raise EvenhandError(
            "A certificate is verified and printed alone. Give its JSON file and nothing else; its page lies beside it."
        )
    say(f"Verifying {paths[0]}")
    certificate = read_certificate(paths[0])
    say(f"Verified: {paths[0]} is as it was made, and all it says follows from what lies beside it.")
    show_certificate(certificate, json=False)
