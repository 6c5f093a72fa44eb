"""What figures of regard say, in sentences: for the page and for the terminal."""

from __future__ import annotations

import math

from evenhand.core.counts import plural
from evenhand.instruments.regard.results import ContextRegard, ErrorTreatment, GroupGap, RegardResult
from evenhand.reporting.numbers import has_interval, interval_words, show_p, signed, unsigned
from evenhand.reporting.words import SIGNIFICANT, Interpretation, Lean, confidence_level, listed
from evenhand.runs.classifier_records import CheckVerdict
from evenhand.runs.run import Run

TREATMENT_WORDS = {
    ErrorTreatment.NONE: "Labels are taken as they are; a classifier's mistakes are not in the intervals.",
    ErrorTreatment.PREDICTION_POWERED: "The classifier's mean error on texts that people labelled is taken off, and is "
    "in the intervals.",
    ErrorTreatment.CONFUSION_MATRIX: "The classifier's confusions on texts that people labelled are undone, and are in "
    "the intervals. That is right if it confuses labels equally often in all groups.",
}
"""What was done about a classifier's errors."""

CHECK_WORDS = {
    CheckVerdict.FAILED: "The classifier that labelled these texts failed the check for a bias of its own.",
    CheckVerdict.UNDECIDED: "The classifier that labelled these texts is not shown to be free of a bias of its own.",
    None: "The classifier that labelled these texts was not checked for a bias of its own.",
}
"""What is known of the classifier, unless it passed its check."""


def is_gap_shown(gap: GroupGap) -> bool:
    """Whether a gap is more than contexts vary: by sign flips after Holm, and by its interval."""
    excludes_zero = has_interval(gap.gap) and (gap.gap.low > 0 or gap.gap.high < 0)
    return gap.p_holm < SIGNIFICANT or (math.isnan(gap.p_holm) and excludes_zero)


def gap_sentence(gap: GroupGap, *, level: str) -> str:
    """A gap in numbers and what may be said about it; no difference is said only where it is shown."""
    if not gap.gap.defined:
        return f"The gap between {gap.first} and {gap.second} is undefined: {gap.gap.reason}."
    interval = interval_words(gap.gap, digits=1, level=level)
    size = f"{signed(gap.gap.value, 1)} points" + (f" ({interval})" if interval else "")
    return f"The gap, {gap.first} minus {gap.second}, is {size}. {gap_verdict(gap)}"


def gap_verdict(gap: GroupGap) -> str:
    """What may be said about a gap."""
    p_value = "" if math.isnan(gap.p_holm) else f" (p {show_p(gap.p_holm)} after Holm)"
    if is_gap_shown(gap):
        better, worse = (gap.first, gap.second) if gap.gap.value > 0 else (gap.second, gap.first)
        return f"Texts speak better of {better} than of {worse}, by more than contexts vary{p_value}."
    if gap.equivalence.holds:
        return (
            f"No difference of {gap.equivalence.margin:g} points or more: two one-sided tests show that the gap is "
            "smaller."
        )
    return f"Neither a gap nor its absence is shown{p_value}."


def interpret_regard(run: Run) -> tuple[Interpretation, ...]:
    """What a run says about all contexts together."""
    result: RegardResult = run.result
    level = confidence_level(run)
    figures = result.all.figures
    shown = [gap for gap in figures.gaps if is_gap_shown(gap)]
    sentences = (
        _groups_sentence(result),
        *(gap_sentence(gap, level=level) for gap in (shown or figures.gaps)[:3]),
        TREATMENT_WORDS[figures.treatment],
        *_doubts(result),
        published_sentence(result.all),
    )
    if shown:
        return (Interpretation(Lean.TOWARDS, "A gap between groups is shown", sentences),)
    if all(gap.equivalence.holds for gap in figures.gaps):
        margin = f"{figures.gaps[0].equivalence.margin:g}"
        return (Interpretation(Lean.OPEN, f"No gap of {margin} points or more", sentences),)
    if not any(has_interval(gap.gap) for gap in figures.gaps):
        return (Interpretation(Lean.UNKNOWN, "Not enough data to say", sentences),)
    return (Interpretation(Lean.OPEN, "Neither a gap nor its absence is shown", sentences),)


def published_sentence(regard: ContextRegard) -> str:
    """The test that is usually published, and why it is not the headline."""
    if math.isnan(regard.chi_squared):
        return "All labels are the same, so there is nothing to test."
    test = f"{regard.chi_squared:.2f} (p {show_p(regard.p)})"
    start = f"Pearson's chi-squared is {test}, Cramér's V {regard.cramers_v:.3f}"
    if regard.contexts == 1:
        return f"{start}."
    return (
        f"{start}. It takes texts of one context for independent. Exchanging groups within the "
        f"{plural(regard.contexts, 'context')} gives p {show_p(regard.p_clustered)}."
    )


def _groups_sentence(result: RegardResult) -> str:
    groups = [
        f"{unsigned(own.net_regard.value, 1)} for {group}"
        if own.net_regard.defined
        else f"undefined for {group}"
        for group, own in result.all.figures.groups.items()
    ]
    return f"Net regard, the share of positive texts minus that of negative ones, is {listed(groups)}."


def _doubts(result: RegardResult) -> tuple[str, ...]:
    classifier = result.classifier
    if classifier is None or classifier.verdict is CheckVerdict.PASSED:
        return ()
    return (CHECK_WORDS[classifier.verdict],)
