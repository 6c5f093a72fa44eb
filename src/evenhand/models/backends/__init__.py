"""Backends: where a model lives, and how it is loaded from there.

The prefix of a model's id names the backend: ``lab:masked`` is loaded by the backend ``lab``. An id without the prefix
of a backend is a file that ends in ``.gguf``, loaded by ``gguf``, or a folder or a model of the hub, loaded by
``local``. Another package adds a backend with an entry point of the group ``evenhand.models``; its name is the prefix.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from evenhand.core.errors import require_extra
from evenhand.core.registry import Registry, lacks

if TYPE_CHECKING:
    from evenhand.models.model import Model
    from evenhand.models.references import ModelRef

LOCAL_NAME = "local"
GGUF_NAME = "gguf"


class Backend(Protocol):
    """Loads the models that live in one place."""

    name: str
    """The prefix of its models' ids, without the colon."""
    summary: str
    """What it loads, in a sentence."""

    def location(self, ref: ModelRef) -> str:
        """The folder or hub id of the weights; the model's own id where the weights are out of reach."""
        ...

    def load(self, ref: ModelRef) -> Model:
        """The model, ready to be asked.

        Raises:
            EvenhandError: If it cannot be loaded; the message says what to do.
        """
        ...


BACKENDS: Registry[Backend] = Registry(
    "model backend",
    "evenhand.models",
    order=(LOCAL_NAME, GGUF_NAME, "lab", "fake", "api"),
    check=lambda entry: lacks(entry, "name", "summary", "location", "load"),
)

_PREFIXED = re.compile(r"([A-Za-z][A-Za-z0-9-]+):[^\\/]")
"""A prefix of one letter is a drive of Windows."""


def backend_of(model: str) -> Backend:
    """The backend that loads the model of this id.

    Raises:
        UnknownNameError: If the id has a prefix that no backend has.
    """
    match = _PREFIXED.match(model)
    if match is None or (match[1] not in BACKENDS and Path(model).exists()):
        return BACKENDS.get(GGUF_NAME if is_gguf(model) else LOCAL_NAME)
    return BACKENDS.get(match[1])


def is_gguf(name: str) -> bool:
    """Whether a name is that of a GGUF file."""
    return name.lower().endswith(".gguf")


def require_backends(models: Iterable[str], *, purpose: str) -> None:
    """Refuse at once, before anything is loaded, models whose backend needs an extra that is not installed.

    Raises:
        MissingExtraError: If a backend has an ``extra`` and one of its packages is missing.
    """
    for model in models:
        extra: str | None = getattr(backend_of(model), "extra", None)
        if extra:
            require_extra(extra, purpose=purpose)


__all__ = ["BACKENDS", "LOCAL_NAME", "Backend", "backend_of", "is_gguf", "require_backends"]
