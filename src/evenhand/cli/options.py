"""Options that several commands share."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from evenhand.core.errors import EvenhandError

if TYPE_CHECKING:
    from evenhand.stats.resampling import Resampling

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
Resamples = Annotated[int, typer.Option(help="Bootstrap resamples.", show_default=True)]
Seed = Annotated[int, typer.Option(help="Seed of the resampling.", show_default=True)]
Confidence = Annotated[float, typer.Option(help="Confidence level of the intervals.", show_default=True)]

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
