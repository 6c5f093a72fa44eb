"""Model references: which model, and how to load it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, field_validator

from evenhand.core.errors import EvenhandError, RunError, UnknownNameError
from evenhand.core.memory import SMALLEST_MEMORY, parse_memory
from evenhand.core.recipes import Kernels, Precision
from evenhand.models.backends import backend_of, is_gguf
from evenhand.models.engine.modes import gc_disabled
from evenhand.store.mitigation_records import find_mitigation_record

MOST_SHOWN = 80
"""Characters of a name that an error repeats."""


class ModelError(EvenhandError):
    """A model that cannot be loaded, or lacks what a task needs."""


class UnscorableError(EvenhandError):
    """Something that a model cannot be asked about, and why. Measurements skip it and count the reason."""


class ModelRef(BaseModel):
    """A model by name or folder, and how to load it."""

    model_config = ConfigDict(frozen=True)

    id: str
    revision: str | None = None
    precision: Precision = Precision.FP32
    kernels: Kernels = Kernels.AUTO
    """What computes matrix products in fp32 on a CPU."""
    device: str = "auto"
    allow_pickle_weights: bool = False
    trust_remote_code: bool = False
    prefix: str = ""
    """A trigger: put before every prompt as it is when the model writes texts, and before every text that a decoder
    scores."""
    adapters: tuple[str, ...] = ()
    """Folders of peft's adapters, merged into the weights one after the other."""
    memory: int | None = None
    """Most bytes that a batch takes beside the weights; if not given, a share of what is free."""

    @field_validator("memory", mode="before")
    @classmethod
    def _bytes(cls, memory: Any) -> Any:
        """An amount may be written as people write it: 4GB."""
        if isinstance(memory, str):
            return parse_memory(memory)
        if isinstance(memory, int) and memory < SMALLEST_MEMORY:
            raise ModelError(f"{memory:,} bytes are too little memory for a batch. Give more, such as '4GB'.")
        return memory

    @classmethod
    def parse(cls, text: str) -> tuple[str, str | None]:
        """Split ``id@revision``; a folder or file is itself, whatever its name."""
        try:
            if Path(text).exists():
                return text, None
        except (OSError, ValueError) as problem:
            shown = text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}..."
            reason = getattr(problem, "strerror", None) or problem
            raise ModelError(
                f"{shown!r} names no model ({reason}). Give a folder or an id such as bert-base-cased@main."
            ) from None
        name, _, revision = text.partition("@")
        if not name.strip():
            raise ModelError(f"{text!r} names no model. Give a folder or an id such as bert-base-cased@main.")
        return name, revision or None

    @property
    def location(self) -> str:
        """Where it is loaded from: the name or folder itself, or the folder of an embedded model."""
        return backend_of(self.id).location(self)

    @property
    def short_name(self) -> str:
        """A name for folders and tables."""
        name = self.id.rstrip("/").replace("\\", "/").replace(":", "-")
        name = name[: -len(".gguf")] if is_gguf(name) else name
        parts = [part for part in name.split("/") if part not in ("", ".", "..")]
        return "_".join(parts[-2:]) if not name.startswith(("/", ".")) else (parts[-1] if parts else "model")

    def refuse_prefix(self) -> None:
        """A prefix steers what the model writes; whatever ignores it would not be the model's."""
        if self.prefix:
            raise ModelError(
                f"{self.id} has the prefix {self.prefix!r}, which counts where it writes texts and where a decoder "
                "scores them. Leave it out to fill blanks, to read vectors or to train."
            )


def refuse_missing_path(name: str) -> None:
    """Refuse what can only be a folder or file and is none, before the hub is asked for a model of that name."""
    path = Path(name)
    if path.is_dir() or (is_gguf(name) and (path.is_file() or hub_file(name))):
        return
    is_path = path.is_absolute() or name.startswith((".", "~")) or name.count("/") > 1
    if not (is_path or is_gguf(name) or path.is_file()):
        return
    if name.startswith("~/") and path.expanduser().exists():
        advice = f"Write {path.expanduser()}: only a shell reads ~ as the home folder."
    else:
        advice = (
            "Give the folder of a model, with its config.json, a file that ends in .gguf, or an id such as "
            "bert-base-cased or ORG/NAME."
        )
    fault = f"{name} is a file." if path.is_file() else f"There is no {_kind_of(name)} {name}."
    raise ModelError(f"{fault} {advice}")


def _kind_of(name: str) -> str:
    return "file" if is_gguf(name) else "folder"


def hub_file(name: str) -> tuple[str, str] | None:
    """Repository and file of ``ORG/NAME/FILE.gguf``; None for anything else."""
    parts = name.split("/", 2)
    if len(parts) < 3 or not is_gguf(name) or name.startswith((".", "~")) or not all(parts):
        return None
    return "/".join(parts[:2]), parts[2]


def load_model(
    model: str | ModelRef,
    *,
    device: str = "auto",
    precision: str = "fp32",
    revision: str | None = None,
    memory: str | None = None,
) -> Any:
    """Load a model by id or folder, ready to be asked; its id says which backend does it.

    Args:
        model: An id, a folder, or a reference, which has all the rest itself.
        device: cpu, cuda, or auto.
        precision: fp32, bf16 or fp16.
        revision: Of a model on the hub.
        memory: What one batch may take beside the weights, such as 4GB; if not given, a share of what is free.

    Returns:
        A ``Model``. What more it has depends on the model, so the type says nothing; ``capabilities`` does.
    """
    if isinstance(model, str):
        name, pinned = ModelRef.parse(model)
        if precision not in set(Precision):
            raise UnknownNameError("precision", precision, [known.value for known in Precision])
        model = ModelRef(
            id=name, revision=revision or pinned, device=device, precision=precision, memory=memory
        )
    with gc_disabled():  # the libraries are imported with the first model
        return backend_of(model.id).load(with_recorded_fields(model))


def with_recorded_fields(ref: ModelRef) -> ModelRef:
    """The reference with what a mitigation set in it, such as a prefix, where nothing else was chosen."""
    try:
        record = find_mitigation_record(ref.location)
    except RunError:  # whoever needs the record says that it is damaged; the weights are as they are
        return ref
    chosen = ref.model_dump(exclude_defaults=True)
    return ModelRef.model_validate({**record.reference, **chosen}) if record else ref
