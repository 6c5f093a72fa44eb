"""Quality in a certificate: one row per measure of quality, judged against its margin."""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import StrEnum

from pydantic import computed_field

from evenhand.core.estimates import Estimate, Number
from evenhand.core.frozen import FrozenModel
from evenhand.stats.intervals import Interval
from evenhand.stats.significance import judge_margin

PERCENT = "%"
POINTS = "points"

SPECIAL_TOKENS = "special tokens"
"""The measure of how much probability goes to tokens that no text has."""


MOST_LEFT_OUT = 0.1
"""Share of what both models should be asked. A changed tokenizer chooses what is left out, so most of it must be
compared."""


class QualityVerdict(StrEnum):
    """What became of the rest."""

    KEPT = "kept"
    LOST = "lost"
    UNDECIDED = "undecided"
    NOT_MEASURED = "not measured"


class SeedRow(FrozenModel):
    """Accuracy of two classifiers that were fine-tuned alike from both models."""

    seed: int
    before: Number
    after: Number


class QualityRow(FrozenModel):
    """One measure of quality, before and after, against its margin."""

    measure: str
    title: str
    before: Number
    after: Number
    difference: Estimate
    """After minus before, paired; for perplexity and bits per character in percent of before."""
    unit: str
    """Of the difference and the margin."""
    margin: float
    """The worst difference that is tolerated: negative for what should not fall, positive for what should not rise."""
    verdict: QualityVerdict
    reason: str | None = None
    """Why it was not measured, or why texts were left out."""
    left_out: int = 0
    """Texts, sentences, items or examples that the two models should have been compared on, and were not."""
    effective_clusters: Number | None = None
    """Over text, as many documents of one length as would tell as much."""
    p_value: Number | None = None
    """Of the paired t-test over seeds."""
    seeds: tuple[SeedRow, ...] = ()

    @classmethod
    def judged(
        cls,
        measure: str,
        title: str,
        figures: tuple[float, float],
        difference: Estimate,
        *,
        unit: str,
        margin: float,
        effective_clusters: float | None = None,
    ) -> QualityRow:
        """Figures of both models, and whether their difference is within the margin; why not, if it is undefined."""
        if not difference.defined:
            reason = difference.reason or "it is undefined"
            return cls.not_measured(measure, title, reason, unit=unit, margin=margin)
        return cls(
            measure=measure,
            title=title,
            before=figures[0],
            after=figures[1],
            difference=difference,
            unit=unit,
            margin=margin,
            verdict=judged_quality(difference, margin),
            effective_clusters=effective_clusters,
        )

    @classmethod
    def not_measured(
        cls, measure: str, title: str, reason: str, *, unit: str, margin: float, left_out: int = 0
    ) -> QualityRow:
        """A row that says why there is nothing to judge.

        Args:
            measure: Its name.
            title: In words.
            reason: Why it was not measured.
            unit: Of the difference and the margin.
            margin: The worst difference that is tolerated.
            left_out: How much there was to compare the models on; above 0 it leaves the verdict on quality undecided.
        """
        return cls(
            measure=measure,
            title=title,
            before=math.nan,
            after=math.nan,
            difference=Estimate.undefined(reason),
            unit=unit,
            margin=margin,
            verdict=QualityVerdict.NOT_MEASURED,
            reason=reason,
            left_out=left_out,
        )

    @property
    def is_incomplete(self) -> bool:
        """Whether so much was left out that what became of it is open."""
        return self.left_out > MOST_LEFT_OUT * (self.left_out + self.difference.n)

    @computed_field  # type: ignore[prop-decorator]
    @property
    def moved(self) -> bool:
        """Whether it clearly changed by more than the size of its margin, for better or for worse."""
        is_clear = self.difference.low > 0 or self.difference.high < 0
        return is_clear and abs(self.difference.value) > abs(self.margin)


def judged_quality(difference: Estimate, margin: float) -> QualityVerdict:
    """Whether a difference of quality is within its margin."""
    interval = Interval(difference.low, difference.high, difference.method)
    return QualityVerdict(judge_margin(interval, worst=margin).value)


def quality_verdict(rows: Sequence[QualityRow]) -> QualityVerdict:
    """Lost if any part is lost, kept if every part that was measured is kept and none is incomplete, else undecided."""
    verdicts = {row.verdict for row in rows} - {QualityVerdict.NOT_MEASURED}
    if QualityVerdict.LOST in verdicts:
        return QualityVerdict.LOST
    if any(row.is_incomplete for row in rows):
        return QualityVerdict.UNDECIDED
    if not verdicts:
        return QualityVerdict.NOT_MEASURED
    return QualityVerdict.KEPT if verdicts == {QualityVerdict.KEPT} else QualityVerdict.UNDECIDED
