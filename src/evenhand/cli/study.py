"""``evenhand study``: mitigate, measure before and after, certify."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from evenhand.cli.certify import show_certificate
from evenhand.cli.mitigation_options import (
    CERTIFICATE,
    AssociationData,
    Balances,
    BatchSize,
    Corpus,
    CrowsPairs,
    Epochs,
    Experiments,
    FinetuneEpochs,
    FinetunePreset,
    FinetuneSeeds,
    FinetuneSteps,
    FirstSeed,
    HeldOutFiles,
    Instruments,
    Labelled,
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
    chosen_finetuning,
    chosen_mitigation,
)
from evenhand.cli.options import (
    DEFAULT_CONFIDENCE,
    DEFAULT_ON,
    DEFAULT_RESAMPLES,
    DEFAULT_SEED,
    OUTPUT,
    TRAINING,
    AllowPickleWeights,
    Confidence,
    Device,
    Json,
    KernelsName,
    Memory,
    On,
    Resamples,
    TrustRemoteCode,
    model_reference,
    resampling,
)
from evenhand.cli.output import TerminalMonitor, exit_when_interrupted, say
from evenhand.core.errors import EvenhandError, require_extra
from evenhand.twins.noun_list import mention_noun_list


def study_command(
    model: ModelName,
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            "-o",
            help="Folder for the model, the runs and the certificate.",
            rich_help_panel=OUTPUT,
        ),
    ],
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
    mitigation: Annotated[
        str, typer.Option("--mitigation", "-m", help="How: $mitigations.", rich_help_panel=TRAINING)
    ] = "equalise",
    balance: Balances = None,
    whole_words: WholeWords = False,
    settings: Settings = None,
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
    margin: Annotated[
        list[str] | None,
        typer.Option(
            help="LMS=2, accuracy=1, or perplexity=1% where it is not to be the quality margin. May be repeated.",
            rich_help_panel=CERTIFICATE,
        ),
    ] = None,
    data: AssociationData = None,
    crows_pairs: CrowsPairs = None,
    instrument: Instruments = None,
    labelled: Labelled = None,
    finetune_preset: FinetunePreset = None,
    finetune_seeds: FinetuneSeeds = None,
    finetune_steps: FinetuneSteps = None,
    finetune_epochs: FinetuneEpochs = None,
    resamples: Resamples = DEFAULT_RESAMPLES,
    confidence: Confidence = DEFAULT_CONFIDENCE,
    json: Json = False,
    memory: Memory = None,
    on: On = DEFAULT_ON,
) -> None:
    """Mitigate a model and certify what that did: baseline, mitigation, the same measures again, certificate.

    `--out` gets `model/` (the mitigated model), `certificate.html`, `certificate.json` and `certificate/` (the runs
    before and after). Perplexity is measured on sentences that no training saw. Several `--balance` draw the frontier
    of bias against quality, and the certificate shows where the model that was kept lies on it. The exit code is 5
    when quality is lost, and 6 when it could not be compared on enough texts or items. A stopped study goes on when the
    same command is given again.

    **Examples**

    `evenhand study lab:masked --out studies/masked`

    `evenhand study lab:decoder --mitigation equalise --balance 0.3 --balance 1 --balance 3 --out studies/decoder`

    `evenhand study bert-base-uncased --corpus novels/ --crows-pairs crows-pairs --labelled sst2/ --out studies/bert`
    """
    say(f"Studying {model}")
    require_extra("train", purpose="evenhand study")
    _refuse_trigger(mitigation, model)
    ref = model_reference(
        model,
        device=device,
        kernels=kernels,
        allow_pickle_weights=allow_pickle_weights,
        trust_remote_code=trust_remote_code,
        memory=memory,
    )
    options = chosen_mitigation(
        mitigation,
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
        own={"balances": balance, "whole_words": whole_words or None},
        settings=settings,
    )
    from evenhand.api.defaults.mitigating import CertifyOptions, default_data, default_margins
    from evenhand.api.study import study
    from evenhand.data.probes import ProbeFiles
    from evenhand.mitigation.training_mitigation import TrainingOptions

    probe_files = ProbeFiles(structures, occupations, terms)
    recipe = options.recipe if isinstance(options, TrainingOptions) else None
    certificate = CertifyOptions(
        margins=default_margins(ref, margin or (), quality_margin=recipe.quality_margin if recipe else None),
        data=data,
        crows_pairs=crows_pairs,
        instruments=dict.fromkeys(instrument or ()),
        labelled=labelled,
        finetuning=chosen_finetuning(
            preset=finetune_preset, seeds=finetune_seeds, steps=finetune_steps, epochs=finetune_epochs
        ),
        language=language,
        probe_files=probe_files,
        resampling=resampling(resamples, DEFAULT_SEED, confidence),
    )
    mitigation_data = default_data(
        ref,
        corpus or (),
        experiments=experiment or ("all",),
        language=language,
        held_out=held_out or (),
        probe_files=probe_files,
    )
    if corpus:
        mention_noun_list(mitigation_data.probes.language)
    with exit_when_interrupted():
        done = study(
            ref,
            mitigation,
            out=out,
            data=mitigation_data,
            options=options,
            certificate=certificate,
            on=on,
            monitor=TerminalMonitor(),
            command=shlex.join(["evenhand", *sys.argv[1:]]),
        )
    show_certificate(done.certificate, json=json)


def _refuse_trigger(mitigation: str, model: str) -> None:
    """A trigger needs target pairs, which a study has no options for."""
    from evenhand.store.trigger_records import TRIGGER

    if mitigation == TRIGGER:
        raise EvenhandError(
            "evenhand study cannot search for a trigger, because that needs target pairs. Do it in two steps: "
            f"evenhand mitigate trigger {model} --targets FILE --out DIR, then evenhand certify {model} DIR."
        )
