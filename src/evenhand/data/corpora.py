"""Corpora: files of text, read sentence by sentence in memory that does not grow with them.

A file is plain text, or JSON Lines with a ``text`` in every line if its name ends in ``.jsonl`` or ``.ndjson``. Either
may be compressed with gzip. A folder means all text files in it and below it. How text is split into sentences is
described in ``evenhand.text.sentence_splitting``.
"""

from __future__ import annotations

import codecs
import gzip
import hashlib
import io
import json
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

from evenhand.core.encodings import what_it_is_instead
from evenhand.core.errors import DatasetError, shortlist
from evenhand.core.files import GZIP_MAGIC, ends_early, load_json
from evenhand.core.inputs import checked_path, open_input
from evenhand.core.progress import Progress
from evenhand.text.sentence_splitting import sentences_of

CHUNK_BYTES = 2**18

LONGEST_RECORD = 2**24
"""Characters in a line of JSON Lines. A longer one is skipped, because it would have to be in memory as a whole."""

TEXT_FIELD = "text"
BYTE_ORDER_MARK = "\ufeff"
RECORD_ENDINGS = (".jsonl", ".ndjson")
TEXT_ENDINGS = (".txt", ".text", *RECORD_ENDINGS)
"""Endings of the files that are read of a folder, with or without ``.gz``."""


def read_bytes(
    path: Path, *, progress: Callable[[int], None], digest: Callable[[bytes], None]
) -> Iterator[bytes]:
    """The content of a plain or gzip-compressed file.

    Args:
        path: The file.
        progress: Called with the bytes of the file that are read, as it is stored.
        digest: Called with the uncompressed content as it is read.
    """
    try:
        with open_input(path) as raw:
            compressed = raw.peek(len(GZIP_MAGIC)).startswith(GZIP_MAGIC)
            stream: io.BufferedIOBase = gzip.GzipFile(fileobj=raw) if compressed else raw
            while chunk := stream.read(CHUNK_BYTES):
                digest(chunk)
                progress(raw.tell() if raw.seekable() else 0)
                yield chunk
    except EOFError:
        raise DatasetError(
            f"{path} is a truncated gzip file: it ends before its content does. Copy or download it again."
        ) from None
    except (gzip.BadGzipFile, zlib.error) as problem:
        raise DatasetError(f"{path} is a damaged gzip file ({problem}). Copy or download it again.") from None
    except OSError as problem:
        raise DatasetError(f"{path} cannot be read: {problem.strerror or problem}.") from None


