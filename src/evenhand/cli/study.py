"""``evenhand study``: measure, mitigate, measure again, certify."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evenhand.cli.certificate_options import (
    AssociationData,
    CrowsPairs,
    FinetuneSeeds,
    FinetuneSteps,
    Labelled,
)
from evenhand.cli.certify import leave_if_quality_is_lost, show_certificate
from evenhand.cli.exit_codes import INTERRUPTED
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
    QualityMargin,
    RecipeWishes,
    ReportTo,
    Seeds,
    TrainingPrecision,
    TrustRemoteCode,
    WholeWords,
)
from evenhand.cli.mitigations import AskedMitigation, Counterfactual, Equalising, tell_of_margin
from evenhand.cli.monitor import progress_bar
from evenhand.cli.options import (
    DEFAULT_CONFIDENCE,
    DEFAULT_RESAMPLES,
    DEFAULT_SEED,
    Confidence,
    Json,
    Resamples,
    resampling,
)
from evenhand.cli.output import print_json, say
from evenhand.core.errors import EvenhandError, UnknownNameError
from evenhand.core.extras import require_extra

if TYPE_CHECKING:
    from evenhand.certificate import CertificatePlan
    from evenhand.models.language_model import LanguageModel
    from evenhand.workflows.certificate_plans import CertifyWishes

EQUALISE, COUNTERFACTUAL = "equalise", "counterfactual"


def study_command(
    model: Model,
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Folder for the model, the runs and the certificate.")
    ],
    mitigation: Annotated[
        str, typer.Option("--mitigation", "-m", help="equalise or counterfactual.")
    ] = EQUALISE,
    corpus: Corpus = None,
    experiment: Experiments = None,
    language: Language = None,
    held_out: HeldOutFiles = None,
    balance: Balances = None,
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
    margin: Annotated[
        list[str] | None,
        typer.Option(
            help="Of the certificate: LMS=2, accuracy=1, or perplexity=1% where it is not to be the quality margin. "
            "May be repeated."
        ),
    ] = None,
    data: AssociationData = None,
    crows_pairs: CrowsPairs = None,
    labelled: Labelled = None,
    finetune_seeds: FinetuneSeeds = 5,
    finetune_steps: FinetuneSteps = 300,
    json: Json = False,
    resamples: Resamples = DEFAULT_RESAMPLES,
    confidence: Confidence = DEFAULT_CONFIDENCE,
) -> None:
    """Mitigate a model and prove what that did: baseline, mitigation, the same measures again, certificate.

    `--out` gets `model/` (the mitigated model), `certificate.html`, `certificate.json` and `certificate/` (the runs
    before and after). Perplexity is measured on sentences that no training saw. Several `--balance` draw the frontier
    of bias against quality, and the certificate shows where the model that was kept lies on it. The exit code is 5
    when quality is lost. A stopped study goes on when the same command is given again.

    **Examples**

    `evenhand study lab:masked --out studies/masked`

    `evenhand study lab:decoder --mitigation equalise --balance 0.3 --balance 1 --balance 3 --out studies/decoder`

    `evenhand study bert-base-uncased --corpus novels/ --crows-pairs crows-pairs --labelled sst2/ --out studies/bert`
    """
    require_extra("train", purpose="evenhand study")
    from evenhand.certificate import Finetuning, Margins
    from evenhand.models.language_model import load_language_model
    from evenhand.workflows.certificate_plans import CertifyWishes
    from evenhand.workflows.study import study

    recipe = RecipeWishes(
        epochs, batch_size, learning_rate, quality_margin, max_tokens, precision, report_to, lora, lora_rank,
        lora_target,
    )  # fmt: skip
    asked = AskedMitigation(
        model, corpus, experiment, language, held_out, seeds, seed, device, allow_pickle_weights, trust_remote_code,
        recipe, _method(mitigation, balance, whole_words=whole_words),
    )  # fmt: skip
    wishes = CertifyWishes(
        trained=None, margins=Margins.parse(margin or (), perplexity=100 * asked.quality_margin),
        held_out=(), sentences=2_000, data=data,
        crows_pairs=crows_pairs, labelled=labelled,
        finetuning=Finetuning(seeds=finetune_seeds, steps=finetune_steps), language=language,
        resampling=resampling(resamples, DEFAULT_SEED, confidence),
    )  # fmt: skip
    original = load_language_model(asked.reference)
    try:
        done = study(original, asked.execute, _plan(original, asked, wishes), out=out, stage=progress_bar)
    except KeyboardInterrupt:
        say("Stopped. Give the same command again to go on from here.")
        raise typer.Exit(INTERRUPTED) from None
    tell_of_margin(done.mitigated)
    say(f"Wrote {done.page}")
    if json:
        print_json(done.certificate.model_dump(mode="json"))
    else:
        show_certificate(done.certificate)
    leave_if_quality_is_lost(done.certificate)


def _method(name: str, balances: list[float] | None, *, whole_words: bool) -> Equalising | Counterfactual:
    if name == EQUALISE:
        if whole_words:
            raise EvenhandError(f"--whole-words is for --mitigation {COUNTERFACTUAL}.")
        return Equalising(balances or ())
    if name != COUNTERFACTUAL:
        raise UnknownNameError("mitigation", name, [EQUALISE, COUNTERFACTUAL])
    if balances:
        raise EvenhandError(f"--balance is for --mitigation {EQUALISE}.")
    return Counterfactual(whole_words=whole_words)


def _plan(original: LanguageModel, asked: AskedMitigation, wishes: CertifyWishes) -> CertificatePlan:
    """What suits the model, with perplexity on the sentences that the mitigation keeps back."""
    from dataclasses import replace

    from evenhand.certificate import HeldOutText
    from evenhand.workflows.certificate_plans import certificate_plan

    sentences = asked.material.untrained().sentences
    plan = certificate_plan(original, wishes)
    return replace(plan, held_out=HeldOutText.sample(sentences, most=wishes.sentences))
