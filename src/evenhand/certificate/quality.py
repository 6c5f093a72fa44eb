"""Quality before and after: held-out text, LMS, and accuracy after fine-tuning, each against its margin."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from evenhand.certificate.association import lms_row
from evenhand.certificate.held_out import (
    PERCENT,
    PERPLEXITY,
    characters_row,
    not_comparable,
    not_measured,
    perplexity_row,
)
from evenhand.certificate.measuring import Measurements, Measurer
from evenhand.certificate.plan import CertificatePlan
from evenhand.models.references import ModelError
from evenhand.runs.certificates import QualityRow, QualityVerdict, SeedRow
from evenhand.stats.differences import judge_margin, t_interval

ACCURACY = "accuracy"
POINTS = "points"
_HELD_OUT_TITLE = "Perplexity on held-out text"
_ACCURACY_TITLE = "Accuracy of classifiers fine-tuned from both models"
_FEWEST_WHOLE = 20


def held_out_row(before: Measurer, after: Measurer, plan: CertificatePlan, *, same: bool) -> QualityRow:
    """Perplexity on held-out text, or what else compares, or why nothing does."""
    margin = plan.margins.perplexity
    reason = not_comparable(before.model, after.model, same=same)
    if plan.held_out is None:
        reason = "no held-out text was given (--held-out)"
    if reason or plan.held_out is None:
        return not_measured(PERPLEXITY, _HELD_OUT_TITLE, reason or "", margin=margin, unit=PERCENT)
    first, second = (side.held_out(plan.held_out) for side in (before, after))
    if same:
        return perplexity_row(first.loss, second.loss, margin=margin, resampling=plan.resampling)
    whole = first.whole & second.whole
    if np.count_nonzero(whole) < _FEWEST_WHOLE:
        return not_measured(
            PERPLEXITY,
            _HELD_OUT_TITLE,
            "the models have different tokenizers, and one of them does not say how likely a whole sentence is",
            margin=margin,
            unit=PERCENT,
        )
    characters = np.array([len(text) for text in plan.held_out.sentences], dtype=np.float64)
    return characters_row(
        first.loss.nats[whole],
        second.loss.nats[whole],
        characters[whole],
        margin=margin,
        resampling=plan.resampling,
    )


def association_quality(before: Measurements, after: Measurements, plan: CertificatePlan) -> QualityRow:
    """LMS, or why there is none."""
    if before.associations is None or after.associations is None:
        reason = before.no_associations or after.no_associations or ""
        return not_measured("LMS", "Language modelling score", reason, margin=-plan.margins.lms, unit=POINTS)
    return lms_row(
        before.associations, after.associations, margin=plan.margins.lms, resampling=plan.resampling
    )


def accuracy_row(before: Measurer, after: Measurer, plan: CertificatePlan) -> QualityRow:
    """Accuracy over seeds after fine-tuning, with the paired t-test, or why there is none."""
    margin = -plan.margins.accuracy
    if plan.labelled is None:
        return not_measured(
            ACCURACY, _ACCURACY_TITLE, "no labelled text was given (--labelled)", margin=margin, unit=POINTS
        )
    try:
        first, second = before.accuracies(), after.accuracies()
    except ModelError as problem:
        return not_measured(ACCURACY, _ACCURACY_TITLE, str(problem), margin=margin, unit=POINTS)
    return accuracy_from_seeds(first, second, margin=margin, confidence=plan.resampling.confidence)


def accuracy_from_seeds(
    before: Sequence[float], after: Sequence[float], *, margin: float, confidence: float
) -> QualityRow:
    """The mean difference of accuracies over seeds, against the margin."""
    first, second = (np.array(side, dtype=np.float64) for side in (before, after))
    interval, p_value = t_interval(second - first, confidence=confidence)
    return QualityRow(
        measure=ACCURACY,
        title=_ACCURACY_TITLE,
        before=float(first.mean()),
        after=float(second.mean()),
        difference=interval.around(float((second - first).mean()), n=len(first), clusters=len(first)),
        unit=POINTS,
        margin=margin,
        verdict=QualityVerdict(judge_margin(interval, worst=margin).value),
        p_value=p_value,
        seeds=tuple(
            SeedRow(seed=seed, before=one, after=two)
            for seed, (one, two) in enumerate(zip(before, after, strict=True))
        ),
    )
