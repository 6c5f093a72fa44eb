"""Options of mitigations, whatever the method."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from evenhand.core.recipes import Recipe

Model = Annotated[str, typer.Argument(help="Model folder or hub id, with @revision if wanted, or lab:NAME.")]
Out = Annotated[
    Path, typer.Option("--out", "-o", help="Folder for the mitigated model; it must be empty or new.")
]
Corpus = Annotated[
    list[str] | None,
    typer.Option(
        help="Text, JSON Lines, either with .gz, folders of them, hub:NAME[:CONFIG][@REVISION], or a file of pairs. "
        "May be repeated. A lab model has its own."
    ),
]
Experiments = Annotated[
    list[str] | None,
    typer.Option(
        "--experiment", "-e", help="he-she, his-her, names or all. May be repeated.", show_default="all"
    ),
]
Language = Annotated[
    str | None,
    typer.Option("--language", "-l", help="en or de; a lab model's own if not given.", show_default="en"),
]
HeldOutFiles = Annotated[
    list[Path] | None,
    typer.Option(
        "--held-out",
        help="Text to measure perplexity on. May be repeated. If not given, every twentieth sentence of the corpus, at "
        "most 2,000, is kept back.",
    ),
]
Epochs = Annotated[int | None, typer.Option(help="At most; a flat learning curve ends it earlier.", min=1)]
Seeds = Annotated[int, typer.Option(help="Trainings from so many seeds; the best is kept.", min=1)]
FirstSeed = Annotated[int, typer.Option("--seed", help="The first seed.", min=0)]
LearningRate = Annotated[float | None, typer.Option(help="Of AdamW, with linear decay.")]
BatchSize = Annotated[int, typer.Option(help="Sentences in a batch.", min=1)]
QualityMargin = Annotated[
    float | None,
    typer.Option(
        help="By how much the held-out perplexity may rise; 0.01 is 1%.",
        min=0.0,
        show_default="0.01; 0.05 in the lab",
    ),
]
Balances = Annotated[
    list[float] | None,
    typer.Option(
        "--balance",
        help="How much evening out counts beside staying the same. Repeated, each is tried and the best is kept.",
        show_default="0.5",
    ),
]
WholeWords = Annotated[
    bool, typer.Option("--whole-words", help="Masked models: hide all tokens of a word or none.")
]
Lora = Annotated[bool, typer.Option("--lora", help="Train low-rank adapters, then fold them in.")]
LoraRank = Annotated[int, typer.Option(help="Of the adapters.", min=1)]
LoraTargets = Annotated[
    list[str] | None,
    typer.Option(
        "--lora-target", help="Module that gets an adapter. May be repeated. All linear ones if not given."
    ),
]
MaxTokens = Annotated[int | None, typer.Option(help="Longer sentences are cut.", min=3)]
ReportTo = Annotated[
    list[str] | None,
    typer.Option(help="tensorboard, wandb or mlflow. May be repeated.", show_default="nowhere"),
]
Device = Annotated[str, typer.Option(help="cpu, cuda or auto.")]
TrainingPrecision = Annotated[
    str | None, typer.Option("--precision", help="bf16 or fp32.", show_default="bf16 on a GPU, else fp32")
]
AllowPickle = Annotated[
    bool, typer.Option("--allow-pickle-weights", help="Load .bin weights too. They can run code.")
]
TrustRemoteCode = Annotated[
    bool, typer.Option("--trust-remote-code", help="Run code that comes with the model.")
]


@dataclass(frozen=True, slots=True)
class RecipeWishes:
    """What the command line asked for of the training."""

    epochs: int | None
    batch_size: int
    learning_rate: float | None
    quality_margin: float | None
    max_tokens: int | None
    precision: str | None
    report_to: list[str] | None
    lora: bool
    lora_rank: int
    lora_target: list[str] | None

    def applied_to(self, usual: Recipe) -> Recipe:
        """The usual recipe with what was asked for."""
        from evenhand.cli.options import precision_named
        from evenhand.core.recipes import LoraRecipe, Recipe

        optional = {
            "epochs": self.epochs,
            "learning_rate": self.learning_rate,
            "quality_margin": self.quality_margin,
            "max_tokens": self.max_tokens,
        }
        targets = tuple(self.lora_target or ())
        lora = LoraRecipe(rank=self.lora_rank, alpha=2 * self.lora_rank, targets=targets)
        return Recipe.model_validate(
            usual.model_dump()
            | {name: value for name, value in optional.items() if value is not None}
            | {
                "batch_size": self.batch_size,
                "precision": precision_named(self.precision) if self.precision else None,
                "report_to": tuple(self.report_to or ()),
                "lora": lora if self.lora or targets else None,
            }
        )
