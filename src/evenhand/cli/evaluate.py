"""``evenhand evaluate``: scores per candidate to estimates, a table, a run folder and a page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evenhand.cli.gates import close_gate, conditions_of, refuse_conditions
from evenhand.cli.options import (
    DATA,
    DEFAULT_CONFIDENCE,
    DEFAULT_RESAMPLES,
    DEFAULT_SEED,
    EXECUTION,
    OUTPUT,
    SCORING,
    Confidence,
    Encoding,
    FailIf,
    Format,
    Json,
    MinCoverage,
    Resamples,
    Seed,
    Source,
    TableChoice,
    options_from,
    refuse_two_formats,
    resampling,
)
from evenhand.cli.output import TerminalMonitor, say
from evenhand.cli.results import ASSOCIATION, print_evaluated, show_results
from evenhand.cli.run_names import run_names
from evenhand.core.errors import EvenhandError
from evenhand.core.protocols import DEFAULT_PROTOCOL, PAIR_PROTOCOLS, PROTOCOLS

if TYPE_CHECKING:
    from evenhand.core.items import Benchmark
    from evenhand.store.conditions import Condition
    from evenhand.store.run import Run


def evaluate_command(
    predictions: Annotated[
        list[Path],
        typer.Argument(
            help="Files with a score for each candidate or pair, one file per model and language."
        ),
    ],
    test: Annotated[
        str,
        typer.Option(
            "--test",
            "-t",
            help="What the scores are of: association, or crows-pairs, whose files and logs hold the pairs too.",
            rich_help_panel=SCORING,
        ),
    ] = ASSOCIATION,
    data: Annotated[
        str | None,
        typer.Option(
            "--data",
            "-d",
            help="association: a dataset's name, or a file or folder in a known layout ($benchmarks).",
            rich_help_panel=DATA,
        ),
    ] = None,
    language: Annotated[
        str | None,
        typer.Option("--language", "-l", help="Which language of the dataset.", rich_help_panel=DATA),
    ] = None,
    source: Source = None,
    encoding: Encoding = None,
    protocol: Annotated[
        str | None,
        typer.Option(
            "--protocol",
            "-p",
            help=f"How scores become figures: {', '.join(PROTOCOLS)}; crows-pairs: {', '.join(PAIR_PROTOCOLS)}. The "
            "first of them if not given.",
            rich_help_panel=SCORING,
        ),
    ] = None,
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
    min_coverage: MinCoverage = None,
    fresh: Annotated[
        bool,
        typer.Option(
            "--fresh", help="Replace a run folder that holds another run.", rich_help_panel=EXECUTION
        ),
    ] = False,
) -> None:
    """Evaluate scores per candidate: LMS, SS and ICAT with intervals, by task and bias type.

    Scores come as StereoSet's own JSON (plain or `.gz`), JSON Lines, CSV or Parquet. Those of CrowS-Pairs come from the
    authors' code (`sent_more_score`, `sent_less_score`), or from a log of lm-evaluation-harness or Inspect. A log that
    `evenhand report --format inspect` wrote holds its items and needs no `--data`.

    **Examples**

    `evenhand evaluate gpt2.json --data stereoset`

    `evenhand evaluate *.json.gz --data translations/de.json --source stereoset --out runs`

    `evenhand evaluate new.json --data stereoset --fail-if "SS.low>55" --fail-if "LMS<80"`

    `evenhand evaluate half.json --data stereoset --fail-if "LMS<80" --min-coverage 50`

    `evenhand evaluate samples_crows_pairs_english.jsonl --test crows-pairs --protocol crows-pairs-2020 --json`

    A condition is `[task.][bias type.]measure[.low|.high]`, one of `> >= < <=`, and a number; without a task
    it is about both tasks together. `coverage` is the percentage of the dataset's items that have scores. Below 99 all
    other conditions are refused, unless `--min-coverage` allows it.
    """
    files = f"{len(predictions)} files" if len(predictions) > 1 else str(predictions[0])
    say(f"Evaluating {files}")
    refuse_two_formats(json=json, form=format_)
    from evenhand.store.coverage import COVERAGE
    from evenhand.store.run import INSTRUMENTS

    instrument = INSTRUMENTS.get(test)
    conditions = conditions_of(fail_if, measures=(*instrument.measures, COVERAGE), min_coverage=min_coverage)
    names = run_names(predictions, name)
    monitor = TerminalMonitor()
    drawn = resampling(resamples, seed, confidence)
    evaluate_file: Callable[..., Run]
    if test != ASSOCIATION:
        from evenhand.api.measure import evaluate_scores

        if data is not None or source is not None:
            raise EvenhandError(
                f"--data and --source are for --test {ASSOCIATION}; files of {test} scores hold their items."
            )
        options = options_from(
            instrument.options_type,
            {"protocol": protocol, "language": language, "encoding": encoding, "resampling": drawn},
            owner=instrument.name,
        )
        evaluate_file = partial(evaluate_scores, instrument=test, options=options)
    elif data is None:
        from evenhand.api.association_logs import evaluate_log

        _refuse_scores_without_items(predictions, source=source)
        evaluate_file = partial(evaluate_log, protocol=protocol, resampling=drawn)
    else:
        from evenhand.api.measure import evaluate
        from evenhand.data import load_dataset
        from evenhand.translation.workflow import source_of_data

        benchmark = load_dataset(data, language=language, encoding=encoding)
        _refuse_unknown_groups(conditions, benchmark)
        evaluate_file = partial(
            evaluate,
            data=benchmark,
            source=source_of_data(data, source=source, monitor=monitor),
            protocol=protocol or DEFAULT_PROTOCOL,
            resampling=drawn,
        )
    runs = [
        evaluate_file(path, name=names[path], out=out, fresh=fresh, monitor=monitor) for path in predictions
    ]
    refuse_conditions(conditions, runs, min_coverage=min_coverage)
    if json and test != ASSOCIATION:
        print_evaluated(runs)
    else:
        show_results(runs, form=format_, json=json)
    close_gate(conditions, runs)


def _refuse_scores_without_items(predictions: Sequence[Path], *, source: str | None) -> None:
    from evenhand.data.association_logs import is_association_log

    if source is not None or not all(is_association_log(path) for path in predictions):
        raise EvenhandError(
            "Scores of candidates need the dataset that they are of: --data stereoset, or a file. Scores of "
            "sentence pairs are evaluated with --test crows-pairs."
        )


def _refuse_unknown_groups(conditions: Sequence[Condition], benchmark: Benchmark) -> None:
    """Refuse conditions on tasks and bias types that the benchmark does not have, before scores are read."""
    if not conditions:
        return
    from evenhand.instruments.association.instrument import AssociationInstrument, AuditOptions
    from evenhand.store.conditions import refuse_unknown_figures, with_coverage

    figures = AssociationInstrument().figure_groups(AuditOptions(data=benchmark))
    refuse_unknown_figures(conditions, with_coverage(figures), of=benchmark.name)
