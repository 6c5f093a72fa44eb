"""Quality before and after, each measure against its margin: held-out text, LMS, and accuracy after fine-tuning.

On held-out text perplexity is compared where both models read the same tokens, bits per character where not. Decoders
that can read a passage are asked once more in passages: a model may lose the use of what it read earlier and still know
single sentences.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from evenhand.certificate.measuring import Measurements, ModelMeasurer
from evenhand.certificate.plan import CertificatePlan
from evenhand.instruments.association.comparison import LMS_MEASURE
from evenhand.instruments.association.instrument import ASSOCIATION
from evenhand.models.capabilities import Trains, has_capability
from evenhand.models.language_model import LanguageModel
from evenhand.models.references import ModelError
from evenhand.runs.certificate_quality import PERCENT, POINTS, QualityRow, SeedRow
from evenhand.stats.intervals import Interval
from evenhand.stats.resampling import Floats, Resampling
from evenhand.stats.score_intervals import crossed_interval
from evenhand.stats.significance import (
    NO_ITEM_DIFFERS,
    clustered_ratio_interval,
    ratio_interval,
    t_interval,
)
from evenhand.training.perplexity import HeldOutLoss

PERPLEXITY, PERPLEXITY_TITLE = "perplexity", "Perplexity on held-out text"
PASSAGES, PASSAGES_TITLE = "perplexity in passages", "Perplexity in passages of held-out text"
BITS, BITS_TITLE = "bits per character", "Bits per character of held-out text (the tokenizers differ)"
ACCURACY, ACCURACY_TITLE = "accuracy", "Accuracy of classifiers fine-tuned from both models"


_FEWEST_WHOLE = 20

LONG_ENOUGH = 512
"""Tokens that a model must be able to read for passages to tell more than sentences."""


def same_tokenizer(before: LanguageModel, after: LanguageModel, sentences: Sequence[str]) -> bool:
    """Whether both models read text as the same tokens."""
    first, second = before.loaded.tokenizer, after.loaded.tokenizer
    if first.get_vocab() != second.get_vocab():
        return False
    return all(first(text)["input_ids"] == second(text)["input_ids"] for text in sentences)


def held_out_row(
    before: ModelMeasurer, after: ModelMeasurer, plan: CertificatePlan, *, same_tokens: bool
) -> QualityRow:
    """Perplexity on held-out text, or what else compares, or why nothing does."""
    margin = plan.margins.perplexity
    if plan.held_out is None:
        return _no_perplexity("no held-out text was given (--held-out)", margin=margin)
    reason = incomparable_text(before.model, after.model, same_tokens=same_tokens)
    if reason is not None:
        return _no_perplexity(reason, margin=margin)
    first, second = (side.held_out(plan.held_out) for side in (before, after))
    documents = np.array(plan.held_out.documents or range(len(plan.held_out.sentences)))
    if same_tokens:
        return perplexity_row(
            first.loss, second.loss, margin=margin, resampling=plan.resampling, documents=documents
        )
    whole = first.whole & second.whole
    if np.count_nonzero(whole) < _FEWEST_WHOLE:
        return _no_perplexity(
            "the models have different tokenizers, and one of them does not say how likely a whole sentence is",
            margin=margin,
        )
    characters = np.array([len(text) for text in plan.held_out.sentences], dtype=np.float64)
    return bits_per_character_row(
        first.loss.nats[whole],
        second.loss.nats[whole],
        characters[whole],
        margin=margin,
        resampling=plan.resampling,
        documents=documents[whole],
    )


def passages_row(
    before: ModelMeasurer, after: ModelMeasurer, plan: CertificatePlan, *, same_tokens: bool
) -> QualityRow | None:
    """Perplexity in passages; None where there are none, or where both models do not read them alike."""
    if plan.passages is None or not same_tokens or not _read_passages(before.model, after.model):
        return None
    first, second = (side.passages(plan.passages) for side in (before, after))
    row = perplexity_row(
        first,
        second,
        margin=plan.margins.perplexity,
        resampling=plan.resampling,
        documents=np.array(plan.passages.documents or range(len(plan.passages.sentences))),
    )
    return row.model_copy(update={"measure": PASSAGES, "title": PASSAGES_TITLE})


def _read_passages(*models: LanguageModel) -> bool:
    return models[0].family is models[1].family and all(
        has_capability(model, Trains) and model.reads_left_to_right and model.longest_input >= LONG_ENOUGH
        for model in models
    )


def incomparable_text(before: LanguageModel, after: LanguageModel, *, same_tokens: bool) -> str | None:
    """Why held-out text does not compare between two models, or None where it does."""
    if before.family is not after.family:
        return (
            f"a {before.family.name} model and a {after.family.name} model are asked different questions, so their "
            "figures on text do not compare"
        )
    if not has_capability(before, Trains):
        return "it is not defined for models that write whole sentences anew"
    if not same_tokens and not before.reads_left_to_right:
        return (
            "the models have different tokenizers, so different pieces of a sentence are hidden from them; only "
            "models that read from left to right compare then, by bits per character"
        )
    return None


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
    low, high = (_percent(math.exp(bound)) for bound in (interval.low, interval.high))
    change = Interval(low, high, interval.method, interval.reason)
    return QualityRow.judged(
        PERPLEXITY,
        PERPLEXITY_TITLE,
        (before.perplexity, after.perplexity),
        change.around(
            _percent(math.exp(changes.sum() / weights.sum())), n=len(changes), clusters=len(np.unique(chosen))
        ),
        unit=PERCENT,
        margin=margin,
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
    )


def _ratio_interval(
    numerators: Floats,
    denominators: Floats,
    documents: npt.NDArray[Any],
    *,
    unchanged: float,
    resampling: Resampling,
) -> Interval:
    """Interval of a ratio of sums over sentences; whole documents are left out where there are several.

    Args:
        numerators: One per sentence.
        denominators: One per sentence.
        documents: The document of each sentence.
        unchanged: The ratio of every sentence where both models say the same.
        resampling: Resamples, seed and confidence level.
    """
    if np.array_equal(numerators, unchanged * denominators):
        return Interval(unchanged, unchanged, NO_ITEM_DIFFERS)
    if len(np.unique(documents)) == len(documents):
        return ratio_interval(numerators, denominators, resampling=resampling)
    return clustered_ratio_interval(
        numerators, denominators, clusters=documents, confidence=resampling.confidence
    )


def lms_row(before: Measurements, after: Measurements, plan: CertificatePlan) -> QualityRow:
    """LMS of both models, and whether it fell by no more than the margin."""
    margin = -plan.margins.lms
    if ASSOCIATION.name not in before.runs or ASSOCIATION.name not in after.runs:
        reason = before.gaps.get(ASSOCIATION.name) or after.gaps.get(ASSOCIATION.name)
        return QualityRow.not_measured(
            LMS_MEASURE,
            "Language modelling score",
            reason or "the plan has no association tests",
            margin=margin,
            unit=POINTS,
        )
    runs = before.runs[ASSOCIATION.name], after.runs[ASSOCIATION.name]
    (row,) = ASSOCIATION.quality_rows(*runs, margins={LMS_MEASURE: margin}, resampling=plan.resampling)
    return row


def accuracy_row(before: ModelMeasurer, after: ModelMeasurer, plan: CertificatePlan) -> QualityRow:
    """Accuracy over seeds and examples after fine-tuning, with the paired t-test, or why there is none."""
    margin = -plan.margins.accuracy
    if plan.labelled is None:
        return _no_accuracy("no labelled text was given (--labelled)", margin=margin)
    try:
        first, second = before.answers(plan.labelled), after.answers(plan.labelled)
    except ModelError as problem:
        return _no_accuracy(str(problem), margin=margin)
    return accuracy_of_answers(first, second, margin=margin, confidence=plan.resampling.confidence)


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


def _no_perplexity(reason: str, *, margin: float) -> QualityRow:
    return QualityRow.not_measured(PERPLEXITY, PERPLEXITY_TITLE, reason, margin=margin, unit=PERCENT)


def _no_accuracy(reason: str, *, margin: float) -> QualityRow:
    return QualityRow.not_measured(ACCURACY, ACCURACY_TITLE, reason, margin=margin, unit=POINTS)


def _percent(ratio: float) -> float:
    return 100 * (ratio - 1)
