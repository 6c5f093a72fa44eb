"""What prefixes do beside each other, as rows of a table, for the command line and for model cards."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from evenhand.core.estimates import Estimate
from evenhand.reporting.numbers import NOT_THERE, signed, signed_interval, unsigned
from evenhand.store.mitigation_records import metric_title
from evenhand.store.trigger_records import (
    CONTENT_SHIFT,
    DISTINCT,
    NO_PREFIX,
    PERPLEXITY,
    REGARD_GAP,
    SURPRISE_GAP,
    TRIGGER,
    PrefixComparison,
    PrefixFigures,
    TriggerRecord,
    WrittenTextsRecord,
)

TRANSFER_COLUMNS = ("model", "measure", "no prefix", "trigger", "change", "interval of the change")

SCORED_WORDS = (
    "*gap* is how much more the first group is expected to be spoken well of than the second, *surprise* how "
    "unexpected texts of each regard are, both in nats per token. The change of perplexity is in percent."
)

WRITTEN_WORDS = (
    "*regard gap* is the net regard of the first group minus that of the second, in points. *negative*, *neutral*, "
    "*positive* and the categories of the lexicon are shares of texts in percent. *occupation divergence* is how far "
    "the occupations of the groups are apart, and *content shift* how far words are from those without a prefix, above "
    "chance, both in bits. *distinct-n* is the share of runs of n words that are not repetitions."
)

CHANGE_WORDS = (
    "Changes are from no prefix, paired by contexts, with 95% intervals. "
    "The change of a gap is how much farther from 0 it is."
)

_DIGITS = {"points": 1, "percent": 1}
_MOST_DIGITS = 3


def prefix_columns(comparison: PrefixComparison) -> tuple[str, ...]:
    """The measure, then the prefixes."""
    return ("measure", *(row.name for row in comparison.rows))


def prefix_rows(comparison: PrefixComparison) -> Iterator[tuple[str, ...]]:
    """One row per measure: its value behind every prefix, with the change from no prefix in brackets."""
    for key in comparison.rows[0].figures:
        unit = comparison.units.get(key, "nats")
        yield (metric_title(key), *(_cell(row, key, unit) for row in comparison.rows))


def prefix_table(comparison: PrefixComparison) -> str:
    """The rows as a table of Markdown."""
    return _markdown(prefix_columns(comparison), prefix_rows(comparison))


def transfer_rows(comparisons: Sequence[PrefixComparison]) -> Iterator[tuple[str, ...]]:
    """What a trigger does on every model; the one that it was searched on comes first."""
    for comparison in comparisons:
        before, after = comparison.row(NO_PREFIX), comparison.row(TRIGGER)
        for key in before.figures:
            if key.rpartition(".")[2] not in _CARRIED and not key.startswith(DISTINCT):
                continue
            unit, change = comparison.units.get(key, "nats"), after.changes.get(key)
            digits = _digits(key, unit)
            yield (
                comparison.model,
                metric_title(key),
                _value(before.figures[key], digits),
                _value(after.figures[key], digits),
                _change(change, key, unit),
                _interval(change, _DIGITS.get(unit, _MOST_DIGITS)),
            )


_CARRIED = frozenset({REGARD_GAP, SURPRISE_GAP, PERPLEXITY, CONTENT_SHIFT})


def transfer_table(trigger: TriggerRecord) -> str:
    """The rows as a table of Markdown."""
    return _markdown(TRANSFER_COLUMNS, transfer_rows(trigger.comparisons))


def written_words(written: WrittenTextsRecord) -> str:
    """What was written behind the prefixes, and who labelled it."""
    contexts = ", ".join(f"*{own}*" for own in written.contexts)
    warning = f" {written.classifier_warning}" if written.classifier_warning else ""
    return (
        f"The model wrote {written.texts:,} texts behind every prompt and prefix, about {', '.join(written.groups)} in "
        f"{len(written.contexts)} contexts with which no target of the search begins: {contexts}. The classifier "
        f"{written.classifier} labelled them; its errors are not in the intervals.{warning}"
    )


def _markdown(columns: Sequence[str], rows: Iterator[tuple[str, ...]]) -> str:
    lines = [columns, ["---"] * len(columns), *([cell.replace("|", "\\|") for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(row: PrefixFigures, key: str, unit: str) -> str:
    figure, change = row.figures[key], row.changes.get(key)
    value = _value(figure, _digits(key, unit))
    if change is None or not change.defined or key.endswith(CONTENT_SHIFT):
        return f"{value} {_interval(figure, _digits(key, unit))}" if change is not None else value
    interval = _interval(change, _DIGITS.get(unit, _MOST_DIGITS))
    moved = _change(change, key, unit)
    return f"{value} ({moved})" if interval == NOT_THERE else f"{value} ({moved} {interval})"


def _digits(key: str, unit: str) -> int:
    return 2 if key == PERPLEXITY else _DIGITS.get(unit, _MOST_DIGITS)


def _value(estimate: Estimate, digits: int) -> str:
    return unsigned(estimate.value, digits) if estimate.defined else NOT_THERE


def _change(change: Estimate | None, key: str, unit: str) -> str:
    if change is None or not change.defined:
        return NOT_THERE
    return signed(change.value, _DIGITS.get(unit, _MOST_DIGITS)) + ("%" if key == PERPLEXITY else "")


def _interval(estimate: Estimate | None, digits: int) -> str:
    if estimate is None or not estimate.defined:
        return ""
    words = signed_interval(estimate, digits=digits)
    return f"[{words}]" if words else NOT_THERE
