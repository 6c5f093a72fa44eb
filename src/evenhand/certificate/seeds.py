"""Several mitigated models against one original: what a recipe does, whatever the seed.

One mitigated model says what became of it; another seed would have given another one. Each model is compared with the
original as a certificate compares them: the same rows, over the held-out half of the probes, with sentences in
their documents. A row over models is the mean of these comparisons, with an interval over models and over what
they were asked. All models are asked the same, so errors of the questions may go together in full: they are averaged,
not divided by the number of models, and what models differ by is added to them as independent.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from statistics import fmean, stdev
from typing import TypeVar

import numpy as np
from scipy import special

from evenhand.core.errors import EvenhandError
from evenhand.core.estimates import Estimate
from evenhand.core.frozen import FrozenModel
from evenhand.store.certificate_bias import BiasRow, Bounds
from evenhand.store.certificate_quality import QualityRow, QualityVerdict, judged_quality
from evenhand.store.certificate_seeds import SeedsComparison, SeedsRow

FEWEST_MODELS = 3
"""Mitigated models: fewer cannot tell how much a seed matters."""

OVER_MODELS = "t over models, and over what they were asked"


class ModelRows(FrozenModel):
    """One mitigated model beside the original, as a certificate has it."""

    name: str
    bias: tuple[BiasRow, ...]
    quality: tuple[QualityRow, ...]


def refuse_few_models(count: int) -> None:
    """Refuse fewer mitigated models than can tell how much a seed matters."""
    if count < FEWEST_MODELS:
        raise EvenhandError(
            f"{count} mitigated {'model was' if count == 1 else 'models were'} given. To tell what a recipe does "
            f"whatever the seed takes at least {FEWEST_MODELS}: mitigate with other seeds (--seed), and name each of "
            "them with --also."
        )


def compare_seeds(before: str, after: Sequence[ModelRows], *, confidence: float) -> SeedsComparison:
    """Every measure that all models have.

    Args:
        before: The original's name.
        after: The mitigated models.
        confidence: The confidence level.

    Raises:
        EvenhandError: If there are too few mitigated models.
    """
    refuse_few_models(len(after))
    bias = _by_measure(model.bias for model in after)
    quality = _by_measure(model.quality for model in after)
    return SeedsComparison(
        before=before,
        after=tuple(model.name for model in after),
        confidence=confidence,
        rows=(
            *(_bias_over_models(rows, confidence) for rows in bias),
            *(_quality_over_models(rows, confidence) for rows in quality),
        ),
        not_compared=_not_compared(after),
    )


def _not_compared(models: Sequence[ModelRows]) -> tuple[str, ...]:
    """Models with a row of quality that is incomplete, or without one that another model has."""
    measures = {row.measure for model in models for row in model.quality}
    return tuple(
        model.name
        for model in models
        if any(row.is_incomplete for row in model.quality)
        or measures != {row.measure for row in model.quality}
    )


Row = TypeVar("Row", BiasRow, QualityRow)


def _by_measure(models: Iterable[Sequence[Row]]) -> list[list[Row]]:
    """The rows of one measure after the other, of every model; measures that a model lacks are left out."""
    tables = [{row.measure: row for row in rows} for rows in models]
    return [
        [table[measure] for table in tables]
        for measure in tables[0]
        if all(measure in table for table in tables)
    ]


def _bias_over_models(rows: Sequence[BiasRow], confidence: float) -> SeedsRow:
    first = rows[0]
    after = over_models([_estimate(row.after, row.after_interval) for row in rows], confidence=confidence)
    distances = [row.distance for row in rows]
    together = first.model_copy(
        update={
            "after": after.value,
            "after_interval": Bounds.of(after),
            "difference": over_models([row.difference for row in rows], confidence=confidence),
            "distance": over_models([own for own in distances if own], confidence=confidence)
            if all(distances)
            else None,
        }
    )
    return SeedsRow(
        measure=first.measure,
        unit=first.unit,
        before=first.before,
        after=tuple(row.after for row in rows),
        deviation=float(np.std([row.after for row in rows], ddof=1)),
        difference=together.difference,
        movement=together.movement,
        part_of=first.part_of,
        untrained_pair=first.untrained_pair,
        sample=first.sample,
    )


def _quality_over_models(rows: Sequence[QualityRow], confidence: float) -> SeedsRow:
    first = rows[0]
    difference = over_models([row.difference for row in rows], confidence=confidence)
    return SeedsRow(
        measure=first.measure,
        unit=first.unit,
        before=first.before,
        after=tuple(row.after for row in rows),
        deviation=float(np.std([row.after for row in rows], ddof=1)),
        difference=difference,
        margin=first.margin,
        verdict=judged_quality(difference, first.margin)
        if difference.defined
        else QualityVerdict.NOT_MEASURED,
    )


def over_models(estimates: Sequence[Estimate], *, confidence: float) -> Estimate:
    """The mean of one figure over models that were asked the same.

    The reach of its interval has two parts, put together as squares: the mean reach of the models' own intervals, which
    is enough even where errors of the questions are the same in all models, and that of the mean of the models' values.
    """
    reasons = [own.reason for own in estimates if not own.defined or math.isnan(own.low)]
    if reasons:
        return Estimate.undefined(reasons[0] or "it has no interval in one of the models")
    values = [own.value for own in estimates]
    mean, count = fmean(values), len(values)
    between = float(special.stdtrit(count - 1, (1 + confidence) / 2)) * stdev(values) / math.sqrt(count)
    below, above = (
        fmean(own.value - own.low for own in estimates),
        fmean(own.high - own.value for own in estimates),
    )
    return Estimate(
        value=mean,
        low=mean - math.hypot(between, below),
        high=mean + math.hypot(between, above),
        n=sum(own.n for own in estimates),
        clusters=count,
        method=OVER_MODELS,
    )


def _estimate(value: float, bounds: Bounds) -> Estimate:
    if math.isnan(value):
        return Estimate.undefined(bounds.reason or "it could not be computed")
    return Estimate(
        value=value, low=bounds.low, high=bounds.high, n=1, clusters=1, method="", reason=bounds.reason
    )
