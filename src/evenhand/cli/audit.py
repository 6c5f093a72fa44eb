"""``evenhand audit``: score models on a benchmark and show the result."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evenhand.cli.gates import close_gate, conditions_of
from evenhand.cli.options import (
    DATA,
    DEFAULT_CONFIDENCE,
    DEFAULT_ON,
    DEFAULT_RESAMPLES,
    DEFAULT_RUNS,
    DEFAULT_SEED,
    MODEL_FORMS,
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
    On,
    PrecisionName,
    ProtocolName,
    Resamples,
    RunsFolder,
    Seed,
    Source,
    TableChoice,
    TrustRemoteCode,
    model_references,
    refuse_two_formats,
    resampling,
)
from evenhand.cli.output import TerminalMonitor, exit_when_interrupted, say
from evenhand.cli.results import show_results
from evenhand.cli.run_names import RunName, refuse_name_of_several
from evenhand.core.errors import EvenhandError, UnknownNameError
from evenhand.core.protocols import DEFAULT_PROTOCOL

if TYPE_CHECKING:
    from evenhand.core.items import Task

Models = Annotated[
    list[str] | None, typer.Argument(help=f"{MODEL_FORMS} Four embedded models if none is given.")
]
Data = Annotated[
    str | None,
    typer.Option(
        "--data",
        "-d",
        help="A dataset's name, or a file or folder in a known layout ($benchmarks). If not given, the starter set; "
        "for lab models the lab's own items.",
        rich_help_panel=DATA,
    ),
]
Languages = Annotated[
    str | None,
    typer.Option(
        "--language",
        "-l",
        help="Languages of the dataset, separated by commas: de,fr.",
        rich_help_panel=DATA,
    ),
]
TaskNames = Annotated[
    str | None,
    typer.Option(
        "--task",
        help="intrasentence (a word in a blank), intersentence (a sentence that follows), or both with a comma. All "
        "that a model can do if not given.",
        rich_help_panel=DATA,
    ),
]
Limit = Annotated[
    int | None,
    typer.Option(
        help="Only a sample of this many items of each task, spread over target terms; always the same one.",
        min=1,
        rich_help_panel=DATA,
    ),
]
Inter = Annotated[
    str | None,
    typer.Option(
        "--inter",
        help="How the inter-sentence task is scored: next-sentence, pll, orig, b, c, d, e, f. By family if not given.",
        rich_help_panel=SCORING,
    ),
]
Score = Annotated[
    str | None,
    typer.Option(
        "--score",
        help="How a word of several tokens is scored: mean-prob, mean-log, sum-log, pll or pll-within-word. By family "
        "if not given.",
        rich_help_panel=SCORING,
    ),
]


def audit_command(
    models: Models = None,
    device: Device = "auto",
    kernels: KernelsName = "auto",
    precision: PrecisionName = "fp32",
    allow_pickle_weights: AllowPickleWeights = False,
    trust_remote_code: TrustRemoteCode = False,
    data: Data = None,
    language: Languages = None,
    source: Source = None,
    encoding: Encoding = None,
    task: TaskNames = None,
    limit: Limit = None,
    protocol: ProtocolName = DEFAULT_PROTOCOL,
    inter: Inter = None,
    score: Score = None,
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
    """Score models on a benchmark and evaluate the scores: the run folder, the table and the page.

    Masked models, decoders and encoder-decoders; what is not chosen is chosen by family and printed. A stopped run
    goes on where it was when the same command is given again.

    **Examples**

    `evenhand audit`

    `evenhand audit bert-base-cased gpt2 --data stereoset`

    `evenhand audit ./my-model --data translations --language de,fr --task intrasentence`

    `evenhand audit ./my-model --data translations/fr.json --source stereoset`

    `evenhand audit gpt2@main --data stereoset --protocol multilingual-2023 --inter c --fail-if "SS.low>55"`

    `evenhand audit gpt2 bert-base-cased --data stereoset --on ray`
    """
    say(f"Auditing {', '.join(models) if models else 'the embedded models'}")
    from evenhand.models.backends import require_backends
    from evenhand.models.backends.lab import audited_names

    require_backends(models or audited_names(), purpose="evenhand audit")
    from evenhand.core.protocols import get_protocol
    from evenhand.data import load_dataset
    from evenhand.data.layouts import passed_over
    from evenhand.instruments.association.instrument import ASSOCIATION, AuditOptions
    from evenhand.translation.workflow import source_of_data

    refuse_two_formats(json=json, form=format_)
    conditions = conditions_of(fail_if, measures=ASSOCIATION.measures)
    chosen_protocol, tasks = get_protocol(protocol), _tasks(task)
    references = model_references(
        models or audited_names(),
        device=device,
        kernels=kernels,
        precision=precision,
        allow_pickle_weights=allow_pickle_weights,
        trust_remote_code=trust_remote_code,
        memory=memory,
    )
    languages = [part.strip() for part in language.split(",")] if language else [None]
    refuse_name_of_several(name, len(references) * len(languages))
    _refuse_unused(tasks, data=data, inter=inter, score=score, encoding=encoding)
    if data is not None and len(languages) > 1 and Path(data).is_file():
        raise EvenhandError(
            f"{data} is one file and has one language, but --language names several: {language}. Give a folder with "
            "one file per language, such as de.json and fr.json."
        )
    benchmarks = [
        load_dataset(data, language=chosen, encoding=encoding) if data else None for chosen in languages
    ]
    if source is not None and data is None:
        raise EvenhandError("--source is what --data were translated from. Give both.")
    monitor = TerminalMonitor()
    if data is not None and (unread := passed_over(data)):
        monitor.warn(unread)
    translated_from = source_of_data(data, source=source, monitor=monitor) if data else None

    from evenhand.api.measure import measure_all
    from evenhand.api.measurement_jobs import MeasurementJob, refuse_unplanned_figures

    measurements = [
        MeasurementJob(
            model=reference,
            name=name,
            options=AuditOptions(
                data=benchmark,
                language=chosen,
                limit=limit,
                max_tokens=max_tokens,
                resampling=resampling(resamples, seed, confidence),
                protocol=chosen_protocol,
                tasks=tasks,
                inter=inter,
                score=score,
                source=translated_from,
            ),
        )
        for reference in references
        for benchmark, chosen in zip(benchmarks, languages, strict=True)
    ]
    refuse_unplanned_figures(conditions, measurements)
    with exit_when_interrupted():
        runs = measure_all(measurements, out=out, on=on, fresh=fresh, monitor=monitor)
    show_results(runs, form=format_, json=json)
    close_gate(conditions, runs)


def _refuse_unused(
    tasks: tuple[Task, ...] | None,
    *,
    data: str | None,
    inter: str | None,
    score: str | None,
    encoding: str | None,
) -> None:
    """Refuse options that would change nothing."""
    from evenhand.core.items import Task

    for option, value, task in (
        ("--inter", inter, Task.INTERSENTENCE),
        ("--score", score, Task.INTRASENTENCE),
    ):
        if value is not None and tasks is not None and task not in tasks:
            raise EvenhandError(
                f"{option} is for the {task.value} task, and --task leaves that out. Leave out {option}, or add "
                f"{task.value} to --task."
            )
    if encoding is not None and data is None:
        raise EvenhandError("--encoding is for the files of --data. Give both, or leave out --encoding.")


def _tasks(text: str | None) -> tuple[Task, ...] | None:
    from evenhand.core.items import Task

    if text is None:
        return None
    names = [part.strip() for part in text.split(",")]
    for name in names:
        if name not in set(Task):
            raise UnknownNameError("task", name, [known.value for known in Task])
    return tuple(Task(name) for name in names)
