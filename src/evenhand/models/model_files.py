"""The files of a model folder: which of them are no files, which are damaged, and what a library's failure means.

Libraries read these files, and what they raise where one is damaged is of any kind. What can be told without reading
much is refused beforehand. The rest is found out afterwards, so that loading an intact model costs nothing more.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from evenhand.core.errors import EvenhandError
from evenhand.core.files import load_json
from evenhand.models.references import ModelError

CONFIG_FILE = "config.json"

_READ_BY_LIBRARIES = (".json", ".safetensors", ".bin", ".model", ".txt", ".jinja")
_LFS_POINTER = b"version https://git-lfs.github.com/spec/"
_RUST_PANIC = "PanicException"
"""What tokenizers raises where it did not expect to fail. It is no ``Exception``, and cannot be imported."""

_HEADER_SIZE = 8
_LONGEST_HEADER = 100_000_000
"""As safetensors itself has it."""

_LONGEST_REASON = 300


def refuse_unreadable_files(folder: Path) -> None:
    """Refuse a model folder in which a link leads nowhere, a file is none, or stands for one that was not fetched.

    Raises:
        ModelError: With the name of the file.
    """
    for path in sorted(folder.iterdir()):
        if path.suffix not in _READ_BY_LIBRARIES:
            continue
        if not path.is_file():
            kind = f"a link to {path.readlink()}, where there is no file" if path.is_symlink() else "no file"
            raise ModelError(f"{path} is {kind}. Copy or download the model again.")
        try:
            with path.open("rb") as stream:
                begin = stream.read(len(_LFS_POINTER))
        except OSError as problem:
            raise ModelError(f"{path} cannot be read: {problem.strerror or problem}.") from None
        if begin == _LFS_POINTER:
            raise ModelError(
                f"{path} is not the file itself but a pointer of git-LFS. Fetch the files in the model's "
                "repository with: git lfs pull."
            )


def damage_in(folder: Path) -> str | None:
    """Which file of a model folder is damaged, and how; None where each is whole by itself."""
    for path in sorted(folder.iterdir()):
        damage = _damage_of(path)
        if damage:
            return f"{path} is damaged: {damage}. Copy or download the model again."
    return None


def _damage_of(path: Path) -> str | None:
    try:
        if path.suffix == ".safetensors":
            return _damage_of_tensors(path)
        if path.suffix == ".json":
            load_json(path.read_text(encoding="utf-8"))
    except json.JSONDecodeError as problem:
        return f"it is not valid JSON ({problem.msg} at line {problem.lineno}, column {problem.colno})"
    except UnicodeDecodeError:
        return "it is not UTF-8 text"
    except ValueError as problem:
        return str(problem)
    except OSError as problem:
        return f"it cannot be read ({problem.strerror or problem})"
    return None


def _damage_of_tensors(path: Path) -> str | None:
    """Whether the header of a safetensors file is whole, and the file as long as the header says."""
    size = path.stat().st_size
    with path.open("rb") as stream:
        length = int.from_bytes(stream.read(_HEADER_SIZE), "little")
        if length > min(_LONGEST_HEADER, size - _HEADER_SIZE):
            return f"its {size:,} bytes are no safetensors file, or only the beginning of one"
        header = load_json(stream.read(length).decode())
    try:
        ends = [int(entry["data_offsets"][1]) for name, entry in header.items() if name != "__metadata__"]
    except (AttributeError, KeyError, IndexError, TypeError):
        return "its header does not say where the tensors are"
    needed = _HEADER_SIZE + length + max(ends, default=0)
    return None if size == needed else f"it has {size:,} bytes, and its header tells of {needed:,}"


@contextmanager
def failures_explained(explain: Callable[[BaseException], str]) -> Iterator[None]:
    """Turn whatever a library raises over a model's files into a ModelError.

    Args:
        explain: What to say of an error.
    """
    try:
        yield
    except EvenhandError:
        raise
    except BaseException as problem:
        if not isinstance(problem, Exception) and type(problem).__name__ != _RUST_PANIC:
            raise
        raise ModelError(explain(problem)) from problem


def reason_of(problem: BaseException) -> str:
    """What an error says, on one line and not too long; its kind where it says nothing."""
    text = " ".join(str(problem).split()) or type(problem).__name__
    return text if len(text) <= _LONGEST_REASON else f"{text[: _LONGEST_REASON - 3]}..."
