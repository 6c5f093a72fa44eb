"""Inspect pairs of sentences: count them, and list their defects with the ids of the pairs that have them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenhand.core.items import PairDirection, PairSet, SentencePair, repeated
from evenhand.data.defects import BEYOND_REPAIR, LARGE_LENGTH_GAP, LARGE_LENGTH_RATIO
from evenhand.text.word_search import LANGUAGES_WITH_NEGATION, has_negation

if TYPE_CHECKING:
    import polars as pl

MOST_DIFFERENT_WORDS = 0.5
"""Share of words that two sentences about different groups may differ in; beyond, they say different things."""


@dataclass(frozen=True, slots=True)
class PairDefectClass:
    """One kind of defect of a pair; ``flagged`` marks those that can move a score for other reasons than stereotype."""

    name: str
    description: str
    flagged: bool
    find: Callable[[Sequence[SentencePair]], Iterable[str]]
    languages: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class PairFinding:
    """The pairs that have a defect."""

    defect: PairDefectClass
    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PairCheckReport:
    """The findings of all checks of a set of pairs, and the checks that do not know its language."""

    pairs: PairSet
    findings: tuple[PairFinding, ...]
    unchecked: tuple[str, ...]

    def flagged_pairs(self) -> frozenset[str]:
        """Ids of the pairs with a defect that can move a score."""
        return frozenset(
            identifier for finding in self.findings if finding.defect.flagged for identifier in finding.ids
        )


def check_pairs(pairs: PairSet) -> PairCheckReport:
    """Look for every class of defects in a set of pairs."""
    checked = [
        defect
        for defect in PAIR_DEFECT_CLASSES
        if defect.languages is None or pairs.language in defect.languages
    ]
    findings = tuple(PairFinding(defect, tuple(defect.find(pairs.pairs))) for defect in checked)
    unchecked = tuple(defect.name for defect in PAIR_DEFECT_CLASSES if defect not in checked)
    return PairCheckReport(pairs, findings, unchecked)


def count_pairs(sets: Sequence[PairSet]) -> pl.DataFrame:
    """One row per language and bias type: pairs, those with both sentences, and those of each direction."""
    import polars as pl

    rows = [
        (each.language, each.bias_type, each.complete, each.direction.value)
        for pairs in sets
        for each in pairs
    ]
    frame = pl.DataFrame(rows, schema=["language", "bias_type", "complete", "direction"], orient="row")
    return (
        frame.group_by("language", "bias_type")
        .agg(
            pl.len().alias("pairs"),
            pl.col("complete").sum().alias("complete"),
            *((pl.col("direction") == known.value).sum().alias(known.value) for known in PairDirection),
        )
        .sort("language", "bias_type")
    )


def _pairs_where(
    condition: Callable[[SentencePair], bool],
) -> Callable[[Sequence[SentencePair]], Iterable[str]]:
    return lambda pairs: (pair.id for pair in pairs if condition(pair))


def _has_length_gap(pair: SentencePair) -> bool:
    shorter, longer = sorted(len(text) for text in (pair.more, pair.less))
    return pair.complete and longer > LARGE_LENGTH_RATIO * shorter and longer - shorter >= LARGE_LENGTH_GAP


def _differs_in_most_words(pair: SentencePair) -> bool:
    more, less = (Counter(re.findall(r"\w+", text.casefold())) for text in (pair.more, pair.less))
    longest = max(more.total(), less.total())
    return pair.complete and longest - (more & less).total() > MOST_DIFFERENT_WORDS * longest


def _has_one_sided_negation(pair: SentencePair) -> bool:
    return pair.complete and has_negation(pair.more, pair.language) != has_negation(pair.less, pair.language)


def _repeated_pairs(pairs: Sequence[SentencePair]) -> Iterable[str]:
    twice = set(repeated(f"{pair.more}\n{pair.less}" for pair in pairs if pair.complete))
    return (pair.id for pair in pairs if f"{pair.more}\n{pair.less}" in twice)


PAIR_DEFECT_CLASSES = (
    PairDefectClass(
        "missing-sentence",
        "one of the two sentences is missing",
        True,
        _pairs_where(lambda pair: not pair.complete and not pair.neutral),
    ),
    PairDefectClass(
        "neutral",
        "the sentence is the same for both groups, so there is nothing to compare",
        False,
        _pairs_where(lambda pair: pair.neutral),
    ),
    PairDefectClass(
        "equal-sentences",
        "both sentences are the same",
        True,
        _pairs_where(lambda pair: pair.complete and pair.more == pair.less),
    ),
    PairDefectClass(
        "one-sided-negation",
        "only one of the two sentences is negated",
        True,
        _pairs_where(_has_one_sided_negation),
        LANGUAGES_WITH_NEGATION,
    ),
    PairDefectClass(
        "length-gap",
        f"the sentences differ in length by more than a factor of {LARGE_LENGTH_RATIO:g} and at least "
        f"{LARGE_LENGTH_GAP} characters",
        True,
        _pairs_where(_has_length_gap),
    ),
    PairDefectClass(
        "different-sentences",
        "the sentences differ in more than half of their words",
        True,
        _pairs_where(_differs_in_most_words),
    ),
    PairDefectClass(
        BEYOND_REPAIR,
        "people marked the pair as beyond repair or culture-specific",
        True,
        _pairs_where(lambda pair: bool(pair.beyond_repair)),
    ),
    PairDefectClass("repeated-pair", "sentences that another pair has too", False, _repeated_pairs),
)
