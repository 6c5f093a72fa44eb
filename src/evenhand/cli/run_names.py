"""Names of runs on the command line."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from evenhand.cli.options import OUTPUT
from evenhand.core.errors import EvenhandError

RunName = Annotated[
    str | None,
    typer.Option(
        "--name",
        help="Name of the run folder.",
        show_default="model, instrument, dataset, language and limit",
        rich_help_panel=OUTPUT,
    ),
]


def refuse_name_of_several(name: str | None, runs: int) -> None:
    """``--name`` is the name of one run."""
    if name is not None and runs > 1:
        raise EvenhandError(
            f"--name is for one run, and this command makes {runs}. Leave it out, or make them one by one."
        )


def run_names(predictions: Sequence[Path], name: str | None) -> dict[Path, str]:
    """A name for each file: the one given, the file's, or the file's with its folder's where files share one."""
    from evenhand.api.show import names_of_files

    if name is not None:
        if len(predictions) > 1:
            raise EvenhandError("--name is for one file; several get the names of their files.")
        if not name.strip() or name != Path(name).name or name.startswith("."):
            raise EvenhandError(f"{name!r} cannot be the name of a folder. Use letters, digits, '-' and '_'.")
        return {predictions[0]: name}
    return names_of_files(predictions)
