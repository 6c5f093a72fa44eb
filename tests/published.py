"""The published benchmark and predictions, read plainly: JSON and nothing of the package."""

from __future__ import annotations

import gzip
import json
from functools import cache
from pathlib import Path

import definitions

from evenhand.core.items import Benchmark
from evenhand.data.stereoset import read_stereoset

TASKS = ("intrasentence", "intersentence")


def predictions_path(folder: Path, name: str) -> Path:
    return folder / "predictions" / f"{name}.json.gz"


@cache
def benchmark(folder: Path, language: str) -> Benchmark:
    """One language of the published benchmark, as the package reads it."""
    return read_stereoset(folder / "stereoset" / f"{language}.json", language=language)


def plain_items(folder: Path, predictions: str, language: str) -> dict[str, dict[str, definitions.Item]]:
    """Items by task and id with their published scores, straight from the files; of the tasks that a file has."""
    data = json.loads((folder / "stereoset" / f"{language}.json").read_text(encoding="utf-8"))["data"]
    with gzip.open(predictions_path(folder, predictions), "rt", encoding="utf-8") as stream:
        published = json.load(stream)
    scores = {entry["id"]: entry["score"] for entries in published.values() for entry in entries}
    items: dict[str, dict[str, definitions.Item]] = {}
    for task in TASKS:
        items[task] = {}
        if not published.get(task):
            continue
        for row in data[task]:
            by_label = {sentence["gold_label"]: scores[sentence["id"]] for sentence in row["sentences"]}
            items[task][row["id"]] = definitions.Item(
                row["target_original"],
                by_label["stereotype"],
                by_label["anti-stereotype"],
                by_label["unrelated"],
            )
    return items
