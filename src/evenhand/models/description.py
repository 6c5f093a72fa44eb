"""What a model is: which weights were scored, the languages it was made for, and what it can be measured with."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from huggingface_hub import hf_hub_download
from huggingface_hub.errors import HfHubHTTPError

from evenhand.core.errors import shortlist
from evenhand.core.planted_bias import read_planted_bias
from evenhand.core.remembered_digests import remembered_sha256
from evenhand.core.yaml_files import front_matter
from evenhand.models.backends import is_gguf
from evenhand.models.families import Family
from evenhand.models.gguf_files import gguf_path, read_gguf_header
from evenhand.models.limits import longest_input
from evenhand.models.model import CAPABILITIES, Model
from evenhand.models.references import ModelError, ModelRef
from evenhand.models.requests import Follow
from evenhand.models.tokenised_text import start_token
from evenhand.store.records import ModelRecord

if TYPE_CHECKING:
    from evenhand.models.language_model import LanguageModel


_SMALL = 2**20
"""Bytes of a file whose content goes into the digest of its folder as it is; of a larger one its own digest does."""


def record_of(model: LanguageModel) -> ModelRecord:
    """What identifies a loaded model."""
    loaded = model.loaded
    start = start_token(loaded.tokenizer, loaded.config)
    record = model_record(loaded.ref, loaded.config, loaded.tokenizer, loaded.family, start=start)
    known = {"device": str(loaded.device), "stored_as": loaded.stored_as, "caveats": loaded.caveats}
    known["products"] = str(loaded.products)
    return record.model_copy(update=known)


def model_record(
    ref: ModelRef, config: Any, tokenizer: Any, family: Family, *, start: int | None
) -> ModelRecord:
    """What identifies a model, without loading its weights."""
    return ModelRecord(
        id=ref.short_name if Path(ref.id).exists() else ref.id,
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
        chat_template=template_digest(tokenizer),
    )


def template_digest(tokenizer: Any) -> str | None:
    """SHA-256 of the template that messages are shown in; None without one."""
    template = getattr(tokenizer, "chat_template", None)
    return hashlib.sha256(json.dumps(template).encode()).hexdigest() if template else None


def weights_digest(ref: ModelRef, config: Any) -> str:
    """The commit of a hub model, or a digest of a folder's files; with digests of the adapters on top."""
    commit = getattr(config, "_commit_hash", None)
    folder = Path(ref.location)
    if folder.is_dir():
        own = f"sha256 {_folder_digest(folder)}"
    elif is_gguf(ref.location):
        own = f"sha256 {remembered_sha256(gguf_path(ref))}"
    else:
        own = f"commit {commit}" if commit else f"revision {ref.revision or 'main'}"
    return " + ".join([own, *(f"adapter {_folder_digest(Path(adapter))}" for adapter in ref.adapters)])


def _folder_digest(folder: Path) -> str:
    """Digest of the files of a model."""
    digest = hashlib.sha256()
    for path in sorted(folder.iterdir()):
        if path.suffix in (".safetensors", ".json", ".txt", ".model", ".spm", ".bin") and path.is_file():
            size = path.stat().st_size
            digest.update(f"{path.name}\0{size}\0".encode())
            digest.update(path.read_bytes() if size <= _SMALL else remembered_sha256(path).encode())
    return digest.hexdigest()


MANY_UNKNOWN = 0.02
"""Share of unknown tokens above which a tokenizer does not know the language."""

MOST_TEXTS = 200
"""Texts in which unknown tokens are counted."""


def declared_languages(model: str, revision: str | None = None) -> tuple[str, ...]:
    """Languages in the front matter of a model's README, or in a GGUF file, where they are given.

    Raises:
        ModelError: If there is a README and its front matter cannot be read.
    """
    if is_gguf(model):
        return read_gguf_header(gguf_path(ModelRef(id=model, revision=revision))).languages
    try:
        path = _readme(model, revision)
    except (OSError, ValueError, HfHubHTTPError):
        return ()
    if not os.path.lexists(path):
        return ()
    front = front_matter(path, error=ModelError)
    entry = front.get("language") if isinstance(front, dict) else None
    listed = entry if isinstance(entry, list) else [entry]
    return tuple(language for language in listed if isinstance(language, str))


def _readme(model: str, revision: str | None) -> Path:
    folder = Path(model)
    if folder.is_dir():
        return folder / "README.md"
    return Path(hf_hub_download(model, "README.md", revision=revision))


def warnings_of_texts(
    model: str,
    tokenizer: Any,
    texts: Sequence[str],
    *,
    name: str,
    language: str,
    revision: str | None = None,
) -> tuple[str, ...]:
    """Reasons to doubt that a model knows the language of texts; ``name`` is what they are called."""
    warnings = []
    declared: tuple[str, ...] = ()
    try:
        declared = declared_languages(model, revision)
    except ModelError as problem:
        warnings.append(f"the languages that the model was made for are not known. {problem}")
    covered = {tag for tag in declared if language == tag or language.startswith(f"{tag}-")}
    if declared and not covered and "multilingual" not in declared:
        warnings.append(
            f"the model says it was made for {shortlist(declared)}, not for {language}: its scores may "
            "say more about missing knowledge of the language than about stereotypes."
        )
    unknown = tokenizer.unk_token_id
    if unknown is not None:
        tokens = [
            token
            for text in texts[:MOST_TEXTS]
            for token in tokenizer(text, add_special_tokens=False)["input_ids"]
        ]
        share = tokens.count(unknown) / max(1, len(tokens))
        if share > MANY_UNKNOWN:
            warnings.append(f"{share:.0%} of the tokens of {name} ({language}) are unknown to the tokenizer.")
    return tuple(warnings)


_SPECIAL_TOKENS = ("bos_token", "eos_token", "pad_token", "mask_token", "unk_token", "cls_token", "sep_token")


def model_facts(model: Model) -> dict[str, Any]:
    """Facts about a loaded model, as plain values; more of them where its weights are in this process."""
    own = [known.__name__ for known in CAPABILITIES if known in model.capabilities]
    facts: dict[str, Any] = {"family": model.record.family, "capabilities": ", ".join(own) or "none"}
    return facts | (_facts_of_weights(cast("LanguageModel", model)) if hasattr(model, "loaded") else {})


def _facts_of_weights(model: LanguageModel) -> dict[str, Any]:
    loaded, tokenizer, scoring = model.loaded, model.tokenizer, model.scoring_facts
    start = start_token(tokenizer, loaded.config)
    speed = "fast" if tokenizer.is_fast else "slow"
    return {
        "class": type(loaded.model).__name__,
        **({"weights": f"dequantised from {loaded.stored_as}"} if loaded.stored_as else {}),
        "type": loaded.config.model_type,
        "parameters": f"{sum(weight.numel() for weight in loaded.model.parameters()):,}",
        "tokenizer": f"{type(tokenizer).__name__}, {speed}, {len(tokenizer):,} entries",
        "special_tokens": {
            name: getattr(tokenizer, name) for name in _SPECIAL_TOKENS if getattr(tokenizer, name, None)
        },
        "start_of_a_text": "none: the first token is not scored"
        if start is None
        else tokenizer.convert_ids_to_tokens(start),
        "longest_input": longest_input(loaded) or "no limit",
        "only_needed_positions_projected": "yes" if scoring.only_needed_positions else "no",
        "shared_beginnings_computed_once": "yes" if scoring.shared_prefixes else "no",
        "chat_template": f"sha256 {digest[:12]}" if (digest := template_digest(tokenizer)) else "no",
        "next_sentence_head": "yes" if Follow in model.capabilities else "no",
    }
