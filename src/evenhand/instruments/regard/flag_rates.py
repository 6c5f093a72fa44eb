"""Flag rates: how often texts about a group were flagged by whoever looked through them."""

from __future__ import annotations

import numpy as np

from evenhand.core.frozen import FrozenModel
from evenhand.data.group_texts import GroupTexts
from evenhand.instruments.regard.mentions import MentionShares, TextCells, holm_adjusted, mention_shares
from evenhand.stats.resampling import Resampling


class FlagRates(FrozenModel):
    """How often one flag is set."""

    flag: str
    shares: MentionShares


def flag_rates(texts: GroupTexts, *, resampling: Resampling) -> tuple[FlagRates, ...]:
    """How often each flag is set in texts about each group; p-values are adjusted over all flags.

    Args:
        texts: Texts with their flags.
        resampling: Resamples, seed and confidence level.
    """
    cells = TextCells.of(texts.texts, texts.groups)
    shares = [
        mention_shares(
            np.array([flag in own.flags for own in texts], dtype=np.bool_), cells, resampling=resampling
        )
        for flag in texts.flags
    ]
    return tuple(
        FlagRates(flag=flag, shares=own) for flag, own in zip(texts.flags, holm_adjusted(shares), strict=True)
    )
