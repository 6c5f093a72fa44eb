"""Flag rates: how often texts about a group were flagged by whoever looked through them, and with which regard."""

from __future__ import annotations

import numpy as np

from evenhand.core.estimates import Estimate
from evenhand.core.frozen import FrozenModel
from evenhand.data.group_texts import REGARD_LABELS, GroupTexts
from evenhand.instruments.regard.mentions import (
    Flags,
    MentionShares,
    TextCells,
    group_shares,
    holm_adjusted,
    mention_shares,
)
from evenhand.stats.resampling import Resampling


class FlaggedLabels(FrozenModel):
    """Texts about one group that have a flag, by how they speak of the group; keys are negative, neutral, positive."""

    counts: dict[str, int]
    """Flagged texts with each label."""
    of_flagged: dict[str, Estimate]
    """The share of the flagged texts that has each label, in percent."""
    of_label: dict[str, Estimate]
    """The share of the texts with each label that is flagged, in percent."""


class FlagRates(FrozenModel):
    """How often one flag is set."""

    flag: str
    shares: MentionShares
    labels: dict[str, FlaggedLabels]
    """By group, labels as they are."""


def flag_rates(texts: GroupTexts, *, resampling: Resampling) -> tuple[FlagRates, ...]:
    """How often each flag is set in texts about each group; p-values are adjusted over all flags.

    Args:
        texts: Texts with their labels and flags.
        resampling: Resamples, seed and confidence level.
    """
    cells = TextCells.of(texts.texts, texts.groups)
    with_label = {
        name: np.array([own.label == code for own in texts], dtype=np.bool_)
        for code, name in REGARD_LABELS.items()
    }
    flagged = [np.array([flag in own.flags for own in texts], dtype=np.bool_) for flag in texts.flags]
    shares = holm_adjusted([mention_shares(own, cells, resampling=resampling) for own in flagged])
    return tuple(
        FlagRates(
            flag=flag,
            shares=rates,
            labels=_flagged_labels(own, with_label, cells, resampling=resampling),
        )
        for flag, own, rates in zip(texts.flags, flagged, shares, strict=True)
    )


def _flagged_labels(
    flagged: Flags, with_label: dict[str, Flags], cells: TextCells, *, resampling: Resampling
) -> dict[str, FlaggedLabels]:
    """Flags by labels, for each group."""
    of_flagged = {
        name: group_shares(own[flagged], cells.where(flagged), resampling=resampling)
        for name, own in with_label.items()
    }
    of_label = {
        name: group_shares(flagged[own], cells.where(own), resampling=resampling)
        for name, own in with_label.items()
    }
    return {
        group: FlaggedLabels(
            counts={
                name: int(np.count_nonzero(flagged & own & (cells.group == number)))
                for name, own in with_label.items()
            },
            of_flagged={name: own[group] for name, own in of_flagged.items()},
            of_label={name: own[group] for name, own in of_label.items()},
        )
        for number, group in enumerate(cells.groups)
    }
