"""Occupation shares: which occupations texts give to which group, how groups differ, and what a prefix shifts.

Texts of the contexts that bring up occupations are searched, or all texts where kinds of contexts are not known.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

import numpy as np
from pydantic import model_validator

from evenhand.core.estimates import Estimate, Number
from evenhand.core.frozen import FrozenModel
from evenhand.data.group_texts import GroupText, GroupTexts
from evenhand.instruments.regard.mentions import (
    MentionGap,
    MentionShares,
    TextCells,
    behind_context,
    mention_shares,
)
from evenhand.stats.intervals import JACKKNIFE, Interval, cluster_interval, skewed_interval
from evenhand.stats.resampling import Floats, Resampling
from evenhand.text.occupations import OccupationList

OCCUPATION_KIND = "occupation"
"""The kind of contexts that bring up occupations."""

MOST_SHOWN = 20
"""Occupations of each group that are reported."""

_SHUFFLES = 500
_BEFORE, _AFTER = "before", "after"


class OccupationShare(FrozenModel):
    """How often texts of each group name an occupation."""

    occupation: str
    shares: MentionShares


class OccupationDivergence(FrozenModel):
    """How far the occupations of two groups are apart: Jensen-Shannon divergence in bits, from 0 to 1."""

    first: str
    second: str
    divergence: Estimate
    """As it was counted; its interval is without what chance adds, and holds it."""
    by_chance: Number
    """What it is on average where texts are dealt out to the two groups at random within their contexts."""
    p_value: Number
    """How often dealing out at random gives as much."""


class OccupationReport(FrozenModel):
    """Occupations that texts name."""

    occupations: str
    sha256: str
    texts: int
    """Texts that were searched."""
    naming: dict[str, int]
    """Texts that name at least one, by group."""
    top: dict[str, tuple[str, ...]]
    """The occupations that texts of a group name most often, by group."""
    shares: tuple[OccupationShare, ...]
    """Of all that are among the top of a group."""
    divergences: tuple[OccupationDivergence, ...]

    @model_validator(mode="after")
    def _parts_fit_together(self) -> OccupationReport:
        known = {own.occupation for own in self.shares}
        if any(name not in known for names in self.top.values() for name in names):
            raise ValueError("an occupation among the top has no shares")
        if any(own.shares.groups.keys() != self.top.keys() for own in self.shares):
            raise ValueError("shares of occupations are of other groups than the top occupations")
        return self


class OccupationShift(FrozenModel):
    """How much more often texts of a group name an occupation in a second run, in points."""

    group: str
    occupation: str
    before: Estimate
    after: Estimate
    shift: MentionGap


@dataclass(frozen=True)
class OccupationSearch:
    """The occupations of texts about groups, in the order of the texts that were searched."""

    texts: tuple[GroupText, ...]
    groups: tuple[str, ...]
    found: tuple[frozenset[str], ...]

    @classmethod
    def through(cls, texts: GroupTexts, occupations: OccupationList) -> OccupationSearch:
        """Search texts behind their contexts."""
        return cls.of(
            texts.texts,
            [occupations.find(own.text, start=behind_context(own)) for own in texts],
            groups=texts.groups,
        )

    @classmethod
    def of(
        cls, texts: Sequence[GroupText], found: Sequence[Iterable[str]], *, groups: Sequence[str]
    ) -> OccupationSearch:
        """The texts that count, of all that were searched.

        Args:
            texts: Texts about groups.
            found: The occupations in each of them.
            groups: The groups, in their order.
        """
        by_kind = {own.group for own in texts if own.kind == OCCUPATION_KIND} == set(groups)
        places = [place for place, own in enumerate(texts) if not by_kind or own.kind == OCCUPATION_KIND]
        return cls(
            tuple(texts[place] for place in places),
            tuple(groups),
            tuple(frozenset(found[place]) for place in places),
        )

    @cached_property
    def cells(self) -> TextCells:
        """Group and context of each text."""
        return TextCells.of(self.texts, self.groups)

    def top(self, group: str) -> tuple[str, ...]:
        """The occupations that texts of a group name most often; of equally frequent ones, by the alphabet."""
        counts = Counter(
            occupation
            for own, found in zip(self.texts, self.found, strict=True)
            if own.group == group
            for occupation in found
        )
        return tuple(sorted(counts, key=lambda name: (-counts[name], name))[:MOST_SHOWN])

    def naming(self, occupation: str) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Whether each text names an occupation."""
        return np.array([occupation in own for own in self.found], dtype=np.bool_)

    def report(
        self, occupations: OccupationList, *, resampling: Resampling | None = None
    ) -> OccupationReport:
        """Top occupations with their shares, and how far groups are apart.

        Args:
            occupations: What was looked for.
            resampling: Resamples, seed and confidence level.
        """
        chosen = resampling or Resampling()
        top = {group: self.top(group) for group in self.groups}
        return OccupationReport(
            occupations=occupations.name,
            sha256=occupations.sha256,
            texts=len(self.texts),
            naming={
                group: sum(
                    bool(found) and own.group == group
                    for own, found in zip(self.texts, self.found, strict=True)
                )
                for group in self.groups
            },
            top=top,
            shares=tuple(
                OccupationShare(
                    occupation=name,
                    shares=mention_shares(self.naming(name), self.cells, resampling=chosen),
                )
                for name in _all_of(top.values())
            ),
            divergences=tuple(
                self._divergence(first, second, chosen) for first, second in combinations(self.groups, 2)
            ),
        )

    def _divergence(self, first: str, second: str, resampling: Resampling) -> OccupationDivergence:
        places = [
            place
            for place, own in enumerate(self.texts)
            if own.group in (first, second) and self.found[place]
        ]
        texts, found = [self.texts[place] for place in places], [self.found[place] for place in places]
        if {own.group for own in texts} != {first, second}:
            missing = Estimate.undefined("texts about a group name no occupation", n=len(texts))
            return OccupationDivergence(
                first=first, second=second, divergence=missing, by_chance=math.nan, p_value=math.nan
            )
        cells = TextCells.of(texts, (first, second))
        mentions = _mention_matrix(found)
        divergences = _divergences(_mention_counts(mentions, cells.group, cells))
        dealt = np.stack(list(_dealt_out(mentions, cells, resampling)))
        value, chance = float(divergences[0]), dealt[:, 0]
        return OccupationDivergence(
            first=first,
            second=second,
            divergence=_above_chance(divergences, dealt, resampling).around(
                value, n=len(texts), clusters=len(divergences) - 1
            ),
            by_chance=float(chance.mean()),
            p_value=float((1 + (chance >= value - 1e-12).sum()) / (1 + len(chance))),
        )


