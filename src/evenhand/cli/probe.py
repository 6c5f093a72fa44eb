"""``evenhand probe``: which gender does a model expect with which occupation?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evenhand.cli.monitor import TerminalMonitor, interruption_told
from evenhand.cli.options import (
    DEFAULT_CONFIDENCE,
    DEFAULT_RESAMPLES,
    DEFAULT_RUNS,
    DEFAULT_SEED,
    AllowPickleWeights,
    Confidence,
    Device,
    Format,
    Fresh,
    Json,
    MaxTokens,
    Occupations,
    PrecisionName,
    ProbeLanguage,
    Resamples,
    RunsFolder,
    Seed,
    Structures,
    TableChoice,
    Terms,
    TrustRemoteCode,
    refuse_two_formats,
    resampling,
)
from evenhand.cli.output import console, plain_table, print_json, print_table, print_text

if TYPE_CHECKING:
    from evenhand.runs.run import Run


Models = Annotated[
    list[str],
    typer.Argument(help="Model folders or hub ids, each with @revision if wanted, or lab:NAME."),
]
Test = Annotated[
    str,
    typer.Option(
        "--test", help="malor, cosine, direct-bias, crows-pairs, or an instrument of another package."
    ),
]
DirectionName = Annotated[
    str | None, typer.Option(help="What is masked: gender (the term), occupation, or both.")
]
Shares = Annotated[
    str | None,
    typer.Option(help="Real shares of women, to correlate the lean with: winogender-occupations, or a file."),
]
Score = Annotated[
    str | None, typer.Option(help="A word of several tokens: product of their probabilities, or mean-prob.")
]
CaseName = Annotated[
    str | None, typer.Option(help="by-place writes He at a sentence's start; as-is leaves terms alone.")
]
Data = Annotated[
    str | None,
    typer.Option("--data", "-d", help="For crows-pairs and cosine: a file, or a dataset's name."),
]
Corpus = Annotated[
    list[Path] | None, typer.Option(help="For direct-bias: text files or folders. May be repeated.")
]
ExperimentChoice = Annotated[
    str | None, typer.Option("--experiment", "-e", help="he-she, his-her, names or all.")
]
Limit = Annotated[int | None, typer.Option(help="Only the first items.", min=1)]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", help="An option of the instrument, as name=value. May be repeated."),
]
Layer = Annotated[int | None, typer.Option(help="For cosine and direct-bias: hidden layer, -1 is the last.")]


def probe_command(
    models: Models,
    test: Test = "malor",
    experiment: ExperimentChoice = None,
    direction: DirectionName = None,
    language: ProbeLanguage = None,
    structures: Structures = None,
    occupations: Occupations = None,
    terms: Terms = None,
    shares: Shares = None,
    score: Score = None,
    case: CaseName = None,
    data: Data = None,
    corpus: Corpus = None,
    layer: Layer = None,
    limit: Limit = None,
    settings: Settings = None,
    device: Device = "auto",
    precision: PrecisionName = "fp32",
    max_tokens: MaxTokens = None,
    out: RunsFolder = DEFAULT_RUNS,
    fresh: Fresh = False,
    allow_pickle_weights: AllowPickleWeights = False,
    trust_remote_code: TrustRemoteCode = False,
    json: Json = False,
    format_: Format = TableChoice.TABLE,
    resamples: Resamples = DEFAULT_RESAMPLES,
    seed: Seed = DEFAULT_SEED,
    confidence: Confidence = DEFAULT_CONFIDENCE,
) -> None:
    """Ask models which gender goes with which occupation: MALoR, and tests beside it.

    Structures, occupations and terms come with the package in English and German, or from your own files. A lab model
    is probed with the lab's own, whose answers are known.

    **Examples**

    `evenhand probe bert-base-uncased roberta-base --experiment he-she`

    `evenhand probe ./my-model --direction both --language de`

    `evenhand probe gpt2 --test crows-pairs --data crows-pairs`

    `evenhand probe bert-base-uncased --test direct-bias --corpus novels/`
    """
    from evenhand.models.backends import require_backends

    require_backends(models, purpose="evenhand probe")
    from evenhand.cli.audit import model_reference
    from evenhand.cli.instrument_options import options_for
    from evenhand.report.probes.tables import probe_json
    from evenhand.runs.run import INSTRUMENTS
    from evenhand.workflows.measure import probe

    refuse_two_formats(json=json, form=format_)
    instrument = INSTRUMENTS.get(test)
    options = options_for(
        instrument,
        {
            "experiment": experiment,
            "direction": direction,
            "language": language,
            "structures": structures,
            "occupations": occupations,
            "terms": terms,
            "shares": shares,
            "score": score,
            "case": case,
            "data": data,
            "corpus": tuple(corpus) if corpus else None,
            "layer": layer,
            "limit": limit,
            "max_tokens": max_tokens,
            "resampling": resampling(resamples, seed, confidence),
        },
        settings or (),
    )
    references = [
        model_reference(
            text,
            precision=precision,
            device=device,
            allow_pickle_weights=allow_pickle_weights,
            trust_remote_code=trust_remote_code,
        )
        for text in models
    ]
    monitor = TerminalMonitor()
    with interruption_told():
        runs = [
            probe(reference, instrument, options=options, out=out, fresh=fresh, monitor=monitor)
            for reference in references
        ]
    if json:
        print_json(probe_json(runs))
    else:
        show_probes(runs, format_)


def show_probes(runs: Sequence[Run], form: TableChoice) -> None:
    """Print the results of probes."""
    from evenhand.report.probes.tables import PROBE_COLUMNS, format_probe_table, probe_rows
    from evenhand.report.probes.words import probe_sentences

    if form is not TableChoice.TABLE:
        print_text(format_probe_table(runs, form.value))
        return
    table = plain_table(*PROBE_COLUMNS)
    for row in probe_rows(runs):
        table.add_row(*row)
    print_table(table)
    for run in runs:
        for sentence in probe_sentences(run):
            console().print(f"{run.name}: {sentence}")
