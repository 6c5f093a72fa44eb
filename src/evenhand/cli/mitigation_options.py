"""Options of mitigations and certificates, whether given by themselves or for a whole study."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evenhand.cli.options import DATA, MODEL_FORMS, TRAINING, precision_named
from evenhand.core.errors import EvenhandError

if TYPE_CHECKING:
    from evenhand.certificate import Finetuning
    from evenhand.core.recipes import Recipe
    from evenhand.mitigation.mitigation import MitigationOptions
    from evenhand.models.references import ModelRef

CERTIFICATE = "Certificate"

ModelName = Annotated[str, typer.Argument(help=MODEL_FORMS)]
Corpus = Annotated[
    list[str] | None,
    typer.Option(
        help="Text, JSON Lines, either with .gz, folders of them, hub:NAME[:CONFIG][@REVISION], or a file of pairs. "
        "May be repeated. A lab model has its own.",
        rich_help_panel=DATA,
    ),
]
Experiments = Annotated[
    list[str] | None,
    typer.Option(
        "--experiment",
        "-e",
        help="Whose terms: he-she, his-her, names, one of your own files, or all. May be repeated.",
        show_default="all",
        rich_help_panel=DATA,
    ),
]
OwnStructures = Annotated[
    Path | None,
    typer.Option(
        "--structures",
        help="Your own: CSV with experiment, number, structure.",
        dir_okay=False,
        rich_help_panel=DATA,
    ),
]
OwnOccupations = Annotated[
    Path | None,
    typer.Option(
        "--occupations", help="Your own: CSV with occupation.", dir_okay=False, rich_help_panel=DATA
    ),
]
OwnTerms = Annotated[
    Path | None,
    typer.Option(
        "--terms",
        help="Your own pairs: CSV with experiment and the two groups, such as male, female.",
        dir_okay=False,
        rich_help_panel=DATA,
    ),
]
Language = Annotated[
    str | None,
    typer.Option(
        "--language",
        "-l",
        help="en or de; a lab model's own if not given.",
        show_default="en",
        rich_help_panel=DATA,
    ),
]
HeldOutFiles = Annotated[
    list[Path] | None,
    typer.Option(
        "--held-out",
        help="Text to measure perplexity on. May be repeated. If not given, every twentieth sentence of the corpus, at "
        "most 2,000, is kept back.",
        rich_help_panel=DATA,
    ),
]
Balances = Annotated[
    list[float] | None,
    typer.Option(
        "--balance",
        help="equalise: how much evening out counts beside staying the same. Repeated, each is tried and the best is "
        "kept.",
        show_default="0.5",
        rich_help_panel=TRAINING,
    ),
]
WholeWords = Annotated[
    bool,
    typer.Option(
        "--whole-words",
        help="counterfactual, masked models: hide all tokens of a word or none.",
        rich_help_panel=TRAINING,
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        help="Any option of the mitigation, as name=value. May be repeated.",
        rich_help_panel=TRAINING,
    ),
]
Epochs = Annotated[
    int | None,
    typer.Option(help="At most; a flat learning curve ends it earlier.", min=1, rich_help_panel=TRAINING),
]
Seeds = Annotated[
    int,
    typer.Option(help="Trainings from so many seeds; the best is kept.", min=1, rich_help_panel=TRAINING),
]
FirstSeed = Annotated[int, typer.Option("--seed", help="The first seed.", min=0, rich_help_panel=TRAINING)]
LearningRate = Annotated[
    float | None, typer.Option(help="Of AdamW, with linear decay.", rich_help_panel=TRAINING)
]
WarmUp = Annotated[
    float | None,
    typer.Option(
        help="Share of all steps in which the learning rate rises from 0.",
        min=0.0,
        max=0.99,
        show_default="0",
        rich_help_panel=TRAINING,
    ),
]
BatchSize = Annotated[
    int | None,
    typer.Option(help="Sentences in a batch.", min=1, show_default="32", rich_help_panel=TRAINING),
]
QualityMargin = Annotated[
    float | None,
    typer.Option(
        help="By how much the held-out perplexity may rise; 0.01 is 1%.",
        min=0.0,
        show_default="0.01; 0.05 in the lab",
        rich_help_panel=TRAINING,
    ),
]
Lora = Annotated[
    bool,
    typer.Option("--lora", help="Train low-rank adapters, then fold them in.", rich_help_panel=TRAINING),
]
LoraRank = Annotated[
    int | None,
    typer.Option(help="Of the adapters.", min=1, show_default="16", rich_help_panel=TRAINING),
]
LoraTargets = Annotated[
    list[str] | None,
    typer.Option(
        "--lora-target",
        help="Module that gets an adapter. May be repeated. All linear ones if not given.",
        rich_help_panel=TRAINING,
    ),
]
SentenceLimit = Annotated[
    int | None,
    typer.Option("--max-tokens", help="Longer sentences are cut.", min=3, rich_help_panel=TRAINING),
]
ReportTo = Annotated[
    list[str] | None,
    typer.Option(
        help="Where figures of the training go: tensorboard, wandb or mlflow. May be repeated.",
        show_default="nowhere",
        rich_help_panel=TRAINING,
    ),
]
TrainingPrecision = Annotated[
    str | None,
    typer.Option(
        "--precision",
        help="bf16 or fp32.",
        show_default="bf16 on a GPU, else fp32",
        rich_help_panel=TRAINING,
    ),
]

AssociationData = Annotated[
    str | None,
    typer.Option(
        "--data",
        "-d",
        help="Association tests: a dataset's name, or a file or folder in a known layout ($benchmarks).",
        show_default="the starter set; the lab's items for its models",
        rich_help_panel=CERTIFICATE,
    ),
]
CrowsPairs = Annotated[
    str | None,
    typer.Option(
        help="CrowS-Pairs as a measure not trained on: its name, or a file.", rich_help_panel=CERTIFICATE
    ),
]
Instruments = Annotated[
    list[str] | None,
    typer.Option(
        "--instrument",
        help="Measure with this one too: $instruments. May be repeated.",
        rich_help_panel=CERTIFICATE,
    ),
]
Labelled = Annotated[
    Path | None,
    typer.Option(
        help="Labelled text to fine-tune on: a file with text and label, or a folder.",
        rich_help_panel=CERTIFICATE,
    ),
]
FinetuneSeeds = Annotated[
    int | None,
    typer.Option(
        help="Classifiers to fine-tune from each model.",
        show_default="5",
        min=3,
        rich_help_panel=CERTIFICATE,
    ),
]
FinetuneSteps = Annotated[
    int | None,
    typer.Option(help="Steps of each fine-tuning.", show_default="300", min=1, rich_help_panel=CERTIFICATE),
]
FinetuneEpochs = Annotated[
    int | None,
    typer.Option(
        help="Epochs of each fine-tuning, in the place of steps.", min=1, rich_help_panel=CERTIFICATE
    ),
]
FinetunePreset = Annotated[
    str | None,
    typer.Option(
        help="sst2-2023: three epochs of all sentences at 2e-5, ten times, as in the thesis that proposed MALoR.",
        rich_help_panel=CERTIFICATE,
    ),
]


def chosen_finetuning(
    *,
    preset: str | None,
    seeds: int | None,
    steps: int | None,
    epochs: int | None,
    learning_rate: float | None = None,
) -> Finetuning:
    """How classifiers are fine-tuned: a preset or the usual way, with what was named beside it."""
    from evenhand.certificate import Finetuning, finetuning_preset

    if steps is not None and epochs is not None:
        raise EvenhandError(
            f"--finetune-steps {steps} and --finetune-epochs {epochs} were both given. Give one of them."
        )
    usual = Finetuning() if preset is None else finetuning_preset(preset)
    if steps is not None:
        usual = replace(usual, epochs=None)
    named: dict[str, Any] = {"seeds": seeds, "steps": steps, "epochs": epochs, "learning_rate": learning_rate}
    return replace(usual, **{name: value for name, value in named.items() if value is not None})


def training_recipe(usual: Recipe, changes: Mapping[str, Any]) -> Recipe:
    """The usual recipe with what the command line changes; None changes nothing.

    Args:
        usual: What suits the model.
        changes: Fields of the recipe by name, and ``lora_rank`` and ``lora_target`` for its adapters.
    """
    from evenhand.core.recipes import LoraRecipe, Recipe

    chosen = {name: value for name, value in changes.items() if value not in (None, False)}
    rank, targets = chosen.pop("lora_rank", 16), tuple(chosen.pop("lora_target", ()))
    if chosen.pop("lora", False) or targets:
        chosen["lora"] = LoraRecipe(rank=rank, alpha=2 * rank, targets=targets)
    if "precision" in chosen:
        chosen["precision"] = precision_named(chosen["precision"])
    if "report_to" in chosen:
        chosen["report_to"] = tuple(chosen["report_to"])
    return Recipe.model_validate(usual.model_dump() | chosen)


def chosen_mitigation(
    method: str,
    ref: ModelRef,
    *,
    recipe: Mapping[str, Any],
    seeds: tuple[int, ...],
    own: Mapping[str, Any],
    settings: list[str] | None,
) -> MitigationOptions:
    """The options of a mitigation from those of a command, refusing what it does not take.

    Args:
        method: The mitigation's name.
        ref: The model, which decides what its usual recipe is.
        recipe: What the command line changes in the recipe of a mitigation that trains; None changes nothing.
        seeds: Of its trainings.
        own: Options that only one mitigation has; None where they were not given.
        settings: Further options, written ``name=value``.
    """
    from evenhand.api.defaults.mitigating import default_recipe
    from evenhand.cli.options import options_from
    from evenhand.mitigation.registry import MITIGATIONS
    from evenhand.mitigation.training_mitigation import TrainingMitigation

    mitigation = MITIGATIONS.get(method)
    named = dict(own)
    if isinstance(mitigation, TrainingMitigation):
        named |= {"recipe": training_recipe(default_recipe(ref, mitigation), recipe), "seeds": seeds}
    else:
        for name, value in recipe.items():
            if value not in (None, False):
                raise EvenhandError(
                    f"--{name.replace('_', '-')} is about training, and {method} does not train."
                )
    options: MitigationOptions = options_from(
        mitigation.options_type, named, owner=method, settings=settings or (), flags={"balances": "balance"}
    )
    return options
