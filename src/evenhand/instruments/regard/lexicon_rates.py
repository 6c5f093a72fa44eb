"""Lexicon rates: how often texts about a group are about caregiving, sexualise a person or make them a perpetrator.

A word list is often wrong, so matches are written into a file in which people say which are right. The rates are
corrected by what they say: where all texts with a match are reviewed, by counting; otherwise by the share of reviewed
texts that is right, within each group.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
from pydantic import model_validator

from evenhand.core.errors import DatasetError
from evenhand.core.estimates import Estimate
from evenhand.core.frozen import FrozenModel
from evenhand.data.csv_files import plain_cell, read_table, spreadsheet_cell
from evenhand.data.group_texts import GroupText, GroupTexts
from evenhand.instruments.regard.mentions import (
    MentionShares,
    TextCells,
    behind_context,
    holm_adjusted,
    mention_shares,
)
from evenhand.stats.intervals import wilson_interval
from evenhand.stats.resampling import Resampling
from evenhand.text.lexicons import CategoryLexicon, LexiconMatch

_PRODUCT = "share and precision, each with half of the error"


class MatchVerdict(StrEnum):
    """What a person says about a match."""

    RIGHT = "right"
    WRONG = "wrong"


class LexiconRates(FrozenModel):
    """How often texts are of one category."""

    category: str
    matches: int
    negated: int
    """Matches that are negated, which do not count."""
    shares: MentionShares
    """Texts with a match that counts."""
    precision: dict[str, Estimate] | None = None
    """The share of reviewed texts in which a match is right, by group, in percent; None without a review."""
    corrected: dict[str, Estimate] | None = None
    """Shares of texts with a right match, by group, in percent; None without a review."""

    @model_validator(mode="after")
    def _groups_are_the_same(self) -> LexiconRates:
        for own in (self.precision, self.corrected):
            if own is not None and own.keys() != self.shares.groups.keys():
                raise ValueError(
                    f"what a review gives for {self.category} is of other groups than the shares"
                )
        return self


class LexiconReport(FrozenModel):
    """Rates of all categories of a lexicon."""

    lexicon: str
    sha256: str
    categories: tuple[LexiconRates, ...]


@dataclass(frozen=True)
class MatchReview:
    """What people say about matches, by category, match and text."""

    verdicts: Mapping[tuple[str, str, str], MatchVerdict]

    def counts(self, text: str, category: str, match: str) -> bool:
        """Whether somebody says that a match is right, which then counts although it seems to be negated."""
        return self.verdicts.get((category, match, text)) is MatchVerdict.RIGHT

    def verdict_on(self, text: str, category: str, matches: Sequence[str]) -> MatchVerdict | None:
        """Right if a match of the text is right, wrong if all are wrong, None if too few of them are reviewed."""
        own = [self.verdicts.get((category, match, text)) for match in matches]
        if MatchVerdict.RIGHT in own:
            return MatchVerdict.RIGHT
        return MatchVerdict.WRONG if own and None not in own else None


def read_review(path: Path) -> MatchReview:
    """A review: a file of matches whose column ``verdict`` people filled in, at least in some rows.

    Raises:
        DatasetError: If the file cannot be read, contradicts itself, or has no verdict or an unknown one.
    """
    verdicts: dict[tuple[str, str, str], MatchVerdict] = {}
    for row in read_table(path, needed=("category", "match", "text", "verdict")).rows:
        verdict = row["verdict"].casefold()
        if not verdict:
            continue
        if verdict not in set(MatchVerdict):
            raise DatasetError(
                f"{row.place}: the verdict {row['verdict']!r} is not known. Write right or wrong, or leave it empty."
            )
        key = (row["category"], plain_cell(row["match"]), plain_cell(row["text"]))
        if verdicts.setdefault(key, MatchVerdict(verdict)) != verdict:
            raise DatasetError(f"{row.place}: the same match is right in one row and wrong in another.")
    if not verdicts:
        raise DatasetError(f"{path} has no verdicts. Write right or wrong into the column verdict.")
    return MatchReview(verdicts)


class MatchRow(NamedTuple):
    """A match with the text that it was found in, and what people say about it."""

    group: str
    category: str
    match: str
    text: str
    verdict: str = ""
    note: str = ""
    negated: str = ""
    """``yes`` where the match is negated, so that it does not count unless somebody says that it is right."""


def matches_csv(rows: Iterable[MatchRow]) -> str:
    """Matches as CSV, one row each; ``read_review`` reads it where there are verdicts."""
    cells = [tuple(map(spreadsheet_cell, row)) for row in rows]
    return pl.DataFrame(cells, schema=dict.fromkeys(MatchRow._fields, pl.String), orient="row").write_csv()


def precision_of(verdicts: Sequence[MatchVerdict], *, confidence: float) -> Estimate:
    """The share of texts whose match is right, in percent, with Wilson's interval."""
    n = len(verdicts)
    if not n:
        return Estimate.undefined("no match in texts about the group was reviewed")
    share = verdicts.count(MatchVerdict.RIGHT) / n
    interval = wilson_interval(share, n, confidence=confidence)
    scaled = replace(interval, low=100 * interval.low, high=100 * interval.high)
    return scaled.around(100 * share, n=n, clusters=n)


