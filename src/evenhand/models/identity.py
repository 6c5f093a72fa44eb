"""Which weights were scored: the commit they come from, or a digest of the files."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenhand.core.planted_bias import read_planted_bias
from evenhand.models.families import Family
from evenhand.models.references import ModelRef
from evenhand.models.tokenised_text import start_token
from evenhand.runs.records import ModelRecord

if TYPE_CHECKING:
    from evenhand.models.language_model import LanguageModel

_BLOCK = 4096
_BLOCKS = 256


def record_of(model: LanguageModel) -> ModelRecord:
    """What identifies a loaded model."""
    loaded = model.loaded
    start = start_token(loaded.tokenizer, loaded.config)
    record = model_record(loaded.ref, loaded.config, loaded.tokenizer, loaded.family, start=start)
    return record.model_copy(update={"device": loaded.device.type})


def model_record(
    ref: ModelRef, config: Any, tokenizer: Any, family: Family, *, start: int | None
) -> ModelRecord:
    """What identifies a model, without loading its weights."""
    return ModelRecord(
        id=ref.id if not Path(ref.id).is_dir() else ref.short_name,
        revision=ref.revision,
        weights=weights_digest(ref, config),
        family=family.name,
        architecture=(getattr(config, "architectures", None) or [config.model_type])[0],
        precision=ref.precision.value,
        device=ref.device,
        start_token=None if start is None else str(tokenizer.convert_ids_to_tokens(start)),
        planted=read_planted_bias(ref.location),
        prefix=ref.prefix,
        adapters=tuple(Path(adapter).name for adapter in ref.adapters),
    )


def weights_digest(ref: ModelRef, config: Any) -> str:
    """The commit of a hub model, or a digest of a folder's files; with digests of the adapters on top."""
    commit = getattr(config, "_commit_hash", None)
    folder = Path(ref.location)
    if folder.is_dir():
        own = f"sha256 {_folder_digest(folder)}"
    else:
        own = f"commit {commit}" if commit else f"revision {ref.revision or 'main'}"
    return " + ".join([own, *(f"adapter {_folder_digest(Path(adapter))}" for adapter in ref.adapters)])


def _folder_digest(folder: Path) -> str:
    """Digest of the files of a model.

    Of large files the size and blocks spread over the whole are read, which tells weights apart without reading
    tens of gigabytes.
    """
    digest = hashlib.sha256()
    for path in sorted(folder.iterdir()):
        if path.suffix in (".safetensors", ".json", ".txt", ".model", ".bin"):
            size = path.stat().st_size
            digest.update(f"{path.name}\0{size}\0".encode())
            with path.open("rb") as stream:
                for block in range(_BLOCKS):
                    stream.seek(block * max(_BLOCK, size // _BLOCKS))
                    digest.update(stream.read(_BLOCK))
    return digest.hexdigest()