def occupation_shifts(
    before: OccupationSearch, after: OccupationSearch, *, resampling: Resampling | None = None
) -> tuple[OccupationShift, ...]:
    """What changes from one set of texts to another, for the top occupations of both, the largest shifts first.

    Args:
        before: Such as a model's texts without a prefix.
        after: Such as those with one; groups that only one of both has are left out.
        resampling: Resamples, seed and confidence level; contexts are resampled in both together.
    """
    chosen = resampling or Resampling()
    shifts = []
    for group in before.groups:
        if group not in after.groups:
            continue
        texts = [
            replace(own, group=when)
            for when, search in ((_AFTER, after), (_BEFORE, before))
            for own in search.texts
            if own.group == group
        ]
        cells = TextCells.of(texts, (_AFTER, _BEFORE))
        of_group = [
            np.array([own.group == group for own in search.texts], dtype=np.bool_)
            for search in (after, before)
        ]
        for name in _all_of((before.top(group), after.top(group))):
            flags = np.concatenate(
                [
                    search.naming(name)[places]
                    for search, places in zip((after, before), of_group, strict=True)
                ]
            )
            shares = mention_shares(flags, cells, resampling=chosen)
            shifts.append(
                OccupationShift(
                    group=group,
                    occupation=name,
                    before=shares.groups[_BEFORE],
                    after=shares.groups[_AFTER],
                    shift=shares.gaps[0],
                )
            )
    return tuple(sorted(shifts, key=lambda own: -abs(own.shift.gap.value)))


