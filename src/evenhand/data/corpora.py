"""Corpora: files of text, read sentence by sentence in memory that does not grow with them.

A file is plain text, or JSON Lines with a ``text`` in every line if its name ends in ``.jsonl`` or ``.ndjson``; either
may be compressed with gzip. A folder stands for the files in it and below it that are named like text. How text is
split into sentences is said in ``evenhand.text.sentence_splitting``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from evenhand.core.errors import DatasetError, shortlist
from evenhand.data.text_streams import decoded, read_bytes, record_texts
from evenhand.text.sentence_splitting import sentences_of

RECORD_ENDINGS = (".jsonl", ".ndjson")
TEXT_ENDINGS = (".txt", ".text", *RECORD_ENDINGS)
"""What is read of a folder, with ``.gz`` behind it or not."""

Report = Callable[[int, int], None]
"""Told how many bytes are read, of how many."""


@dataclass(slots=True)
class CorpusCounts:
    """What was found so far."""

    files: int = 0
    sentences: int = 0
    cuts: int = 0
    """Cuts through sentences that are too long."""
    records_skipped: int = 0
    """Lines of JSON Lines that are too long."""
    files_left_out: list[str] = field(default_factory=list)
    """Files in folders that are not named like text."""


class EmptyCorpusError(DatasetError):
    """A corpus that was read to its end without a sentence."""


class Sentences(Iterator[str]):
    """The sentences of a corpus. Its counts and its digest are complete when all sentences are read."""

    def __init__(self, files: Iterable[Path], *, counts: CorpusCounts, report: Report | None = None) -> None:
        self.counts = counts
        self._files = tuple(files)
        self._report = report
        self._digest = hashlib.sha256()
        self._total = sum(_size(path) for path in self._files)
        self._before = 0
        self._found = self._read()

    def __next__(self) -> str:
        return next(self._found)

    @property
    def sha256(self) -> str:
        """Digest of what the files hold, uncompressed, in their order, as far as they are read."""
        return self._digest.hexdigest()

    def _read(self) -> Iterator[str]:
        for path in self._files:
            for sentence in self._sentences_of(path):
                self.counts.sentences += 1
                yield sentence
            self.counts.files += 1
            self._before += _size(path)
            self._progress(0)
        if not self.counts.sentences:
            raise EmptyCorpusError(
                f"There is no sentence in {shortlist(map(str, self._files), 3)}. Give files with text in them."
            )

    def _sentences_of(self, path: Path) -> Iterator[str]:
        of_file = hashlib.sha256()
        text = decoded(read_bytes(path, progress=self._progress, digest=of_file.update), path)
        if _is_named(path, RECORD_ENDINGS):
            for record in record_texts(text, path, skip=self._skip_record):
                yield from sentences_of([record], cut=self._count_cut)
        else:
            yield from sentences_of(text, cut=self._count_cut)
        self._digest.update(of_file.digest())

    def _progress(self, in_file: int) -> None:
        if self._report:
            self._report(self._before + in_file, self._total)

    def _count_cut(self) -> None:
        self.counts.cuts += 1

    def _skip_record(self) -> None:
        self.counts.records_skipped += 1


def sentences(paths: str | Path | Iterable[str | Path], *, report: Report | None = None) -> Sentences:
    """The sentences of files and folders, in the order given and by name within a folder.

    Args:
        paths: A file or folder, or several.
        report: Told about progress in bytes, as they lie on the disk.

    Raises:
        DatasetError: At once if a path does not exist or a folder has no text; while reading if a file cannot be read,
            is not UTF-8 or breaks its layout; at the end if there was no sentence.
    """
    counts = CorpusCounts()
    return Sentences(corpus_files(paths, counts=counts), counts=counts, report=report)


def corpus_digest(paths: str | Path | Iterable[str | Path]) -> str:
    """Digest of what files hold, uncompressed, in their order: what reading all of them gives as ``sha256``."""
    digest = hashlib.sha256()
    for path in corpus_files(paths, counts=CorpusCounts()):
        of_file = hashlib.sha256()
        for _ in read_bytes(path, progress=lambda _: None, digest=of_file.update):
            pass
        digest.update(of_file.digest())
    return digest.hexdigest()


def corpus_files(paths: str | Path | Iterable[str | Path], *, counts: CorpusCounts) -> list[Path]:
    """The files that paths stand for; files in folders that are not named like text are noted in ``counts``.

    Raises:
        DatasetError: If a path does not exist or a folder has no text.
    """
    given = [paths] if isinstance(paths, str | Path) else list(paths)
    files = [file for path in given for file in _files(Path(path), counts)]
    if not files:
        raise DatasetError("No corpus was given. Give text files or folders.")
    return files


def _files(path: Path, counts: CorpusCounts) -> list[Path]:
    if not path.exists():
        raise DatasetError(f"There is no file or folder {path}. Check the path.")
    if not path.is_dir():
        return [path]
    inside = [file for file in sorted(path.rglob("*")) if file.is_file() and not file.name.startswith(".")]
    files = [file for file in inside if _is_named(file, TEXT_ENDINGS)]
    if not files:
        raise DatasetError(
            f"The folder {path} has no text: none of its {len(inside):,} files ends in {', '.join(TEXT_ENDINGS)}, with "
            "or without .gz. Name the files so, or give them one by one."
        )
    counts.files_left_out += [str(file) for file in inside if not _is_named(file, TEXT_ENDINGS)]
    return files


def _is_named(path: Path, endings: tuple[str, ...]) -> bool:
    return path.name.lower().removesuffix(".gz").endswith(endings)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError as problem:
        raise DatasetError(f"{path} cannot be read: {problem.strerror or problem}.") from None
