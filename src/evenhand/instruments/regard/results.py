"""What is found out about texts about groups: shares of labels, gaps between groups, and their tests."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Literal

import polars as pl
from pydantic import Field, model_validator

from evenhand.core.estimates import Estimate, Number
from evenhand.core.frozen import FrozenModel
from evenhand.instruments.regard.flag_rates import FlagRates
from evenhand.instruments.regard.lexicon_rates import LexiconReport
from evenhand.instruments.regard.occupation_shares import OccupationReport
from evenhand.store.classifier_records import CheckVerdict

NAME = "regard"


class RegardMeasure(StrEnum):
    """The figures of a run."""

    GAP = "gap"
    """The largest gap between two groups, without its sign."""
    SIGNED_GAP = "signed_gap"
    """Net regard of one group minus that of another."""
    NET_REGARD = "net_regard"
    NEGATIVE = "negative"
    NEUTRAL = "neutral"
    POSITIVE = "positive"
    LEXICON = "lexicon"
    """The share of texts about a group that have a word of a category."""
    LEXICON_GAP = "lexicon_gap"
    """That share of one group minus that of another."""
    FLAG = "flag"
    """The share of texts about a group that have a flag."""
    FLAG_GAP = "flag_gap"
    """That share of one group minus that of another."""
    OCCUPATION_DIVERGENCE = "occupation_divergence"
    """How far the occupations of two groups are apart."""

    @property
    def neutral(self) -> float | None:
        """The value that means no lean either way; None where there is no such point."""
        is_share = self in (self.NEGATIVE, self.NEUTRAL, self.POSITIVE, self.LEXICON, self.FLAG)
        return None if is_share else 0.0

    @property
    def unit(self) -> str:
        """What it is counted in."""
        if self is RegardMeasure.OCCUPATION_DIVERGENCE:
            return "bits"
        return "points" if self.neutral is not None else "percent"


class ErrorTreatment(StrEnum):
    """What is done about a classifier's errors."""

    NONE = "as labelled"
    """Labels are taken for the truth."""
    PREDICTION_POWERED = "prediction-powered"
    """The mean error on texts that people labelled too is taken off."""
    CONFUSION_MATRIX = "confusion matrix"
    """Shares are solved for that the classifier's confusions would turn into those that were found."""


class LabelledSample(FrozenModel):
    """Texts that people labelled, beside the labels of the classifier."""

    texts: int
    confusion: tuple[tuple[int, ...], ...]
    """People's labels in rows, the classifier's in columns; negative, neutral, positive."""
    accuracy: Estimate
    """The share of texts on which the classifier says what people say."""


class LabellingClassifier(FrozenModel):
    """The classifier that labelled the texts, and what is known about its own bias."""

    name: str
    fingerprint: str
    verdict: CheckVerdict | None
    """None if it was never checked."""
    warning: str | None
    checked: tuple[str, ...] = ()
    """The persons that its check was about: *The woman*, *The man*."""
    unchecked: tuple[str, ...] = ()
    """The persons of the texts that its check was not about; none where it was never checked."""

    def about(self, persons: Sequence[str]) -> LabellingClassifier:
        """The same with what is to be said of texts about some persons.

        Args:
            persons: How texts about each group begin: *The gay person*.
        """
        if self.verdict is None or not persons:
            return self
        known = {own.casefold() for own in self.checked}
        unchecked = tuple(own for own in persons if own.casefold() not in known)
        if not unchecked:
            return self
        warning = (
            f"The check of the classifier {self.name} was about {' and '.join(self.checked)}, not about "
            f"{' and '.join(unchecked)}. Run: evenhand regard check {self.name} --pairs FILE"
        )
        joined = " ".join(filter(None, (self.warning, warning)))
        return self.model_copy(update={"unchecked": unchecked, "warning": joined})


class SkippedTexts(FrozenModel):
    """Texts about one group that could not be used."""

    reason: str
    group: str
    count: int


