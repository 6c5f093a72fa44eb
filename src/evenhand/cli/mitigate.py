"""``evenhand mitigate``: lower the bias of a model, and keep what it knows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from evenhand.cli.help import CommandWithNames
from evenhand.cli.mitigation_options import (
    Balances,
    BatchSize,
    Corpus,
    Epochs,
    Experiments,
    FirstSeed,
    HeldOutFiles,
    Language,
    LearningRate,
    Lora,
    LoraRank,
    LoraTargets,
    ModelName,
    OwnOccupations,
    OwnStructures,
    OwnTerms,
    QualityMargin,
    ReportTo,
    Seeds,
    SentenceLimit,
    Settings,
    TrainingPrecision,
    WarmUp,
    WholeWords,
    chosen_mitigation,
)
from evenhand.cli.mitigation_runs import GivenText, run_on_text
from evenhand.cli.options import (
    OUTPUT,
    AllowPickleWeights,
    Device,
    Fresh,
    Json,
    KernelsName,
    Memory,
    TrustRemoteCode,
    model_reference,
)
from evenhand.cli.output import (
    say,
)
from evenhand.core.errors import require_extra

if TYPE_CHECKING:
    pass

EQUALISE, COUNTERFACTUAL = "equalise", "counterfactual"

Out = Annotated[
    Path,
    typer.Option(
        "--out",
        "-o",
        help="Folder for the mitigated model; it must be empty or new.",
        rich_help_panel=OUTPUT,
    ),
]


class MitigationGroup(TyperGroup):
    """The mitigations with commands of their own, and those of other packages."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Our own first."""
        return [*super().list_commands(ctx), *self._others()]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """A command of our own, or one that takes what every mitigation takes."""
        own = super().get_command(ctx, cmd_name)
        return own or (_command_of(cmd_name) if cmd_name in self._others() else None)

    def _others(self) -> list[str]:
        from evenhand.mitigation.registry import MITIGATIONS

        return [name for name in MITIGATIONS.names() if name not in self.commands]


mitigate_app = typer.Typer(
    cls=MitigationGroup,
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="Lower the bias of a model, and keep what it knows.",
)


@mitigate_app.command(EQUALISE, cls=CommandWithNames)
def equalise_command(
    model: ModelName,
    out: Out,
    device: Device = "auto",
    kernels: KernelsName = "auto",
    allow_pickle_weights: AllowPickleWeights = False,
    trust_remote_code: TrustRemoteCode = False,
    corpus: Corpus = None,
    experiment: Experiments = None,
    structures: OwnStructures = None,
    occupations: OwnOccupations = None,
    terms: OwnTerms = None,
    language: Language = None,
    held_out: HeldOutFiles = None,
    balance: Balances = None,
    epochs: Epochs = None,
    seeds: Seeds = 1,
    seed: FirstSeed = 0,
    learning_rate: LearningRate = None,
    warm_up: WarmUp = None,
    batch_size: BatchSize = None,
    quality_margin: QualityMargin = None,
    lora: Lora = False,
    lora_rank: LoraRank = None,
    lora_target: LoraTargets = None,
    max_tokens: SentenceLimit = None,
    precision: TrainingPrecision = None,
    report_to: ReportTo = None,
    json: Json = False,
    fresh: Fresh = False,
    memory: Memory = None,
) -> None:
    """Teach a model its own predictions, with the probability of gendered terms shared equally.

    Where a gendered term is the only gendered word of a sentence, both sides are made equally likely; on ordinary
    sentences the model learns to stay as it is. Any text serves. MALoR and the perplexity on held-out sentences are
    shown after every epoch; the epoch with the lowest MALoR whose perplexity rose by no more than the margin is kept.
    `--out` becomes an ordinary model folder. A stopped run goes on when the same command is given again.

    **Examples**

    `evenhand mitigate equalise lab:masked --out models/even`

    `evenhand mitigate equalise bert-base-uncased --corpus novels/ --experiment he-she --out models/bert-even`

    `evenhand mitigate equalise bert-base-uncased --corpus novels/ --structures kin.csv --terms kin-terms.csv --out kin`

    `evenhand mitigate equalise gpt2 --corpus hub:wikitext:wikitext-103-raw-v1 --lora --seeds 3 --out models/gpt2-even`
    """
    say(f"Mitigating {model}")
    require_extra("train", purpose="evenhand mitigate equalise")
    ref = model_reference(
        model,
        device=device,
        kernels=kernels,
        allow_pickle_weights=allow_pickle_weights,
        trust_remote_code=trust_remote_code,
        memory=memory,
    )
    options = chosen_mitigation(
        EQUALISE,
        ref,
        recipe={
            "epochs": epochs,
            "learning_rate": learning_rate,
            "warm_up": warm_up,
            "batch_size": batch_size,
            "quality_margin": quality_margin,
            "lora": lora,
            "lora_rank": lora_rank,
            "lora_target": lora_target,
            "max_tokens": max_tokens,
            "precision": precision,
            "report_to": report_to,
        },
        seeds=tuple(range(seed, seed + seeds)),
        own={"balances": balance},
        settings=None,
    )
    run_on_text(
        ref,
        EQUALISE,
        options,
        GivenText(corpus, held_out, experiment, language, (structures, occupations, terms)),
        out=out,
        fresh=fresh,
        json=json,
    )


