"""Numbers in sentences."""

from __future__ import annotations

import math
from collections.abc import Sequence

from evenhand.core.estimates import Estimate

_MOST_BITS = 20
_FEW_TIMES = 9.95


def signed(value: float, digits: int = 2) -> str:
    """A number with its sign, a true minus, and no sign at zero."""
    rounded = round(value, digits) + 0.0
    return f"{rounded:+.{digits}f}".replace("-", "−") if rounded else f"{0:.{digits}f}"


def times(bits: float) -> str:
    """How many times as likely so many bits are."""
    if abs(bits) > _MOST_BITS:
        return "over a million times"
    ratio = 2 ** abs(bits)
    return f"{ratio:.1f} times" if ratio < _FEW_TIMES else f"{ratio:,.0f} times"


def clear_side(estimate: Estimate) -> int:
    """1 where the whole interval lies above 0, -1 where it lies below, else 0."""
    if math.isnan(estimate.low):
        return 0
    return (estimate.low > 0) - (estimate.high < 0)


def listed(words: Sequence[str]) -> str:
    """Words as a list in a sentence."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def interval_words(estimate: Estimate, *, digits: int = 2, level: str = "") -> str:
    """The interval of an estimate, or nothing where there is none."""
    if math.isnan(estimate.low):
        return ""
    low, high = (
        f"{round(end, digits) + 0.0:.{digits}f}".replace("-", "−") for end in (estimate.low, estimate.high)
    )
    return f"{level} interval {low} to {high}" if level else f"{low} to {high}"


def in_brackets(*parts: str) -> str:
    """What there is to say behind a value."""
    told = "; ".join(part for part in parts if part)
    return f" ({told})" if told else ""
