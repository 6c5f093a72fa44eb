"""How many preferences change in half precision; run apart, because some processors crash on it.

Usage: python half_precision.py FOLDER..., prints the counts for each model as JSON.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from itertools import combinations
from pathlib import Path

from engine_scores import Scores, engine_scores
from zoo_items import starter_items

from evenhand.core.items import Association
from evenhand.instruments.association.ways import tasks_of_model
from evenhand.models.language_model import load_language_model


def changed_decisions(folder: Path) -> tuple[int, int]:
    """Pairs of an item's candidates that swap places in half precision, and all pairs."""
    exact = load_language_model(str(folder), device="cpu")
    items = [item for task in tasks_of_model(exact) for item in starter_items(task)[::2]]
    before = decisions(items, engine_scores(exact, items))
    after = decisions(
        items, engine_scores(load_language_model(str(folder), device="cpu", precision="bf16"), items)
    )
    return sum(one != other for one, other in zip(before, after, strict=True)), len(before)


def decisions(items: Iterable[Association], scores: Scores) -> list[bool]:
    """Which of two candidates is preferred, for all pairs of every item."""
    return [
        scores[first.id] > scores[second.id]
        for item in items
        for first, second in combinations(item.candidates, 2)
    ]


if __name__ == "__main__":
    found = {Path(folder).name: changed_decisions(Path(folder)) for folder in sys.argv[1:]}
    sys.stdout.write(json.dumps(found))
