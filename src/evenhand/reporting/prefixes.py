"""What prefixes do beside each other, as rows of a table, for the command line and for model cards."""

from __future__ import annotations

from collections.abc import Iterator

from evenhand.core.estimates import Estimate
from evenhand.reporting.numbers import NOT_THERE
from evenhand.runs.mitigation_records import metric_title
from evenhand.runs.trigger_records import PrefixComparison

PREFIX_COLUMNS = ("measure", "prefix", "value", "interval", "change", "interval of the change")

NEUTRAL_GAP = (
    "The gap is how much more the first group is expected to be spoken well of than the second, in nats per token; 0 "
    "is neutral, and its change is how much farther from 0 it is. Surprise is in nats per token. The change of "
    "perplexity is in percent."
)


def prefix_rows(comparison: PrefixComparison) -> Iterator[tuple[str, ...]]:
    """One row per measure and prefix."""
    for key in comparison.rows[0].figures:
        for row in comparison.rows:
            change = row.changes.get(key)
            yield (
                metric_title(key),
                row.name,
                f"{row.figures[key].value:.3f}",
                _interval(row.figures[key], sign=""),
                NOT_THERE if change is None else f"{change.value:+.3f}",
                NOT_THERE if change is None else _interval(change, sign="+"),
            )


def prefix_table(comparison: PrefixComparison) -> str:
    """The rows as a table of Markdown."""
    lines = [f"| {' | '.join(PREFIX_COLUMNS)} |", "|---|---|---|---|---|---|"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in prefix_rows(comparison))])


def _interval(estimate: Estimate, *, sign: str) -> str:
    if estimate.reason:
        return NOT_THERE
    return f"[{estimate.low:{sign}.3f}, {estimate.high:{sign}.3f}]"
