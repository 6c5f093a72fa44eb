"""Adapters: small weights of peft's kind that belong onto the model that they were trained from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from evenhand.core.errors import require_extra
from evenhand.core.files import load_json
from evenhand.core.inputs import checked_path
from evenhand.models.model_files import damage_in, failures_explained, reason_of, refuse_unreadable_files
from evenhand.models.references import ModelError, ModelRef

ADAPTER_FILE = "adapter_config.json"
_WEIGHTS = "adapter_model.safetensors"
_PICKLED_WEIGHTS = "adapter_model.bin"


def adapter_base(ref: ModelRef) -> ModelRef | None:
    """The model that the adapter of a folder belongs to, or None where the folder holds no adapter."""
    path = Path(ref.location) / ADAPTER_FILE
    if not path.is_file():
        return None
    settings = _settings(path)
    base = settings.get("base_model_name_or_path")
    if not isinstance(base, str) or not base:
        raise ModelError(
            f"{path} does not say which model the adapter belongs to (base_model_name_or_path). Merge the adapter into "
            "its model and save that."
        )
    name, revision = ModelRef.parse(base)
    return ref.model_copy(update={"id": name, "revision": settings.get("revision") or revision})


def adapter_kind(ref: ModelRef) -> str | None:
    """What kind of adapter a folder holds, such as LORA."""
    path = Path(ref.location) / ADAPTER_FILE
    return str(_settings(path).get("peft_type", "unknown")) if path.is_file() else None


def refuse_missing_adapters(ref: ModelRef) -> None:
    """Refuse adapters that are no folders of peft's, before a large model is loaded for them."""
    for adapter in ref.adapters:
        if not (checked_path(adapter, error=ModelError) / ADAPTER_FILE).is_file():
            raise ModelError(
                f"{adapter} is no adapter: it has no {ADAPTER_FILE}. Give the folder that peft's save_pretrained wrote."
            )


def with_adapter(model: Any, folder: str, *, allow_pickle: bool) -> Any:
    """The model with a folder's adapter merged into its weights.

    Raises:
        ModelError: If the adapter cannot be read, does not fit, or is a pickle that is not allowed.
    """
    require_extra("train", "peft", purpose=f"The adapter {folder}")
    from peft import PeftModel

    refuse_unreadable_files(Path(folder))
    _refuse_weights(Path(folder), allow_pickle=allow_pickle)
    with failures_explained(
        lambda problem: (
            damage_in(Path(folder)) or f"The adapter {folder} does not fit its model: {reason_of(problem)}"
        )
    ):
        return PeftModel.from_pretrained(model, folder).merge_and_unload()


def _refuse_weights(folder: Path, *, allow_pickle: bool) -> None:
    """Refuse pickled weights, and a folder without any, whose name peft would take for that of a model on the hub."""
    if (folder / _WEIGHTS).is_file():
        return
    if not (folder / _PICKLED_WEIGHTS).is_file():
        raise ModelError(f"The adapter {folder} has no weights ({_WEIGHTS}). Save it again.")
    if not allow_pickle:
        raise ModelError(
            f"The adapter {folder} has its weights only in {_PICKLED_WEIGHTS}, which can run code when loaded. Convert "
            "them to safetensors, or allow them with --allow-pickle-weights if you trust the source."
        )


def _settings(path: Path) -> dict[str, Any]:
    try:
        settings = load_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        settings = None
    if not isinstance(settings, dict):
        raise ModelError(f"{path} is damaged. Save the adapter again.")
    return settings
