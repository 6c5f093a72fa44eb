"""Small made-up benchmarks, their files and their scores, for every test that needs some."""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from evenhand.core.items import Association, Benchmark, Candidate, Label, Task
from evenhand.data.predictions import Predictions, as_score

LABELS = (Label.STEREOTYPE, Label.ANTI_STEREOTYPE, Label.UNRELATED)
SUFFIXES = ("s", "a", "u")

Triple = tuple[float, float, float]
"""Scores of the stereotype, the anti-stereotype and the unrelated candidate."""


def intra(
    number: int | str = 1,
    *,
    cluster: str = "baker",
    bias_type: str = "profession",
    language: str = "en",
    target: str | None = None,
    context: str = "The baker likes BLANK bread.",
    fills: Sequence[str] = ("fresh", "brown", "purple"),
    texts: Sequence[str] | None = None,
    words: Sequence[str | None] = (None, None, None),
) -> Association:
    """An intra-sentence item; candidate ids are the item's id with -s, -a and -u."""
    sentences = texts or [context.replace("BLANK", fill) for fill in fills]
    item_id = f"intra-{number}"
    return Association(
        id=item_id,
        language=language,
        bias_type=bias_type,
        target=target or cluster,
        cluster=cluster,
        task=Task.INTRASENTENCE,
        context=context,
        candidates=_candidates(item_id, sentences, words),
    )


def inter(
    number: int | str = 1,
    *,
    cluster: str = "baker",
    bias_type: str = "profession",
    language: str = "en",
    target: str | None = None,
    context: str = "The baker opens the shop.",
    texts: Sequence[str] = ("It smells of bread.", "It smells of paint.", "Seven is a number."),
) -> Association:
    """An inter-sentence item; candidate ids are the item's id with -s, -a and -u."""
    item_id = f"inter-{number}"
    return Association(
        id=item_id,
        language=language,
        bias_type=bias_type,
        target=target or cluster,
        cluster=cluster,
        task=Task.INTERSENTENCE,
        context=context,
        candidates=_candidates(item_id, texts, (None, None, None)),
    )


def _candidates(
    item_id: str, texts: Sequence[str], words: Sequence[str | None]
) -> tuple[Candidate, Candidate, Candidate]:
    first, second, third = (
        Candidate(id=f"{item_id}-{suffix}", text=text, label=label, word=word)
        for suffix, text, label, word in zip(SUFFIXES, texts, LABELS, words, strict=True)
    )
    return first, second, third


def benchmark(*items: Association, language: str = "en", name: str = "tiny") -> Benchmark:
    """A benchmark of these items."""
    return Benchmark(
        name=name, language=language, items=items, source="tiny.json", sha256="0" * 64, licence="CC0"
    )


def scores(triples: Mapping[str, Triple]) -> dict[str, float]:
    """Scores by candidate id from triples by item id."""
    return {
        f"{item}-{suffix}": score
        for item, triple in triples.items()
        for suffix, score in zip(SUFFIXES, triple, strict=True)
    }


def predictions(triples: Mapping[str, Triple], probabilities: Mapping[str, Triple]) -> Predictions:
    """Scores and probabilities by candidate id, as an audit hands them over; some may lack a probability."""
    known = scores(probabilities)
    return Predictions(
        name="model",
        source="scored by this run",
        sha256="0" * 64,
        scores={
            candidate: replace(
                as_score(score), log2_probability=math.log2(known[candidate]) if candidate in known else None
            )
            for candidate, score in scores(triples).items()
        },
    )


def entry(item: Association, **extra: Any) -> dict[str, Any]:
    """An item as StereoSet's layout has it, with further keys; a key given as None is left out."""
    row: dict[str, Any] = {
        "id": item.id,
        "bias_type": item.bias_type,
        "target": item.target,
        "context": item.context,
        "sentences": [
            {
                "id": candidate.id,
                "sentence": candidate.text,
                "gold_label": candidate.label.value,
                **({"word": candidate.word} if candidate.word else {}),
            }
            for candidate in item.candidates
        ],
    }
    row |= extra
    return {key: value for key, value in row.items() if value is not None}


def document(items: Iterable[Association | dict[str, Any]], *, language: str | None = "en") -> dict[str, Any]:
    """A file in StereoSet's layout. Items that are already rows go to the intra-sentence task."""
    data: dict[str, list[dict[str, Any]]] = {"intrasentence": [], "intersentence": []}
    for item in items:
        if isinstance(item, Association):
            data[item.task.value].append(entry(item))
        else:
            data["intrasentence"].append(item)
    return {"version": "1.0", **({"language": language} if language else {}), "data": data}


def write_json(path: Path, value: Any, *, compress: bool = False, encoding: str = "utf-8") -> Path:
    """Write a JSON file, which may be gzip-compressed."""
    content = json.dumps(value, ensure_ascii=False).encode(encoding)
    path.write_bytes(gzip.compress(content) if compress else content)
    return path
