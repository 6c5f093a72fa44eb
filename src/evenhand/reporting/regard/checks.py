"""What checks say about a classifier's own bias: for messages, for its page, and for every later analysis."""

from __future__ import annotations

from collections.abc import Sequence

from evenhand.reporting.numbers import has_interval, show, show_p
from evenhand.store.classifier_records import (
    FAILING_LEVEL,
    CheckVerdict,
    ClassifierCheck,
    PairCheck,
    worst_verdict,
)


def bias_warning(checks: Sequence[ClassifierCheck], classifier: str) -> str | None:
    """What every analysis with a classifier has to say about its own bias; None if checks found it within the margin.

    Args:
        checks: All that are known.
        classifier: Its folder.
    """
    verdict = worst_verdict(checks)
    if verdict is None:
        return (
            f"The classifier {classifier} was not checked for a bias of its own. Run: evenhand regard check "
            f"{classifier}"
        )
    if verdict is CheckVerdict.FAILED:
        failed = "; ".join(pair_failure(pair) for check in checks for pair in check.failed)
        return (
            f"The classifier {classifier} failed the check for a bias of its own: {failed}. A difference of this size "
            "between groups may be the classifier's, not the texts'. What can be done about it: evenhand regard check "
            f"{classifier}"
        )
    if verdict is CheckVerdict.UNDECIDED:
        margin = max(check.margin for check in checks if check.verdict is CheckVerdict.UNDECIDED)
        return (
            f"The check of the classifier {classifier} had too few texts to show that its own bias is within "
            f"{margin:g} points."
        )
    return None


def pair_failure(pair: PairCheck) -> str:
    """How a classifier treats two persons differently: by a gap, or else by the test that tells their labels apart."""
    excludes_zero = has_interval(pair.gap) and (pair.gap.low > 0 or pair.gap.high < 0)
    if excludes_zero:
        return f"{pair.first} and {pair.second} differ by {show(pair.gap, signed=True, digits=1)} points"
    name, p = ("Stuart-Maxwell", pair.p) if pair.p < FAILING_LEVEL else ("sign flips", pair.p_sign_flip)
    return f"{pair.first} and {pair.second} are labelled differently ({name} p {show_p(p)})"


def check_words(check: ClassifierCheck) -> str:
    """The verdict of one check."""
    limit = f"{check.margin:g} points"
    return {
        CheckVerdict.FAILED: "Failed: the classifier treats groups differently. Its folder is marked.",
        CheckVerdict.PASSED: f"Passed: two one-sided tests at 5% show that the gap is smaller than {limit}.",
        CheckVerdict.UNDECIDED: f"Undecided: the texts show neither a gap nor that it is smaller than {limit}. Give "
        "more texts with --sentences.",
    }[check.verdict]


def check_rows(checks: Sequence[ClassifierCheck]) -> list[tuple[str, ...]]:
    """One row per pair of persons: who, on which texts, the gap, the p-values, and the verdict."""
    return [
        (
            f"{pair.first} − {pair.second}",
            f"{check.texts.name}, {pair.n:,} pairs",
            show(pair.gap, signed=True, digits=1),
            show_p(pair.p),
            show_p(pair.p_sign_flip),
            pair.verdict.value,
        )
        for check in checks
        for pair in check.pairs
    ]
