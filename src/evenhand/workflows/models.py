"""Models for workflows: loaded once, and said so."""

from __future__ import annotations

from typing import Any

from evenhand.core.progress import SILENT, Monitor, activity
from evenhand.models.references import ModelRef, load_model, refuse_missing_path


def loaded_model(model: str | ModelRef | Any, *, monitor: Monitor = SILENT) -> Any:
    """A model by name, folder or reference; one that is loaded is returned as it is."""
    if not isinstance(model, str | ModelRef):
        return model
    name = model if isinstance(model, str) else model.id
    monitor.note(f"Loading {name}")
    with activity(f"loading {name}"):
        return load_model(model)


class LastModel:
    """The model that was loaded last, so that measurements of one model that follow each other load it once.

    A copy in another process starts empty.
    """

    def __init__(self) -> None:
        self._key: object = None
        self._model: Any = None

    def __reduce__(self) -> tuple[type[LastModel], tuple[()]]:
        return LastModel, ()

    def get(self, model: str | ModelRef | Any, *, monitor: Monitor = SILENT) -> Any:
        """A model, loaded unless it is the last one."""
        if self._model is None or self._key != model:
            self._model = None  # before another one takes its memory
            self._model, self._key = loaded_model(model, monitor=monitor), model
        return self._model


def reference_to(model: str | ModelRef) -> ModelRef:
    """The reference to a model by name or folder; one that is a reference is returned as it is."""
    if isinstance(model, ModelRef):
        return model
    name, revision = ModelRef.parse(model)
    refuse_missing_path(name)
    return ModelRef(id=name, revision=revision)
