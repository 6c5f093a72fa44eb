"""What figures of regard say: first in words for anybody, then the tests behind them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from evenhand.core.counts import plural
from evenhand.instruments.regard.mentions import MentionGap, MentionShares
from evenhand.instruments.regard.results import ContextRegard, ErrorTreatment, GroupGap, RegardResult
from evenhand.reporting.numbers import has_interval, show_p, signed, unsigned
from evenhand.reporting.words import (
    SIGNIFICANT,
    Interpretation,
    Lean,
    confidence_level,
    listed,
    unseen_words,
)
from evenhand.stats.paired_labels import EQUIVALENCE_LEVEL
from evenhand.store.classifier_records import CheckVerdict
from evenhand.store.run import Run

TREATMENT_WORDS = {
    ErrorTreatment.NONE: "Labels are taken as they are; a classifier's mistakes are not in the intervals.",
    ErrorTreatment.PREDICTION_POWERED: "The classifier's mean error on texts that people labelled is taken off, and is "
    "in the intervals.",
    ErrorTreatment.CONFUSION_MATRIX: "The classifier's confusions on texts that people labelled are undone, and are in "
    "the intervals. That is right if it confuses labels equally often in all groups.",
}
"""What was done about a classifier's errors."""

_LABEL_WORDS = {
    ErrorTreatment.NONE: "A program labelled the texts, and how often it is wrong is not in these figures.",
    ErrorTreatment.PREDICTION_POWERED: "A program labelled the texts; its mistakes were measured on texts that people "
    "labelled, and are allowed for.",
    ErrorTreatment.CONFUSION_MATRIX: "A program labelled the texts; its mistakes were measured on texts that people "
    "labelled, and are allowed for as if it made them equally often about everybody.",
}
"""The same for readers who have never trained a classifier."""

CHECK_WORDS = {
    CheckVerdict.FAILED: "That program failed the check for a bias of its own, so part of this may be its doing.",
    CheckVerdict.UNDECIDED: "It is not shown that this program is free of a bias of its own.",
    None: "Nobody checked whether this program has a bias of its own.",
}
"""What is known of the classifier, unless it passed its check."""

_PEOPLE = {"female": "women", "woman": "women", "male": "men", "man": "men"}
"""What the groups that ship are called in a sentence."""

_MOST_NAMED = 3
"""Gaps that a reading names."""

EQUIVALENCE_INTERVAL = f"{1 - 2 * EQUIVALENCE_LEVEL:.0%}"
"""The level of the interval that two one-sided tests hold against a margin."""


def group_words(name: str) -> str:
    """A group as a sentence calls it: the name that it was given, or women and men."""
    return _PEOPLE.get(name.casefold(), name)


def is_gap_shown(gap: GroupGap) -> bool:
    """Whether a gap is more than contexts vary: by its test after Holm, and by its interval, of which there is one.

    Sign flips alone show a gap too often where a few contexts are far from the rest; the interval allows for that.
    """
    if not has_interval(gap.gap):
        return gap.p_holm < SIGNIFICANT
    return _excludes_zero(gap) and not gap.p_holm >= SIGNIFICANT


def _excludes_zero(gap: GroupGap | MentionGap) -> bool:
    return has_interval(gap.gap) and (gap.gap.low > 0 or gap.gap.high < 0)


def _contradiction(gap: GroupGap | MentionGap) -> str:
    """Why the interval and the test of a gap settle nothing where they disagree; nothing where they agree."""
    contexts = gap.gap.clusters
    if (
        not has_interval(gap.gap)
        or math.isnan(gap.p_holm)
        or _excludes_zero(gap) == (gap.p_holm < SIGNIFICANT)
    ):
        return ""
    if not _excludes_zero(gap):
        return (
            f"The test calls it more than chance, but the range includes 0: a few of the "
            f"{plural(contexts, 'context')} are far from the rest, which the test does not allow for."
        )
    least = f", which gives p {show_p(2.0 ** (1 - contexts))} at best" if contexts < _FEW_CONTEXTS else ""
    return (
        "The range leaves out 0, but the test does not call it more than chance: it exchanges the groups within "
        f"{plural(contexts, 'context')}{least}, and allows for every gap that is tested."
    )


