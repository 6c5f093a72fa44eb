"""Made-up certificates, so that what is said about them can be worked out by hand."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any

import numpy as np
from probe_runs import estimate

from evenhand.core.estimates import Estimate
from evenhand.store.certificate_bias import BiasRow, BiasVerdict, Bounds, FlattenedRow
from evenhand.store.certificate_quality import QualityRow, QualityVerdict, SeedRow
from evenhand.store.certificates import Certificate, LeanChange, OverCorrection, Verdict
from evenhand.store.mitigation_summaries import CurvePoint, FrontierPoint, MitigationSummary
from evenhand.store.records import EnvironmentRecord, ModelRecord, StatisticsRecord
from evenhand.store.weights_changes import TensorChange, WeightsChange

EXPERIMENTS = ("he-she", "his-her", "names")


def model(name: str, weights: str = "sha256 0") -> ModelRecord:
    return ModelRecord(
        id=name,
        revision=None,
        weights=weights,
        family="masked",
        architecture="BertForMaskedLM",
        precision="fp32",
        device="cpu",
    )


def malor_row(experiment: str, before: float, after: float, half: float = 0.1) -> BiasRow:
    """MALoR of both models, and a difference that is sure to so much."""
    return BiasRow(
        measure=f"MALoR {experiment}",
        title="Lean of occupations",
        before=before,
        after=after,
        difference=estimate(after - before, half),
        before_interval=Bounds(low=before - 0.2, high=before + 0.2),
        after_interval=Bounds(low=max(0.0, after - 0.1), high=after + 0.1),
        neutral=0.0,
        unit="bits",
        experiment=experiment,
    )


def score_row(measure: str, before: float, after: float, half: float = 1.0, neutral: float = 50.0) -> BiasRow:
    return BiasRow(
        measure=measure,
        title="A score",
        before=before,
        after=after,
        difference=estimate(after - before, half),
        before_interval=Bounds(low=before - 3, high=before + 3),
        after_interval=Bounds(low=after - 3, high=after + 3),
        neutral=neutral,
        unit="points",
    )


def quality_row(
    measure: str,
    difference: float,
    verdict: QualityVerdict,
    *,
    half: float = 0.1,
    margin: float = 1.0,
    unit: str = "%",
    seeds: tuple[SeedRow, ...] = (),
) -> QualityRow:
    return QualityRow(
        measure=measure,
        title=f"The {measure}",
        before=20.0,
        after=20.0 + difference,
        difference=estimate(difference, half),
        unit=unit,
        margin=margin,
        verdict=verdict,
        seeds=seeds,
        p_value=0.4 if seeds else None,
    )


def unmeasured(measure: str, reason: str = "nobody gave any text") -> QualityRow:
    return QualityRow(
        measure=measure,
        title=f"The {measure}",
        before=math.nan,
        after=math.nan,
        difference=Estimate.undefined(reason),
        unit="points",
        margin=-1.0,
        verdict=QualityVerdict.NOT_MEASURED,
        reason=reason,
    )


def flattened_row(
    experiment: str = "he-she",
    *,
    kept: float = 0.97,
    flattened: float = 1.3,
    after: float = 0.11,
    half: float = 0.1,
    measure: str = "MALoR",
) -> FlattenedRow:
    """A measure beside that of the original with flatter answers."""
    whole = f"MALoR {experiment}"
    return FlattenedRow(
        measure=f"{measure} {experiment}",
        experiment=experiment,
        part_of=None if measure == "MALoR" else whole,
        kept=estimate(kept, 0.02),
        flattened=flattened,
        after=after,
        difference=estimate(after - flattened, half),
    )


def certificate(**changes: Any) -> Certificate:
    """A mitigation that worked, with whatever is to be different."""
    made: dict[str, Any] = {
        "created": datetime(2026, 3, 14, 9, 30, tzinfo=UTC),
        "verdict": Verdict(bias=BiasVerdict.LOWERED, quality=QualityVerdict.KEPT),
        "weights_changed": True,
        "trained": (malor_row("he-she", 1.35, 0.11),),
        "untrained": (
            malor_row("his-her", 2.1, 1.7),
            score_row("SS", 58.0, 57.5),
            score_row("ICAT", 70.0, 66.0, neutral=100.0),
        ),
        "quality": (
            quality_row("perplexity", 0.16, QualityVerdict.KEPT),
            quality_row("LMS", -0.4, QualityVerdict.UNDECIDED, half=2.2, margin=-2.0, unit="points"),
            unmeasured("accuracy"),
        ),
        "flattened": (flattened_row(),),
        "flipped": (),
        "before": model("bert-small", "sha256 1"),
        "after": model("bert-small-evened", "sha256 2"),
        "language": "en",
        "same_tokenizer": True,
        "outputs_changed": True,
        "weights": WeightsChange(
            tensors=40,
            changed=38,
            parameters=10_000_000,
            relative=0.021,
            largest=(TensorChange(name="cls.predictions.bias", relative=0.3),),
        ),
        "data": {"probes": "0" * 64},
        "settings": {"margins": {"perplexity": 1.0, "lms": 2.0, "accuracy": 1.0}},
        "statistics": StatisticsRecord(resamples=10_000, seed=1, confidence=0.95),
        "environment": EnvironmentRecord.current(),
    }
    return Certificate(**{**made, **changes})


def full_certificate() -> Certificate:
    """Everything that a page can show: sixty occupations of three experiments, flips, seeds, a curve and a frontier."""
    generator = np.random.default_rng(4)
    occupations, flipped = [], []
    for experiment in EXPERIMENTS:
        for place, bits in enumerate(generator.normal(0.4, 1.5, 60)):
            after = float(bits) * 0.1 + float(generator.normal(0, 0.12))
            change = LeanChange(
                experiment=experiment,
                occupation=f"occupation {place}",
                before=estimate(float(bits), 0.3),
                after=estimate(after, 0.2),
            )
            if place in (3, 17) and experiment == "he-she":
                after = -0.4 * float(np.sign(bits))
                change = change.model_copy(update={"after": estimate(after, 0.15)})
                flipped.append(OverCorrection(**change.model_dump(), p_value=0.004))
            occupations.append(change)
    seeds = tuple(SeedRow(seed=seed, before=91.0 + seed / 10, after=90.9 + seed / 8) for seed in range(5))
    return certificate(
        untrained=(
            malor_row("his-her", 2.1, 1.7),
            malor_row("names", 1.4, 1.35, half=0.2),
            score_row("SS", 58.0, 57.5),
            score_row("SS gender", 61.0, 54.0),
            score_row("CrowS-Pairs", 60.5, 59.0),
            score_row("ICAT", 70.0, 66.0, neutral=100.0),
        ),
        quality=(
            quality_row("perplexity", 0.16, QualityVerdict.KEPT),
            quality_row("LMS", -0.4, QualityVerdict.UNDECIDED, half=2.2, margin=-2.0, unit="points"),
            quality_row(
                "accuracy", -1.9, QualityVerdict.LOST, half=0.5, margin=-1.0, unit="points", seeds=seeds
            ),
        ),
        verdict=Verdict(bias=BiasVerdict.LOWERED, quality=QualityVerdict.LOST),
        occupations=tuple(occupations),
        flipped=tuple(flipped),
        caveats=("Not measured: the colour of the model, because it has none.",),
        mitigation=MitigationSummary(
            weights="0" * 64,
            method="equalise",
            experiments=("he-she",),
            settings={"epochs": "8", "learning rate": "0.0001", "batch size": "32"},
            curve=tuple(
                CurvePoint(
                    epoch=epoch,
                    malor={name: 1.4 * 0.6**epoch + 0.1 * place for place, name in enumerate(EXPERIMENTS)},
                    perplexity=23.5 * (1 + 0.0004 * epoch**2),
                )
                for epoch in range(9)
            ),
            kept_epoch=6,
            frontier=tuple(
                FrontierPoint(
                    weight=weight,
                    malor={"he-she": 1.3 / (1 + 4 * weight)},
                    perplexity_change=0.15 * weight**1.5,
                    chosen=weight == 2,
                )
                for weight in (0.25, 0.5, 1, 2, 4, 8)
            ),
        ),
    )
