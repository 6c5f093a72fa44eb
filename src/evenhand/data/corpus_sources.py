"""The sources of a corpus: what can be read apart from the rest, by another process or after an interruption."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from evenhand.core.errors import DatasetError
from evenhand.data.corpora import CorpusCounts, Report, Sentences, corpus_files
from evenhand.data.hub_corpora import HUB_PREFIX, hub_corpus, pinned_shards


class CountedSentences(Protocol):
    """Sentences, counted and digested as they are read."""

    counts: CorpusCounts

    @property
    def sha256(self) -> str:
        """Digest of what was read."""
        ...

    def __iter__(self) -> Iterator[str]: ...


class Source(Protocol):
    """A file of text, or a shard of a dataset."""

    @property
    def name(self) -> str:
        """How messages name it."""
        ...

    @property
    def size(self) -> int:
        """In bytes; 0 if that is not known."""
        ...

    def identity(self) -> dict[str, Any]:
        """What tells it apart from any other, and from itself at another time."""
        ...

    def open(self, report: Report | None = None) -> CountedSentences:
        """Its sentences, from the first."""
        ...


@dataclass(frozen=True, slots=True)
class FileOnDisk:
    """What sources that are files have in common."""

    path: Path

    @property
    def name(self) -> str:
        """How messages name it."""
        return str(self.path)

    @property
    def size(self) -> int:
        """In bytes, as it lies on the disk."""
        return self._state.st_size

    @property
    def modified(self) -> int:
        """When it was changed, in nanoseconds."""
        return self._state.st_mtime_ns

    @property
    def _state(self) -> os.stat_result:
        try:
            return self.path.stat()
        except OSError as problem:
            raise DatasetError(f"{self.path} cannot be read: {problem.strerror or problem}.") from None


@dataclass(frozen=True, slots=True)
class TextFile(FileOnDisk):
    """A file that ``evenhand.data.corpora`` can read."""

    def identity(self) -> dict[str, Any]:
        """Its path, size and time of change."""
        return {"path": self.name, "size": self.size, "modified": self.modified}

    def open(self, report: Report | None = None) -> Sentences:
        """Its sentences."""
        return Sentences([self.path], counts=CorpusCounts(), report=report)


@dataclass(frozen=True, slots=True)
class Corpus:
    """The sources of a corpus in their order, and the files that are none."""

    sources: tuple[Source, ...]
    files_left_out: tuple[str, ...]


def corpus_sources(corpora: Iterable[str | Path], *, split: str = "train", column: str = "text") -> Corpus:
    """The sources that files, folders and names of datasets stand for.

    Args:
        corpora: Paths, or ``hub:NAME[:CONFIG][@REVISION]``.
        split: Of the datasets.
        column: Of the datasets, the one with the text.

    Raises:
        DatasetError: If a path does not exist, a folder has no text, or a dataset cannot be opened.
    """
    counts = CorpusCounts()
    sources: list[Source] = []
    for given in corpora:
        if str(given).startswith(HUB_PREFIX):
            sources += pinned_shards(hub_corpus(str(given), split=split, column=column))
        else:
            sources += [TextFile(path) for path in corpus_files(given, counts=counts)]
    if not sources:
        raise DatasetError(
            "No corpus was given. Give text files, folders, or hub:NAME for a dataset of the hub."
        )
    return Corpus(tuple(sources), tuple(counts.files_left_out))
