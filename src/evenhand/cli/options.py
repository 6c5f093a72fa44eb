"""Options that several commands share."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evenhand.core.errors import EvenhandError

if TYPE_CHECKING:
    from evenhand.stats.resampling import Resampling

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
Device = Annotated[str, typer.Option(help="cpu, cuda or auto.")]
PrecisionName = Annotated[str, typer.Option(help="fp32, bf16 or fp16.")]
MaxTokens = Annotated[int | None, typer.Option(help="Tokens in a batch.", min=1)]
AllowPickleWeights = Annotated[
    bool, typer.Option("--allow-pickle-weights", help="Load .bin weights too. They can run code.")
]
TrustRemoteCode = Annotated[
    bool, typer.Option("--trust-remote-code", help="Run code that comes with the model.")
]
RunsFolder = Annotated[Path, typer.Option("--out", "-o", help="Folder for run folders.")]
Fresh = Annotated[
    bool, typer.Option("--fresh/--resume", help="Start anew, or go on where a stopped run was.")
]
ExperimentName = Annotated[str, typer.Option("--experiment", "-e", help="he-she, his-her, names or all.")]
ProbeLanguage = Annotated[
    str | None, typer.Option("--language", "-l", help="en or de; a lab model's own if not given.")
]
Structures = Annotated[
    Path | None, typer.Option(help="CSV with experiment, number, structure.", dir_okay=False)
]
Occupations = Annotated[
    Path | None, typer.Option(help="CSV with occupation and perhaps field.", dir_okay=False)
]
Terms = Annotated[
    Path | None, typer.Option(help="CSV with male, female and perhaps experiment.", dir_okay=False)
]
Resamples = Annotated[int, typer.Option(help="Bootstrap resamples.", show_default=True)]
Seed = Annotated[int, typer.Option(help="Seed of the resampling.", show_default=True)]
Confidence = Annotated[float, typer.Option(help="Confidence level of the intervals.", show_default=True)]

DEFAULT_RUNS = Path("runs")
DEFAULT_RESAMPLES = 10_000
DEFAULT_SEED = 20_210_801
DEFAULT_CONFIDENCE = 0.95


class TableChoice(StrEnum):
    """How a table is printed."""

    TABLE = "table"
    CSV = "csv"
    MARKDOWN = "markdown"
    LATEX = "latex"


Format = Annotated[TableChoice, typer.Option("--format", help="How the table is printed.")]


def resampling(resamples: int, seed: int, confidence: float) -> Resampling:
    """The resampling that the options describe."""
    from evenhand.stats.resampling import Resampling

    return Resampling(resamples=resamples, seed=seed, confidence=confidence)


def refuse_two_formats(*, json: bool, form: TableChoice) -> None:
    """``--json`` is a format of its own."""
    if json and form is not TableChoice.TABLE:
        raise EvenhandError(f"--json and --format {form.value} exclude each other; choose one.")
