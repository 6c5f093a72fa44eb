"""How ``evenhand data`` shows sentences about professions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from evenhand.cli.output import console, plain_table, print_json, print_table

if TYPE_CHECKING:
    from evenhand.data.bec_pro import ProfessionSentences

_MOST_OF_IDS = 40
"""Characters for the first ids of a defect; those of StereoSet have 32 each."""


def first_ids(ids: Sequence[str]) -> str:
    """The first id, and the second where both are short."""
    two = " ".join(ids[:2])
    return two if len(two) <= _MOST_OF_IDS else ids[0]


def describe_sentences(sets: Sequence[ProfessionSentences], *, json: bool) -> None:
    """Show how many sentences there are of each kind."""
    rows = [{"language": each.language, **row} for each in sets for row in each.counts()]
    if json:
        print_json({"name": sets[0].name, "licence": sets[0].licence, "counts": rows})
        return
    console().print(f"{sets[0].name}   licence: {sets[0].licence or 'not stated in the file'}", style="bold")
    numbers = ("sentences", "professions", "persons")
    table = plain_table("language", "who mostly works in it", "person", *numbers, right=numbers)
    for row in rows:
        words = [str(row[name]) for name in ("language", "profession_gender", "gender")]
        table.add_row(*words, *(f"{row[name]:,}" for name in numbers))
    print_table(table)


def show_defects_of_sentences(sentences: ProfessionSentences) -> None:
    """Show the defects of sentences, with their first ids."""
    console().print(f"{sentences.name} ({sentences.language}), {len(sentences):,} sentences", style="bold")
    table = plain_table("defect", "count", "first ids", right=("count",))
    for name, ids in sentences.defects().items():
        table.add_row(name, f"{len(ids):,}", first_ids(ids) if ids else "", style=None if ids else "dim")
    print_table(table)


def sentences_json(sentences: ProfessionSentences) -> dict[str, object]:
    """The defects of sentences for ``--json``."""
    return {
        "name": sentences.name,
        "language": sentences.language,
        "sentences": len(sentences),
        "defects": [
            {"defect": name, "count": len(ids), "flagged": False, "ids": list(ids)}
            for name, ids in sentences.defects().items()
        ],
    }
