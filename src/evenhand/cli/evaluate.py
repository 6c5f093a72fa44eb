"""``evenhand evaluate``: scores per candidate to estimates, a table, a run folder and a page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from evenhand.cli.options import (
    DATA,
    DEFAULT_CONFIDENCE,
    DEFAULT_RESAMPLES,
    DEFAULT_SEED,
    EXECUTION,
    OUTPUT,
    Confidence,
    FailIf,
    Format,
    Json,
    ProtocolName,
    Resamples,
    Seed,
    TableChoice,
    conditions_of,
    refuse_two_formats,
    resampling,
)
from evenhand.cli.output import TerminalMonitor, say
from evenhand.cli.results import fail_if_conditions_hold, show_results
from evenhand.core.errors import EvenhandError
from evenhand.core.protocols import DEFAULT_PROTOCOL


def evaluate_command(
    predictions: Annotated[
        list[Path],
        typer.Argument(help="Files with a score for each candidate, one file per model and language."),
    ],
    data: Annotated[
        str,
        typer.Option(
            "--data",
            "-d",
            help="A dataset's name, or a file or folder in a known layout ($layouts).",
            rich_help_panel=DATA,
        ),
    ],
    language: Annotated[
        str | None,
        typer.Option("--language", "-l", help="Which language of the dataset.", rich_help_panel=DATA),
    ] = None,
    protocol: ProtocolName = DEFAULT_PROTOCOL,
    resamples: Resamples = DEFAULT_RESAMPLES,
    seed: Seed = DEFAULT_SEED,
    confidence: Confidence = DEFAULT_CONFIDENCE,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="Write a run folder for each file below this folder.", rich_help_panel=OUTPUT
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(help="Name of the run, if not that of its file.", rich_help_panel=OUTPUT),
    ] = None,
    json: Json = False,
    format_: Format = TableChoice.TABLE,
    fail_if: FailIf = None,
    fresh: Annotated[
        bool,
        typer.Option(
            "--fresh", help="Replace a run folder that holds another run.", rich_help_panel=EXECUTION
        ),
    ] = False,
) -> None:
    """Evaluate scores per candidate: LMS, SS and ICAT with intervals, by task and bias type.

    Scores come as StereoSet's own JSON (plain or `.gz`), JSON Lines, CSV or Parquet.

    **Examples**

    `evenhand evaluate gpt2.json --data stereoset`

    `evenhand evaluate *.json.gz --data translations/de.json --out runs --protocol multilingual-2023`

    `evenhand evaluate new.json --data stereoset --fail-if "SS.low>55" --fail-if "LMS<80"`

    A condition is `[task.][bias type.]measure[.low|.high]`, one of `> >= < <=`, and a number; without a task
    it is about both tasks together.
    """
    files = f"{len(predictions)} files" if len(predictions) > 1 else str(predictions[0])
    say(f"Evaluating {files}")
    refuse_two_formats(json=json, form=format_)
    conditions = conditions_of(fail_if)
    names = run_names(predictions, name)
    from evenhand.data import load_dataset
    from evenhand.workflows.measure import evaluate

    benchmark = load_dataset(data, language=language)
    monitor = TerminalMonitor()
    runs = [
        evaluate(
            path,
            benchmark,
            protocol=protocol,
            resampling=resampling(resamples, seed, confidence),
            name=names[path],
            out=out,
            fresh=fresh,
            monitor=monitor,
        )
        for path in predictions
    ]
    show_results(runs, form=format_, json=json)
    fail_if_conditions_hold(conditions, runs)


def run_names(predictions: Sequence[Path], name: str | None) -> dict[Path, str]:
    """A name for each file: the one given, the file's, or the file's with its folder's where files share one."""
    from evenhand.core.items import repeated
    from evenhand.data.layouts import file_stem

    if name is not None:
        if len(predictions) > 1:
            raise EvenhandError("--name is for one file; several get the names of their files.")
        if not name.strip() or name != Path(name).name or name.startswith("."):
            raise EvenhandError(f"{name!r} cannot be the name of a folder. Use letters, digits, '-' and '_'.")
        return {predictions[0]: name}
    same_file = repeated(str(path.resolve()) for path in predictions)
    if same_file:
        raise EvenhandError(f"{same_file[0]} is given twice.")
    stems = {path: file_stem(path) for path in predictions}
    shared = set(repeated(stems.values()))
    names = {
        path: f"{path.resolve().parent.name}-{stem}" if stem in shared else stem
        for path, stem in stems.items()
    }
    clash = repeated(names.values())
    if clash:
        raise EvenhandError(
            f"Several files would make the run {clash[0]!r}. Evaluate them one by one with --name."
        )
    return names