def decoded(chunks: Iterable[bytes], path: Path) -> Iterator[str]:
    r"""Text from UTF-8 bytes, with or without a byte order mark, and with ``\n`` at the end of lines."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    newlines = io.IncrementalNewlineDecoder(None, translate=True)
    taken = 0
    is_first = True
    for chunk in chain(chunks, [b""]):
        waiting = decoder.getstate()[0]
        begin = taken - len(waiting)
        try:
            text = decoder.decode(chunk, final=not chunk)
        except UnicodeDecodeError as problem:
            raise _not_utf8(path, waiting + chunk, problem.start, begin, problem.reason) from None
        readable, zero, _ = text.partition("\0")
        if zero:
            raise _not_utf8(path, waiting + chunk, len(readable.encode()), begin, "zero")
        taken += len(chunk)
        if is_first and text:
            text = text.removeprefix(BYTE_ORDER_MARK)
            is_first = False
        yield newlines.decode(text, final=not chunk)


def _not_utf8(path: Path, piece: bytes, fault: int, begin: int, reason: str) -> DatasetError:
    """The error for a piece of a file, which begins at a byte of the file and has its fault at one of its own."""
    advice = what_it_is_instead(piece, fault=fault, is_beginning=begin == 0)
    return DatasetError(f"{path} is not UTF-8 text (byte {begin + fault}: {reason}). {advice}")


def record_texts(chunks: Iterable[str], path: Path, *, skip: Callable[[], None]) -> Iterator[str]:
    """The text of every line of JSON Lines; ``skip`` is called for a line that is too long."""
    for place, record in records(chunks, path, skip=skip):
        yield text_of_record(record, place=place)


def records(chunks: Iterable[str], path: Path, *, skip: Callable[[], None]) -> Iterator[tuple[str, Any]]:
    """Where every line of JSON Lines stands, and what it holds; ``skip`` is called for one that is too long."""
    for number, line in enumerate(lines_of(chunks), start=1):
        if line is None:
            skip()
        elif line.strip():
            place = f"{path}, line {number}"
            yield place, _record(line, place=place)


def _record(line: str, *, place: str) -> Any:
    try:
        return load_json(line)
    except json.JSONDecodeError as problem:
        if ends_early(problem):
            raise DatasetError(
                f"{place}: the line ends in the middle of a record. If it is the last one, the file was cut: copy it "
                "again."
            ) from None
        raise DatasetError(
            f"{place}: not valid JSON ({problem.msg}, column {problem.colno}). "
            "A file named .jsonl has an object in every line."
        ) from None
    except (RecursionError, ValueError) as problem:
        raise DatasetError(f"{place}: cannot be read as JSON ({problem}).") from None


def text_of_record(record: Any, *, place: str) -> str:
    """The text of a line of JSON Lines."""
    text = record.get(TEXT_FIELD) if isinstance(record, dict) else None
    if not isinstance(text, str):
        raise DatasetError(
            f'{place}: there is no text in it. Every line is an object such as {{"{TEXT_FIELD}": "He came home."}}.'
        )
    return text.replace("\r\n", "\n").replace("\r", "\n")


def lines_of(chunks: Iterable[str]) -> Iterator[str | None]:
    """The lines of a text, None for one that is too long."""
    parts: list[str] = []
    size = 0
    for chunk in chunks:
        for number, piece in enumerate(chunk.split("\n")):
            if number:
                yield "".join(parts) if size <= LONGEST_RECORD else None
                parts, size = [], 0
            size += len(piece)
            if size <= LONGEST_RECORD:
                parts.append(piece)
            else:
                parts.clear()
    yield "".join(parts) if size <= LONGEST_RECORD else None


@dataclass(slots=True)
class CorpusCounts:
    """What was read so far."""

    files: int = 0
    sentences: int = 0
    cuts: int = 0
    """Cuts made in sentences that are too long."""
    records_skipped: int = 0
    """Lines of JSON Lines that were too long."""
    files_left_out: list[str] = field(default_factory=list)
    """Files in folders whose names do not end like text."""


class EmptyCorpusError(DatasetError):
    """A corpus without a single sentence."""


class FileSentences(Iterator[str]):
    """The sentences of a corpus. Its counts and its digest are complete when all sentences are read."""

    def __init__(
        self, files: Iterable[Path], *, counts: CorpusCounts, report: Progress | None = None
    ) -> None:
        self.counts = counts
        self.documents = 0
        """Files and, of JSON Lines, records that were begun so far."""
        self._files = tuple(files)
        self._report = report
        self._digest = hashlib.sha256()
        self._total = sum(_size(path) for path in self._files)
        self._before = 0
        self._found = self._read()

    def __next__(self) -> str:
        return next(self._found)

    def by_document(self) -> Iterator[tuple[str, int]]:
        """Each sentence with the number of its document: a file, or a record of JSON Lines."""
        for sentence in self:
            yield sentence, self.documents

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
        if is_named(path, RECORD_ENDINGS):
            for record in record_texts(text, path, skip=self._skip_record):
                self.documents += 1
                yield from sentences_of([record], cut=self._count_cut)
        else:
            self.documents += 1
            yield from sentences_of(text, cut=self._count_cut)
        self._digest.update(of_file.digest())

    def _progress(self, in_file: int) -> None:
        if self._report:
            self._report(self._before + in_file, self._total)

    def _count_cut(self) -> None:
        self.counts.cuts += 1

    def _skip_record(self) -> None:
        self.counts.records_skipped += 1


def sentences(paths: str | Path | Iterable[str | Path], *, report: Progress | None = None) -> FileSentences:
    """The sentences of files and folders, in their order, and by name within a folder.

    Args:
        paths: A file or folder, or several.
        report: Called with the bytes that are read, as the files are stored, and their total.

    Raises:
        DatasetError: At once if a path does not exist or a folder has no text; while reading if a file cannot be read,
            is not UTF-8 or breaks its layout; at the end if there was no sentence.
    """
    counts = CorpusCounts()
    return FileSentences(corpus_files(paths, counts=counts), counts=counts, report=report)


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
    """The files of paths and folders; files that are left out of a folder are noted in ``counts``.

    Raises:
        DatasetError: If a path does not exist or a folder has no text.
    """
    listed = [paths] if isinstance(paths, str | Path) else list(paths)
    files = [file for path in listed for file in _files(checked_path(path, error=DatasetError), counts)]
    for file in files:
        if any("\ud800" <= character <= "\udfff" for character in str(file)):
            raise DatasetError(
                f"The name {str(file)!r} is not UTF-8, so no record can hold it. Rename the file."
            )
    if not files:
        raise DatasetError("No corpus was given. Give text files or folders.")
    return files


def _files(path: Path, counts: CorpusCounts) -> list[Path]:
    if not path.exists():
        raise DatasetError(f"There is no file or folder {path}. Check the path.")
    if not path.is_dir():
        return [path]
    try:
        inside = [
            file for file in sorted(path.rglob("*")) if file.is_file() and not file.name.startswith(".")
        ]
    except OSError as problem:
        raise DatasetError(f"{problem.filename or path} cannot be read: {problem.strerror}.") from None
    files = [file for file in inside if is_named(file, TEXT_ENDINGS)]
    if not files:
        raise DatasetError(
            f"The folder {path} has no text: none of its {len(inside):,} files ends in {', '.join(TEXT_ENDINGS)}, with "
            "or without .gz. Name the files so, or give them one by one."
        )
    counts.files_left_out += [str(file) for file in inside if not is_named(file, TEXT_ENDINGS)]
    return files


def is_named(path: Path, endings: tuple[str, ...]) -> bool:
    """Whether a file is named with one of these endings, with or without ``.gz``."""
    return path.name.lower().removesuffix(".gz").endswith(endings)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError as problem:
        raise DatasetError(f"{path} cannot be read: {problem.strerror or problem}.") from None
