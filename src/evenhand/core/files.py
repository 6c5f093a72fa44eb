"""Reading files of unknown origin within bounds, and writing files whole or not at all."""

from __future__ import annotations

import errno
import gzip
import hashlib
import io
import json
import os
import shutil
import socket
import stat
import tempfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from evenhand.core.encodings import decoded_as, what_it_is_instead, wide_encoding
from evenhand.core.errors import EvenhandError, OutputError
from evenhand.core.inputs import checked_path, open_input
from evenhand.core.processes import is_alive

MAX_BYTES = 64 * 2**20
"""Largest content that is read into memory. The largest published file of this kind has 7 MB."""

GZIP_MAGIC = b"\x1f\x8b"

HOME_VARIABLE = "EVENHAND_HOME"


def home() -> Path:
    """The folder for what is fetched or computed once: ``$EVENHAND_HOME``, or ``~/.cache/evenhand``.

    A user without a home folder has it among temporary files.
    """
    chosen = os.environ.get(HOME_VARIABLE)
    if chosen:
        return Path(chosen)
    try:
        return Path.home() / ".cache" / "evenhand"
    except RuntimeError:
        return Path(tempfile.gettempdir()) / f"evenhand-{os.getuid()}"


def read_bounded(path: Path, *, error: type[EvenhandError], limit: int = MAX_BYTES) -> bytes:
    """The content of a plain or gzip-compressed file, refused when it is larger than ``limit``.

    The limit holds for the uncompressed content, so that a small archive cannot fill the memory.
    """
    try:
        with open_input(path) as raw:
            compressed = raw.peek(len(GZIP_MAGIC)).startswith(GZIP_MAGIC)
            stream: io.BufferedIOBase = gzip.GzipFile(fileobj=raw) if compressed else raw
            content = stream.read(limit + 1)
    except FileNotFoundError:
        raise error(f"There is no file {path}. Check the path.") from None
    except IsADirectoryError:
        raise error(f"{path} is a folder; a file is needed.") from None
    except EOFError:
        raise error(
            f"{path} is a truncated gzip file: it ends before its content does. Copy or download it again."
        ) from None
    except (gzip.BadGzipFile, zlib.error) as problem:
        raise error(f"{path} is a damaged gzip file ({problem}). Copy or download it again.") from None
    except OSError as problem:
        raise error(f"{path} cannot be read: {problem.strerror or problem}.") from None
    if len(content) > limit:
        raise error(
            f"{path} holds more than {limit // 2**20} MB of text, the most that is read into memory. "
            "Split it, one file a model and language."
        )
    if not content.strip():
        raise error(f"{path} is empty.")
    return content


MAX_STORED_BYTES = 2**30
"""Largest file of our own making that is read into memory, such as the scores of a run."""


def read_stored(path: Path, *, error: type[EvenhandError], limit: int = MAX_STORED_BYTES) -> bytes:
    """The content of a file of our own making, byte by byte as it is stored.

    What is no file is refused before it is opened: a device or a pipe need not have an end.
    """
    try:
        state = checked_path(path, error=error).stat()
        if not stat.S_ISREG(state.st_mode):
            raise error(f"{path} is no file. Remove it, or choose another place.")
        if state.st_size > limit:
            raise error(f"{path} has {state.st_size:,} bytes; at most {limit:,} are read.")
        return path.read_bytes()
    except FileNotFoundError:
        raise error(f"There is no file {path}. Check the path.") from None
    except OSError as problem:
        raise error(f"{path} cannot be read: {problem.strerror or problem}.") from None


