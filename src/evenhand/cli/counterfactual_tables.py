"""Pairs and their counts, as tables."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from evenhand.cli.output import console, plain_table, print_table

if TYPE_CHECKING:
    from evenhand.mitigation.pairs.counts import GenderCounts, OccupationCount, PairCounts, TermCount

SHOWN_PAIRS = 3
SHOWN_TERMS = 12
SHOWN_OCCUPATIONS = 10
SHOWN_REASONS = 12

SIDES = ("male before", "female before", "male after", "female after")


def show_counts(counts: PairCounts) -> None:
    """Experiments, terms, occupations, and what was left out."""
    _show_experiments(counts)
    names = [term for term in counts.terms if term.role == "name"]
    others = [term for term in counts.terms if term.role != "name"]
    rows = [(f"{term.male} / {term.female}", term.role, term) for term in others[:SHOWN_TERMS]]
    terms = plain_table("term", "role", *SIDES, right=SIDES)
    for words, role, term in rows:
        terms.add_row(words, role, *_figures([term]))
    for label, role, rest in (("more", "", others[SHOWN_TERMS:]), ("pairs of names", "name", names)):
        if rest:
            terms.add_row(f"{len(rest):,} {label}", role, *_figures(rest))
    print_table(terms)
    jobs = plain_table("occupation", *SIDES, right=SIDES)
    for job in counts.occupations[:SHOWN_OCCUPATIONS]:
        jobs.add_row(job.occupation, *_figures([job]))
    if len(counts.occupations) > SHOWN_OCCUPATIONS:
        left = counts.occupations[SHOWN_OCCUPATIONS:]
        jobs.add_row(f"{len(left):,} more", *_figures(left))
    print_table(jobs)
    _show_reasons(counts)


def show_pairs(path: Path) -> None:
    """The first few pairs of a file."""
    from evenhand.mitigation.pairs.twin_pairs import read_twin_pairs

    table = plain_table("male", "female")
    for pair in islice(read_twin_pairs(path), SHOWN_PAIRS):
        table.add_row(pair.male, pair.female)
    print_table(table)


def _show_experiments(counts: PairCounts) -> None:
    numbers = ("found", "male", "female", "pairs")
    table = plain_table("experiment", *numbers, right=numbers)
    for row in counts.by_experiment:
        sides = row.found
        table.add_row(
            row.experiment, *_written(sides.male + sides.female, sides.male, sides.female, row.pairs)
        )
    table.add_row("together", f"{counts.found:,}", "", "", f"{counts.pairs:,}", style="bold")
    print_table(table)
    console().print(
        f"{counts.sentences:,} sentences were read. {counts.pairs:,} pairs are {counts.pairs:,} male and "
        f"{counts.pairs:,} female sentences."
    )


def _show_reasons(counts: PairCounts) -> None:
    table = plain_table("left out", "sentences", right=("sentences",))
    reasons = list(counts.left_out.items())
    for reason, number in reasons[:SHOWN_REASONS]:
        table.add_row(reason, f"{number:,}")
    if len(reasons) > SHOWN_REASONS:
        rest = reasons[SHOWN_REASONS:]
        table.add_row(f"{len(rest):,} more reasons", f"{sum(number for _, number in rest):,}")
    print_table(table)


def _figures(rows: Sequence[TermCount | OccupationCount]) -> tuple[str, ...]:
    def summed(sides: Sequence[GenderCounts]) -> tuple[int, int]:
        return sum(each.male for each in sides), sum(each.female for each in sides)

    return _written(*summed([row.before for row in rows]), *summed([row.after for row in rows]))


def _written(*numbers: int) -> tuple[str, ...]:
    return tuple(f"{number:,}" for number in numbers)
