"""What the record beside a mitigated model says was done to it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from evenhand.core.certificates import CurvePoint, FrontierPoint, MitigationSummary
from evenhand.core.errors import RunError
from evenhand.core.models import ModelRef

MITIGATION_FILE = "mitigation.json"


def read_mitigation(ref: ModelRef) -> MitigationSummary | None:
    """The summary of a model's mitigation, or None where nothing beside the model tells of one."""
    path = Path(ref.location) / MITIGATION_FILE
    if not path.is_file():
        return None
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        return _summary(found)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, ValidationError) as problem:
        raise RunError(
            f"{path} is damaged ({type(problem).__name__}: {problem}). Mitigate again, or take the file away and say "
            "with --trained what was trained on."
        ) from None


def _summary(found: Mapping[str, Any]) -> MitigationSummary:
    curve = found.get("curve") or {}
    return MitigationSummary(
        method=str(found["method"]),
        experiments=tuple(found["experiments"]),
        settings=_settings(found),
        curve=tuple(CurvePoint.model_validate(point) for point in curve.get("judgements", ())),
        kept_epoch=found.get("kept_epoch"),
        frontier=tuple(FrontierPoint.model_validate(point) for point in found.get("frontier") or ()),
    )


def _settings(found: Mapping[str, Any]) -> dict[str, str]:
    """The settings of the recipe that are plain values."""
    recipe = found.get("recipe") or {}
    return {
        str(name).replace("_", " "): str(value)
        for name, value in recipe.items()
        if isinstance(value, str | int | float) and not isinstance(value, bool)
    }
