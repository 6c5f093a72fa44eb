"""Rows of quality from the figures that were read of both models, without the models themselves."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from evenhand.certificate.measurements import Measurements
from evenhand.instruments.association.comparison import LMS_MEASURE
from evenhand.instruments.association.instrument import ASSOCIATION
from evenhand.stats.intervals import Interval
from evenhand.stats.resampling import Floats, Resampling
from evenhand.stats.score_intervals import crossed_interval
from evenhand.stats.significance import (
    NO_ITEM_DIFFERS,
    clustered_ratio_interval,
    effective_clusters,
    t_interval,
)
from evenhand.store.certificate_quality import PERCENT, POINTS, SPECIAL_TOKENS, QualityRow, SeedRow
from evenhand.store.held_out_losses import LARGEST_LOG, HeldOutLoss
from evenhand.store.mitigation_records import PERPLEXITY

PERPLEXITY_TITLE = "Perplexity on held-out text"
BITS, BITS_TITLE = "bits per character", "Bits per character of held-out text (the tokenizers differ)"
ACCURACY, ACCURACY_TITLE = "accuracy", "Accuracy of classifiers fine-tuned from both models"
SPECIAL_TITLE = "Share of probability on unused and special tokens, in percent"


def no_perplexity(reason: str, *, margin: float) -> QualityRow:
    """Why there is no figure on held-out text."""
    return QualityRow.not_measured(PERPLEXITY, PERPLEXITY_TITLE, reason, margin=margin, unit=PERCENT)


def perplexity_row(
    before: HeldOutLoss,
    after: HeldOutLoss,
    *,
    margin: float,
    resampling: Resampling,
    documents: npt.NDArray[Any] | None = None,
) -> QualityRow:
    """The change of perplexity in percent.

    Args:
        before: Surprise of the model before at each sentence.
        after: That of the model after.
        margin: The worst difference that is tolerated, in percent.
        resampling: Resamples, seed and confidence level.
        documents: The document that each sentence is of; sentences of a document are alike. None where each sentence
            stands for itself.
    """
    weights = before.tokens.astype(np.float64)
    has_tokens = weights > 0
    changes, weights = (after.nats - before.nats)[has_tokens], weights[has_tokens]
    chosen = np.arange(len(changes)) if documents is None else documents[has_tokens]
    interval = _ratio_interval(changes, weights, chosen, unchanged=0.0, resampling=resampling)
    change = Interval(_growth(interval.low), _growth(interval.high), interval.method, interval.reason)
    return QualityRow.judged(
        PERPLEXITY,
        PERPLEXITY_TITLE,
        (before.perplexity, after.perplexity),
        change.around(
            _growth(float(changes.sum() / weights.sum())), n=len(changes), clusters=len(np.unique(chosen))
        ),
        unit=PERCENT,
        margin=margin,
        effective_clusters=_effective_documents(weights, chosen),
    )


def bits_per_character_row(
    before: Floats,
    after: Floats,
    characters: Floats,
    *,
    margin: float,
    resampling: Resampling,
    documents: npt.NDArray[Any] | None = None,
) -> QualityRow:
    """The change of bits per character in percent, from what whole sentences cost each model in nats."""
    chosen = np.arange(len(before)) if documents is None else documents
    interval = _ratio_interval(after, before, chosen, unchanged=1.0, resampling=resampling)
    first, second = (float(nats.sum() / math.log(2) / characters.sum()) for nats in (before, after))
    change = Interval(_percent(interval.low), _percent(interval.high), interval.method, interval.reason)
    ratio = float(after.sum() / before.sum())
    return QualityRow.judged(
        BITS,
        BITS_TITLE,
        (first, second),
        change.around(_percent(ratio), n=len(before), clusters=len(np.unique(chosen))),
        unit=PERCENT,
        margin=margin,
        effective_clusters=_effective_documents(before, chosen),
    )


def special_tokens_row(
    before: Floats,
    after: Floats,
    tokens: Floats,
    documents: npt.NDArray[Any],
    *,
    margin: float,
    resampling: Resampling,
) -> QualityRow:
    """The change of the share of probability that goes to tokens that no text has, in points.

    Args:
        before: Of each text, the probability of such tokens added up over the scored tokens, by the model before.
        after: That of the model after.
        tokens: Scored tokens of each text.
        documents: The document of each text.
        margin: The worst difference that is tolerated, in points.
        resampling: Resamples, seed and confidence level.
    """
    has_tokens = tokens > 0
    before, after, tokens, documents = (values[has_tokens] for values in (before, after, tokens, documents))
    interval = _ratio_interval(after - before, tokens, documents, unchanged=0.0, resampling=resampling)
    change = Interval(100 * interval.low, 100 * interval.high, interval.method, interval.reason)
    first, second = (100 * float(side.sum() / tokens.sum()) for side in (before, after))
    return QualityRow.judged(
        SPECIAL_TOKENS,
        SPECIAL_TITLE,
        (first, second),
        change.around(second - first, n=len(tokens), clusters=len(np.unique(documents))),
        unit=POINTS,
        margin=margin,
        effective_clusters=_effective_documents(tokens, documents),
    )


def no_special_tokens(reason: str, *, margin: float) -> QualityRow:
    """Why the share of unused and special tokens is not compared."""
    return QualityRow.not_measured(SPECIAL_TOKENS, SPECIAL_TITLE, reason, margin=margin, unit=POINTS)


def _ratio_interval(
    numerators: Floats,
    denominators: Floats,
    documents: npt.NDArray[Any],
    *,
    unchanged: float,
    resampling: Resampling,
) -> Interval:
    """Interval of a ratio of sums over sentences; whole documents are left out in turn.

    Args:
        numerators: One per sentence.
        denominators: One per sentence.
        documents: The document of each sentence.
        unchanged: The ratio of every sentence where both models say the same.
        resampling: Resamples, seed and confidence level.
    """
    if np.array_equal(numerators, unchanged * denominators):
        return Interval(unchanged, unchanged, NO_ITEM_DIFFERS)
    return clustered_ratio_interval(
        numerators, denominators, clusters=documents, confidence=resampling.confidence
    )


def _effective_documents(weights: Floats, documents: npt.NDArray[Any]) -> float:
    return effective_clusters(np.bincount(np.unique(documents, return_inverse=True)[1], weights=weights))


def accuracy_of_answers(before: Floats, after: Floats, *, margin: float, confidence: float) -> QualityRow:
    """The mean difference of accuracies against the margin.

    Other seeds would have given other classifiers, and another test set other examples, so both count. All seeds share
    the test set, so that seeds alone would make the interval too narrow.

    Args:
        before: Where classifiers of the model before are right: one row per seed, one column per example.
        after: The same for the model after.
        margin: The worst difference that is tolerated, in points.
        confidence: The confidence level.
    """
    interval = crossed_interval(after - before, confidence=confidence)
    change = Interval(100 * interval.low, 100 * interval.high, interval.method, interval.reason)
    first, second = (100 * side.mean(axis=1) for side in (before, after))
    row = QualityRow.judged(
        ACCURACY,
        ACCURACY_TITLE,
        (float(first.mean()), float(second.mean())),
        change.around(float((second - first).mean()), n=before.size, clusters=len(before)),
        unit=POINTS,
        margin=margin,
    )
    p_value = t_interval(second - first, confidence=confidence)[1]
    seeds = tuple(
        SeedRow(seed=seed, before=float(one), after=float(two))
        for seed, (one, two) in enumerate(zip(first, second, strict=True))
    )
    return row.model_copy(update={"p_value": p_value, "seeds": seeds})


def no_accuracy(reason: str, *, margin: float, left_out: int = 0) -> QualityRow:
    """Why no classifiers were compared, and on how many examples they should have been."""
    return QualityRow.not_measured(
        ACCURACY, ACCURACY_TITLE, reason, margin=margin, unit=POINTS, left_out=left_out
    )


def lms_row(
    before: Measurements, after: Measurements, *, margin: float, resampling: Resampling
) -> QualityRow:
    """LMS of both models, and whether it fell by no more than the margin.

    Args:
        before: What was measured on the original.
        after: What was measured on the mitigated model.
        margin: The worst difference that is tolerated, in points.
        resampling: Resamples, seed and confidence level.
    """
    if ASSOCIATION.name not in before.runs or ASSOCIATION.name not in after.runs:
        reason = before.gaps.get(ASSOCIATION.name) or after.gaps.get(ASSOCIATION.name)
        return QualityRow.not_measured(
            LMS_MEASURE,
            "Language modelling score",
            reason or "the plan has no association tests",
            margin=margin,
            unit=POINTS,
            left_out=asked_of_one(before, after, ASSOCIATION.name),
        )
    runs = before.runs[ASSOCIATION.name], after.runs[ASSOCIATION.name]
    (row,) = ASSOCIATION.quality_rows(*runs, margins={LMS_MEASURE: margin}, resampling=resampling)
    return row


def asked_of_one(before: Measurements, after: Measurements, name: str) -> int:
    """How many answers the original gave to an instrument that the mitigated model could not be asked with."""
    return 0 if name in after.runs or name not in before.runs else len(before.runs[name].scores)


def _growth(nats: float) -> float:
    """The rise of perplexity where every token costs so much more."""
    return _percent(math.exp(min(nats, LARGEST_LOG)))


def _percent(ratio: float) -> float:
    return 100 * (ratio - 1)
