"""Rows of quality over held-out text, from how surprised both models are by each of its texts.

Perplexity is over texts in which both models are asked the same tokens at the same places. Where these are too few,
bits per character stand in its place for models that say how likely a whole text is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from evenhand.certificate.quality_figures import (
    BITS,
    bits_per_character_row,
    no_perplexity,
    no_special_tokens,
    perplexity_row,
    special_tokens_row,
)
from evenhand.stats.resampling import Resampling
from evenhand.store.certificate_inputs import TextLosses, UncomparedText
from evenhand.store.certificate_quality import MOST_LEFT_OUT, QualityRow
from evenhand.store.held_out_losses import HeldOutLoss
from evenhand.store.mitigation_records import PERPLEXITY, PERPLEXITY_IN_PASSAGES

_IN_PASSAGES = {
    PERPLEXITY: (PERPLEXITY_IN_PASSAGES, "Perplexity in passages of held-out text"),
    BITS: (f"{BITS} in passages", "Bits per character of passages (the tokenizers differ)"),
}

FEWEST_TEXTS = 20
"""Texts without which nothing is compared where others were left out: as few as ``--held-out`` takes at all."""

NO_TEXT = "no held-out text was given (--held-out)"


@dataclass(frozen=True, slots=True)
class _Comparison:
    """The texts that two models are compared on."""

    chosen: npt.NDArray[np.bool_]
    asked: int
    """How many texts there are, those without any token left aside."""
    by_character: bool = False
    """Whether the models may read them as other tokens."""
    problem: str | None = None
    """Why they cannot be compared on any."""

    @property
    def count(self) -> int:
        """How many are compared."""
        return int(np.count_nonzero(self.chosen))

    @property
    def is_nearly_all(self) -> bool:
        """Whether so few are left out that quality over the others stands for all."""
        left_out = self.asked - self.count
        return left_out == 0 or (self.is_enough and left_out <= MOST_LEFT_OUT * self.asked)

    @property
    def is_enough(self) -> bool:
        """Whether they can show a loss."""
        return self.count >= FEWEST_TEXTS

    @property
    def reason(self) -> str:
        """Why the others are left out."""
        why = (
            "the tokenizers differ, and a model does not say how likely the whole of them is"
            if self.by_character
            else "the models read them as different tokens"
        )
        return f"{self.asked - self.count:,} of {self.asked:,} texts are left out: {why}"

    def marked(self, row: QualityRow) -> QualityRow:
        """A row with the number of texts that it is not over, and why."""
        left_out = self.asked if self.problem else self.asked - self.count
        if not left_out:
            return row
        return row.model_copy(update={"left_out": left_out, "reason": self.problem or self.reason})


def held_out_text_rows(
    text: TextLosses | UncomparedText | None, *, perplexity: float, special: float, resampling: Resampling
) -> tuple[QualityRow, ...]:
    """Perplexity on held-out text, or what stands in its place, and the share of unused and special tokens.

    Args:
        text: What both models make of it.
        perplexity: The margin of perplexity, in percent.
        special: The margin of the share, in points.
        resampling: Resamples, seed and confidence level.
    """
    if text is None:
        return (no_perplexity(NO_TEXT, margin=perplexity),)
    comparison = _comparison(text)
    return (
        _text_row(text, comparison, margin=perplexity, resampling=resampling),
        _special_tokens_row(text, comparison, margin=special, resampling=resampling),
    )


def passages_text_rows(
    text: TextLosses | UncomparedText | None, *, margin: float, resampling: Resampling
) -> tuple[QualityRow, ...]:
    """Perplexity in passages, or what stands in its place; none where there are no passages."""
    if text is None:
        return ()
    row = _text_row(text, _comparison(text), margin=margin, resampling=resampling)
    measure, title = _IN_PASSAGES[row.measure]
    return (row.model_copy(update={"measure": measure, "title": title}),)


def _comparison(text: TextLosses | UncomparedText) -> _Comparison:
    """Texts that are read alike, or whole texts: the first that are nearly all, else the first that are enough."""
    if isinstance(text, UncomparedText):
        return _Comparison(np.zeros(0, dtype=np.bool_), text.texts, problem=text.reason)
    first, second = text.before.figures, text.after.figures
    asked = (first.loss.tokens > 0) | (second.loss.tokens > 0)
    alike = asked & np.array(text.alike, dtype=np.bool_) & (first.loss.tokens == second.loss.tokens)
    count = int(np.count_nonzero(asked))
    ways = (
        _Comparison(alike, count),
        _Comparison(asked & first.whole & second.whole, count, by_character=True),
    )
    nearly_all = (way for way in ways if way.is_nearly_all)
    enough = (way for way in ways if way.is_enough)
    way = next(nearly_all, None) or next(enough, None)
    if way is None:
        return replace(ways[0], problem=ways[0].reason)
    if not np.isfinite([side.loss.nats[way.chosen] for side in (first, second)]).all():
        return replace(way, problem="a model gives some of the texts no probability above 0")
    return way


def _text_row(
    text: TextLosses | UncomparedText, comparison: _Comparison, *, margin: float, resampling: Resampling
) -> QualityRow:
    if comparison.problem or isinstance(text, UncomparedText):
        return comparison.marked(no_perplexity(comparison.problem or comparison.reason, margin=margin))
    chosen = comparison.chosen
    first, second = (
        HeldOutLoss(loss.nats[chosen], loss.tokens[chosen])
        for loss in (text.before.figures.loss, text.after.figures.loss)
    )
    documents = np.array(text.documents)[chosen]
    if not comparison.by_character:
        row = perplexity_row(first, second, margin=margin, resampling=resampling, documents=documents)
    else:
        characters = np.array(text.characters, dtype=np.float64)[chosen]
        row = bits_per_character_row(
            first.nats, second.nats, characters, margin=margin, resampling=resampling, documents=documents
        )
    return comparison.marked(row)


def _special_tokens_row(
    text: TextLosses | UncomparedText, comparison: _Comparison, *, margin: float, resampling: Resampling
) -> QualityRow:
    if comparison.problem or isinstance(text, UncomparedText):
        return no_special_tokens(comparison.problem or comparison.reason, margin=margin)
    if comparison.by_character:
        return no_special_tokens(
            "the tokenizers differ, and bits per character count what goes to such tokens as lost",
            margin=margin,
        )
    chosen = comparison.chosen
    return special_tokens_row(
        text.before.figures.special[chosen],
        text.after.figures.special[chosen],
        text.before.figures.loss.tokens[chosen].astype(np.float64),
        np.array(text.documents)[chosen],
        margin=margin,
        resampling=resampling,
    )
