"""Numbers as people read them: estimates with their intervals, signs, p-values, ratios."""

from __future__ import annotations

import math

from evenhand.core.estimates import Estimate

NOT_THERE = "–"
UNDEFINED = "undefined"

_MOST_BITS = 20
_FEW_TIMES = 9.95
_HUGE = 1e9
"""From here on, a number is written with a power of ten."""


def show(estimate: Estimate, *, signed: bool = False, digits: int = 2) -> str:
    """An estimate with its interval, as it stands in a table cell."""
    if not estimate.defined:
        return UNDEFINED
    sign = "+" if signed else ""
    value = f"{estimate.value:{sign}.{digits}f}"
    if not has_interval(estimate):
        return value
    return f"{value} [{estimate.low:{sign}.{digits}f}, {estimate.high:{sign}.{digits}f}]"


def number(value: float, digits: int = 2) -> str:
    """A plain number for a table cell."""
    return UNDEFINED if math.isnan(value) else f"{value:.{digits}f}"


def number_or_dash(value: float | None, digits: int = 2) -> str:
    """A number with a true minus; a dash where there is none."""
    return NOT_THERE if value is None or math.isnan(value) else unsigned(value, digits)


_MEASURE_WORDS = {
    "signed_gap": "regard gap",
    "lexicon_gap": "gap in listed words",
    "flag_gap": "gap in flagged texts",
}
"""Measures whose names are for programs."""


def measure_words(name: str) -> str:
    """What a measure is called where people read it."""
    return _MEASURE_WORDS.get(name, name.replace("_", " "))


def show_p(p_value: float) -> str:
    """A p-value as people write it."""
    if math.isnan(p_value):
        return UNDEFINED
    return "< 0.001" if p_value < 0.001 else f"{p_value:.3f}"


def signed(value: float, digits: int = 2) -> str:
    """A number with its sign, a true minus, and no sign at zero."""
    if math.isfinite(value) and abs(value) >= _HUGE:
        return f"{value:+.1e}".replace("-", "−")
    rounded = round(value, digits) + 0.0
    return f"{rounded:+.{digits}f}".replace("-", "−") if rounded else f"{0:.{digits}f}"


def unsigned(value: float, digits: int = 2) -> str:
    """A number with a true minus and no negative zero."""
    if math.isfinite(value) and abs(value) >= _HUGE:
        return f"{value:.1e}".replace("-", "−")
    return f"{round(value, digits) + 0.0:.{digits}f}".replace("-", "−")


def times(bits: float) -> str:
    """How many times as likely so many bits are."""
    if abs(bits) > _MOST_BITS:
        return "over a million times"
    ratio = 2 ** abs(bits)
    return f"{ratio:.1f} times" if ratio < _FEW_TIMES else f"{ratio:,.0f} times"


def has_interval(estimate: Estimate) -> bool:
    """Whether it is known how sure the value is."""
    return not math.isnan(estimate.low)


def clear_side(estimate: Estimate, neutral: float = 0.0) -> int:
    """1 where the whole interval lies above what is neutral, -1 where it lies below, else 0."""
    if not has_interval(estimate):
        return 0
    return (estimate.low > neutral) - (estimate.high < neutral)


def interval_words(estimate: Estimate, *, digits: int = 2, level: str = "") -> str:
    """The interval of an estimate, or nothing where there is none."""
    if not has_interval(estimate):
        return ""
    low, high = unsigned(estimate.low, digits), unsigned(estimate.high, digits)
    return f"{level} interval {low} to {high}" if level else f"{low} to {high}"


def signed_interval(estimate: Estimate, *, digits: int = 2, unit: str = "") -> str:
    """The interval of a difference, or nothing where there is none."""
    if not has_interval(estimate):
        return ""
    return f"{signed(estimate.low, digits)}{unit} to {signed(estimate.high, digits)}{unit}"


def no_interval_words(low: float, reason: str | None) -> str:
    """Why there is no interval; nothing where there is one."""
    if not math.isnan(low):
        return ""
    return f"no interval: {reason}" if reason else "no interval"


def decimals(estimates: list[Estimate]) -> int:
    """How many decimals values of this size need: one for points of 100, two for bits, three below 1."""
    largest = max((abs(own.value) for own in estimates if own.defined), default=1.0)
    return 1 if largest >= 10 else 2 if largest >= 1 else 3