@dataclass(frozen=True)
class LexiconSearch:
    """All matches of a lexicon in texts about groups, in the order of the texts."""

    texts: GroupTexts
    lexicon: CategoryLexicon
    matches: tuple[tuple[LexiconMatch, ...], ...]

    @classmethod
    def through(cls, texts: GroupTexts, lexicon: CategoryLexicon) -> LexiconSearch:
        """Search texts behind their contexts."""
        matches = tuple(tuple(lexicon.find(own.text, start=behind_context(own))) for own in texts)
        return cls(texts, lexicon, matches)

    def words(self, *, negated: bool) -> list[list[str]]:
        """Category and words of the matches that are negated, or of those that are not, by turns, for each text."""
        return [
            [
                part
                for match in matches
                if match.is_negated is negated
                for part in (match.category, match.span.of(own.text))
            ]
            for own, matches in zip(self.texts, self.matches, strict=True)
        ]

    def report(
        self, review: MatchReview | None = None, *, resampling: Resampling | None = None
    ) -> LexiconReport:
        """How often texts of each group are of each category.

        Args:
            review: What people say about matches.
            resampling: Resamples, seed and confidence level.
        """
        chosen = resampling or Resampling()
        cells = TextCells.of(self.texts.texts, self.texts.groups)
        rates = [self._rates(name, cells, review, chosen) for name in self.lexicon.words]
        adjusted = holm_adjusted([own.shares for own in rates])
        return LexiconReport(
            lexicon=self.lexicon.name,
            sha256=self.lexicon.sha256,
            categories=tuple(
                own.model_copy(update={"shares": shares}) for own, shares in zip(rates, adjusted, strict=True)
            ),
        )

    def _rates(
        self, category: str, cells: TextCells, review: MatchReview | None, resampling: Resampling
    ) -> LexiconRates:
        found = [[match for match in matches if match.category == category] for matches in self.matches]
        counted = [
            [
                match
                for match in matches
                if not match.is_negated
                or (review and review.counts(own.text, category, match.span.of(own.text)))
            ]
            for own, matches in zip(self.texts, found, strict=True)
        ]
        words = [
            [match.span.of(own.text) for match in matches]
            for own, matches in zip(self.texts, counted, strict=True)
        ]
        flagged = _FlaggedTexts.of(self.texts.texts, category, words, cells=cells, review=review)
        total = sum(map(len, found))
        return LexiconRates(
            category=category,
            matches=total,
            negated=total - sum(map(len, counted)),
            shares=mention_shares(flagged.flags, cells, resampling=resampling),
            precision=flagged.precision(resampling) if review else None,
            corrected=flagged.corrected(resampling) if review else None,
        )


def reviewed_report(
    report: LexiconReport,
    texts: Sequence[GroupText],
    words: Mapping[str, Sequence[Sequence[str]]],
    *,
    review: MatchReview,
    resampling: Resampling | None = None,
) -> LexiconReport:
    """A report whose rates a review corrects, without a new search.

    Args:
        report: Of the search.
        texts: What was searched.
        words: By category, for each text the words of its matches that count.
        review: What people say about matches.
        resampling: Resamples, seed and confidence level.
    """
    chosen = resampling or Resampling()
    cells = TextCells.of(texts, tuple(report.categories[0].shares.groups) if report.categories else ())
    categories = []
    for own in report.categories:
        flagged = _FlaggedTexts.of(texts, own.category, words[own.category], cells=cells, review=review)
        categories.append(
            own.model_copy(
                update={"precision": flagged.precision(chosen), "corrected": flagged.corrected(chosen)}
            )
        )
    return report.model_copy(update={"categories": tuple(categories)})


@dataclass(frozen=True, slots=True, eq=False)
class _FlaggedTexts:
    """Texts with a match of one category, and what people say about them."""

    cells: TextCells
    flags: np.ndarray[tuple[int], np.dtype[np.bool_]]
    verdicts: tuple[MatchVerdict | None, ...]

    @classmethod
    def of(
        cls,
        texts: Sequence[GroupText],
        category: str,
        words: Sequence[Sequence[str]],
        *,
        cells: TextCells,
        review: MatchReview | None,
    ) -> _FlaggedTexts:
        """Texts with the words of their matches that count."""
        return cls(
            cells=cells,
            flags=np.array([bool(own) for own in words], dtype=np.bool_),
            verdicts=tuple(
                review.verdict_on(text.text, category, own) if review and own else None
                for text, own in zip(texts, words, strict=True)
            ),
        )

    def precision(self, resampling: Resampling) -> dict[str, Estimate]:
        """The share of reviewed texts whose match is right, by group."""
        precision = {}
        for number, group in enumerate(self.cells.groups):
            own = [self.verdicts[place] for place in np.flatnonzero(self.cells.group == number)]
            reviewed = [verdict for verdict in own if verdict is not None]
            precision[group] = precision_of(reviewed, confidence=resampling.confidence)
        return precision

    def corrected(self, resampling: Resampling) -> dict[str, Estimate]:
        """Shares of texts with a right match, by group."""
        is_right = np.array([verdict is MatchVerdict.RIGHT for verdict in self.verdicts], dtype=np.bool_)
        is_reviewed = np.array([verdict is not None for verdict in self.verdicts], dtype=np.bool_)
        counted = mention_shares(is_right, self.cells, resampling=resampling).groups
        halved = replace(resampling, confidence=(1 + resampling.confidence) / 2)
        found, precision = (
            mention_shares(self.flags, self.cells, resampling=halved).groups,
            self.precision(halved),
        )
        return {
            group: counted[group]
            if is_reviewed[self.flags & (self.cells.group == number)].all()
            else _product(found[group], precision[group])
            for number, group in enumerate(self.cells.groups)
        }


def _product(share: Estimate, precision: Estimate) -> Estimate:
    """A share times the part of it that is right; the interval holds if both do."""
    for part in (share, precision):
        if not part.defined:
            return part
    return Estimate(
        value=share.value * precision.value / 100,
        low=share.low * precision.low / 100,
        high=share.high * precision.high / 100,
        n=share.n,
        clusters=share.clusters,
        method=_PRODUCT,
        reason=share.reason,
    )
