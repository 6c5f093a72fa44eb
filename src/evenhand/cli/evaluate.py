"""``evenhand evaluate``: scores per candidate to estimates, a table, a run folder and a page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evenhand.cli.exit_codes import CONDITION_HOLDS
from evenhand.cli.monitor import TerminalMonitor
from evenhand.cli.options import (
    DEFAULT_CONFIDENCE,
    DEFAULT_RESAMPLES,
    DEFAULT_SEED,
    Confidence,
    Format,
    Json,
    Resamples,
    Seed,
    TableChoice,
    refuse_two_formats,
    resampling,
)
from evenhand.cli.output import (
    console,
    plain_table,
    print_json,
    print_table,
    print_text,
    progress,
    say,
    strip,
)
from evenhand.core.errors import EvenhandError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console
    from rich.table import Table

    from evenhand.runs.conditions import Condition
    from evenhand.runs.run import Run


STRIP_WIDTHS = (25, 21, 17, 13)
"""Of the drawing of SS, widest first; odd, so that 50 has a place in the middle."""


def evaluate_command(
    predictions: Annotated[
        list[Path],
        typer.Argument(help="Files with a score for each candidate, one file per model and language."),
    ],
    data: Annotated[
        str,
        typer.Option(
            "--data", "-d", help="A dataset's name, a file in StereoSet's layout, or a folder of them."
        ),
    ],
    language: Annotated[
        str | None, typer.Option("--language", "-l", help="Which language of the dataset.")
    ] = None,
    protocol: Annotated[
        str, typer.Option("--protocol", "-p", help="evenhand.v1, multilingual-2023 or stereoset-2021.")
    ] = "evenhand.v1",
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write a run folder for each file below this folder.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="Name of the run, if not that of its file.")] = None,
    fail_if: Annotated[
        list[str] | None, typer.Option("--fail-if", help="Exit with code 4 when this holds. May be repeated.")
    ] = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Replace a run folder that holds another run.")
    ] = False,
    json: Json = False,
    format_: Format = TableChoice.TABLE,
    resamples: Resamples = DEFAULT_RESAMPLES,
    seed: Seed = DEFAULT_SEED,
    confidence: Confidence = DEFAULT_CONFIDENCE,
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
    from evenhand.data import load_dataset
    from evenhand.runs.conditions import Condition
    from evenhand.workflows.measure import evaluate

    refuse_two_formats(json=json, form=format_)
    conditions = [Condition.parse(text) for text in fail_if or []]
    names = run_names(predictions, name)
    benchmark = load_dataset(data, language=language)
    plan = resampling(resamples, seed, confidence)
    runs = [
        evaluate(
            path,
            benchmark,
            protocol=protocol,
            resampling=plan,
            name=names[path],
            out=out,
            fresh=fresh,
            monitor=TerminalMonitor(),
        )
        for path in progress(predictions, "Evaluating")
    ]
    if json:
        print_json({"runs": [result_json(run) for run in runs]})
    else:
        show_runs(runs, format_)
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


def result_json(run: Run) -> dict[str, object]:
    """The result as the machine-readable contract has it; scores by target term are in the run folder."""
    document: dict[str, object] = run.result.model_dump(
        mode="json", exclude={"tasks": {"__all__": {"by_target"}}}
    )
    return document


def show_runs(runs: Sequence[Run], form: TableChoice) -> None:
    """Print the results of runs."""
    from evenhand.report import format_table
    from evenhand.report.association.reading import read

    if form is not TableChoice.TABLE:
        print_text(format_table(runs, form.value))
        return
    for run in runs:
        record = run.record
        target = console()
        target.print(
            f"{run.name}   {record.dataset.name} ({record.dataset.language})   {run.result.protocol}",
            style="bold",
        )
        print_table(_widest_that_fits(run, target))
        reading = read(run)
        target.print(f"{reading.verdict}. {' '.join(reading.sentences)}\n")


def _widest_that_fits(run: Run, target: Console) -> Table:
    """The table with the widest strip that there is room for, or without one."""
    from evenhand.cli.table_widths import fits

    tables = (_run_table(run, strip_width=width) for width in STRIP_WIDTHS)
    return next((table for table in tables if fits(table, target)), _run_table(run, strip_width=None))


def _run_table(run: Run, *, strip_width: int | None) -> Table:
    from evenhand.report.association.tables import show

    drawn = () if strip_width is None else ("0 · SS · 100",)
    table = plain_table("task", "LMS", "SS", *drawn, "ICAT", "items", right=("items",))
    for task, result in run.result.tasks.items():
        lms, ss, icat = (show(result.estimate(measure), digits=1) for measure in ("LMS", "SS", "ICAT"))
        drawing = () if strip_width is None else (strip(result.SS, width=strip_width),)
        table.add_row(
            task, lms, ss, *drawing, icat, f"{result.n:,}", style="bold" if task == "overall" else None
        )
    return table


def fail_if_conditions_hold(conditions: Sequence[Condition], runs: Sequence[Run]) -> None:
    """Exit with a code of its own when a condition holds for any run."""
    held = [
        f"{condition.text} holds for {run.name} ({condition.value_in(run):.2f})"
        for condition in conditions
        for run in runs
        if condition.holds(run)
    ]
    for message in held:
        say(f"Failed: {message}")
    if held:
        raise typer.Exit(CONDITION_HOLDS)
