"""Options that several commands share, and how they become the options of an instrument or a mitigation."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_type_hints

import typer

from evenhand.core.errors import EvenhandError, UnknownNameError
from evenhand.core.protocols import PROTOCOLS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenhand.core.recipes import Kernels, Precision
    from evenhand.models.references import ModelRef
    from evenhand.stats.resampling import Resampling


MODEL = "Model"

DATA = "Data"

SCORING = "Scoring"

TRAINING = "Training"

STATISTICS = "Statistics"

OUTPUT = "Output"

EXECUTION = "Execution"

SERVER = "Server"

MODEL_FORMS = (
    "A model folder, a .gguf file, a hub id with @REVISION if wanted, or an id with the prefix of a backend "
    "($backends), such as lab:masked."
)

Models = Annotated[list[str], typer.Argument(help=MODEL_FORMS)]

Device = Annotated[
    str,
    typer.Option(help="cpu, cuda, or auto: a GPU where there is one.", rich_help_panel=MODEL),
]

PrecisionName = Annotated[
    str,
    typer.Option(
        "--precision", help="Number format of the weights: fp32, bf16 or fp16.", rich_help_panel=MODEL
    ),
]

KernelsName = Annotated[
    str,
    typer.Option(
        "--kernels",
        help="Kernels for fp32 on a CPU: auto, the fastest that are as exact, or default, those that PyTorch chooses.",
        rich_help_panel=MODEL,
    ),
]

AllowPickleWeights = Annotated[
    bool,
    typer.Option(
        "--allow-pickle-weights",
        help="Load .bin weights too. They can run code.",
        rich_help_panel=MODEL,
    ),
]

TrustRemoteCode = Annotated[
    bool,
    typer.Option("--trust-remote-code", help="Run code that comes with the model.", rich_help_panel=MODEL),
]

Memory = Annotated[
    str | None,
    typer.Option(
        help="Memory that a batch may take beside the weights, such as 4GB.",
        show_default="a quarter of what is free, at most 2GiB on a CPU and 16GiB on a GPU",
        rich_help_panel=EXECUTION,
    ),
]


Prefix = Annotated[
    str | None,
    typer.Option(
        help="Words that stand before every text of the mitigated model, a decoder; a space is put behind them.",
        rich_help_panel=MODEL,
    ),
]

SchemeName = Annotated[
    str | None,
    typer.Option(
        "--scheme",
        help="The labels: regard, six-categories, or a YAML file. The one that fits the files if not given.",
        rich_help_panel=DATA,
    ),
]

LabelColumn = Annotated[str, typer.Option("--label", help="The column of labels.", rich_help_panel=DATA)]

TextColumn = Annotated[str, typer.Option("--text", help="The column of texts.", rich_help_panel=DATA)]

Replace = Annotated[
    bool, typer.Option("--replace", help="Replace files that are there already.", rich_help_panel=OUTPUT)
]

ProtocolName = Annotated[
    str,
    typer.Option(
        "--protocol",
        "-p",
        help=f"How candidates are scored and scores become figures: {', '.join(PROTOCOLS)}.",
        rich_help_panel=SCORING,
    ),
]

Encoding = Annotated[
    str | None,
    typer.Option(
        "--encoding",
        help="Of a text file that is not UTF-8, as Python names it: windows-1252, mac-roman, utf-16.",
        rich_help_panel=DATA,
    ),
]

Source = Annotated[
    str | None,
    typer.Option(
        "--source",
        help="The benchmark that the data were translated from, a name or a file: adds the checks of translations.",
        show_default="the one in the record, for a folder of evenhand data translate",
        rich_help_panel=DATA,
    ),
]

Resamples = Annotated[
    int, typer.Option(help="Bootstrap resamples.", show_default=True, rich_help_panel=STATISTICS)
]

Seed = Annotated[
    int, typer.Option(help="Seed of the resampling.", show_default=True, rich_help_panel=STATISTICS)
]

Confidence = Annotated[
    float,
    typer.Option(help="Confidence level of the intervals.", show_default=True, rich_help_panel=STATISTICS),
]

TranslationChanges = Annotated[
    list[Path] | None,
    typer.Option(
        "--changes",
        help="For runs in several languages: the folder of a translation, or its published table of changes. Its "
        "repaired items are counted.",
        rich_help_panel=SCORING,
    ),
]
Json = Annotated[
    bool,
    typer.Option("--json", help="Print one JSON object and nothing else.", rich_help_panel=OUTPUT),
]

RunsFolder = Annotated[
    Path, typer.Option("--out", "-o", help="Folder for run folders.", rich_help_panel=OUTPUT)
]

FailIf = Annotated[
    list[str] | None,
    typer.Option(
        "--fail-if",
        help="Exit with code 4 when this holds for a run: [group.]figure[.low|.high], one of > >= < <=, and a number. "
        "May be repeated.",
        rich_help_panel=OUTPUT,
    ),
]

MinCoverage = Annotated[
    float | None,
    typer.Option(
        "--min-coverage",
        help="Judge conditions where at least this many percent of the items have scores; 0 also where nobody knows "
        "how many items there are.",
        show_default="99",
        min=0,
        max=100,
        rich_help_panel=OUTPUT,
    ),
]

Fresh = Annotated[
    bool,
    typer.Option(
        "--fresh/--resume",
        help="Start anew, or go on where a stopped run was.",
        rich_help_panel=EXECUTION,
    ),
]

MaxTokens = Annotated[
    int | None,
    typer.Option(
        help="Tokens in a batch; more are faster and need more memory.", min=1, rich_help_panel=EXECUTION
    ),
]

On = Annotated[
    str,
    typer.Option(
        "--on",
        help="Where jobs run: here, ray (a cluster on this machine) or ray:ADDRESS. The results are the same.",
        rich_help_panel=EXECUTION,
    ),
]

DEFAULT_RUNS = Path("runs")

DEFAULT_RESAMPLES = 10_000

DEFAULT_SEED = 20_210_801

DEFAULT_CONFIDENCE = 0.95

DEFAULT_ON = "here"


class TableChoice(StrEnum):
    """How a table is printed."""

    TABLE = "table"
    CSV = "csv"
    MARKDOWN = "markdown"
    LATEX = "latex"


Format = Annotated[
    TableChoice, typer.Option("--format", help="How the table is printed.", rich_help_panel=OUTPUT)
]


def resampling(resamples: int, seed: int, confidence: float) -> Resampling:
    """The resampling that the options describe."""
    from evenhand.stats.resampling import Resampling

    return Resampling(resamples=resamples, seed=seed, confidence=confidence)


def refuse_two_formats(*, json: bool, form: TableChoice) -> None:
    """``--json`` is a format of its own."""
    if json and form is not TableChoice.TABLE:
        raise EvenhandError(f"--json and --format {form.value} exclude each other; choose one.")


def model_reference(
    text: str,
    *,
    device: str = "auto",
    precision: str = "fp32",
    kernels: str = "auto",
    allow_pickle_weights: bool = False,
    trust_remote_code: bool = False,
    memory: str | None = None,
) -> ModelRef:
    """The model that a name or folder on the command line means, and how to load it."""
    from evenhand.models.backends import require_backends
    from evenhand.models.references import ModelRef, refuse_missing_path

    name, revision = ModelRef.parse(text)
    refuse_missing_path(name)
    require_backends([name], purpose=f"The model {text}")
    return ModelRef(
        id=name,
        revision=revision,
        precision=precision_named(precision),
        kernels=kernels_named(kernels),
        device=device,
        allow_pickle_weights=allow_pickle_weights,
        trust_remote_code=trust_remote_code,
        memory=memory,
    )


def model_references(
    models: Sequence[str],
    *,
    device: str,
    precision: str,
    kernels: str,
    allow_pickle_weights: bool,
    trust_remote_code: bool,
    memory: str | None,
) -> list[ModelRef]:
    """Those that are named on the command line, loaded alike."""
    return [
        model_reference(
            text,
            device=device,
            precision=precision,
            kernels=kernels,
            allow_pickle_weights=allow_pickle_weights,
            trust_remote_code=trust_remote_code,
            memory=memory,
        )
        for text in models
    ]


def with_prefix(ref: ModelRef, words: str) -> ModelRef:
    """The same model with words before every text."""
    if not words.strip():
        raise EvenhandError(
            "--prefix is empty. Give the words that stand before every text, or leave it out."
        )
    return ref.model_copy(update={"prefix": words if words[-1].isspace() else f"{words} "})


def kernels_named(text: str) -> Kernels:
    """The choice of kernels of this name."""
    from evenhand.core.recipes import Kernels

    if text not in set(Kernels):
        raise UnknownNameError("kernels", text, [known.value for known in Kernels])
    return Kernels(text)


def precision_named(text: str) -> Precision:
    """The number format of this name."""
    from evenhand.core.recipes import Precision

    if text not in set(Precision):
        raise UnknownNameError("precision", text, [known.value for known in Precision])
    return Precision(text)


Options = TypeVar("Options")

_COMPOSED = {"recipe", "resampling"}
"""Fields that several options of a command make up."""


def options_from(
    options_type: type[Options],
    named: Mapping[str, Any],
    *,
    owner: str,
    settings: Sequence[str] = (),
    flags: Mapping[str, str] | None = None,
    unused: Collection[str] = (),
) -> Options:
    """Options of a type, refusing those that it does not have.

    Args:
        options_type: A dataclass.
        named: Values of options that the command has itself; None where they were not given.
        owner: The instrument or mitigation that the options are for.
        settings: Other options, written ``name=value``.
        flags: How the command spells those options of its own that have another name than the field.
        unused: Options of the type that the owner has no use for.
    """
    known = {field.name for field in fields(options_type)} - set(unused)  # type: ignore[arg-type] # a dataclass
    chosen = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in named.items()
        if value is not None
    }
    for name in chosen:
        if name not in known:
            flag, *others = (
                f"--{(flags or {}).get(option, option).replace('_', '-')}"
                for option in (name, *(option for option in named if option in known - _COMPOSED))
            )
            takes = f"It takes {', '.join(others)}." if others else "It takes none of this kind."
            raise EvenhandError(f"{flag} is not an option of {owner}. {takes}")
    return options_type(**chosen | _parsed_settings(options_type, settings, known, owner=owner))


def _parsed_settings(
    options_type: type[Any], settings: Sequence[str], known: set[str], *, owner: str
) -> dict[str, Any]:
    types = get_type_hints(options_type)
    values: dict[str, Any] = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        name = name.strip().replace("-", "_")
        if not equals:
            raise EvenhandError(f"--set {setting!r} is not understood. Write --set name=value.")
        if name not in known:
            raise UnknownNameError(f"option of {owner}", name, known)
        values[name] = _parsed(name, text.strip(), types[name])
    return values


def _parsed(name: str, text: str, kind: Any) -> Any:
    """A value of the option's own type, as far as a text can be one."""
    alternatives = [kind, *getattr(kind, "__args__", ())]
    if bool in alternatives and text.casefold() in ("true", "false", "yes", "no"):
        return text.casefold() in ("true", "yes")
    for number in (int, float):
        if number in alternatives:
            try:
                return number(text)
            except ValueError:
                continue
    if str in alternatives:
        return text
    if Path in alternatives:
        return Path(text)
    raise EvenhandError(f"--set {name}={text} is not a value that this option takes: {_described(kind)}.")


def _described(kind: Any) -> str:
    return getattr(kind, "__name__", str(kind))
