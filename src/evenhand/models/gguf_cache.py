"""Models of GGUF files, kept as ordinary folders: reading a file anew takes longer than scoring a sample with it.

A kept model is the dequantised weights with the configuration and the tokenizer that Transformers made of the file. Its
place is named after the file's digest and the versions of the libraries that read it. The least recently used models
give way when all together are larger than the limit.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from transformers import AutoTokenizer

from evenhand.core.errors import EvenhandError, OutputError
from evenhand.core.files import folder_written_whole, home, write_text
from evenhand.core.memory import parse_memory
from evenhand.core.remembered_digests import remembered_sha256
from evenhand.models.model_files import save_model
from evenhand.models.references import ModelError

LIMIT_VARIABLE = "EVENHAND_CACHE_LIMIT"
DEFAULT_LIMIT = "10GB"
MANIFEST = "kept.json"

MIN_BYTES = 16 * 2**20
"""Smaller files are read in no time."""


_NOT_A_FOLDER = (ValueError, TypeError, KeyError, AttributeError)
"""What Transformers raises where it cannot write a model that it has read, or read it again."""


@dataclass(frozen=True, slots=True)
class KeptModel:
    """A model in the cache."""

    folder: Path
    source: str
    """The file that it was made from."""
    size: int
    last_used: float


def cache_folder() -> Path:
    """Where models are kept."""
    return home() / "gguf"


def cache_limit() -> int:
    """How many bytes all kept models may take; 0 keeps none."""
    chosen = os.environ.get(LIMIT_VARIABLE, DEFAULT_LIMIT).strip()
    if chosen == "0":
        return 0
    try:
        return parse_memory(chosen)
    except EvenhandError:
        raise ModelError(
            f"{LIMIT_VARIABLE} is {chosen!r}. Give a size such as 10GB, or 0 to keep no dequantised models."
        ) from None


def kept_folder(path: Path) -> Path | None:
    """The folder of a file's kept model; None if there is none, or if it is not as it was written."""
    limit = cache_limit()
    try:
        if not limit or path.stat().st_size < MIN_BYTES:
            return None
        folder = _place(path)
        manifest = json.loads((folder / MANIFEST).read_bytes())
        files: dict[str, str] = manifest["files"]
        whole = all(remembered_sha256(folder / name) == digest for name, digest in files.items())
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    if not whole:
        return None
    with suppress(OSError):
        os.utime(folder / MANIFEST)
    return folder


def keep_model(path: Path, model: Any, tokenizer: Any) -> None:
    """Keep what was read of a file, if there is room and if the folder gives the same tokenizer again.

    A cache that cannot be written costs nothing but the time to read the file again, and so does a model that cannot be
    written as a folder.
    """
    limit = cache_limit()
    size = sum(weight.numel() * weight.element_size() for weight in model.state_dict().values())
    if size > limit or path.stat().st_size < MIN_BYTES:
        return
    _make_room(limit - size)
    with suppress(OutputError, *_NOT_A_FOLDER), folder_written_whole(_place(path)) as draft:
        save_model(model, tokenizer, draft)
        if not _is_same_tokenizer(AutoTokenizer.from_pretrained(draft), tokenizer):
            raise OutputError(f"The tokenizer of {path} is another one when it is read from a folder.")
        files = {own.name: remembered_sha256(own) for own in sorted(draft.iterdir())}
        write_text(draft / MANIFEST, json.dumps({"source": str(path), "files": files}))


def _is_same_tokenizer(one: Any, other: Any) -> bool:
    return bool(
        type(one) is type(other)
        and one.backend_tokenizer.to_str() == other.backend_tokenizer.to_str()
        and one.special_tokens_map == other.special_tokens_map
        and one.model_max_length == other.model_max_length
        and one.padding_side == other.padding_side
    )


def kept_models() -> Sequence[KeptModel]:
    """All kept models, the most recently used first."""
    models = []
    for manifest in cache_folder().glob(f"*/{MANIFEST}"):
        folder = manifest.parent
        with suppress(OSError, ValueError, KeyError, TypeError):
            source = str(json.loads(manifest.read_bytes())["source"])
            size = sum(own.stat().st_size for own in folder.iterdir())
            models.append(KeptModel(folder, source, size, manifest.stat().st_mtime))
    return sorted(models, key=lambda kept: -kept.last_used)


def clear_cache() -> int:
    """Remove all kept models; the number of bytes that this frees."""
    models = kept_models()
    shutil.rmtree(cache_folder(), ignore_errors=True)
    return sum(kept.size for kept in models)


def _make_room(room: int) -> None:
    """Remove the least recently used models until the others fit."""
    total = 0
    for kept in kept_models():
        total += kept.size
        if total > room:
            shutil.rmtree(kept.folder, ignore_errors=True)
            total -= kept.size


def _place(path: Path) -> Path:
    readers = "-".join(version(name) for name in ("transformers", "gguf"))
    return cache_folder() / f"{remembered_sha256(path)[:32]}-{readers}"
