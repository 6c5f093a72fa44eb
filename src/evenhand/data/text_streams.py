"""Files of text, piece by piece: bytes, characters, and the records of JSON Lines. Nothing is in memory whole."""

from __future__ import annotations

import codecs
import gzip
import io
import json
import zlib
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path

from evenhand.core.errors import DatasetError
from evenhand.core.files import GZIP_MAGIC, load_json

CHUNK_BYTES = 2**18

LONGEST_RECORD = 2**24
"""Characters in a line of JSON Lines. A longer one is skipped, because it would have to be in memory whole."""

TEXT_FIELD = "text"
BYTE_ORDER_MARK = "\ufeff"


def read_bytes(
    path: Path, *, progress: Callable[[int], None], digest: Callable[[bytes], None]
) -> Iterator[bytes]:
    """The content of a plain or gzip-compressed file.

    Args:
        path: The file.
        progress: Told how many bytes of the file are read, as it lies on the disk.
        digest: Given the content as it is read, uncompressed.
    """
    try:
        with path.open("rb") as raw:
            compressed = raw.peek(len(GZIP_MAGIC)).startswith(GZIP_MAGIC)
            stream: io.BufferedIOBase = gzip.GzipFile(fileobj=raw) if compressed else raw
            while chunk := stream.read(CHUNK_BYTES):
                digest(chunk)
                progress(raw.tell())
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
        begin = taken - len(decoder.getstate()[0])
        try:
            text = decoder.decode(chunk, final=not chunk)
        except UnicodeDecodeError as problem:
            raise DatasetError(
                f"{path} is not UTF-8 text (byte {begin + problem.start}: {problem.reason}). "
                "Convert it, for example with: iconv -f LATIN1 -t UTF-8."
            ) from None
        readable, zero, _ = text.partition("\0")
        if zero:
            raise DatasetError(
                f"{path} is not UTF-8 text (byte {begin + len(readable.encode())} is zero, as in UTF-16 and "
                "in files that are no text). Convert it, for example with: iconv -f UTF-16 -t UTF-8."
            )
        taken += len(chunk)
        if is_first and text:
            text = text.removeprefix(BYTE_ORDER_MARK)
            is_first = False
        yield newlines.decode(text, final=not chunk)


def record_texts(chunks: Iterable[str], path: Path, *, skip: Callable[[], None]) -> Iterator[str]:
    """The text of every line of JSON Lines; ``skip`` is called for a line that is too long."""
    for number, line in enumerate(lines_of(chunks), start=1):
        if line is None:
            skip()
        elif line.strip():
            yield _text_of(line, place=f"{path}, line {number}")


def _text_of(line: str, *, place: str) -> str:
    try:
        record = load_json(line)
    except json.JSONDecodeError as problem:
        raise DatasetError(
            f"{place}: not valid JSON ({problem.msg} at column {problem.colno}). "
            "A file named .jsonl has an object in every line."
        ) from None
    except (RecursionError, ValueError) as problem:
        raise DatasetError(f"{place}: cannot be read as JSON ({problem}).") from None
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
