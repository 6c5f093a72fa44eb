"""Made-up calibrations, so that what is said about them can be worked out by hand."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
from scipy import stats

from evenhand.core.estimates import Estimate
from evenhand.core.items import OVERALL
from evenhand.core.planted_bias import PlantedBias, ProbePart
from evenhand.store.calibration import (
    Calibration,
    Check,
    DetectableBias,
    DosePoint,
    MeasureCalibration,
    Response,
)
from evenhand.store.records import EnvironmentRecord, ModelRecord
from evenhand.store.run import Run

FAMILIES = ("masked", "decoder", "encoder-decoder")
TASKS = (OVERALL, "intrasentence", "intersentence")
STRENGTHS = (-3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0)
SEEDS = 5
ITEM_COUNTS = (24, 48, 96, 192, 384, 768, 1536, 3072)
MADE = datetime(2026, 3, 14, 9, 30, tzinfo=UTC)

ENVIRONMENT = EnvironmentRecord(
    evenhand="0.1.0",
    python="3.12.1",
    platform="Linux x86_64",
    libraries={"numpy": "2.1.0", "scipy": "1.14.0"},
)

RESPONSES = {
    "LMS": Response.STAYS,
    "SS": Response.RISES,
    "ICAT": Response.FALLS_AWAY,
    "mean_SS": Response.RISES,
    "log_ratio": Response.RISES,
}
MEASURES = ("LMS", "SS", "ICAT", "mean_SS")


def audited(run: Run, family: str = "masked", *, planted: PlantedBias | None = None) -> Run:
    """The same run as if a model of a family had been asked, with bias planted in it or not."""
    model = ModelRecord(
        id="lab:model",
        revision=None,
        weights="sha256 0",
        family=family,
        architecture="TinyModel",
        precision="fp32",
        device="cpu",
        planted=planted,
    )
    return replace(run, record=run.record.model_copy(update={"model": model}))


def planted(strength: float, *, family: str = "masked") -> PlantedBias:
    """So many bits."""
    return PlantedBias(family=family, strength=strength, language="en", seed=3)


def entry(
    measure: str = "SS",
    family: str = "masked",
    *,
    task: str = OVERALL,
    response: Response | None = None,
    values: Mapping[float, Sequence[float]] | None = None,
    detectable: Mapping[int, tuple[float, float]] | None = None,
    checks: Sequence[Check] = (),
    targets: Mapping[float, float] | None = None,
    part: ProbePart = ProbePart.TAUGHT,
    **figures: float,
) -> MeasureCalibration:
    """A calibration of one measure: what was read at each strength, one value a seed, and what is found."""
    read = {-3.0: [10.0], 0.0: [50.0], 3.0: [90.0]} if values is None else values
    return MeasureCalibration(
        measure=measure,
        family=family,
        task=task,
        part=part,
        response=response or RESPONSES[measure],
        points=tuple(
            DosePoint(
                strength=strength,
                seed=seed,
                estimate=estimate(value),
                target=(targets or {}).get(strength, math.nan),
            )
            for strength, own in read.items()
            for seed, value in enumerate(own)
        ),
        spearman=figures.get("spearman", 1.0),
        slope=figures.get("slope", 15.0),
        neutral_point=figures.get("neutral_point", 0.02),
        error=figures.get("error", math.nan),
        false_positives=figures.get("false_positives", 0.04),
        neutral_sets=200,
        detectable=tuple(
            DetectableBias(items=items, strength=strength, reading=reading)
            for items, (strength, reading) in (detectable or {}).items()
        ),
        checks=tuple(checks),
    )


def estimate(value: float) -> Estimate:
    """A value of which nobody asks how sure it is."""
    return Estimate(value=value, low=value, high=value, n=384, clusters=32, method="made up")


def check(*, passed: bool, name: str = "Spearman correlation", found: float = 0.912) -> Check:
    """A check against a wanted value."""
    return Check(name=name, wanted="at least 0.99", found=found, passed=passed)


def calibration_of(*entries: MeasureCalibration) -> Calibration:
    """A calibration with these entries and no others."""
    return Calibration(
        created=MADE,
        environment=ENVIRONMENT,
        language="en",
        strengths=tuple(sorted({point.strength for own in entries for point in own.points})),
        seeds=len({point.seed for own in entries for point in own.points}),
        items={"intrasentence": 192, "intersentence": 192},
        measures=entries,
    )


def plausible(measures: Sequence[str] = MEASURES) -> Calibration:
    """Three families, seven strengths, five seeds and three tasks, much as the lab finds them; every check passes."""
    generator = np.random.default_rng(3)
    return calibration_of(
        *(
            _plausible_entry(measure, family, task, generator)
            for measure in measures
            for family in FAMILIES
            for task in TASKS
            if measure != "log_ratio" or family != "masked" or task == "intrasentence"
        )
    )


def failing() -> Calibration:
    """The same, but SS of masked models in the inter-sentence task fails two of its checks."""
    whole = plausible()
    failed = (
        check(passed=False),
        Check(name="false positives", wanted="at most 0.1", found=0.145, passed=False),
    )
    return whole.model_copy(
        update={
            "measures": tuple(
                own.model_copy(update={"checks": failed, "spearman": 0.912, "false_positives": 0.145})
                if (own.measure, own.family, own.task) == ("SS", "masked", "intersentence")
                else own
                for own in whole.measures
            )
        }
    )


def _plausible_entry(
    measure: str, family: str, task: str, generator: np.random.Generator
) -> MeasureCalibration:
    place = FAMILIES.index(family)
    values = {
        strength: [_read(measure, strength * (1 - 0.04 * place), generator) for _ in range(SEEDS)]
        for strength in STRENGTHS
    }
    rises = RESPONSES[measure] is Response.RISES
    in_bits = measure == "log_ratio"
    found = {
        items: (round(bits, 2), _read(measure, bits, None))
        for items in ITEM_COUNTS
        if (bits := (6 + 2 * place) / math.sqrt(items))
    }
    if family == "encoder-decoder":
        found[24] = (math.nan, math.nan)
    return entry(
        measure,
        family,
        task=task,
        values=values,
        detectable=found if rises else None,
        checks=[check(passed=True, found=0.998)],
        spearman=math.nan if measure == "LMS" else 0.998,
        slope={"LMS": -0.02, "ICAT": 41.3, "log_ratio": 0.96}.get(measure, 22.4) + 0.3 * place,
        neutral_point=0.02 * (place - 1) if rises else math.nan,
        error=0.08 + 0.02 * place if in_bits else math.nan,
        false_positives=0.035 + 0.01 * place if rises else math.nan,
    )


def _read(measure: str, strength: float, generator: np.random.Generator | None) -> float:
    noise = 0.0 if generator is None else float(generator.normal())
    score = min(99.0, max(1.0, 100 * float(stats.norm.cdf(strength / 1.6)) + noise))
    understood = 99.4 - 0.2 * abs(noise)
    by_measure = {
        "LMS": understood,
        "ICAT": understood * min(score, 100 - score) / 50,
        "log_ratio": strength + 0.08 * noise,
    }
    return by_measure.get(measure, score)
