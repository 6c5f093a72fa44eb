"""Next-sentence pairs: a sentence with the one that follows it, and with one from another article.

A folder of pairs holds ``pairs.json`` and shards in Parquet, one row per pair: ``first``, ``second``, ``follows``, and
``article``, a number of the article that ``first`` stands in. Every ``first`` has one row that follows and one that
does not, articles are either for training or for testing, and no sentence stands in articles of both kinds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl
from pydantic import ValidationError, field_validator

from evenhand.core.errors import DatasetError, EvenhandError, OutputError, fault
from evenhand.core.files import is_file_name, read_stored
from evenhand.core.frozen import FrozenModel
from evenhand.core.inputs import checked_path
from evenhand.core.remembered_digests import remembered_sha256
from evenhand.core.tables import panics_kept_quiet

RECORD_FILE = "pairs.json"
TRAIN, TEST = "train", "test"

PAIR_COLUMNS = {"first": pl.String, "second": pl.String, "follows": pl.Boolean, "article": pl.UInt64}


@dataclass(frozen=True, slots=True)
class NextSentenceOptions:
    """Which pairs are made."""

    language: str
    seed: int = 0
    test_share: float = 0.05
    """Of the articles."""

    def __post_init__(self) -> None:
        if not 0 < self.test_share < 1:
            raise EvenhandError(
                f"The share of articles for testing is {self.test_share:g}; it must lie between 0 and 1, 0.05 is "
                "usual."
            )


class PairSource(FrozenModel):
    """A source of a corpus, and what was read of it."""

    name: str
    articles: int
    sentences: int
    left_out: Mapping[str, int] = {}
    """What was too long to be read, by reason."""


class NextSentenceRecord(FrozenModel):
    """What pairs were made of, and how many there are; half of them follow."""

    version: str
    language: str
    seed: int
    test_share: float
    fingerprint: str
    train_pairs: int
    test_pairs: int
    train_articles: int
    test_articles: int
    left_out: dict[str, int]
    sources: tuple[PairSource, ...]
    shards: dict[str, str]
    """Digest of each file."""

    @field_validator("shards")
    @classmethod
    def _lie_in_the_folder(cls, shards: dict[str, str]) -> dict[str, str]:
        for name in shards:
            if not is_file_name(name):
                raise ValueError(f"{name!r} is no file of the folder")
        return shards


@dataclass(frozen=True, slots=True)
class NextSentencePairs:
    """A folder of pairs."""

    folder: Path
    record: NextSentenceRecord

    def shards(self, part: str) -> list[Path]:
        """The files of ``train`` or ``test``."""
        return [self.folder / name for name in sorted(self.record.shards) if name.startswith(f"{part}-")]

    def frames(self, part: str) -> Iterator[pl.DataFrame]:
        """One table per shard.

        Raises:
            DatasetError: If a shard is missing or was changed, or all together hold fewer or more pairs than the
                record says.
        """
        found = 0
        for path in self.shards(part):
            try:
                intact = path.is_file() and remembered_sha256(path) == self.record.shards[path.name]
                with panics_kept_quiet():
                    frame = pl.read_parquet(path, schema=PAIR_COLUMNS) if intact else None
            except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException):
                frame = None
            if frame is None:
                raise DatasetError(
                    f"{path} is missing or was changed. Make the pairs again with evenhand data next-sentence."
                )
            if not _is_whole(frame):
                raise DatasetError(
                    f"{path} has pairs without a sentence or an answer. Make the pairs again with evenhand data "
                    "next-sentence."
                )
            found += len(frame)
            yield frame
        recorded = self.record.train_pairs if part == TRAIN else self.record.test_pairs
        if found != recorded:
            raise DatasetError(
                f"{self.folder} has {found:,} pairs for {part}ing, and its record says {recorded:,}. Make the pairs "
                "again with evenhand data next-sentence."
            )


def _is_whole(frame: pl.DataFrame) -> bool:
    """Whether no cell is empty."""
    texts = frame.select((pl.col("first", "second").str.strip_chars() == "").any())
    return sum(frame.null_count().row(0)) == 0 and not any(texts.row(0))


def open_next_sentence_pairs(folder: str | Path) -> NextSentencePairs:
    """Open a folder of pairs.

    Raises:
        DatasetError: If it is none.
    """
    place = checked_path(folder, error=DatasetError)
    try:
        if not (place / RECORD_FILE).is_file():
            raise DatasetError(
                f"{place} is no folder of next-sentence pairs: it has no {RECORD_FILE}. Make one with: evenhand data "
                f"next-sentence --corpus TEXTS --language en --out {place}"
            )
        content = read_stored(place / RECORD_FILE, error=DatasetError)
        record = NextSentenceRecord.model_validate_json(content)
    except ValidationError as problem:
        raise DatasetError(f"{place / RECORD_FILE} is damaged ({fault(problem)}).") from None
    return NextSentencePairs(place, record)


def fingerprint_of_pairs(folder: Path) -> str | None:
    """The fingerprint of the pairs in a folder; None if it is free.

    Raises:
        OutputError: If it holds something else.
    """
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return None
    if not (folder / RECORD_FILE).is_file():
        raise OutputError(f"{folder} holds something else than next-sentence pairs. Choose another --out.")
    return open_next_sentence_pairs(folder).record.fingerprint
