"""Mentions: shares of texts per group in which something is said, and how groups differ in them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
import numpy.typing as npt

from evenhand.core.estimates import Estimate, Number
from evenhand.core.frozen import FrozenModel
from evenhand.data.contexts import end_of_context
from evenhand.data.group_texts import GroupText
from evenhand.stats.classification import Integers
from evenhand.stats.group_shares import CountedShares, GroupShares, IndependentShares
from evenhand.stats.resampling import Floats, Resampling
from evenhand.stats.significance import holm

_PERCENT = 100.0

Flags = npt.NDArray[np.bool_]


def behind_context(text: GroupText) -> int:
    """Where the context of a text ends; the start of the text if the context is not in it."""
    return end_of_context(text.text, text.context)


class MentionGap(FrozenModel):
    """How much more often texts about one group mention something: first minus second, in points."""

    first: str
    second: str
    gap: Estimate
    p_value: Number
    """From sign flips of whole contexts; undefined for a single context."""
    p_holm: Number = math.nan
    """The same, adjusted for all gaps that are shown beside it; undefined where it is shown alone."""


class MentionShares(FrozenModel):
    """Shares of texts that mention something, in percent, by group, and the gaps between groups."""

    groups: dict[str, Estimate]
    gaps: tuple[MentionGap, ...]


@dataclass(frozen=True)
class TextCells:
    """Group and context of each text, as numbers; texts of one context belong together."""

    groups: tuple[str, ...]
    group: Integers
    context: Integers

    @classmethod
    def of(cls, texts: Sequence[GroupText], groups: Sequence[str]) -> TextCells:
        """The cells of texts; groups are numbered in the given order, contexts as they first occur."""
        places = {group: number for number, group in enumerate(groups)}
        contexts = {name: number for number, name in enumerate(dict.fromkeys(own.context for own in texts))}
        return cls(
            tuple(groups),
            np.array([places[own.group] for own in texts], dtype=np.int64),
            np.array([contexts[own.context] for own in texts], dtype=np.int64),
        )

    @cached_property
    def shape(self) -> tuple[int, int]:
        """Contexts and groups."""
        return int(self.context.max(initial=-1)) + 1, len(self.groups)

    @cached_property
    def sizes(self) -> Integers:
        """Texts of each group."""
        return np.bincount(self.group, minlength=len(self.groups)).astype(np.int64)

    def where(self, chosen: Flags) -> TextCells:
        """The cells of some of the texts, with their contexts."""
        contexts = np.unique(self.context[chosen], return_inverse=True)[1].astype(np.int64)
        return TextCells(self.groups, self.group[chosen], contexts)

    def counts(self, flags: Flags) -> Floats:
        """Texts by context, group, and whether their flag is set."""
        counts = np.zeros((*self.shape, 2))
        np.add.at(counts, (self.context, self.group, flags.astype(np.int64)), 1.0)
        return counts


def mention_shares(flags: Flags, cells: TextCells, *, resampling: Resampling) -> MentionShares:
    """Shares of flagged texts per group, clustered by context.

    Args:
        flags: Whether each text mentions something.
        cells: Group and context of each text.
        resampling: Resamples, seed and confidence level.
    """
    shares = _counted(flags, cells)
    return MentionShares(
        groups=group_shares(flags, cells, resampling=resampling),
        gaps=tuple(
            _gap(shares, cells, first, second, resampling) for first, second in combinations(cells.groups, 2)
        ),
    )


def group_shares(flags: Flags, cells: TextCells, *, resampling: Resampling) -> dict[str, Estimate]:
    """Shares of flagged texts per group alone, clustered by context, in percent."""
    shares = _counted(flags, cells)
    return {group: _share(shares, cells, group, resampling) for group in cells.groups}


def _counted(flags: Flags, cells: TextCells) -> GroupShares:
    counts = cells.counts(flags)
    return CountedShares(counts) if len(counts) > 1 else IndependentShares(counts)


def holm_adjusted(mentions: Sequence[MentionShares]) -> list[MentionShares]:
    """The same with p-values of gaps adjusted by Holm, over all of them."""
    adjusted = iter(holm([gap.p_value for own in mentions for gap in own.gaps]))
    return [
        own.model_copy(
            update={"gaps": tuple(gap.model_copy(update={"p_holm": next(adjusted)}) for gap in own.gaps)}
        )
        for own in mentions
    ]


def _share(shares: GroupShares, cells: TextCells, group: str, resampling: Resampling) -> Estimate:
    n, contexts = int(cells.sizes[cells.groups.index(group)]), cells.shape[0]
    if not n:
        return Estimate.undefined("there are no texts about the group", clusters=contexts)
    contrast = _contrast(cells, group)
    interval = shares.share_interval(contrast, resampling=resampling)
    return interval.around(shares.value(contrast), n=n, clusters=contexts)


def _gap(
    shares: GroupShares, cells: TextCells, first: str, second: str, resampling: Resampling
) -> MentionGap:
    places = [cells.groups.index(group) for group in (first, second)]
    n, contexts = int(cells.sizes[places].sum()), cells.shape[0]
    if not cells.sizes[places].all():
        missing = Estimate.undefined("there are no texts about a group", n=n, clusters=contexts)
        return MentionGap(first=first, second=second, gap=missing, p_value=float("nan"))
    contrast = _contrast(cells, first) - _contrast(cells, second)
    interval = shares.interval_on_scale(contrast, resampling=resampling)
    return MentionGap(
        first=first,
        second=second,
        gap=interval.around(shares.value(contrast), n=n, clusters=contexts),
        p_value=shares.p_value(contrast, resampling=resampling),
    )


def _contrast(cells: TextCells, group: str) -> Floats:
    contrast = np.zeros((len(cells.groups), 2))
    contrast[cells.groups.index(group), 1] = _PERCENT
    return contrast
