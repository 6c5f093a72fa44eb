"""``evenhand audit``: score a model on a benchmark and show the result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from evenhand.cli.evaluate import fail_if_conditions_hold, result_json, show_runs
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
    PrecisionName,
    Resamples,
    RunsFolder,
    Seed,
    TableChoice,
    TrustRemoteCode,
    refuse_two_formats,
    resampling,
)
from evenhand.cli.output import print_json
from evenhand.core.errors import UnknownNameError

if TYPE_CHECKING:
    from evenhand.core.items import Task
    from evenhand.core.precision import Precision
    from evenhand.models.references import ModelRef
    from evenhand.runs.run import Run


Models = Annotated[
    list[str] | None,
    typer.Argument(
        help="Model folders or hub ids, each with @revision if wanted, or lab:NAME for an embedded model. "
        "All embedded models if not given."
    ),
]
Data = Annotated[
    str | None,
    typer.Option(
        "--data",
        "-d",
        help="A dataset's name, a file in StereoSet's layout, or a folder of them. If not given, the starter "
        "set; for lab models the lab's own items.",
    ),
]
Languages = Annotated[
    str | None, typer.Option("--language", "-l", help="Languages of the dataset, separated by commas.")
]
TaskNames = Annotated[
    str | None, typer.Option("--task", help="intrasentence, intersentence or both, separated by a comma.")
]
ProtocolName = Annotated[
    str, typer.Option("--protocol", "-p", help="evenhand.v1, multilingual-2023 or stereoset-2021.")
]
Inter = Annotated[
    str | None,
    typer.Option("--inter", help="next-sentence, orig, b, c, d, e or f. By family if not given."),
]
Score = Annotated[
    str | None,
    typer.Option(
        "--score", help="mean-prob, mean-log, sum-log, pll or pll-within-word. By family if not given."
    ),
]
Limit = Annotated[int | None, typer.Option(help="Only the first items of each task.", min=1)]
FailIf = Annotated[
    list[str] | None, typer.Option("--fail-if", help="Exit with code 4 when this holds. May be repeated.")
]


def audit_command(
    models: Models = None,
    data: Data = None,
    language: Languages = None,
    task: TaskNames = None,
    protocol: ProtocolName = "evenhand.v1",
    inter: Inter = None,
    score: Score = None,
    device: Device = "auto",
    precision: PrecisionName = "fp32",
    max_tokens: MaxTokens = None,
    limit: Limit = None,
    out: RunsFolder = DEFAULT_RUNS,
    fresh: Fresh = False,
    allow_pickle_weights: AllowPickleWeights = False,
    trust_remote_code: TrustRemoteCode = False,
    fail_if: FailIf = None,
    json: Json = False,
    format_: Format = TableChoice.TABLE,
    resamples: Resamples = DEFAULT_RESAMPLES,
    seed: Seed = DEFAULT_SEED,
    confidence: Confidence = DEFAULT_CONFIDENCE,
) -> None:
    """Score models on a benchmark and evaluate the scores: the run folder, the table and the page.

    Masked models, decoders and encoder-decoders; what is not chosen is chosen by family and printed. A stopped run
    goes on where it was when the same command is given again.

    **Examples**

    `evenhand audit`

    `evenhand audit bert-base-cased gpt2 --data stereoset`

    `evenhand audit ./my-model --data translations --language de,fr --task intrasentence`

    `evenhand audit gpt2@main --data stereoset --protocol multilingual-2023 --inter c --fail-if "SS.low>55"`
    """
    from evenhand.models.backends import require_backends
    from evenhand.models.backends.lab import embedded_names

    require_backends(models or embedded_names(), purpose="evenhand audit")
    from evenhand.core.protocols import get_protocol
    from evenhand.data import load_dataset
    from evenhand.instruments.association.instrument import AuditOptions
    from evenhand.runs.conditions import Condition
    from evenhand.workflows.measure import audit
    from evenhand.workflows.models import loaded_model

    refuse_two_formats(json=json, form=format_)
    conditions = [Condition.parse(text) for text in fail_if or []]
    languages = [part.strip() for part in language.split(",")] if language else [None]
    benchmarks = [load_dataset(data, language=chosen) if data else None for chosen in languages]
    options = AuditOptions(
        protocol=get_protocol(protocol),
        tasks=_tasks(task),
        inter=inter,
        score=score,
        max_tokens=max_tokens,
        limit=limit,
        resampling=resampling(resamples, seed, confidence),
    )
    references = [
        model_reference(
            text,
            precision=precision,
            device=device,
            allow_pickle_weights=allow_pickle_weights,
            trust_remote_code=trust_remote_code,
        )
        for text in models or embedded_names()
    ]
    monitor = TerminalMonitor()
    runs: list[Run] = []
    with interruption_told():
        for reference in references:
            model = loaded_model(reference, monitor=monitor)
            runs += [
                audit(
                    model, benchmark, language=chosen, options=options, out=out, fresh=fresh, monitor=monitor
                )
                for benchmark, chosen in zip(benchmarks, languages, strict=True)
            ]
    if json:
        print_json({"runs": [result_json(run) for run in runs]})
    else:
        show_runs(runs, format_)
    fail_if_conditions_hold(conditions, runs)


def model_reference(
    text: str, *, precision: str, device: str, allow_pickle_weights: bool, trust_remote_code: bool
) -> ModelRef:
    """The model that a name or folder on the command line means, and how to load it."""
    from evenhand.models.references import ModelRef, refuse_missing_folder

    name, revision = ModelRef.parse(text)
    refuse_missing_folder(name)
    return ModelRef(
        id=name,
        revision=revision,
        precision=precision_named(precision),
        device=device,
        allow_pickle_weights=allow_pickle_weights,
        trust_remote_code=trust_remote_code,
    )


def _tasks(text: str | None) -> tuple[Task, ...] | None:
    from evenhand.core.items import Task

    if text is None:
        return None
    names = [part.strip() for part in text.split(",")]
    for name in names:
        if name not in set(Task):
            raise UnknownNameError("task", name, [known.value for known in Task])
    return tuple(Task(name) for name in names)


def precision_named(text: str) -> Precision:
    """The number format of this name."""
    from evenhand.core.precision import Precision

    if text not in set(Precision):
        raise UnknownNameError("precision", text, [known.value for known in Precision])
    return Precision(text)
