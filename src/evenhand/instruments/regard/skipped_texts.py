"""Texts that could not be used: how many of which group, and whether that may bend the figures."""

from __future__ import annotations

from scipy import special

from evenhand.data.group_texts import GroupTexts
from evenhand.instruments.regard.results import SkippedTexts

MANY = 0.1
"""The share of skipped texts above which people are told."""

_CLEAR = 0.01
"""The p-value below which groups are said to lose texts at different rates."""


def skipped_rows(texts: GroupTexts) -> tuple[SkippedTexts, ...]:
    """One row per reason and group."""
    return tuple(
        SkippedTexts(reason=reason, group=group, count=count)
        for reason, by_group in texts.left_out.items()
        for group, count in by_group.items()
        if count
    )


def skipped_warnings(texts: GroupTexts) -> tuple[str, ...]:
    """What to think of skipped texts: many of them, or clearly more of one group than of another."""
    lost = texts.left_out_by_group
    written = {group: lost[group] + sum(own.group == group for own in texts) for group in texts.groups}
    rates = {group: lost[group] / written[group] for group in texts.groups}
    most, least = max(rates, key=rates.__getitem__), min(rates, key=rates.__getitem__)
    p_value = _difference_p(lost[most], written[most], lost[least], written[least])
    if p_value < _CLEAR:
        return (
            f"{lost[most]:,} of {written[most]:,} texts about {most} were skipped, and {lost[least]:,} of "
            f"{written[least]:,} about {least}. What is left of the one is another selection than of the other, so a "
            "gap may come from that. Allow more new tokens, or use contexts that the model goes on from.",
        )
    total = sum(lost.values())
    if total > MANY * sum(written.values()):
        return (
            f"{total:,} of {sum(written.values()):,} texts were skipped. The figures are about the others, which may "
            "differ from them.",
        )
    return ()


def _difference_p(first: int, of_first: int, second: int, of_second: int) -> float:
    """Two-sided p-value that two shares are alike: the score test, by the normal distribution."""
    pooled = (first + second) / (of_first + of_second)
    variance = pooled * (1 - pooled) * (1 / of_first + 1 / of_second)
    if variance == 0:
        return 1.0
    return float(2 * special.ndtr(-abs(first / of_first - second / of_second) / variance**0.5))