def decode_utf8(content: bytes, path: Path, *, error: type[EvenhandError], has_option: bool = False) -> str:
    """Text from UTF-8 bytes, with or without a byte order mark.

    Args:
        content: The bytes.
        path: Where they come from, for messages.
        error: Raised if they are something else.
        has_option: Whether the reader can name another encoding with ``--encoding``.
    """
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise error(
            f"{path} is not UTF-8 text (byte {problem.start}: {problem.reason}). "
            f"{what_it_is_instead(content, fault=problem.start, has_option=has_option)}"
        ) from None
    if wide_encoding(content):
        zero = content.index(b"\0")
        raise error(
            f"{path} is not UTF-8 text (byte {zero} is zero). "
            f"{what_it_is_instead(content, fault=zero, has_option=has_option)}"
        )
    return text


def decode_text(content: bytes, path: Path, *, error: type[EvenhandError], encoding: str | None) -> str:
    """Text from bytes in the encoding that is named, or in UTF-8 where none is."""
    if encoding is None:
        return decode_utf8(content, path, error=error, has_option=True)
    try:
        return decoded_as(content, encoding)
    except ValueError as problem:
        raise error(f"{path} cannot be read with --encoding {encoding}: {problem}.") from None


def sha256_of_text(content: bytes, text: str, *, encoding: str | None) -> str:
    """Hex digest of a file; where its encoding was named, of its text in UTF-8, so that converting changes nothing."""
    return sha256_of(content if encoding is None else text.encode())


def parse_json(text: str, path: Path, *, error: type[EvenhandError]) -> Any:
    """The JSON value in a text, with the place of the fault if there is one."""
    try:
        return load_json(text)
    except json.JSONDecodeError as problem:
        if ends_early(problem):
            last = problem.doc.rstrip().count("\n") + 1
            raise error(f"{path} ends in the middle, in line {last:,}. It was cut: copy it again.") from None
        raise error(
            f"{path} is not valid JSON: {problem.msg} at line {problem.lineno}, column {problem.colno}."
        ) from None
    except ValueError as problem:  # nested too deeply, an integer with thousands of digits, half a character
        raise error(f"{path} cannot be read as JSON: {problem}.") from None


def load_json(text: str) -> Any:
    """The JSON value in a text whose escapes are whole characters, so that it can be written again.

    Raises:
        ValueError: If it is not JSON, is nested too deeply, or holds half of a surrogate pair, which no file can hold.
    """
    try:
        value = json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if "\\ud" in text or "\\uD" in text:
        json.dumps(value, ensure_ascii=False).encode()
    return value


def ends_early(problem: json.JSONDecodeError) -> bool:
    """Whether a text is the beginning of JSON and no more, as of a file that was cut."""
    rest = problem.doc[problem.pos :].strip()
    if not problem.doc.strip():
        return False
    if not rest or problem.msg.startswith("Unterminated string"):
        return True
    if problem.msg.startswith("Invalid \\uXXXX escape"):
        return len(rest) <= len("u0000") and '"' not in rest
    return any(literal.startswith(rest) for literal in ("true", "false", "null", "-"))


def is_file_name(name: str) -> bool:
    """Whether a name is that of one file or folder, and no path to another place."""
    return bool(name) and name not in (".", "..") and not set(name) & {"/", "\\", "\0"}


def sha256_of(content: bytes) -> str:
    """Hex digest of the bytes."""
    return hashlib.sha256(content).hexdigest()


def sha256_of_file(path: Path) -> str:
    """Hex digest of a file's content, read piece by piece."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def refuse_to_replace(
    path: Path, *, inputs: Iterable[Path] = (), replace: bool = False, option: str = "--out"
) -> None:
    """Refuse to write where a file is, unless it may be replaced; what was read is never replaced.

    Raises:
        OutputError: If something is there that must stay.
    """
    if path.exists() and any(own.exists() and path.samefile(own) for own in inputs):
        raise OutputError(f"{path} is one of the files that were read. Give another file with {option}.")
    if path.is_file() and not replace:
        raise OutputError(
            f"{path} is there already. Give another file with {option}, or replace it with --replace."
        )


def refuse_unwritable(path: Path) -> None:
    """Refuse a file that could not be written, before the work that it is for; its folder is made.

    Raises:
        OutputError: If the system would not write there.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as problem:
        raise cannot_write(path, problem) from None


