"""The sources of a corpus: text files, and shards of datasets on the Hugging Face hub.

A source can be read apart from the others, by another process or after an interruption. A dataset of the hub is named
``hub:NAME``, ``hub:NAME:CONFIG`` or either with ``@REVISION``; NAME may be a folder of data files. The revision is
pinned to a commit before anything is read. Datasets with a loading script are refused by the library, and nothing here
asks it to trust one.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from evenhand.core.errors import DatasetError, DatasetUnavailableError, require_extra
from evenhand.core.inputs import checked_path
from evenhand.core.progress import Progress
from evenhand.core.yaml_files import front_matter, read_yaml
from evenhand.data.corpora import CorpusCounts, EmptyCorpusError, FileSentences, corpus_files
from evenhand.text.sentence_splitting import sentences_of

HUB_PREFIX = "hub:"

_NAME = re.compile(r"(?P<name>[^:@]+)(:(?P<config>[^:@]+))?(@(?P<revision>[^:@]+))?")


class SentenceStream(Protocol):
    """Sentences, counted and digested as they are read."""

    counts: CorpusCounts

    @property
    def sha256(self) -> str:
        """Digest of what was read."""
        ...

    def __iter__(self) -> Iterator[str]: ...


class CorpusSource(Protocol):
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
        """What identifies it; different if its content has changed."""
        ...

    def open(self, report: Progress | None = None) -> SentenceStream:
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
        """In bytes, as it is stored."""
        return self._state.st_size

    @property
    def modified(self) -> int:
        """When it was last changed, in nanoseconds."""
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

    def open(self, report: Progress | None = None) -> FileSentences:
        """Its sentences."""
        return FileSentences([self.path], counts=CorpusCounts(), report=report)


@dataclass(frozen=True, slots=True)
class CorpusSources:
    """The sources of a corpus in order, and the files that were left out."""

    sources: tuple[CorpusSource, ...]
    files_left_out: tuple[str, ...]


def corpus_sources(
    corpora: Iterable[str | Path], *, split: str = "train", column: str = "text"
) -> CorpusSources:
    """The sources of files, folders and datasets of the hub.

    Args:
        corpora: Paths, or ``hub:NAME[:CONFIG][@REVISION]``.
        split: Of the datasets.
        column: Of the datasets, the one with the text.

    Raises:
        DatasetError: If a path does not exist, a folder has no text, or a dataset cannot be opened.
    """
    counts = CorpusCounts()
    sources: list[CorpusSource] = []
    for corpus in corpora:
        if str(corpus).startswith(HUB_PREFIX):
            sources += pinned_shards(hub_corpus(str(corpus), split=split, column=column))
        else:
            sources += [TextFile(path) for path in corpus_files(corpus, counts=counts)]
    if not sources:
        raise DatasetError(
            "No corpus was given. Give text files, folders, or hub:NAME for a dataset of the hub."
        )
    return CorpusSources(tuple(sources), tuple(counts.files_left_out))


@dataclass(frozen=True, slots=True)
class HubCorpus:
    """A column of a dataset's split, or one shard of it."""

    dataset: str
    config: str | None = None
    revision: str | None = None
    split: str = "train"
    column: str = "text"
    shard: int = 0
    shards: int = 1

    @property
    def name(self) -> str:
        """How messages name it."""
        config = f":{self.config}" if self.config else ""
        revision = f"@{self.revision}" if self.revision else ""
        part = f" (shard {self.shard + 1} of {self.shards})" if self.shards > 1 else ""
        return f"{HUB_PREFIX}{self.dataset}{config}{revision}{part}"

    @property
    def size(self) -> int:
        """In bytes; a stream does not know."""
        return 0

    def identity(self) -> dict[str, Any]:
        """What identifies it; different if the files of a folder have changed."""
        return {
            "dataset": self.dataset, "config": self.config, "revision": self.revision, "split": self.split,
            "column": self.column, "shard": self.shard, "shards": self.shards, "files": _local_files(self.dataset),
        }  # fmt: skip

    def open(self, report: Progress | None = None) -> HubSentences:
        """Its sentences."""
        return HubSentences(self, report=report)


class HubSentences(Iterator[str]):
    """The sentences of a dataset. Its counts and its digest are complete when all sentences are read."""

    def __init__(self, corpus: HubCorpus, *, report: Progress | None = None) -> None:
        self.counts = CorpusCounts()
        self._corpus = corpus
        self._report = report
        self._digest = hashlib.sha256()
        self._bytes = 0
        self._found = self._read()

    def __next__(self) -> str:
        return next(self._found)

    @property
    def sha256(self) -> str:
        """Digest of the texts, in their order, as far as they are read."""
        return self._digest.hexdigest()

    def _read(self) -> Iterator[str]:
        for text in hub_texts(self._corpus):
            content = text.encode()
            self._digest.update(hashlib.sha256(content).digest())
            self._bytes += len(content)
            if self._report:
                self._report(self._bytes, 0)
            lines = text.replace("\r\n", "\n").replace("\r", "\n")
            for sentence in sentences_of([lines], cut=self._count_cut):
                self.counts.sentences += 1
                yield sentence
        self.counts.files += 1
        if not self.counts.sentences:
            raise EmptyCorpusError(
                f"There is no sentence in {self._corpus.name}. Check --split ({self._corpus.split}) and --column "
                f"({self._corpus.column})."
            )

    def _count_cut(self) -> None:
        self.counts.cuts += 1


