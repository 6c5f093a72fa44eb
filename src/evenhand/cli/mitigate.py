"""``evenhand mitigate``: lower what the probes read off a model, and keep what it knows."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from evenhand.cli.mitigation_options import (
    AllowPickle,
    Balances,
    BatchSize,
    Corpus,
    Device,
    Epochs,
    Experiments,
    FirstSeed,
    HeldOutFiles,
    Language,
    LearningRate,
    Lora,
    LoraRank,
    LoraTargets,
    MaxTokens,
    Model,
    Out,
    QualityMargin,
    RecipeWishes,
    ReportTo,
    Seeds,
    TrainingPrecision,
    TrustRemoteCode,
    WholeWords,
)
from evenhand.cli.mitigation_tables import show_mitigation
from evenhand.cli.mitigations import AskedMitigation, Counterfactual, Equalising, tell_of_margin
from evenhand.cli.options import Json
from evenhand.cli.output import print_json, say
from evenhand.core.extras import require_extra

if TYPE_CHECKING:
    from evenhand.mitigation.mitigation import MitigatedModel

mitigate_app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="Lower the gender lean of a model, and keep what it knows.",
)


@mitigate_app.command("equalise")
def equalise_command(
    model: Model,
    out: Out,
    corpus: Corpus = None,
    experiment: Experiments = None,
    language: Language = None,
    held_out: HeldOutFiles = None,
    balance: Balances = None,
    epochs: Epochs = None,
    seeds: Seeds = 1,
    seed: FirstSeed = 0,
    learning_rate: LearningRate = None,
    batch_size: BatchSize = 32,
    quality_margin: QualityMargin = None,
    lora: Lora = False,
    lora_rank: LoraRank = 16,
    lora_target: LoraTargets = None,
    max_tokens: MaxTokens = None,
    precision: TrainingPrecision = None,
    report_to: ReportTo = None,
    device: Device = "auto",
    allow_pickle_weights: AllowPickle = False,
    trust_remote_code: TrustRemoteCode = False,
    json: Json = False,
) -> None:
    """Teach a model its own predictions, with the probability of gendered terms shared equally.

    Where a gendered term is the only gendered word of a sentence, both sides are made equally likely; on ordinary
    sentences the model learns to stay as it is. Any text serves. MALoR and the perplexity on held-out sentences are
    shown after every epoch; the epoch with the lowest MALoR whose perplexity rose by no more than the margin is kept.
    `--out` becomes an ordinary model folder. A stopped run goes on when the same command is given again.

    **Examples**

    `evenhand mitigate equalise lab:masked --out models/even`

    `evenhand mitigate equalise bert-base-uncased --corpus novels/ --experiment he-she --out models/bert-even`

    `evenhand mitigate equalise gpt2 --corpus hub:wikitext:wikitext-103-raw-v1 --lora --seeds 3 --out models/gpt2-even`
    """
    require_extra("train", purpose="evenhand mitigate equalise")
    recipe = RecipeWishes(
        epochs, batch_size, learning_rate, quality_margin, max_tokens, precision, report_to, lora, lora_rank,
        lora_target,
    )  # fmt: skip
    mitigation = AskedMitigation(
        model, corpus, experiment, language, held_out, seeds, seed, device, allow_pickle_weights, trust_remote_code,
        recipe, Equalising(balance or ()),
    )  # fmt: skip
    _tell(mitigation.execute(out), mitigation, out, as_json=json)


@mitigate_app.command("counterfactual")
def counterfactual_command(
    model: Model,
    out: Out,
    corpus: Corpus = None,
    experiment: Experiments = None,
    language: Language = None,
    held_out: HeldOutFiles = None,
    whole_words: WholeWords = False,
    epochs: Epochs = None,
    seeds: Seeds = 1,
    seed: FirstSeed = 0,
    learning_rate: LearningRate = None,
    batch_size: BatchSize = 32,
    quality_margin: QualityMargin = None,
    lora: Lora = False,
    lora_rank: LoraRank = 16,
    lora_target: LoraTargets = None,
    max_tokens: MaxTokens = None,
    precision: TrainingPrecision = None,
    report_to: ReportTo = None,
    device: Device = "auto",
    allow_pickle_weights: AllowPickle = False,
    trust_remote_code: TrustRemoteCode = False,
    json: Json = False,
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
    require_extra("train", purpose="evenhand mitigate counterfactual")
    recipe = RecipeWishes(
        epochs, batch_size, learning_rate, quality_margin, max_tokens, precision, report_to, lora, lora_rank,
        lora_target,
    )  # fmt: skip
    mitigation = AskedMitigation(
        model, corpus, experiment, language, held_out, seeds, seed, device, allow_pickle_weights, trust_remote_code,
        recipe, Counterfactual(whole_words=whole_words),
    )  # fmt: skip
    _tell(mitigation.execute(out), mitigation, out, as_json=json)


def _tell(mitigated: MitigatedModel, asked: AskedMitigation, out: Path, *, as_json: bool) -> None:
    tell_of_margin(mitigated)
    proof = shlex.join(["evenhand", "certify", asked.model, str(out)])
    say(f"Wrote {out}. Prove the difference with: {proof}")
    if as_json:
        print_json(mitigated.record.model_dump(mode="json"))
    else:
        show_mitigation(mitigated.record)