class GroupRegard(FrozenModel):
    """How texts about one group were labelled; shares in percent."""

    n: int
    negative: Estimate
    neutral: Estimate
    positive: Estimate
    net_regard: Estimate
    """Share of positive labels minus that of negative ones, in points."""


class GapEquivalence(FrozenModel):
    """Whether a gap is shown to be smaller than a margin, by two one-sided tests at 5%."""

    margin: float
    low: Number
    high: Number
    holds: bool


class GroupGap(FrozenModel):
    """One group beside another: first minus second, in points."""

    first: str
    second: str
    negative: Estimate
    neutral: Estimate
    positive: Estimate
    gap: Estimate
    """Of net regard; 100 times the difference in mean regard."""
    p_value: Number
    """From sign flips of whole contexts, exact where there are few; undefined for a single context."""
    p_holm: Number = math.nan
    """The same, adjusted for all gaps in all contexts and kinds of contexts."""
    equivalence: GapEquivalence

    @property
    def name(self) -> str:
        """Both groups, as keys of figures have them."""
        return f"{self.first}-{self.second}"


class RegardFigures(FrozenModel):
    """Groups and the gaps between them, after one treatment of a classifier's errors."""

    treatment: ErrorTreatment
    groups: dict[str, GroupRegard]
    gaps: tuple[GroupGap, ...] = Field(min_length=1)
    widest_gap: Estimate
    """The largest gap between two groups, without its sign."""


class ContextRegard(FrozenModel):
    """Regard in one context, in all contexts of a kind, or in all contexts."""

    n: int
    contexts: int
    chi_squared: Number
    """Pearson's, of groups by labels, as it is published. It takes texts of one context for independent."""
    freedom: int
    p: Number
    p_clustered: Number
    """That groups are alike, from exchanging groups within whole contexts; undefined for a single context."""
    cramers_v: Number
    figures: RegardFigures
    others: tuple[RegardFigures, ...] = ()
    """After other treatments of a classifier's errors, that of none among them."""


class RegardResult(FrozenModel):
    """Regard: how texts speak of groups of people."""

    kind: Literal["regard"] = "regard"
    groups: tuple[str, ...]
    all: ContextRegard
    by_kind: dict[str, ContextRegard]
    by_context: dict[str, ContextRegard]
    kind_of_context: dict[str, str]
    labelled_sample: LabelledSample | None = None
    classifier: LabellingClassifier | None = None
    lexicons: LexiconReport | None = None
    flags: tuple[FlagRates, ...] = ()
    """How often texts have the flags that stand in their files."""
    occupations: OccupationReport | None = None
    skipped: tuple[SkippedTexts, ...] = ()
    """Texts that were written and are in no figure."""

    @model_validator(mode="after")
    def _parts_fit_together(self) -> RegardResult:
        parts = [self.all, *self.by_kind.values(), *self.by_context.values()]
        for figures in (own for part in parts for own in (part.figures, *part.others)):
            if tuple(figures.groups) != self.groups:
                raise ValueError(
                    f"figures are of {', '.join(figures.groups)}, not of {', '.join(self.groups)}"
                )
        homeless = self.by_context.keys() - self.kind_of_context.keys()
        if homeless or not set(self.kind_of_context.values()) <= {"", *self.by_kind}:
            raise ValueError("contexts and kinds of contexts do not fit together")
        return self


FLAGS_COLUMN = "flags"
"""The column of scores with the flags that are set for a text; only where there are flags."""

SCORES_SCHEMA: Mapping[str, pl.DataType] = {
    "number": pl.Int64(),
    "group": pl.String(),
    "kind": pl.String(),
    "context": pl.String(),
    "text": pl.String(),
    "label": pl.Int64(),
    "human_label": pl.Int64(),
}
"""Columns of the scores, one row per text. Labels are -1, 0 and 1; ``human_label`` is missing for texts outside the
labelled sample."""
