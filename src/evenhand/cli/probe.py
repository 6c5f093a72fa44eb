"""``evenhand probe``: measure models with any instrument, MALoR if none is named."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from evenhand.cli.gates import close_gate, conditions_of
from evenhand.cli.options import (
    DATA,
    DEFAULT_CONFIDENCE,
    DEFAULT_ON,
    DEFAULT_RESAMPLES,
    DEFAULT_RUNS,
    DEFAULT_SEED,
    SCORING,
    AllowPickleWeights,
    Confidence,
    Device,
    Encoding,
    FailIf,
    Format,
    Fresh,
    Json,
    KernelsName,
    MaxTokens,
    Memory,
    Models,
    On,
    PrecisionName,
    Resamples,
    RunsFolder,
    Seed,
    TableChoice,
    TrustRemoteCode,
    model_references,
    refuse_two_formats,
    resampling,
)
from evenhand.cli.output import TerminalMonitor, exit_when_interrupted, say
from evenhand.cli.results import show_results
from evenhand.cli.run_names import RunName, refuse_name_of_several
from evenhand.twins.noun_list import mention_noun_list

Test = Annotated[
    str, typer.Option("--test", "-t", help="What is measured: $instruments.", rich_help_panel=SCORING)
]
DirectionName = Annotated[
    str | None,
    typer.Option(
        help="malor: what is masked. gender or term (the term), occupation, or both.", rich_help_panel=SCORING
    ),
]
Score = Annotated[
    str | None,
    typer.Option(
        help="malor: the score of a word of several tokens, product of their probabilities or mean-prob.",
        rich_help_panel=SCORING,
    ),
]
CaseName = Annotated[
    str | None,
    typer.Option(
        help="malor: by-place writes He at a sentence's start; as-is leaves terms alone; lower writes all in small "
        "letters.",
        rich_help_panel=SCORING,
    ),
]
ProtocolName = Annotated[
    str | None,
    typer.Option(
        "--protocol",
        help="malor: malor.v1, or malor-2023 with the files of that study. crows-pairs: crows-pairs.v1 or "
        "crows-pairs-2020.",
        rich_help_panel=SCORING,
    ),
]
Layer = Annotated[
    int | None,
    typer.Option(help="cosine, direct-bias: hidden layer, -1 is the last.", rich_help_panel=SCORING),
]
Pair = Annotated[
    str | None,
    typer.Option(
        help="direct-bias: the two words of the direction, such as father-mother; pronouns if not given.",
        rich_help_panel=SCORING,
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        help="Any option of the instrument, as name=value. May be repeated.",
        rich_help_panel=SCORING,
    ),
]
Data = Annotated[
    str | None,
    typer.Option(
        "--data",
        "-d",
        help="A dataset's name, or a file or folder in a known layout ($layouts); the instrument's own if not given.",
        rich_help_panel=DATA,
    ),
]
Language = Annotated[
    str | None,
    typer.Option(
        "--language",
        "-l",
        help="Of the data: en or de for what ships with the package, any with your own files. "
        "A lab model's own if not given.",
        rich_help_panel=DATA,
    ),
]
ExperimentName = Annotated[
    str | None,
    typer.Option(
        "--experiment",
        "-e",
        help="malor: he-she, his-her, names, one of your structures, or all.",
        rich_help_panel=DATA,
    ),
]
Structures = Annotated[
    Path | None,
    typer.Option(help="malor: CSV with experiment, number, structure.", dir_okay=False, rich_help_panel=DATA),
]
Occupations = Annotated[
    Path | None,
    typer.Option(
        help="malor: CSV with occupation and perhaps field.",
        dir_okay=False,
        rich_help_panel=DATA,
    ),
]
Terms = Annotated[
    Path | None,
    typer.Option(
        help="malor: CSV with male, female and perhaps experiment; or with experiment and two other groups.",
        dir_okay=False,
        rich_help_panel=DATA,
    ),
]
Shares = Annotated[
    str | None,
    typer.Option(
        help="malor: real shares of women, to correlate the lean with. winogender-occupations, or a file.",
        rich_help_panel=DATA,
    ),
]
Corpus = Annotated[
    list[Path] | None,
    typer.Option(
        help="direct-bias, knowledge: text files or folders. May be repeated.", rich_help_panel=DATA
    ),
]
Limit = Annotated[
    int | None,
    typer.Option(
        help="Only a sample of this many items, spread over what they are about; always the same one. malor: of the "
        "structures of each experiment; direct-bias: the first sentences.",
        min=1,
        rich_help_panel=DATA,
    ),
]


def probe_command(
    models: Models,
    device: Device = "auto",
    kernels: KernelsName = "auto",
    precision: PrecisionName = "fp32",
    allow_pickle_weights: AllowPickleWeights = False,
    trust_remote_code: TrustRemoteCode = False,
    data: Data = None,
    language: Language = None,
    encoding: Encoding = None,
    experiment: ExperimentName = None,
    structures: Structures = None,
    occupations: Occupations = None,
    terms: Terms = None,
    shares: Shares = None,
    corpus: Corpus = None,
    limit: Limit = None,
    test: Test = "malor",
    direction: DirectionName = None,
    score: Score = None,
    case: CaseName = None,
    protocol: ProtocolName = None,
    layer: Layer = None,
    pair: Pair = None,
    settings: Settings = None,
    resamples: Resamples = DEFAULT_RESAMPLES,
    seed: Seed = DEFAULT_SEED,
    confidence: Confidence = DEFAULT_CONFIDENCE,
    out: RunsFolder = DEFAULT_RUNS,
    name: RunName = None,
    json: Json = False,
    format_: Format = TableChoice.TABLE,
    fail_if: FailIf = None,
    fresh: Fresh = False,
    max_tokens: MaxTokens = None,
    memory: Memory = None,
    on: On = DEFAULT_ON,
) -> None:
    """Measure models with any instrument. Without --test: which gender do they expect with which occupation (MALoR)?

    Structures, occupations and terms come with the package in English and German, or from your own files. A lab model
    is probed with the lab's own, whose answers are known.

    **Examples**

    `evenhand probe bert-base-uncased roberta-base --experiment he-she --fail-if "he-she.MALoR>1"`

    `evenhand probe ./my-model --direction both --language de`

    `evenhand probe gpt2 --test crows-pairs --data crows-pairs`

    `evenhand probe bert-base-uncased --test direct-bias --corpus novels/`
    """
    say(f"Probing {', '.join(models)}")
    from evenhand.models.backends import require_backends

    require_backends(models, purpose="evenhand probe")
    refuse_two_formats(json=json, form=format_)
    from evenhand.store.run import INSTRUMENTS

    instrument = INSTRUMENTS.get(test)
    conditions = conditions_of(fail_if, measures=instrument.measures)
    references = model_references(
        models,
        device=device,
        kernels=kernels,
        precision=precision,
        allow_pickle_weights=allow_pickle_weights,
        trust_remote_code=trust_remote_code,
        memory=memory,
    )
    from evenhand.api.measure import measure_all
    from evenhand.api.measurement_jobs import MeasurementJob, refuse_unplanned_figures
    from evenhand.cli.options import options_from

    options = options_from(
        instrument.options_type,
        {
            "data": data,
            "language": language,
            "encoding": encoding,
            "experiment": experiment,
            "structures": structures,
            "occupations": occupations,
            "terms": terms,
            "shares": shares,
            "corpus": corpus,
            "limit": limit,
            "direction": direction,
            "score": score,
            "case": case,
            "protocol": protocol,
            "layer": layer,
            "pair": pair,
            "max_tokens": max_tokens,
            "resampling": resampling(resamples, seed, confidence),
        },
        owner=instrument.name,
        settings=settings or (),
        unused=instrument.unused_options,
    )
    refuse_name_of_several(name, len(references))
    measurements = [
        MeasurementJob(model=reference, instrument=test, options=options, name=name)
        for reference in references
    ]
    if corpus and test == "knowledge":
        mention_noun_list(language)
    refuse_unplanned_figures(conditions, measurements)
    with exit_when_interrupted():
        runs = measure_all(measurements, out=out, on=on, fresh=fresh, monitor=TerminalMonitor())
    show_results(runs, form=format_, json=json)
    close_gate(conditions, runs)