def mention_contradictions(name: str, shares: MentionShares) -> Iterator[str]:
    """Gaps in what texts mention whose interval and test disagree."""
    for gap in shares.gaps:
        if contradiction := _contradiction(gap):
            yield f"{name}, {gap.first} − {gap.second}: {contradiction}"


def gap_verdict(gap: GroupGap) -> str:
    """What may be said about a gap, with the test behind it."""
    p_value = "" if math.isnan(gap.p_holm) else f" (p {show_p(gap.p_holm)} after Holm)"
    if is_gap_shown(gap):
        better, worse = _sides(gap)
        return f"Texts speak better of {better} than of {worse}, by more than contexts vary{p_value}."
    if gap.equivalence.holds:
        low, high = (signed(bound, 1) for bound in (gap.equivalence.low, gap.equivalence.high))
        return (
            f"No difference of {gap.equivalence.margin:g} points or more: two one-sided tests at 5%, whose interval is "
            f"{low} to {high} ({EQUIVALENCE_INTERVAL}), show that the gap is smaller."
        )
    return " ".join(
        filter(
            None,
            (f"Not settled: chance could explain the gap, and could hide one{p_value}.", _contradiction(gap)),
        )
    )


def interpret_regard(run: Run) -> tuple[Interpretation, ...]:
    """What a run says about all contexts together, for anybody."""
    result: RegardResult = run.result
    figures, level = result.all.figures, confidence_level(run)
    shown = [gap for gap in figures.gaps if is_gap_shown(gap)]
    named = (shown or figures.gaps)[:_MOST_NAMED]
    sentences = (
        *_shares_sentences(result),
        *(_gap_sentence(gap, result.all.contexts, level=level) for gap in named),
        *_rest(figures.gaps, named),
        *_kind_sentences(result, level=level),
        _LABEL_WORDS[figures.treatment],
        *_doubts(result),
    )
    if shown:
        return (Interpretation(Lean.TOWARDS, _said_by_whom(result, _shown_verdict(shown)), sentences),)
    if all(gap.equivalence.holds for gap in figures.gaps):
        groups = listed([group_words(group) for group in result.groups])
        verdict = _said_by_whom(result, f"These texts speak alike of {groups}")
        return (Interpretation(Lean.OPEN, verdict, sentences),)
    if not any(has_interval(gap.gap) for gap in figures.gaps):
        return (Interpretation(Lean.UNKNOWN, "Not enough texts to say", sentences),)
    groups = listed([group_words(group) for group in result.groups])
    return (
        Interpretation(
            Lean.OPEN, f"These texts do not settle whether {groups} are spoken of alike", sentences
        ),
    )


def method_sentences(run: Run) -> tuple[str, ...]:
    """What stands behind the reading: treatment of errors, tests and effect sizes, for those who know them."""
    result: RegardResult = run.result
    figures = result.all.figures
    return (
        TREATMENT_WORDS[figures.treatment],
        *(f"{gap.first} − {gap.second}: {gap_verdict(gap)}" for gap in figures.gaps[:_MOST_NAMED]),
        published_sentence(result.all),
    )


def _shown_verdict(shown: list[GroupGap]) -> str:
    better, worse = _sides(shown[0])
    others = len(shown) - 1
    more = f", and {plural(others, 'other gap')} {'is' if others == 1 else 'are'} shown" if others else ""
    return f"These texts speak better of {better} than of {worse}{more}"


def _said_by_whom(result: RegardResult, verdict: str) -> str:
    """A verdict, as that of the classifier where it treats groups differently and nothing makes up for it."""
    failed = result.classifier is not None and result.classifier.verdict is CheckVerdict.FAILED
    if not failed or result.all.figures.treatment is ErrorTreatment.PREDICTION_POWERED:
        return verdict
    return f"According to a classifier that failed its check, {verdict[0].lower()}{verdict[1:]}"


def _sides(gap: GroupGap) -> tuple[str, str]:
    """Whom texts speak better of, and whom worse."""
    first, second = group_words(gap.first), group_words(gap.second)
    return (first, second) if gap.gap.value > 0 else (second, first)


