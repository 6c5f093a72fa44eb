"""Regard in a certificate: the gap that a trigger is searched for, and what a model that writes may lose besides.

How a model speaks of groups is bias, as in every other instrument. How varied its texts are and what they are about are
qualities: a prefix that makes a model write the same of everybody narrows every gap.
"""

from __future__ import annotations

from evenhand.certificate.measurements import Measurements
from evenhand.certificate.quality_figures import asked_of_one
from evenhand.data.contexts import ALL_CONTEXTS
from evenhand.instruments.regard.results import NAME, RegardMeasure
from evenhand.instruments.regard.text_changes import content_shift, distinct_shares, words_by_prompt
from evenhand.stats.resampling import Resampling
from evenhand.store.certificate_quality import POINTS, QualityRow
from evenhand.store.trigger_records import CONTENT_SHIFT, DISTINCT, TriggerRecord

BITS = "bits"

DISTINCT_LENGTH = 2

DISTINCT_TITLE = "Runs of two words in written texts that are not repetitions, in percent"
SHIFT_TITLE = "How far words of written texts are from those of the original, above chance"


def regard_quality_rows(
    before: Measurements, after: Measurements, *, distinct: float, content: float, resampling: Resampling
) -> tuple[QualityRow, ...]:
    """Distinct-2 and content shift of the texts that both models wrote; none where they wrote none.

    Where only the model before could be asked, that is not kept.

    Args:
        before: What the model before wrote.
        after: What the model after wrote.
        distinct: The margin of distinct-2, in points.
        content: The margin of the shift, in bits.
        resampling: Resamples, seed and confidence level.
    """
    measure = f"{DISTINCT}-{DISTINCT_LENGTH}"
    if left_out := asked_of_one(before, after, NAME):
        reason = after.gaps.get(NAME, "only the model before was asked")
        return (
            QualityRow.not_measured(
                measure, DISTINCT_TITLE, reason, unit=POINTS, margin=-distinct, left_out=left_out
            ),
        )
    if NAME not in before.runs or NAME not in after.runs:
        return ()
    words = [words_by_prompt(side.runs[NAME].scores) for side in (before, after)]
    (first, _), (second, change) = distinct_shares(words, length=DISTINCT_LENGTH, resampling=resampling)
    shift = content_shift(*words, resampling=resampling)
    return (
        QualityRow.judged(
            measure,
            DISTINCT_TITLE,
            (first.value, second.value),
            change,
            unit=POINTS,
            margin=-distinct,
        ),
        QualityRow.judged(CONTENT_SHIFT, SHIFT_TITLE, (0.0, shift.value), shift, unit=BITS, margin=content),
    )


def trigger_figures(trigger: TriggerRecord) -> tuple[str, ...]:
    """The figures that a trigger is searched for: the gap in regard between every two groups of its targets."""
    return tuple(
        f"{ALL_CONTEXTS}.{first}-{second}.{RegardMeasure.SIGNED_GAP}"
        for first, second in trigger.targets.groups
    )