def write_text(path: Path, text: str) -> None:
    """Write a text file whole: under another name first, then renamed into place."""
    write_bytes(path, text.encode("utf-8"))


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file whole: under another name first, then renamed into place."""
    with file_written_whole(path) as stream:
        stream.write(content)


@contextmanager
def file_written_whole(path: Path, *, scratch: Path | None = None) -> Iterator[BinaryIO]:
    """A stream to another file, which becomes ``path`` when the block succeeds and vanishes when it fails.

    Args:
        path: The file to write; one that is there stays as it is until then.
        scratch: A folder on the same disk for the other file, which a killed process leaves behind; beside ``path``
            if not given.
    """
    folder = scratch or checked_path(path, error=OutputError).parent
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(dir=folder, prefix=f".{path.name[:80]}.")
    except OSError as problem:
        raise cannot_write(path, problem) from None
    try:
        with os.fdopen(descriptor, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        Path(temporary).chmod(0o666 & ~_umask())
        Path(temporary).replace(path)
    except OSError as problem:
        raise cannot_write(path, problem) from None
    finally:
        Path(temporary).unlink(missing_ok=True)


@contextmanager
def folder_written_whole(folder: Path, *, scratch: Path | None = None) -> Iterator[Path]:
    """Another folder, which becomes ``folder`` when the block succeeds and vanishes when it fails.

    A folder that is already there is replaced only then, and put back if its successor cannot take its
    place. If it is a link, the link is replaced, and what it points to stays as it is. The other folder carries
    the host and process that made it; those of dead processes on this host are removed, so a killed run leaves
    nothing behind for long.

    Args:
        folder: The folder to write.
        scratch: A folder on the same disk for the other one; beside ``folder`` if not given.
    """
    home = scratch or checked_path(folder, error=OutputError).absolute().parent
    prefix = f".{folder.name}.unfinished-{socket.gethostname()}-"
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        for stale in home.glob(f"{escape_glob(prefix)}*"):
            if not _is_another_alive(stale.name.removeprefix(prefix)):
                _remove(stale)
        draft = home / f"{prefix}{os.getpid()}"
        draft.mkdir()
    except OSError as problem:
        raise cannot_write(folder, problem) from None
    try:
        yield draft
        _take_place(draft, folder)
    except OSError as problem:
        raise cannot_write(folder, problem) from None
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _take_place(draft: Path, folder: Path) -> None:
    if not os.path.lexists(folder):
        draft.rename(folder)
        return
    former = draft.with_name(f"{draft.name}-former")
    folder.rename(former)
    try:
        draft.rename(folder)
    except OSError:
        former.rename(folder)
        raise
    _remove(former)


def _remove(folder: Path) -> None:
    """Remove a folder; of a link, only the link."""
    if folder.is_symlink():
        folder.unlink()
    else:
        shutil.rmtree(folder, ignore_errors=True)


_FULL = {errno.ENOSPC, errno.EDQUOT}


def cannot_write(path: Path, problem: OSError) -> OutputError:
    """The error for a file or folder that the system would not write, with advice that fits the reason."""
    advice = "Free space, or choose" if problem.errno in _FULL else "Choose"
    return OutputError(
        f"{path} cannot be written: {problem.strerror or problem}. Nothing was kept of it. "
        f"{advice} another place with --out."
    )


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def escape_glob(text: str) -> str:
    """A pattern that matches this text alone."""
    return "".join(f"[{character}]" if character in "*?[" else character for character in text)


def _is_another_alive(process: str) -> bool:
    """Whether a process other than this one runs; a leftover of this number is of an earlier process."""
    process = process.removesuffix("-former")
    if not process.isdigit():
        return True
    return int(process) != os.getpid() and is_alive(int(process))
