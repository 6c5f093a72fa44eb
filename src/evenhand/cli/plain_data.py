"""Datasets that are no items: sentences with pronouns, shares of women, and what other packages add."""

from __future__ import annotations

from typing import Any

from evenhand.cli.output import console, print_json

CHECKED_BY_READING = "read whole; rows that break the layout would have been refused"


def show_plain_data(dataset: str, *, note: str = "", json: bool) -> bool:
    """Show what a dataset holds if it is of such a kind; False if it is not.

    Args:
        dataset: A name, a file or a folder.
        note: What else is to be said about it.
        json: Whether to print JSON.
    """
    facts = _facts(dataset)
    if facts is None:
        return False
    if note:
        facts["check"] = note
    if json:
        print_json(facts)
        return True
    target = console()
    target.print(f"{facts.pop('name')}   {facts.pop('holds')}", style="bold")
    for name, value in facts.items():
        target.print(f"{name.replace('_', ' ')}: {value:,}" if isinstance(value, int) else f"{name}: {value}")
    return True


def _facts(dataset: str) -> dict[str, Any] | None:
    from collections.abc import Mapping, Sized
    from statistics import fmean

    from evenhand.core.items import Benchmark, PairSet
    from evenhand.data import DATASET_LAYOUTS, load_dataset, named_datasets
    from evenhand.data.bec_pro import ProfessionSentences
    from evenhand.data.layouts import kind_of
    from evenhand.data.winogender import PronounPairs

    kind = kind_of(dataset)
    if issubclass(kind, Benchmark | PairSet | ProfessionSentences):
        return None
    loaded: Any = load_dataset(dataset, kind=kind)
    layout = next(own for own in DATASET_LAYOUTS.values() if own.kind is kind)
    facts: dict[str, Any] = {"name": dataset, "holds": layout.description}
    if isinstance(loaded, PronounPairs):
        facts |= {"pairs": len(loaded.pairs), "occupations": len(loaded.occupations)}
    elif isinstance(loaded, Mapping):
        facts |= {
            "occupations": len(loaded),
            "mean share": f"{fmean(map(float, loaded.values())):.1f}%",
        }
    elif isinstance(loaded, Sized):
        facts["entries"] = len(loaded)
    named = named_datasets().get(dataset)
    uses = [each.used_by for each in layout.datasets] if named is None else [named.used_by]
    return {**facts, "for": f"evenhand {uses[0]}"} if uses else facts
