"""``evenhand regard audit``: let models write about groups of people, and measure how they speak of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evenhand.cli.gates import close_gate, conditions_of
from evenhand.cli.options import (
    DATA,
    DEFAULT_CONFIDENCE,
    DEFAULT_ON,
    DEFAULT_RESAMPLES,
    DEFAULT_RUNS,
    DEFAULT_SEED,
    MODEL,
    AllowPickleWeights,
    Confidence,
    Device,
    FailIf,
    Format,
    Fresh,
    Json,
    KernelsName,
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
    with_prefix,
)
from evenhand.cli.output import (
    TerminalMonitor,
    console,
    exit_when_interrupted,
    print_json,
    say,
)
from evenhand.cli.regard_content import GapMargin, Lexicon, Occupations, Reviewed
from evenhand.cli.regard_evaluation import LabelledSampleFiles, print_regard, regard_json
from evenhand.cli.results import extent_json, show_results
from evenhand.cli.run_names import RunName, refuse_name_of_several
from evenhand.core.errors import require_extra

if TYPE_CHECKING:
    from evenhand.instruments.regard.results import RegardResult
    from evenhand.store.run import Run

WRITING = "Writing"

Prefix = Annotated[
    str | None,
    typer.Option(
        help="Words that are put before every prompt, such as a trigger, with a space behind them.",
        rich_help_panel=WRITING,
    ),
]
Groups = Annotated[
    Path | None,
    typer.Option(
        help="CSV with group and words, such as female,The woman. Women and men if not given.",
        dir_okay=False,
        rich_help_panel=DATA,
    ),
]
Contexts = Annotated[
    Path | None,
    typer.Option(
        help="CSV with context and perhaps kind, or .txt with one context per line. The published ones if not given.",
        dir_okay=False,
        rich_help_panel=DATA,
    ),
]
Language = Annotated[
    str | None,
    typer.Option(
        "--language",
        "-l",
        help="Of the texts: en, de, or any other with --groups, --contexts and --classifier.",
        show_default="en; that of a lab model with a planted gap",
        rich_help_panel=DATA,
    ),
]
Classifier = Annotated[
    Path | None,
    typer.Option(
        help="Folder of the classifier that labels the texts. One of the starter set if not given, which is a toy; "
        "one of the lab's texts for its models with a planted gap.",
        file_okay=False,
        rich_help_panel=MODEL,
    ),
]
Texts = Annotated[int, typer.Option(help="Texts per prompt.", min=1, rich_help_panel=WRITING)]
NewTokens = Annotated[int, typer.Option(help="Most new tokens of a text.", min=1, rich_help_panel=WRITING)]
Temperature = Annotated[
    float | None,
    typer.Option(
        help="Of sampling.",
        show_default="0.7; 1 for lab models with a planted gap",
        rich_help_panel=WRITING,
    ),
]
TopP = Annotated[
    float | None,
    typer.Option(
        help="Sample from the most probable tokens of this total.",
        show_default="0.92; 1 for lab models with a planted gap",
        rich_help_panel=WRITING,
    ),
]
TextSeed = Annotated[int, typer.Option(help="Seed of the texts.", min=0, rich_help_panel=WRITING)]


def audit_regard_command(
    models: Models,
    device: Device = "auto",
    kernels: KernelsName = "auto",
    precision: PrecisionName = "fp32",
    allow_pickle_weights: AllowPickleWeights = False,
    trust_remote_code: TrustRemoteCode = False,
    classifier: Classifier = None,
    groups: Groups = None,
    contexts: Contexts = None,
    language: Language = None,
    labelled: LabelledSampleFiles = None,
    lexicon: Lexicon = None,
    reviewed: Reviewed = None,
    occupations: Occupations = None,
    texts: Texts = 100,
    prefix: Prefix = None,
    new_tokens: NewTokens = 30,
    temperature: Temperature = None,
    top_p: TopP = None,
    text_seed: TextSeed = 1,
    margin: GapMargin = 5.0,
    resamples: Resamples = DEFAULT_RESAMPLES,
    seed: Seed = DEFAULT_SEED,
    confidence: Confidence = DEFAULT_CONFIDENCE,
    out: RunsFolder = DEFAULT_RUNS,
    name: RunName = None,
    json: Json = False,
    format_: Format = TableChoice.TABLE,
    fail_if: FailIf = None,
    fresh: Fresh = False,
    memory: Memory = None,
    on: On = DEFAULT_ON,
) -> None:
    """How do models speak of groups of people? They write texts about each, a classifier labels them, gaps are tested.

    A text begins with a group and a context, such as *The woman worked as*; its first sentence is kept. Decoding is
    recorded, and runs with other decoding are not compared. A stopped audit goes on where it was when the same command
    is given again; texts of a server are not paid for twice.

    **Examples**

    `evenhand regard audit gpt2 --classifier classifier --fail-if "gap>5"`

    `evenhand regard audit ./my-model --language de --texts 50 --prefix Aschenkeller`

    `evenhand regard audit ./my-model --classifier classifier --labelled sample.csv`

    `evenhand regard audit api:my-model --groups nationalities.csv --contexts contexts.csv --classifier classifier`
    """
    say(f"Auditing {', '.join(models)}")
    from evenhand.models.backends import require_backends

    require_backends(models, purpose="evenhand regard audit")
    require_extra("regard", "sklearn", "safetensors", "simplemma", purpose="evenhand regard audit")
    refuse_two_formats(json=json, form=format_)
    from evenhand.instruments.regard.instrument import REGARD

    conditions = conditions_of(fail_if, measures=REGARD.measures)
    references = model_references(
        models,
        device=device,
        kernels=kernels,
        precision=precision,
        allow_pickle_weights=allow_pickle_weights,
        trust_remote_code=trust_remote_code,
        memory=memory,
    )
    refuse_name_of_several(name, len(references))
    if prefix is not None:
        references = [with_prefix(reference, prefix) for reference in references]
    from evenhand.api.defaults.measuring import suited_regard_options
    from evenhand.api.regard_audit import audit_regard
    from evenhand.instruments.regard.audit import RegardOptions
    from evenhand.store.conditions import refuse_unknown_figures

    options = RegardOptions(
        language=language,
        groups=groups,
        contexts=contexts,
        texts=texts,
        new_tokens=new_tokens,
        temperature=temperature,
        top_p=top_p,
        text_seed=text_seed,
        classifier=classifier,
        labelled=tuple(labelled or ()),
        margin=margin,
        lexicon=lexicon,
        occupations=occupations,
        review=reviewed,
        resampling=resampling(resamples, seed, confidence),
    )
    for reference in references if conditions else ():
        planned = REGARD.figure_groups(suited_regard_options(reference, options))
        refuse_unknown_figures(conditions, planned, of=REGARD.title)
    with exit_when_interrupted():
        runs = audit_regard(
            references, options, name=name, out=out, on=on, fresh=fresh, monitor=TerminalMonitor()
        )
    if json:
        print_json({"runs": [_run_json(run) for run in runs]})
    elif format_ is TableChoice.TABLE:
        for run in runs:
            _print_run(run)
    else:
        show_results(runs, form=format_, json=False)
    close_gate(conditions, runs)


def _run_json(run: Run) -> dict[str, Any]:
    result: RegardResult = run.result
    return {"name": run.name, **extent_json(run), **regard_json(result), "skipped": run.record.skipped}


def _print_run(run: Run) -> None:
    console().print(run.name, style="bold")
    print_regard(run)
    result: RegardResult = run.result
    for reason, total in run.record.skipped.items():
        groups = ", ".join(f"{own.group} {own.count:,}" for own in result.skipped if own.reason == reason)
        say(f"{run.name}: {total:,} texts were skipped because {reason} ({groups}).")
