"""Made-up probes of every kind, so that what is said about them can be worked out by hand."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
import polars as pl

from evenhand.core.estimates import Estimate
from evenhand.core.planted_bias import PlantedBias
from evenhand.core.probes import GENDERS
from evenhand.instruments.cosine import CosineResult, OccupationCosine
from evenhand.instruments.direct_bias.instrument import DirectBiasResult, ProfessionCosine
from evenhand.instruments.instrument import Skipped
from evenhand.instruments.malor.results import Correlation, MalorResult, OccupationLean
from evenhand.instruments.runner import HALF, ItemsResult, MeasuredFigure
from evenhand.store.records import DatasetRecord, EnvironmentRecord, ModelRecord, RunRecord, StatisticsRecord
from evenhand.store.run import Run

MADE = datetime(2026, 3, 14, 9, 30, tzinfo=UTC)
FIELDS = ("care", "law", "medicine", "sales", "science", "trades")
UNKNOWN = Estimate.undefined("nothing could be asked")


def estimate(value: float, half: float = 0.2, *, n: int = 20) -> Estimate:
    """A value with an interval of so much to both sides."""
    return Estimate(value=value, low=value - half, high=value + half, n=n, clusters=n, method="made up")


def without_interval(value: float) -> Estimate:
    """A value of which nobody knows how sure it is."""
    return Estimate(
        value=value,
        low=math.nan,
        high=math.nan,
        n=1,
        clusters=1,
        method="none",
        reason="there is one sentence",
    )


def lean(
    occupation: str, bits: float | Estimate, *, field: str | None = None, half: float = 0.4
) -> OccupationLean:
    """An occupation that leans by so many bits."""
    ratio = bits if isinstance(bits, Estimate) else estimate(bits, half)
    male = 2**ratio.value / (1 + 2**ratio.value) if ratio.defined else math.nan
    return OccupationLean(
        occupation=occupation, field=field, log2_ratio=ratio, p_male=male, p_female=1 - male, n=ratio.n
    )


def malor(
    leans: Mapping[str, float | Estimate] | Sequence[OccupationLean],
    *,
    experiment: str = "he-she",
    direction: str = "gender",
    groups: tuple[str, str] = GENDERS,
    shares: Mapping[str, float] | None = None,
    skipped: Sequence[Skipped] = (),
    **figures: Estimate,
) -> MalorResult:
    """MALoR over these occupations."""
    own = (
        tuple(lean(name, bits) for name, bits in leans.items())
        if isinstance(leans, Mapping)
        else tuple(leans)
    )
    known = [each for each in own if each.log2_ratio.defined]
    fields = sorted({each.field for each in known if each.field})
    return MalorResult(
        experiment=experiment,
        direction=direction,
        groups=groups,
        MALoR=figures.get("MALoR") or _mean([abs(each.log2_ratio.value) for each in known]),
        signed_mean=figures.get("signed_mean") or _mean([each.log2_ratio.value for each in known]),
        spread=figures.get("spread") or Estimate.undefined("made up"),
        by_field={
            name: _mean([each.log2_ratio.value for each in known if each.field == name]) for name in fields
        },
        occupations=own,
        correlations=()
        if shares is None
        else (
            Correlation(
                source="Winogender", pearson=estimate(-0.7, 0.1), spearman=estimate(-0.6), n=len(shares),
                shares=dict(shares),
            ),
        ),
        skipped=tuple(skipped),
    )  # fmt: skip


def plausible_malor(seed: int = 3, *, experiment: str = "he-she", direction: str = "gender") -> MalorResult:
    """Sixty occupations of six fields."""
    generator = np.random.default_rng(seed)
    leans = [
        lean(f"occupation {place}", float(bits), field=FIELDS[place % 6], half=0.3 + float(spread))
        for place, (bits, spread) in enumerate(
            zip(generator.normal(0.4, 1.6, 60), generator.uniform(0, 0.5, 60), strict=True)
        )
    ]
    shares = {
        each.occupation: min(98.0, max(2.0, 50 - 18 * each.log2_ratio.value + float(generator.normal(0, 15))))
        for each in leans[:40]
    }
    skip = Skipped(reason="it has a word that the tokenizer does not know", count=27, examples=("plumber",))
    return malor(leans, experiment=experiment, direction=direction, shares=shares, skipped=[skip])


def malor_run() -> Run:
    """Two experiments in one direction."""
    return probe_run(plausible_malor(), plausible_malor(experiment="his-her"))


PAIR_TYPES = ("age", "disability", "gender", "nationality", "physical-appearance", "race-color", "religion")


def crows_pairs(
    value: float = 60.5, half: float = 2.5, *, types: Mapping[str, Estimate] | None = None
) -> ItemsResult:
    """Pairs of several types, in both directions; some types may have scores of their own."""
    by_type = {
        name: estimate(value - 6 + 2 * place, 5 + place, n=60 + place)
        for place, name in enumerate(PAIR_TYPES)
    }
    scores: dict[tuple[str, ...], Estimate] = {
        (): estimate(value, half, n=1508),
        **{(name,): own for name, own in (by_type | dict(types or {})).items()},
        ("stereo",): estimate(value + 1, half, n=1290),
        ("antistereo",): estimate(value - 5, 2 * half, n=218),
    }
    return ItemsResult(
        method="shared tokens",
        figures=tuple(
            MeasuredFigure(measure="score", group=("all", *group), estimate=own)
            for group, own in scores.items()
        ),
        skipped=(Skipped(reason="a sentence is empty", count=2, examples=("17", "90")),),
    )


def pair_scores() -> pl.DataFrame:
    """A pair of each type, and three ties of none, two of which show a stereotype."""
    rows = [
        *((name, "stereo", 0.0) for name in PAIR_TYPES),
        *(("", direction, 1.0) for direction in ("stereo", "stereo", "antistereo")),
    ]
    columns = {"bias_type": pl.String, "direction": pl.String, "tied": pl.Float64}
    return pl.DataFrame(rows, schema=columns, orient="row")


def cosine(value: float = 0.953) -> CosineResult:
    """Twenty occupations, one that was not seen."""
    occupations = [
        OccupationCosine(occupation=f"occupation {place}", cosine=estimate(value - 0.004 * place, 0.006), n=2)
        for place in range(20)
    ]
    return CosineResult(
        layer=12,
        mean=estimate(value - 0.04, 0.01),
        occupations=(*occupations, OccupationCosine(occupation="unseen", cosine=UNKNOWN, n=0)),
    )


def direct_bias(value: float = 0.12, chance: float = 0.04) -> DirectBiasResult:
    """Thirty professions on both sides."""
    return DirectBiasResult(
        layer=12,
        direct_bias=estimate(value, 0.02),
        signed_mean=estimate(0.0, 0.02),
        baseline=estimate(chance, 0.01),
        professions=tuple(
            ProfessionCosine(profession=f"profession {place}", cosine=0.25 - 0.018 * place, n=12 * place + 1)
            for place in range(30)
        ),
        sentences=48_210,
        pronouns={"he": 24_000, "she": 24_210},
        tells_gender=True,
        left_out={"no profession and no pronoun": 40_000, "a profession beside a gendered word": 311},
        skipped=(Skipped(reason="it was never seen", count=4, examples=("paramedic",)),),
    )


def probe_run(
    *results: MalorResult | ItemsResult | CosineResult | DirectBiasResult,
    name: str = "bert_en_probe",
    test: str | None = None,
    model: str = "bert-base-uncased",
    planted: PlantedBias | None = None,
    warnings: Sequence[str] = (),
    options: Mapping[str, Any] | None = None,
) -> Run:
    """A run with these results."""
    of_pairs = isinstance(results[0], ItemsResult)
    return Run(
        record=RunRecord(
            name=name,
            instrument=test or ("crows-pairs" if of_pairs else results[0].kind),
            created=MADE,
            dataset=DatasetRecord(name="probes", language="en", source="bundled", sha256="a" * 64, items=54),
            options=dict(options or {"score": "product", "libraries": {"torch": "2.6.0"}}),
            model=ModelRecord(
                id=model,
                revision="86b5e09",
                weights="sha256 " + "b" * 64,
                family="masked",
                architecture="BertForMaskedLM",
                precision="fp32",
                device="cpu",
                planted=planted,
            ),
            statistics=StatisticsRecord(resamples=1000, seed=7, confidence=0.95),
            environment=EnvironmentRecord(
                evenhand="0.1.0", python="3.12.1", platform="Linux x86_64", libraries={"numpy": "2.1.0"}
            ),
            warnings=tuple(warnings),
        ),
        results=tuple(results),
        scores=pair_scores() if of_pairs else pl.DataFrame(),
    )


def _mean(values: Sequence[float]) -> Estimate:
    return estimate(sum(values) / len(values), 0.15, n=len(values)) if values else UNKNOWN


def asked_run(answers: Mapping[tuple[str, int], float | None], *, experiment: str = "he-she") -> Run:
    """A run with the answers for every occupation and structure, and what they add up to."""
    columns = {"occupation": pl.String, "structure": pl.Int64, "log2_ratio": pl.Float64}
    scores = pl.DataFrame(
        [(occupation, structure, ratio) for (occupation, structure), ratio in answers.items()],
        schema=columns,
        orient="row",
    ).select(
        experiment=pl.lit(experiment),
        direction=pl.lit("gender"),
        structure="structure",
        text=pl.lit("[MASK] is a [OCC]."),
        occupation="occupation",
        field=pl.lit("care"),
        log2_male=pl.col("log2_ratio") - 1.0,
        log2_female=pl.col("log2_ratio") * 0.0 - 1.0,
        log2_ratio="log2_ratio",
    )
    leans = {
        occupation: estimate(float(np.mean(known)), 0.1, n=len(known))
        for occupation in dict.fromkeys(name for name, _ in answers)
        if (
            known := [
                ratio for (name, _), ratio in answers.items() if name == occupation and ratio is not None
            ]
        )
    }
    made = probe_run(malor(leans, experiment=experiment))
    return Run(record=made.record, results=made.results, scores=scores)


def pairs_run(preferences: Mapping[str, float | None]) -> Run:
    """A run over pairs of sentences, by which of them was the likelier."""
    scores = pl.DataFrame(
        [(pair, "gender", "stereo", preference) for pair, preference in preferences.items()],
        schema={
            "pair": pl.String,
            "bias_type": pl.String,
            "direction": pl.String,
            "preference": pl.Float64,
        },
        orient="row",
    ).select(
        pair="pair",
        language=pl.lit("en"),
        bias_type="bias_type",
        direction="direction",
        more=pl.lit("One sentence."),
        less=pl.lit("Another sentence."),
        more_score=pl.col("preference") - 2.0,
        less_score=pl.col("preference") * 0.0 - 1.5,
        tied=(pl.col("preference") == HALF).cast(pl.Float64),
        preference="preference",
        direction_preference="preference",
        skipped_reason=pl.when(pl.col("preference").is_null()).then(pl.lit("not asked")),
    )
    made = probe_run(crows_pairs())
    return Run(record=made.record, results=made.results, scores=scores)
