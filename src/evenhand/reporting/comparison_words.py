"""Whether two runs differ, in a sentence."""

from __future__ import annotations

import math

from evenhand.core.items import OVERALL
from evenhand.runs.comparison import ALL_ITEMS, Comparison, Difference

SIGNIFICANT = 0.05
"""The p-value, adjusted for all rows that are compared, below which a difference counts as shown."""

_MOST_NAMED = 3


def is_shown(difference: Difference) -> bool:
    """Whether a difference is more than chance explains."""
    return difference.p_holm < SIGNIFICANT


def comparison_sentence(comparison: Comparison) -> str:
    """Whether two runs differ, with the differences that show it or the one that matters most."""
    first, second = comparison.first, comparison.second
    if first == second:
        first, second = (
            f"{comparison.first} ({comparison.first_language})",
            f"{comparison.second} ({comparison.second_language})",
        )
    rows = sorted(comparison.differences, key=_importance)
    shown = [row for row in rows if is_shown(row)]
    if shown:
        named = "; ".join(_words(row, comparison) for row in shown[:_MOST_NAMED])
        more = len(shown) - _MOST_NAMED
        rest = f"; and {more} more" if more > 0 else ""
        return f"{first} and {second} differ: {named}{rest}."
    if not rows:
        return f"{first} and {second} have no figure that can be compared."
    main = rows[0]
    if math.isnan(main.p_holm):
        return f"Whether {first} and {second} differ cannot be tested: {main.difference.reason}."
    low, high = main.difference.low, main.difference.high
    tests = len(comparison.differences)
    doubt = f"; with {tests} tests chance could explain it" if tests > 1 and (low > 0 or high < 0) else ""
    return f"No difference is shown between {first} and {second}: {_words(main, comparison)}{doubt}."


def _importance(row: Difference) -> tuple[bool, bool, bool]:
    """What says most comes first: figures with a neutral value, over all items, of all tasks together."""
    return row.group != ALL_ITEMS, row.neutral is None, row.task not in (OVERALL, ALL_ITEMS)


def _words(row: Difference, comparison: Comparison) -> str:
    tasks = {each.task for each in comparison.differences}
    part = [row.task] if len(tasks) > 1 and row.task != OVERALL else []
    part += (
        [row.group]
        if row.group != ALL_ITEMS and len({each.group for each in comparison.differences}) > 1
        else []
    )
    name = " ".join([*part, row.measure])
    estimate = row.difference
    digits = 1 if row.unit == "points" else 2
    interval = "" if math.isnan(estimate.low) else f" [{estimate.low:.{digits}f}, {estimate.high:.{digits}f}]"
    p_value = "p < 0.001" if row.p_holm < 0.001 else f"p {row.p_holm:.3f}"
    return f"{name} {estimate.value:+.{digits}f} {row.unit}{interval}, {p_value} after Holm"
