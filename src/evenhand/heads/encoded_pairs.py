"""Encoded pairs: next-sentence pairs as the tokens that a model sees, on disk, so that millions need no memory."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO, overload

import numpy as np
import numpy.typing as npt
import polars as pl

from evenhand.core.errors import DatasetError, RunError
from evenhand.core.files import folder_written_whole
from evenhand.core.progress import Progress, no_progress
from evenhand.heads.pairs import NextSentencePairs
from evenhand.models.next_sentence import PairEncoder, vocabulary_digest

MOST_UNKNOWN = 0.2
"""Share of unknown tokens above which pairs are not in a language that the tokenizer knows."""

_TOGETHER = 2_048
"""Pairs that are encoded at a time."""

_NOTE = "encoding.json"
_COLUMNS = {
    "ids": np.int32,
    "types": np.uint8,
    "lengths": np.int32,
    "classes": np.uint8,
    "articles": np.uint64,
}


@dataclass(frozen=True, slots=True)
class PairExample:
    """One encoded pair and its class."""

    ids: npt.NDArray[np.int32]
    types: npt.NDArray[np.uint8]
    label: int
    rows: int = 1

    @property
    def length(self) -> int:
        """In tokens."""
        return len(self.ids)

    @property
    def tokens(self) -> int:
        """As many as it is long."""
        return len(self.ids)

    def __len__(self) -> int:
        return len(self.ids)


class EncodedPairs(Sequence[PairExample]):
    """Pairs in a folder, each read when it is asked for."""

    def __init__(self, folder: Path, *, vocabulary: str) -> None:
        note = json.loads((folder / _NOTE).read_bytes())
        if note["vocabulary"] != vocabulary:
            raise RunError(
                f"{folder} holds pairs that were encoded with another tokenizer. Remove it, and give the same command "
                "again to encode them for this model."
            )
        self._folder = folder
        self.counts: dict[str, int] = note["pairs"]
        """Pairs by language."""

    @cached_property
    def lengths(self) -> npt.NDArray[np.int64]:
        """Tokens of each pair."""
        return self._column("lengths").astype(np.int64)

    @cached_property
    def classes(self) -> npt.NDArray[np.uint8]:
        """The class of each pair."""
        return self._column("classes")

    @cached_property
    def articles(self) -> npt.NDArray[np.uint64]:
        """The article that the first sentence of each pair stands in."""
        return self._column("articles")

    @cached_property
    def _begins(self) -> npt.NDArray[np.int64]:
        return np.concatenate([[0], np.cumsum(self.lengths)])

    @cached_property
    def _ids(self) -> npt.NDArray[np.int32]:
        return self._column("ids")

    @cached_property
    def _types(self) -> npt.NDArray[np.uint8]:
        return self._column("types")

    def _column(self, name: str) -> npt.NDArray[Any]:
        return np.memmap(self._folder / name, dtype=_COLUMNS[name], mode="r")

    def __len__(self) -> int:
        return len(self.lengths)

    @overload
    def __getitem__(self, place: int) -> PairExample: ...
    @overload
    def __getitem__(self, place: slice) -> list[PairExample]: ...
    def __getitem__(self, place: int | slice) -> PairExample | list[PairExample]:
        if isinstance(place, slice):
            return [self[number] for number in range(*place.indices(len(self)))]
        if not 0 <= place < len(self):
            raise IndexError(place)
        begin, end = self._begins[place : place + 2]
        return PairExample(self._ids[begin:end], self._types[begin:end], int(self.classes[place]))


@dataclass(frozen=True, slots=True)
class PairSelection:
    """Which pairs are encoded: as many of each language, half of which follow."""

    pairs: tuple[NextSentencePairs, ...]
    part: str
    most: int | None = None
    """Of all languages together."""

    @property
    def per_language(self) -> int:
        """Pairs of each language."""
        available = [
            own.record.train_pairs if self.part == "train" else own.record.test_pairs for own in self.pairs
        ]
        fewest = min(available) if self.most is None else min(*available, self.most // len(self.pairs))
        return fewest // 2 * 2

    def rows(self, pairs: NextSentencePairs) -> Iterator[pl.DataFrame]:
        """The pairs of one language, shard by shard."""
        left = self.per_language // 2
        for frame in pairs.frames(self.part):
            if not left:
                return
            halves = [frame.filter(pl.col("follows") == follows).head(left) for follows in (True, False)]
            left -= len(halves[0])
            yield pl.concat(halves)


def encode_pairs(
    selection: PairSelection,
    folder: Path,
    encoder: PairEncoder,
    *,
    longest: int,
    progress: Progress = no_progress,
) -> EncodedPairs:
    """Encode pairs, unless a folder has them already.

    Raises:
        DatasetError: If the tokenizer does not know the language of the pairs, or there are too few.
        RunError: If the folder holds pairs that were encoded with another tokenizer.
    """
    vocabulary = vocabulary_digest(encoder.tokenizer)
    if not folder.exists():
        with folder_written_whole(folder) as scratch:
            _write(selection, scratch, encoder, longest=longest, progress=progress)
            note = {
                "vocabulary": vocabulary,
                "pairs": {own.record.language: selection.per_language for own in selection.pairs},
            }
            (scratch / _NOTE).write_text(json.dumps(note), encoding="utf-8")
    return EncodedPairs(folder, vocabulary=vocabulary)


def _write(
    selection: PairSelection, folder: Path, encoder: PairEncoder, *, longest: int, progress: Progress
) -> None:
    follows = encoder.record.follows_class
    total, done = selection.per_language * len(selection.pairs), 0
    if not total:
        raise DatasetError(
            f"There are no pairs to {selection.part} with. Ask for at least {2 * len(selection.pairs)}."
        )
    files = {name: (folder / name).open("wb") for name in _COLUMNS}
    try:
        for pairs in selection.pairs:
            unknown = tokens = 0
            for frame in selection.rows(pairs):
                for piece in frame.iter_slices(_TOGETHER):
                    rows = piece.rows()
                    encoded = encoder.encode(
                        [(first, second) for first, second, _, _ in rows], longest=longest
                    )
                    _append(files["ids"], np.int32, [token for ids, _ in encoded for token in ids])
                    _append(files["types"], np.uint8, [kind for _, types in encoded for kind in types])
                    _append(files["lengths"], np.int32, [len(ids) for ids, _ in encoded])
                    _append(files["classes"], np.uint8, [follows if row[2] else 1 - follows for row in rows])
                    _append(files["articles"], np.uint64, [row[3] for row in rows])
                    unknown += sum(ids.count(encoder.tokenizer.unk_token_id) for ids, _ in encoded)
                    tokens += sum(len(ids) for ids, _ in encoded)
                    _refuse_unknown(unknown / tokens, pairs)
                    done += len(rows)
                    progress(done, total)
    finally:
        for stream in files.values():
            stream.close()


def _append(stream: BinaryIO, kind: type[np.generic], values: Sequence[int]) -> None:
    stream.write(np.array(values, dtype=kind).tobytes())


def _refuse_unknown(share: float, pairs: NextSentencePairs) -> None:
    if share > MOST_UNKNOWN:
        raise DatasetError(
            f"{share:.0%} of the tokens of {pairs.folder} ({pairs.record.language}) are unknown to the model's "
            "tokenizer: they are pairs for another one. Give pairs in a language that the model knows."
        )
