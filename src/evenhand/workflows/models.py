"""Models for workflows: loaded once, and said so."""

from __future__ import annotations

from typing import Any

from evenhand.core.progress import SILENT, Monitor
from evenhand.models.references import ModelRef, load_model


def loaded_model(model: str | ModelRef | Any, *, monitor: Monitor = SILENT) -> Any:
    """A model by name, folder or reference; one that is loaded is returned as it is."""
    if not isinstance(model, str | ModelRef):
        return model
    monitor.note(f"Loading {model if isinstance(model, str) else model.id}")
    return load_model(model)
