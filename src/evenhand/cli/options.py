"""Options that several commands share, in the groups in which ``--help`` shows them."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evenhand.core.errors import EvenhandError, UnknownNameError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenhand.core.precision import Precision
    from evenhand.models.references import ModelRef
    from evenhand.runs.conditions import Condition
    from evenhand.stats.resampling import Resampling

MODEL = "Model"
DATA = "Data"
SCORING = "Scoring"
TRAINING = "Training"
STATISTICS = "Statistics"
OUTPUT = "Output"
EXECUTION = "Execution"

MODEL_FORMS = (
    "A model folder, a hub id with @REVISION if wanted, or an id with the prefix of a backend ($backends), such as "
    "lab:masked."
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
ProtocolName = Annotated[
    str,
    typer.Option(
        "--protocol",
        "-p",
        help="How scores become figures: evenhand.v1, multilingual-2023 or stereoset-2021.",
        rich_help_panel=SCORING,
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


def conditions_of(texts: Sequence[str] | None) -> list[Condition]:
    """The conditions of ``--fail-if``."""
    from evenhand.runs.conditions import Condition

    return [Condition.parse(text) for text in texts or ()]


def refuse_two_formats(*, json: bool, form: TableChoice) -> None:
    """``--json`` is a format of its own."""
    if json and form is not TableChoice.TABLE:
        raise EvenhandError(f"--json and --format {form.value} exclude each other; choose one.")


def model_reference(
    text: str,
    *,
    device: str = "auto",
    precision: str = "fp32",
    allow_pickle_weights: bool = False,
    trust_remote_code: bool = False,
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


def precision_named(text: str) -> Precision:
    """The number format of this name."""
    from evenhand.core.precision import Precision

    if text not in set(Precision):
        raise UnknownNameError("precision", text, [known.value for known in Precision])
    return Precision(text)