@mitigate_app.command(COUNTERFACTUAL, cls=CommandWithNames)
def counterfactual_command(
    model: ModelName,
    out: Out,
    device: Device = "auto",
    kernels: KernelsName = "auto",
    allow_pickle_weights: AllowPickleWeights = False,
    trust_remote_code: TrustRemoteCode = False,
    corpus: Corpus = None,
    experiment: Experiments = None,
    structures: OwnStructures = None,
    occupations: OwnOccupations = None,
    terms: OwnTerms = None,
    language: Language = None,
    held_out: HeldOutFiles = None,
    whole_words: WholeWords = False,
    epochs: Epochs = None,
    seeds: Seeds = 1,
    seed: FirstSeed = 0,
    learning_rate: LearningRate = None,
    warm_up: WarmUp = None,
    batch_size: BatchSize = None,
    quality_margin: QualityMargin = None,
    lora: Lora = False,
    lora_rank: LoraRank = None,
    lora_target: LoraTargets = None,
    max_tokens: SentenceLimit = None,
    precision: TrainingPrecision = None,
    report_to: ReportTo = None,
    json: Json = False,
    fresh: Fresh = False,
    memory: Memory = None,
) -> None:
    """Go on with a model's own pre-training, on sentences and their twins.

    Sentences with an occupation and a gendered word are taken from the corpus; in the twin men and women have changed
    places, so both sides are equal in number. MALoR and the perplexity on held-out sentences are shown after every
    epoch; the epoch with the lowest MALoR whose perplexity rose by no more than the margin is kept. `--out` becomes an
    ordinary model folder. A stopped run goes on when the same command is given again.

    **Examples**

    `evenhand mitigate counterfactual lab:masked --out models/swapped`

    `evenhand mitigate counterfactual bert-base-uncased --corpus pairs.jsonl --held-out news.txt --out models/bert-cda`
    """
    say(f"Mitigating {model}")
    require_extra("train", purpose="evenhand mitigate counterfactual")
    ref = model_reference(
        model,
        device=device,
        kernels=kernels,
        allow_pickle_weights=allow_pickle_weights,
        trust_remote_code=trust_remote_code,
        memory=memory,
    )
    options = chosen_mitigation(
        COUNTERFACTUAL,
        ref,
        recipe={
            "epochs": epochs,
            "learning_rate": learning_rate,
            "warm_up": warm_up,
            "batch_size": batch_size,
            "quality_margin": quality_margin,
            "lora": lora,
            "lora_rank": lora_rank,
            "lora_target": lora_target,
            "max_tokens": max_tokens,
            "precision": precision,
            "report_to": report_to,
        },
        seeds=tuple(range(seed, seed + seeds)),
        own={"whole_words": whole_words or None},
        settings=None,
    )
    run_on_text(
        ref,
        COUNTERFACTUAL,
        options,
        GivenText(corpus, held_out, experiment, language, (structures, occupations, terms)),
        out=out,
        fresh=fresh,
        json=json,
    )


def _command_of(method: str) -> Any:
    """The command of a mitigation from another package."""
    from evenhand.mitigation.registry import MITIGATIONS

    app = typer.Typer(rich_markup_mode="markdown", add_completion=False)
    summary = f"Mitigate a model with {method}, which the package {MITIGATIONS.package_of(method)} adds."

    class Command(CommandWithNames):
        def format_help(self, ctx: Any, formatter: Any) -> None:
            self.help = f"{summary}\n\n{_settings_of(method)}"
            super().format_help(ctx, formatter)

    @app.command(method, cls=Command, help=summary, short_help=summary)
    def command(
        model: ModelName,
        out: Out,
        device: Device = "auto",
        kernels: KernelsName = "auto",
        allow_pickle_weights: AllowPickleWeights = False,
        trust_remote_code: TrustRemoteCode = False,
        corpus: Corpus = None,
        experiment: Experiments = None,
        structures: OwnStructures = None,
        occupations: OwnOccupations = None,
        terms: OwnTerms = None,
        language: Language = None,
        held_out: HeldOutFiles = None,
        settings: Settings = None,
        json: Json = False,
        fresh: Fresh = False,
        memory: Memory = None,
    ) -> None:
        say(f"Mitigating {model}")
        require_extra("hf", purpose=f"evenhand mitigate {method}")
        ref = model_reference(
            model,
            device=device,
            kernels=kernels,
            allow_pickle_weights=allow_pickle_weights,
            trust_remote_code=trust_remote_code,
            memory=memory,
        )
        options = chosen_mitigation(method, ref, recipe={}, seeds=(), own={}, settings=settings)
        run_on_text(
            ref,
            method,
            options,
            GivenText(corpus, held_out, experiment, language, (structures, occupations, terms)),
            out=out,
            fresh=fresh,
            json=json,
        )

    return typer.main.get_command(app)


def _settings_of(method: str) -> str:
    """What ``--set`` takes, in a line per option."""
    from dataclasses import fields

    from evenhand.mitigation.registry import MITIGATIONS

    options = fields(MITIGATIONS.get(method).options_type)
    lines = [f"`--set {own.name}=...` {own.metadata.get('help', '')}" for own in options]
    return "\n\n".join(["**Its own options**", *lines] if lines else ["It has no options of its own."])
