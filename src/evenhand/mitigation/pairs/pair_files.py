"""Files of pairs: JSON Lines, one pair a line.

    {"male": "He is the doctor.", "female": "She is the doctor.", "original": "male", "experiments": ["he-she"],
     "occupations": ["doctor"],
     "swaps": [{"role": "subject pronoun", "male": "He", "female": "She", "male_at": [0, 2], "female_at": [0, 3]}]}

The words of a swap are those of the male and of the female sentence. Where the male sentence has the female word, as in
the second swap of *He met her*, the swap is marked ``"crossed": true``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from evenhand.core.errors import DatasetError
from evenhand.core.files import load_json
from evenhand.core.probes import Experiment
from evenhand.core.spans import Span
from evenhand.data.corpora import decoded, lines_of, read_bytes
from evenhand.mitigation.pairs.pairing import Pair, Place, Side
from evenhand.text.twins.twin import Role


def line_of(pair: Pair) -> bytes:
    """A pair as a line."""
    row = {
        "male": pair.male,
        "female": pair.female,
        "original": pair.original.value,
        "experiments": [experiment.value for experiment in pair.experiments],
        "occupations": list(pair.occupations),
        "swaps": [_swap_row(pair, place) for place in pair.places],
    }
    return (json.dumps(row, ensure_ascii=False) + "\n").encode()


def read_pairs(path: str | Path) -> Iterator[Pair]:
    """The pairs of a file, plain or compressed with gzip, in its order.

    Raises:
        DatasetError: If the file cannot be read, a line is no pair, or there is none.
    """
    path = Path(path)
    if not path.is_file():
        raise DatasetError(
            f"There is no file {path}. Make one with: evenhand data counterfactual --corpus ..."
        )
    is_empty = True
    chunks = read_bytes(path, progress=lambda _: None, digest=lambda _: None)
    for number, line in enumerate(lines_of(decoded(chunks, path)), start=1):
        if line is None:
            raise DatasetError(f"{path}, line {number}: too long for a pair.")
        if line.strip():
            is_empty = False
            yield pair_in(line, place=f"{path}, line {number}")
    if is_empty:
        raise DatasetError(f"{path} has no pairs. Make some with: evenhand data counterfactual --corpus ...")


def read_sentences(
    path: str | Path, *, experiments: Iterable[Experiment] = tuple(Experiment)
) -> Iterator[str]:
    """Both sentences of every pair that is kept for one of the experiments: what a model is trained on."""
    wanted = frozenset(experiments)
    for pair in read_pairs(path):
        if not wanted.isdisjoint(pair.experiments):
            yield from pair.sentences


def pair_in(line: str, *, place: str) -> Pair:
    """The pair of a line.

    Args:
        line: As ``line_of`` writes it.
        place: For messages.
    """
    try:
        row = load_json(line)
    except (ValueError, RecursionError) as problem:
        raise DatasetError(f"{place}: not valid JSON ({problem}). Every line is a pair.") from None
    try:
        return _pair(row)
    except KeyError as problem:
        raise DatasetError(
            f"{place}: {problem.args[0]!r} is missing. A pair has male, female, original, experiments, occupations "
            "and swaps."
        ) from None
    except (TypeError, ValueError, AttributeError) as problem:
        raise DatasetError(f"{place}: not a pair ({problem}).") from None


def _pair(row: dict[str, Any]) -> Pair:
    if not isinstance(row, dict):
        raise TypeError(f"an object is needed, not {type(row).__name__}")
    male, female = _text(row, "male"), _text(row, "female")
    return Pair(
        male=male,
        female=female,
        original=Side(row["original"]),
        experiments=tuple(Experiment(name) for name in _list(row, "experiments")),
        occupations=tuple(_text({"occupations": name}, "occupations") for name in _list(row, "occupations")),
        places=tuple(_place(swap, male, female) for swap in _list(row, "swaps")),
    )


def _place(swap: dict[str, Any], male: str, female: str) -> Place:
    place = Place(
        role=Role(swap["role"]),
        male=_span(swap["male_at"]),
        female=_span(swap["female_at"]),
        crossed=swap.get("crossed", False) is True,
    )
    there = (place.male.of(male), place.female.of(female))
    if there != (swap["male"], swap["female"]):
        raise ValueError(f"at {swap['male_at']} and {swap['female_at']} stand {there[0]!r} and {there[1]!r}")
    return place


def _span(value: Any) -> Span:
    start, end = value
    if not (isinstance(start, int) and isinstance(end, int) and 0 <= start <= end):
        raise ValueError(f"{value} is no span")
    return Span(start, end)


def _text(row: dict[str, Any], key: str) -> str:
    if not isinstance(row[key], str) or not row[key].strip():
        raise TypeError(f"{key} is {row[key]!r}; text is needed")
    return str(row[key])


def _list(row: dict[str, Any], key: str) -> list[Any]:
    if not isinstance(row[key], list):
        raise TypeError(f"{key} is {row[key]!r}; a list is needed")
    return list(row[key])


def _swap_row(pair: Pair, place: Place) -> dict[str, Any]:
    row = {
        "role": place.role.value,
        "male": place.male.of(pair.male),
        "female": place.female.of(pair.female),
        "male_at": [place.male.start, place.male.end],
        "female_at": [place.female.start, place.female.end],
    }
    return row | {"crossed": True} if place.crossed else row
