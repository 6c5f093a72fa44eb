"""Held-out text before and after: perplexity where both models read the same tokens, bits per character where not."""

from __future__ import annotations

import math

import numpy as np

from evenhand.core.estimates import Estimate
from evenhand.models.capabilities import Trains
from evenhand.models.language_model import LanguageModel
from evenhand.runs.certificates import QualityRow, QualityVerdict
from evenhand.stats.differences import NO_ITEM_DIFFERS, difference_of_means, judge_margin, ratio_interval
from evenhand.stats.intervals import Interval
from evenhand.stats.resampling import Floats, Resampling
from evenhand.training.perplexity import HeldOut, HeldOutLoss

PERPLEXITY = "perplexity"
BITS_PER_CHARACTER = "bits per character"
PERCENT = "%"


def same_tokenizer(before: LanguageModel, after: LanguageModel, sentences: tuple[str, ...] = ()) -> bool:
    """Whether both models read text as the same tokens."""
    first, second = before.loaded.tokenizer, after.loaded.tokenizer
    if first.get_vocab() != second.get_vocab():
        return False
    return all(first(text)["input_ids"] == second(text)["input_ids"] for text in sentences[:100])


def not_comparable(before: LanguageModel, after: LanguageModel, *, same: bool) -> str | None:
    """Why held-out text does not compare between two models, or None where it does."""
    if before.family is not after.family:
        return (
            f"a {before.family.name} model and a {after.family.name} model are asked different questions, so their "
            "figures on text do not compare"
        )
    if Trains not in before.capabilities:
        return "it is not defined for models that write whole sentences anew"
    if not same and not before.reads_left_to_right:
        return (
            "the models have different tokenizers, so different pieces of a sentence are hidden from them; only "
            "models that read from left to right compare then, by bits per character"
        )
    return None


def perplexity_row(
    before: HeldOutLoss, after: HeldOutLoss, *, margin: float, resampling: Resampling
) -> QualityRow:
    """The change of perplexity in percent; sentences are resampled, the same ones for both models."""
    weights = before.tokens.astype(np.float64)
    asked = weights > 0
    value, interval = difference_of_means(
        before.nats[asked], after.nats[asked], weights=weights[asked], resampling=resampling
    )
    return _row(
        PERPLEXITY,
        "Perplexity on held-out text",
        (before.perplexity, after.perplexity),
        _percent(math.exp(value)),
        Interval(
            _percent(math.exp(interval.low)),
            _percent(math.exp(interval.high)),
            interval.method,
            interval.reason,
        ),
        n=int(asked.sum()),
        margin=margin,
    )


def characters_row(
    before: Floats, after: Floats, characters: Floats, *, margin: float, resampling: Resampling
) -> QualityRow:
    """The change of bits per character in percent, from what whole sentences cost each model in nats."""
    value = float(after.sum() / before.sum())
    if np.array_equal(before, after):
        interval = Interval(1.0, 1.0, NO_ITEM_DIFFERS)
    else:
        interval = ratio_interval(after, before, resampling=resampling)
    figures = [float(nats.sum() / math.log(2) / characters.sum()) for nats in (before, after)]
    return _row(
        BITS_PER_CHARACTER,
        "Bits per character of held-out text (the tokenizers differ)",
        (figures[0], figures[1]),
        _percent(value),
        Interval(_percent(interval.low), _percent(interval.high), interval.method, interval.reason),
        n=len(before),
        margin=margin,
    )


def not_measured(measure: str, title: str, reason: str, *, margin: float, unit: str) -> QualityRow:
    """A measure of quality that could not be taken, and why."""
    return QualityRow(
        measure=measure,
        title=title,
        before=math.nan,
        after=math.nan,
        difference=Estimate.undefined(reason),
        unit=unit,
        margin=margin,
        verdict=QualityVerdict.NOT_MEASURED,
        reason=reason,
    )


def prepared(model: LanguageModel, sentences: tuple[str, ...], *, seed: int) -> HeldOut:
    """Held-out sentences as questions to a model."""
    return HeldOut(sentences, model, seed=seed)


def _percent(ratio: float) -> float:
    return 100 * (ratio - 1)


def _row(
    measure: str,
    title: str,
    figures: tuple[float, float],
    value: float,
    interval: Interval,
    *,
    n: int,
    margin: float,
) -> QualityRow:
    return QualityRow(
        measure=measure,
        title=title,
        before=figures[0],
        after=figures[1],
        difference=interval.around(value, n=n, clusters=n),
        unit=PERCENT,
        margin=margin,
        verdict=QualityVerdict(judge_margin(interval, worst=margin).value),
    )
