"""``evenhand probe``: which gender does a model expect with which occupation?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evenhand.cli.exit_codes import INTERRUPTED
from evenhand.cli.options import (
    DEFAULT_CONFIDENCE,
    DEFAULT_RESAMPLES,
    DEFAULT_RUNS,
    DEFAULT_SEED,
    AllowPickleWeights,
    Confidence,
    Device,
    ExperimentName,
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
from evenhand.cli.output import console, plain_table, print_json, print_table, print_text, say
from evenhand.cli.probe_tests import ProbeWishes, named_test, probed
from evenhand.core.extras import require_extra

if TYPE_CHECKING:
    from evenhand.runs.probe_runs import ProbeRun


Models = Annotated[
    list[str],
    typer.Argument(help="Model folders or hub ids, each with @revision if wanted, or lab:NAME."),
]
Test = Annotated[str, typer.Option("--test", help="malor, cosine, direct-bias or crows-pairs.")]
DirectionName = Annotated[str, typer.Option(help="What is masked: gender (the term), occupation, or both.")]
Shares = Annotated[
    str | None,
    typer.Option(help="Real shares of women, to correlate the lean with: winogender-occupations, or a file."),
]
Score = Annotated[
    str, typer.Option(help="A word of several tokens: product of their probabilities, or mean-prob.")
]
CaseName = Annotated[
    str, typer.Option(help="by-place writes He at a sentence's start; as-is leaves terms alone.")
]
Data = Annotated[
    str | None,
    typer.Option("--data", "-d", help="For crows-pairs and cosine: a file, or a dataset's name."),
]
Corpus = Annotated[
    list[Path] | None, typer.Option(help="For direct-bias: text files or folders. May be repeated.")
]
Layer = Annotated[int, typer.Option(help="For cosine and direct-bias: hidden layer, -1 is the last.")]


def probe_command(
    models: Models,
    test: Test = "malor",
    experiment: ExperimentName = "all",
    direction: DirectionName = "gender",
    language: ProbeLanguage = None,
    structures: Structures = None,
    occupations: Occupations = None,
    terms: Terms = None,
    shares: Shares = None,
    score: Score = "product",
    case: CaseName = "by-place",
    data: Data = None,
    corpus: Corpus = None,
    layer: Layer = -1,
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
    require_extra("hf", purpose="evenhand probe")
    from evenhand.cli.audit import model_reference
    from evenhand.report.probes.page import render_probe_page
    from evenhand.report.probes.tables import probe_json

    refuse_two_formats(json=json, form=format_)
    asked = ProbeWishes(
        test=named_test(test),
        experiment=experiment,
        direction=direction,
        language=language,
        structures=structures,
        occupations=occupations,
        terms=terms,
        shares=shares,
        score=score,
        case=case,
        data=data,
        corpus=tuple(corpus or ()),
        layer=layer,
        max_tokens=max_tokens,
        resampling=resampling(resamples, seed, confidence),
    )
    runs: list[ProbeRun] = []
    for text in models:
        reference = model_reference(
            text,
            precision=precision,
            device=device,
            allow_pickle_weights=allow_pickle_weights,
            trust_remote_code=trust_remote_code,
        )
        try:
            run = probed(reference, asked, out=out, fresh=fresh)
        except KeyboardInterrupt:
            say("Stopped. Give the same command again to go on from here.")
            raise typer.Exit(INTERRUPTED) from None
        say(keep_probe(run, out, page=render_probe_page([run]), fresh=fresh))
        runs.append(run)
    if json:
        print_json(probe_json(runs))
    else:
        show_probes(runs, format_)


def keep_probe(run: ProbeRun, out: Path, *, page: str, fresh: bool) -> str:
    """Write the run folder with its page, unless the very same run is there already."""
    from evenhand.cli.evaluate import left_alone
    from evenhand.cli.probe_tests import probe_that_is_there
    from evenhand.runs.records import PAGE_FILE

    folder = out / run.name
    if not fresh and probe_that_is_there(folder, run.record.fingerprint):
        return left_alone(folder)
    run.save(folder, extra={PAGE_FILE: page}, replace=fresh)
    return f"Wrote {folder / PAGE_FILE}"


def show_probes(runs: Sequence[ProbeRun], form: TableChoice) -> None:
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