def hub_corpus(text: str, *, split: str = "train", column: str = "text") -> HubCorpus:
    """The corpus that ``hub:NAME[:CONFIG][@REVISION]`` names; nothing is fetched."""
    match = _NAME.fullmatch(text.removeprefix(HUB_PREFIX))
    if not text.startswith(HUB_PREFIX) or match is None:
        raise DatasetError(
            f"{text!r} does not name a dataset. Write hub:NAME, hub:NAME:CONFIG, or either with @REVISION."
        )
    return HubCorpus(match["name"], match["config"], match["revision"], split=split, column=column)


def pinned_shards(corpus: HubCorpus) -> tuple[HubCorpus, ...]:
    """The shards of a dataset at a fixed revision, so that they can be read in parallel.

    Raises:
        DatasetUnavailableError: If the library is not installed or the hub cannot be reached.
        DatasetError: If there is no such dataset, configuration, split or column.
    """
    fixed = corpus if _is_folder(corpus.dataset) else replace(corpus, revision=_commit(corpus))
    stream = _stream(fixed)
    _refuse_column(stream, fixed)
    shards = max(1, stream.num_shards)
    return tuple(replace(fixed, shard=number, shards=shards) for number in range(shards))


def hub_texts(corpus: HubCorpus) -> Iterator[str]:
    """The texts of a dataset's rows, in their order."""
    from httpx import HTTPError

    stream = _stream(corpus)
    if corpus.shards > 1:
        stream = stream.shard(num_shards=corpus.shards, index=corpus.shard)
    try:
        for number, row in enumerate(stream, start=1):
            text = row.get(corpus.column)
            if text is None:
                continue
            if not isinstance(text, str):
                raise DatasetError(
                    f"{corpus.name}, row {number}: the column {corpus.column!r} holds {type(text).__name__}, not text. "
                    "Choose another with --column."
                )
            yield text
    except (OSError, HTTPError) as problem:
        raise DatasetUnavailableError(
            f"{corpus.name} broke off: {problem}. Give the same command again to go on."
        ) from None
    except (ValueError, RuntimeError) as problem:
        raise DatasetError(f"{corpus.name} cannot be read: {problem} Repair its data files.") from None


def _stream(corpus: HubCorpus) -> Any:
    """The split as an iterable dataset."""
    library = _library()
    _refuse_harmful_settings(corpus)
    try:
        return library.load_dataset(
            corpus.dataset, corpus.config, split=corpus.split, revision=corpus.revision, streaming=True
        )
    except ConnectionError as problem:
        raise _unreachable(corpus, problem) from None
    except Exception as problem:  # the library reads files of others, and raises anything over them
        raise DatasetError(
            f"{corpus.name}, split {corpus.split!r}, cannot be opened: {problem} Check the name, the configuration "
            "and --split."
        ) from None


def _refuse_harmful_settings(corpus: HubCorpus) -> None:
    """Read the settings of a folder within bounds, before the library reads them without."""
    readme, settings = (Path(corpus.dataset, name) for name in ("README.md", ".huggingface.yaml"))
    if readme.exists():
        front_matter(readme, error=DatasetError)
    if settings.exists():
        read_yaml(settings, error=DatasetError)


def _commit(corpus: HubCorpus) -> str:
    """The commit that a revision names today."""
    _library()
    from httpx import TransportError
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, OfflineModeIsEnabled

    try:
        info = HfApi().dataset_info(corpus.dataset, revision=corpus.revision)
    except (OfflineModeIsEnabled, TransportError, ConnectionError) as problem:
        raise _unreachable(corpus, problem) from None
    except (HfHubHTTPError, HFValidationError) as problem:
        raise DatasetError(
            f"The hub gives no dataset {corpus.dataset!r}"
            f"{f' at {corpus.revision!r}' if corpus.revision else ''}: {problem} Check the name and your access, or "
            f"give a folder of data files as {HUB_PREFIX}FOLDER."
        ) from None
    return str(info.sha)


def _unreachable(corpus: HubCorpus, problem: Exception) -> DatasetUnavailableError:
    reason = str(problem).strip().splitlines()[0] if str(problem).strip() else type(problem).__name__
    return DatasetUnavailableError(
        f"{corpus.name} cannot be fetched: the hub cannot be reached ({reason}). Go online (unset HF_HUB_OFFLINE), or "
        f"copy its data files here and give their folder as {HUB_PREFIX}FOLDER."
    )


def _refuse_column(stream: Any, corpus: HubCorpus) -> None:
    columns: Mapping[str, Any] | None = stream.features
    names = list(columns) if columns else list(next(iter(stream), {corpus.column: ""}))
    if corpus.column not in names:
        raise DatasetError(
            f"{corpus.name} has no column {corpus.column!r}; it has {', '.join(names)}. Choose with --column."
        )


def _library() -> Any:
    require_extra("hf", "datasets", purpose="A dataset of the hub")
    import datasets

    return datasets


def _is_folder(name: str) -> bool:
    return checked_path(name, error=DatasetError).is_dir()


def _local_files(name: str) -> list[list[str | int]]:
    """Name, size and time of the files in a folder; nothing for a dataset of the hub."""
    if not _is_folder(name):
        return []
    files = sorted(path for path in Path(name).rglob("*") if path.is_file())
    return [[str(path), path.stat().st_size, path.stat().st_mtime_ns] for path in files]
