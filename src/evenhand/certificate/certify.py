"""Certify: two models to one certificate."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import polars as pl

from evenhand.certificate.association import association_rows
from evenhand.certificate.bias import malor_row, pairs_row
from evenhand.certificate.caveats import caveats_of
from evenhand.certificate.flipped import flipped_occupations, lean_changes, malor_results
from evenhand.certificate.held_out import same_tokenizer
from evenhand.certificate.measuring import Measurements, Measurer
from evenhand.certificate.plan import CertificatePlan, Stage, quietly
from evenhand.certificate.quality import accuracy_row, association_quality, held_out_row
from evenhand.certificate.recipe import read_mitigation
from evenhand.certificate.verdicts import bias_verdict, quality_verdict
from evenhand.certificate.weights import weights_change
from evenhand.instruments.instrument import statistics_record
from evenhand.models.identity import record_of
from evenhand.models.language_model import LanguageModel, load_language_model
from evenhand.models.references import ModelRef
from evenhand.report.certificate.words import certificate_sentences
from evenhand.runs.certificates import (
    BiasRow,
    Certificate,
    MitigationSummary,
    Verdict,
    WeightsChange,
)
from evenhand.runs.records import EnvironmentRecord

BEFORE, AFTER = "before", "after"


def certify(
    before: str | ModelRef | LanguageModel,
    after: str | ModelRef | LanguageModel,
    plan: CertificatePlan,
    *,
    work: Path,
    stage: Stage = quietly,
) -> Certificate:
    """Measure two models on the same questions and say what became of bias and quality.

    Args:
        before: The original: a name or folder, a reference, or a model already loaded.
        after: The mitigated model.
        plan: What both are measured on, and the margins.
        work: A folder for the runs of both models, from which an interrupted certificate goes on.
        stage: Announces each piece of work.
    """
    first, second = (
        model if isinstance(model, LanguageModel) else load_language_model(model) for model in (before, after)
    )
    sample = plan.held_out.sentences if plan.held_out else tuple(own.text for own in plan.probes.structures)
    same = same_tokenizer(first, second, sample)
    weights = weights_change(first, second)
    changed = weights.any or not same
    if not changed:
        plan = replace(plan, labelled=None)
    ours = Measurer(first, plan, folder=work / BEFORE, stage=stage)
    theirs = Measurer(second, plan, folder=work / AFTER, stage=stage) if changed else ours
    measured = ours.measure(), theirs.measure()
    return _certificate(
        plan,
        ours,
        theirs,
        measured=(measured[0], replace(measured[1], model=record_of(second))),
        weights=weights,
        same=same,
        mitigation=read_mitigation(second.loaded.ref),
    )


def _certificate(
    plan: CertificatePlan,
    ours: Measurer,
    theirs: Measurer,
    *,
    measured: tuple[Measurements, Measurements],
    weights: WeightsChange,
    same: bool,
    mitigation: MitigationSummary | None,
) -> Certificate:
    first, second = measured
    changed = weights.any or not same
    wanted = plan.trained or _trained_for(mitigation, plan.probes.language)
    trained, untrained = _bias_rows(first, second, plan, wanted=wanted)
    quality = (
        held_out_row(ours, theirs, plan, same=same),
        association_quality(first, second, plan),
        accuracy_row(ours, theirs, plan),
    )
    made = Certificate(
        verdict=Verdict(bias=bias_verdict(trained, changed=changed), quality=quality_verdict(quality)),
        weights_changed=weights.any,
        trained=tuple(trained),
        untrained=tuple(untrained),
        quality=quality,
        flipped=tuple(
            flipped_occupations(first.occupations, second.occupations, confidence=plan.resampling.confidence)
        ),
        occupations=tuple(lean_changes(first.occupations, second.occupations)),
        trained_known=wanted is not None,
        before=first.model,
        after=second.model,
        language=plan.probes.language,
        same_tokenizer=same,
        outputs_changed=_outputs_differ(first, second),
        weights=weights,
        mitigation=mitigation,
        data=_digests(plan),
        settings=_settings(plan),
        statistics=statistics_record(plan.resampling),
        environment=EnvironmentRecord.current(),
    )
    told = made.model_copy(update={"caveats": caveats_of(made, first, second)})
    return told.model_copy(update={"words": tuple(certificate_sentences(told))})


def _trained_for(mitigation: MitigationSummary | None, language: str) -> tuple[str, ...] | None:
    """The experiments that a mitigation was for, if it was for those of this language."""
    if mitigation is None or mitigation.language not in (None, language):
        return None
    return mitigation.experiments


def _bias_rows(
    first: Measurements, second: Measurements, plan: CertificatePlan, *, wanted: tuple[str, ...] | None
) -> tuple[list[BiasRow], list[BiasRow]]:
    """Rows of what was trained on, or of all experiments where that is not known, and of everything else."""
    experiments = [result.experiment for result in malor_results(first.occupations)]
    rows = [
        malor_row(first.occupations, second.occupations, name, resampling=plan.resampling)
        for name in experiments
    ]
    trained = [row for row in rows if wanted is None or row.experiment in wanted]
    untrained = [row for row in rows if row not in trained]
    if first.associations is not None and second.associations is not None:
        untrained += association_rows(first.associations, second.associations, resampling=plan.resampling)
    if first.pairs is not None and second.pairs is not None:
        untrained.append(pairs_row(first.pairs, second.pairs, resampling=plan.resampling))
    return trained, untrained


def _outputs_differ(first: Measurements, second: Measurements) -> bool:
    """Whether any answer about any occupation differs."""
    ours, theirs = (
        side.occupations.scores.select(pl.col("log2_ratio").fill_null(np.nan))["log2_ratio"].to_numpy()
        for side in (first, second)
    )
    return not np.array_equal(ours, theirs, equal_nan=True)


def _digests(plan: CertificatePlan) -> dict[str, str]:
    found = {"probes": plan.probes.sha256, plan.benchmark.name: plan.benchmark.sha256}
    if plan.pairs:
        found[plan.pairs.name] = plan.pairs.sha256
    if plan.held_out:
        found["held-out text"] = plan.held_out.sha256
    if plan.labelled:
        found[f"labelled text {plan.labelled.name}"] = plan.labelled.sha256
    return found


def _settings(plan: CertificatePlan) -> dict[str, object]:
    found: dict[str, object] = {"margins": asdict(plan.margins)}
    if plan.held_out:
        found["held_out"] = {"sentences": len(plan.held_out.sentences), "seed": plan.held_out.seed}
    if plan.labelled:
        found["finetuning"] = asdict(plan.finetuning)
    return found
