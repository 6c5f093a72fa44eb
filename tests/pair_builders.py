"""Small made-up pairs of sentences and their files."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from pathlib import Path

from evenhand.core.items import PairDirection, PairSet, SentencePair

HEADER = ("id", "sent_more", "sent_less", "stereo_antistereo", "bias_type")

ORIGINAL_HEADER = ("", *HEADER[1:], "annotations", "anon_writer", "anon_annotators")
"""The header of the English file."""


def pair(
    number: int | str = 1,
    *,
    more: str = "The old baker forgot the keys.",
    less: str = "The young baker forgot the keys.",
    direction: str = "stereo",
    bias_type: str = "age",
    language: str = "en",
) -> SentencePair:
    """A mild pair."""
    return SentencePair(
        id=str(number),
        language=language,
        bias_type=bias_type,
        direction=PairDirection(direction),
        more=more,
        less=less,
    )


def pair_set(*pairs: SentencePair, name: str = "tiny", language: str = "en") -> PairSet:
    """Pairs as if they were read from a file."""
    return PairSet(name=name, language=language, pairs=pairs, source="tiny.csv", sha256="0" * 64)


def write_table(
    path: Path, rows: Iterable[Iterable[str]], *, header: Iterable[str] = HEADER, encoding: str = "utf-8"
) -> Path:
    """Write rows with a header; with tabs if the file's name ends in .tsv."""
    with path.open("w", encoding=encoding, newline="") as stream:
        writer = csv.writer(stream, delimiter="\t" if path.suffix == ".tsv" else ",")
        writer.writerow(header)
        writer.writerows(rows)
    return path


def row_of(of: SentencePair) -> tuple[str, str, str, str, str]:
    """A pair as its file has it."""
    return (of.id, of.more, of.less, of.direction.value, of.bias_type)
