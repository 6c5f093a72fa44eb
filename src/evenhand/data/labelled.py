"""Labelled text: examples to fine-tune a classifier on, and others to evaluate it on.

A file is CSV, TSV or JSON Lines with a ``text`` (or ``sentence``) and a ``label`` in every row; labels are any words or
finite numbers. A folder has one file named ``train`` and one named ``dev``, ``validation`` or ``test``, as SST-2 comes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from evenhand.core.errors import DatasetError, shortlist
from evenhand.core.files import decode_utf8, load_json, read_bounded, sha256_of
from evenhand.core.inputs import checked_path
from evenhand.data.csv_files import read_table

TEXT_COLUMNS = ("text", "sentence")
LABEL_COLUMN = "label"
FEWEST = 20
"""With fewer examples an accuracy means next to nothing."""

JUDGED_SHARE = 0.2
"""The share of a single file that is held back for evaluation."""

_ENDINGS = (".csv", ".tsv", ".jsonl", ".ndjson")
_RECORDS = (".jsonl", ".ndjson")
_JUDGED_NAMES = ("dev", "validation", "test")


@dataclass(frozen=True, slots=True)
class LabelledExample:
    """A text and its label."""

    text: str
    label: str


@dataclass(frozen=True, slots=True)
class LabelledText:
    """Examples to train on, and others to evaluate on."""

    name: str
    train: tuple[LabelledExample, ...]
    judged: tuple[LabelledExample, ...]
    classes: tuple[str, ...]
    sha256: str

    def limited(self, *, train: int, judged: int) -> LabelledText:
        """At most so many examples of each part, the first ones."""
        return LabelledText(self.name, self.train[:train], self.judged[:judged], self.classes, self.sha256)


def load_labelled(path: str | Path, *, seed: int = 0) -> LabelledText:
    """Labelled text from a file, which is split by the seed, or from a folder with a split of its own."""
    place = checked_path(path, error=DatasetError)
    if not place.exists():
        raise DatasetError(f"There is no file or folder {place}. Check the path.")
    generator = np.random.default_rng(seed)
    if place.is_dir():
        parts = [_read(_named(place, names)) for names in (("train",), _JUDGED_NAMES)]
        train, judged = (_shuffled(examples, generator) for examples, _ in parts)
        digest = sha256_of("\n".join(own for _, own in parts).encode())
    else:
        examples, digest = _read(place)
        shuffled = _shuffled(examples, generator)
        held = round(JUDGED_SHARE * len(shuffled))
        train, judged = shuffled[held:], shuffled[:held]
    classes = tuple(sorted({example.label for example in train}))
    _refuse_unfit(place, train, judged, classes)
    return LabelledText(place.stem, train, judged, classes, digest)


def _shuffled(
    examples: Sequence[LabelledExample], generator: np.random.Generator
) -> tuple[LabelledExample, ...]:
    return tuple(examples[place] for place in generator.permutation(len(examples)))


def _named(folder: Path, names: Sequence[str]) -> Path:
    """The first of these files that a folder has."""
    file_names = [
        f"{name}{ending}{packed}" for name in names for ending in _ENDINGS for packed in ("", ".gz")
    ]
    path = next((folder / name for name in file_names if (folder / name).is_file()), None)
    if path is None:
        raise DatasetError(
            f"The folder {folder} has no file {' or '.join(names)} that ends in {', '.join(_ENDINGS)}. Give a folder "
            "with one to train on (train) and one to judge by (dev), or a single file."
        )
    return path


def _read(path: Path) -> tuple[list[LabelledExample], str]:
    if path.name.lower().removesuffix(".gz").endswith(_RECORDS):
        content = read_bounded(path, error=DatasetError)
        rows = list(_records(decode_utf8(content, path, error=DatasetError), path))
        return rows, sha256_of(content)
    table = read_table(path, needed=(LABEL_COLUMN,))
    column = next((name for name in TEXT_COLUMNS if name in table.columns), None)
    if column is None:
        raise DatasetError(
            f"{path} has the columns {', '.join(table.columns)}; one named {' or '.join(TEXT_COLUMNS)} is missing."
        )
    return [_example(row[column], row[LABEL_COLUMN], row.place) for row in table.rows], table.sha256


def _records(text: str, path: Path) -> Iterator[LabelledExample]:
    # Not splitlines: JSON allows U+2028 and its like within a text.
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        place = f"{path}, line {number}"
        try:
            record = load_json(line)
        except ValueError as problem:
            raise DatasetError(f"{place}: not valid JSON ({problem}).") from None
        if not isinstance(record, dict):
            raise DatasetError(f'{place}: every line is an object such as {{"text": "Good.", "label": "1"}}.')
        words = next((record[name] for name in TEXT_COLUMNS if name in record), None)
        label = record.get(LABEL_COLUMN)
        if isinstance(label, float) and not math.isfinite(label):
            raise DatasetError(
                f"{place}: the label is {label}, which is not a class. Give the row a label, or leave the row out."
            )
        yield _example(words if isinstance(words, str) else "", "" if label is None else str(label), place)


def _example(text: str, label: str, place: str) -> LabelledExample:
    if not text.strip() or not label.strip():
        raise DatasetError(
            f"{place}: a text and a label are needed, and the {'label' if text.strip() else 'text'} is empty."
        )
    return LabelledExample(text.strip(), label.strip())


def _refuse_unfit(
    path: Path, train: Sequence[LabelledExample], judged: Sequence[LabelledExample], classes: Sequence[str]
) -> None:
    if len(classes) < 2:
        raise DatasetError(
            f"{path} has only the label {shortlist(classes)}; a classifier needs at least two to tell apart."
        )
    if len(classes) > len(train) // 2:
        raise DatasetError(
            f"{path} has {len(classes):,} labels for {len(train):,} examples. Is the column {LABEL_COLUMN} the label?"
        )
    if len(judged) < FEWEST or len(train) < FEWEST:
        raise DatasetError(
            f"{path} leaves {len(train):,} examples to train on and {len(judged):,} to judge by; at least {FEWEST} of "
            "each are needed."
        )
    unknown = sorted({example.label for example in judged} - set(classes))
    if unknown:
        raise DatasetError(
            f"{path}: the label {unknown[0]!r} is among those to judge by and not in training."
        )