def jensen_shannon(counts: Floats) -> Floats:
    """Jensen-Shannon divergence in bits (Lin 1991) of the two rows of counts, which are the last two axes but one.

    NaN where a row is empty.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = counts / counts.sum(axis=-1, keepdims=True)
    middle = shares.mean(axis=-2, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        terms = np.where(shares > 0, shares * np.log2(shares / middle), 0.0 * shares)
    divergence: Floats = terms.sum(axis=-1).mean(axis=-1)
    return divergence


def _all_of(names: Iterable[Sequence[str]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for own in names for name in own))


def _mention_matrix(found: Sequence[frozenset[str]]) -> Floats:
    """One row per text and one column per occupation; a text that names several is shared out among them."""
    columns = {name: number for number, name in enumerate(sorted(set().union(*found)))}
    matrix = np.zeros((len(found), len(columns)))
    for place, own in enumerate(found):
        for name in own:
            matrix[place, columns[name]] = 1 / len(own)
    return matrix


def _mention_counts(
    mentions: Floats, group: np.ndarray[tuple[int], np.dtype[np.int64]], cells: TextCells
) -> Floats:
    """Mentions by context, group and occupation."""
    counts = np.zeros((*cells.shape, mentions.shape[1]))
    np.add.at(counts, (cells.context, group), mentions)
    return counts


def _divergences(counts: Floats) -> Floats:
    """Over all contexts, then without each of them in turn; as over all where a group then names nothing."""
    whole = counts.sum(axis=0)
    values = jensen_shannon(np.concatenate([whole[None], whole - counts]))
    return np.where(np.isnan(values), values[0], values)


def _above_chance(divergences: Floats, dealt: Floats, resampling: Resampling) -> Interval:
    """Interval of the divergence without what chance adds, stretched to hold the value.

    Few mentions differ by chance where groups are alike, and chance adds nothing where they have none in common. So the
    divergence is corrected as agreement is: what is above chance, as a share of what could be.

    Args:
        divergences: Over all contexts and without each.
        dealt: The same where texts are dealt out at random, one row per deal.
        resampling: The confidence level.
    """
    value, contexts = float(divergences[0]), len(divergences) - 1
    if contexts < 2:
        return Interval.missing("an interval needs at least two contexts")
    by_chance = dealt.mean(axis=0)
    corrected = np.divide(
        divergences - by_chance, 1 - by_chance, out=np.zeros(contexts + 1), where=by_chance < 1
    )
    if np.ptp(corrected) <= 1e-12:
        alike = np.round(corrected[:1], 12)
        return cluster_interval(
            lambda weights: np.repeat(alike, len(weights)),
            contexts,
            resampling=resampling,
            lowest=0.0,
            highest=1.0,
        )
    left_out = corrected[1:] + (corrected[0] - corrected[1:].mean())  # fewer mentions move all of them alike
    # The jackknife takes a divergence for a third less sure than it is, which is enough for skewed contexts too.
    found = skewed_interval(float(corrected[0]), left_out, confidence=resampling.confidence, skewness=0.0)
    low, high = (min(1.0, max(0.0, end)) for end in (found.low, found.high))
    return Interval(min(value, low), max(value, high), f"{JACKKNIFE}, corrected for chance")


def _dealt_out(mentions: Floats, cells: TextCells, resampling: Resampling) -> Iterator[Floats]:
    """Divergences where the groups of texts are shuffled within contexts."""
    generator = np.random.default_rng([resampling.seed, len(mentions)])
    order = np.argsort(cells.context, kind="stable")
    for _ in range(_SHUFFLES):
        shuffled = order[np.lexsort((generator.random(len(order)), cells.context[order]))]
        group = np.empty_like(cells.group)
        group[order] = cells.group[shuffled]
        yield _divergences(_mention_counts(mentions, group, cells))
