"""The table of several mitigated models of one original."""

from __future__ import annotations

from statistics import fmean

from evenhand.reporting.certificate.bias_words import MOVES
from evenhand.reporting.numbers import NOT_THERE, signed, signed_interval, unsigned
from evenhand.reporting.words import listed
from evenhand.store.certificate_seeds import SeedsComparison, SeedsRow

SEEDS_COLUMNS = ("over models", "before", "after", "difference", "interval", "verdict")


def seeds_words(comparison: SeedsComparison) -> str:
    """What the table is of, and what its intervals count."""
    models = ", ".join(comparison.after[:-1]) + f" and {comparison.after[-1]}"
    undecided = (
        f" Quality is undecided for {listed(list(comparison.not_compared))}: it could not be compared on enough texts "
        "or items, or not by the measures of the other models."
        if comparison.not_compared
        else ""
    )
    return (
        f"The rest of this page is about one mitigated model. This table is about {len(comparison.after)} that the "
        f"same mitigation gave: {models}, each against {comparison.before}. After is their mean, with the standard "
        f"deviation between them. The {comparison.confidence:.0%} interval of the difference counts both the models "
        f"and what they were asked as drawn from many.{undecided}"
    )


def seeds_rows(comparison: SeedsComparison) -> list[tuple[str, ...]]:
    """One row per measure: MALoR with its base rate and its spread, then quality."""
    return [
        (
            row.measure,
            unsigned(row.before),
            f"{unsigned(fmean(row.after))} ± {unsigned(row.deviation)}",
            f"{signed(row.difference.value)}{'' if row.unit == '%' else ' '}{row.unit}".rstrip(),
            signed_interval(row.difference) or NOT_THERE,
            _verdict(row),
        )
        for row in comparison.rows
        if row.difference.defined and not (row.untrained_pair and row.part_of)
    ]


def _verdict(row: SeedsRow) -> str:
    if row.verdict is not None:
        return row.verdict.value
    return MOVES[row.movement or 0]
