"""Several mitigated models against one original: what a recipe does, whatever the seed.

One mitigated model says what became of it; another seed would have given another one. Both the models and what they
are asked (occupations, items, sentences, examples) are samples of many, so every interval is over both: models in the
rows of a table, items in its columns.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from evenhand.certificate.measuring import Measurements, ModelMeasurer
from evenhand.certificate.plan import CertificatePlan
from evenhand.core.errors import EvenhandError
from evenhand.core.estimates import Estimate, Number
from evenhand.core.frozen import FrozenModel
from evenhand.core.items import Label
from evenhand.instruments.malor.questions import TERM_DIRECTIONS
from evenhand.instruments.malor.results import MalorResult
from evenhand.runs.certificate_quality import QualityVerdict, judged_quality
from evenhand.runs.run import Run
from evenhand.stats.crossed import crossed_mean_interval
from evenhand.stats.intervals import Interval
from evenhand.stats.resampling import Floats
from evenhand.stats.score_intervals import crossed_interval

FEWEST_MODELS = 3
"""Mitigated models: fewer cannot tell how much a seed matters."""

PERPLEXITY, LMS, ACCURACY = "perplexity", "LMS", "accuracy"


class SeedsRow(FrozenModel):
    """One measure of the original and of every mitigated model."""

    measure: str
    unit: str
    before: Number
    after: tuple[Number, ...]
    """In the order of the models."""
    deviation: Number
    """Standard deviation over the models."""
    difference: Estimate
    """The mean over the models less the original, with an interval over models and items."""
    items: str
    """What the columns are: occupations, items, sentences or examples."""
    margin: float | None = None
    """Of quality: the worst difference that is tolerated."""
    verdict: QualityVerdict | None = None


class SeedsComparison(FrozenModel):
    """Several mitigated models of one recipe, compared with their original."""

    before: str
    after: tuple[str, ...]
    confidence: float
    rows: tuple[SeedsRow, ...]


@dataclass(frozen=True, slots=True)
class ItemValues:
    """What one model gives to every item of a measure, by the name of the item."""

    items: str
    unit: str
    values: Mapping[str, float]


def item_values(
    measurer: ModelMeasurer, measured: Measurements, plan: CertificatePlan
) -> dict[str, ItemValues]:
    """Everything about one model that is compared, by measure."""
    found: dict[str, ItemValues] = {}
    for name, run in measured.runs.items():
        if name == "malor":
            found |= _malor_values(run)
        elif name == "association":
            found[LMS] = ItemValues("items", "points", _lms_values(run))
    if plan.held_out is not None:
        loss = measurer.held_out(plan.held_out).loss
        scale = loss.tokens.mean()
        values = {str(number): float(nats / scale) for number, nats in enumerate(loss.nats)}
        found[PERPLEXITY] = ItemValues("sentences", "nats", values)
    if plan.labelled is not None:
        right = 100 * measurer.answers(plan.labelled).mean(axis=0)
        found[ACCURACY] = ItemValues(
            "examples", "points", {str(place): float(own) for place, own in enumerate(right)}
        )
    return found


def _malor_values(run: Run) -> dict[str, ItemValues]:
    """How far each occupation leans, to whichever side."""
    return {
        f"MALoR {result.experiment}{'' if result.direction in TERM_DIRECTIONS else ' reversed'}": ItemValues(
            "occupations",
            "bits",
            {
                lean.occupation: abs(lean.log2_ratio.value)
                for lean in result.occupations
                if lean.log2_ratio.defined
            },
        )
        for result in run.results
        if isinstance(result, MalorResult)
    }


def _lms_values(run: Run) -> dict[str, float]:
    """100 x ([s > u] + [a > u]) / 2 of every item that was scored; a tie counts half."""
    table = run.scores.drop_nulls("score").pivot("label", index="item", values="score")
    sense = [Label.STEREOTYPE.value, Label.ANTI_STEREOTYPE.value]
    if not {*sense, Label.UNRELATED.value} <= set(table.columns):
        return {}
    nonsense = pl.col(Label.UNRELATED.value)
    wins = pl.sum_horizontal(
        (pl.col(label) > nonsense).cast(pl.Float64) + 0.5 * (pl.col(label) == nonsense).cast(pl.Float64)
        for label in sense
    )
    scored = table.drop_nulls().select("item", (50 * wins).alias("value"))
    return dict(scored.iter_rows())


def refuse_too_few_models(count: int) -> None:
    """Refuse to judge a recipe by fewer mitigated models than can tell how much a seed matters."""
    if count < FEWEST_MODELS:
        raise EvenhandError(
            f"{count} mitigated models were given. To tell what a recipe does whatever the seed takes at least "
            f"{FEWEST_MODELS}: mitigate with other seeds (--seed), and name all of them."
        )


def compare_seeds(
    before: tuple[str, Mapping[str, ItemValues]],
    after: Sequence[tuple[str, Mapping[str, ItemValues]]],
    plan: CertificatePlan,
) -> SeedsComparison:
    """Every measure that all models have.

    Args:
        before: The original's name and values.
        after: Those of the mitigated models.
        plan: What they were measured on, and the margins.

    Raises:
        EvenhandError: If there are too few mitigated models.
    """
    refuse_too_few_models(len(after))
    shared = [name for name in before[1] if all(name in values for _, values in after)]
    confidence = plan.resampling.confidence
    margins = {
        PERPLEXITY: plan.margins.perplexity,
        LMS: -plan.margins.lms,
        ACCURACY: -plan.margins.accuracy,
    }
    rows = [
        _row(name, before[1][name], [values[name] for _, values in after], confidence, margins.get(name))
        for name in shared
    ]
    return SeedsComparison(
        before=before[0],
        after=tuple(name for name, _ in after),
        confidence=confidence,
        rows=tuple(row for row in rows if row is not None),
    )


def _row(
    name: str, before: ItemValues, after: Sequence[ItemValues], confidence: float, margin: float | None
) -> SeedsRow | None:
    items = [item for item in before.values if all(item in own.values for own in after)]
    if not items:
        return None
    first = np.array([before.values[item] for item in items])
    table = np.array([[own.values[item] for item in items] for own in after])
    differences = table - first
    if before.unit == "points":
        interval = crossed_interval(differences / 100, confidence=confidence)
        interval = Interval(100 * interval.low, 100 * interval.high, interval.method, interval.reason)
    else:
        interval = crossed_mean_interval(differences, confidence=confidence)
    value, original, means = float(differences.mean()), float(first.mean()), table.mean(axis=1)
    unit = before.unit
    if name == PERPLEXITY:
        interval = Interval(_percent(interval.low), _percent(interval.high), interval.method, interval.reason)
        value, original, means, unit = _percent(value), math.exp(original), np.exp(means), "%"
    difference = interval.around(value, n=differences.size, clusters=len(after))
    return SeedsRow(
        measure=name,
        unit=unit,
        before=original,
        after=tuple(map(float, means)),
        deviation=_deviation(means),
        difference=difference,
        items=before.items,
        margin=margin,
        verdict=None if margin is None else judged_quality(difference, margin),
    )


def _deviation(means: Floats) -> float:
    return float(means.std(ddof=1))


def _percent(log_ratio: float) -> float:
    return 100 * math.expm1(log_ratio) if math.isfinite(log_ratio) else log_ratio