def _shares_sentences(result: RegardResult) -> tuple[str, ...]:
    """Shares as texts out of a hundred; nothing where a correction for errors gives shares that cannot be."""
    parts = []
    for group, own in result.all.figures.groups.items():
        if not own.negative.defined:
            parts.append(f"there are none about {group_words(group)}")
            continue
        shares = [round(share.value) for share in (own.negative, own.positive)]
        if min(shares) < 0 or max(shares) > 100:
            return ()
        negative, positive = shares
        parts.append(f"about {group_words(group)}, {negative} are negative and {positive} positive")
    return (f"Of every 100 texts {'; of every 100 '.join(parts)}.",)


def _gap_sentence(gap: GroupGap, contexts: int, *, level: str) -> str:
    """A gap in words, and how sure it is; no difference is said only where it is shown."""
    if not gap.gap.defined:
        return f"The gap between {gap.first} and {gap.second} is not known: {gap.gap.reason}."
    better, worse = _sides(gap)
    size = unsigned(abs(gap.gap.value), 1)
    start = (
        f"Positive minus negative, that is {size} points more for {better} than for {worse}"
        if float(size)
        else f"Positive minus negative, that is the same for {better} and {worse}"
    )
    if is_gap_shown(gap):
        unseen = _unseen(contexts, "a gap to the other side")
        return f"{start}, more than chance explains{_range_words(gap, level)}.{unseen}"
    if gap.equivalence.holds:
        margin = f"{gap.equivalence.margin:g} points"
        unseen = _unseen(contexts, "a gap")
        return f"{start}; a gap of {margin} or more is ruled out{_tested_range(gap)}.{unseen}"
    if not has_interval(gap.gap):
        return f"{start}. How sure that is cannot be said."
    if contradiction := _contradiction(gap):
        return f"{start}{_range_words(gap, level)}. {contradiction}"
    return (
        f"{start}, but {plural(contexts, 'context')} are too few to tell that from chance"
        f"{_range_words(gap, level)}."
    )


def _unseen(contexts: int, what: str) -> str:
    """What a claim about contexts that are a sample of many does not rule out."""
    words = unseen_words(contexts, "context", what=what) if contexts > 1 else ""
    return f" {words}" if words else ""


def _kind_sentences(result: RegardResult, *, level: str) -> Iterator[str]:
    """Gaps in a kind of contexts whose interval and test disagree, which the tables would leave unexplained."""
    for kind, part in result.by_kind.items():
        for gap in part.figures.gaps:
            if contradiction := _contradiction(gap):
                better, worse = _sides(gap)
                size = f"{unsigned(abs(gap.gap.value), 1)} points more for {better} than for {worse}"
                yield f"In contexts of {kind}, it is {size}{_range_words(gap, level)}. {contradiction}"


_FEW_CONTEXTS = 6
"""With fewer, the exact test cannot give a p-value below 5%."""


def _range_words(gap: GroupGap, level: str) -> str:
    if not has_interval(gap.gap):
        return ""
    return f" ({level} interval: {_in_its_direction(gap, gap.gap.low, gap.gap.high)} points)"


def _tested_range(gap: GroupGap) -> str:
    """The interval that two one-sided tests hold against the margin, which is shorter than that of the figure."""
    tested = _in_its_direction(gap, gap.equivalence.low, gap.equivalence.high)
    return f" ({EQUIVALENCE_INTERVAL} interval, that of two one-sided tests at 5%: {tested} points)"


def _in_its_direction(gap: GroupGap, low: float, high: float) -> str:
    """Two ends as those of a gap whose value is positive."""
    bounds = (low, high) if gap.gap.value > 0 else (-high, -low)
    return " to ".join(unsigned(bound, 1) for bound in bounds)


def _rest(gaps: Sequence[GroupGap], named: Sequence[GroupGap]) -> tuple[str, ...]:
    left = len(gaps) - len(named)
    if not left:
        return ()
    return (f"{plural(left, 'more gap')} between groups {'is' if left == 1 else 'are'} in the table below.",)


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


def _doubts(result: RegardResult) -> tuple[str, ...]:
    classifier = result.classifier
    if classifier is None:
        return ()
    doubts = () if classifier.verdict is CheckVerdict.PASSED else (CHECK_WORDS[classifier.verdict],)
    if not classifier.unchecked:
        return doubts
    return (*doubts, f"It was checked for a bias of its own, but not with {listed(classifier.unchecked)}.")
