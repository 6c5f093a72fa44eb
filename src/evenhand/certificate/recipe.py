"""What the record beside a mitigated model says was done to it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from evenhand.core.errors import RunError, fault
from evenhand.models.references import ModelRef
from evenhand.runs.certificates import CurvePoint, FrontierPoint, MitigationSummary
from evenhand.runs.mitigation_records import MITIGATION_FILE

_AS_ASKED = {"weight": "balance"}
"""Settings of the record whose option on the command line has another name."""


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
            f"{path} is damaged ({type(problem).__name__}: {fault(problem)}). Mitigate again, or take the file away "
            "and say with --trained what was trained on."
        ) from None


def _summary(found: Mapping[str, Any]) -> MitigationSummary:
    """From the record of a mitigation, of which only what a certificate shows is read."""
    chosen: Mapping[str, Any] = next(
        (seed for seed in found.get("seeds") or () if seed.get("seed") == found.get("chosen_seed")), {}
    )
    judgements = (chosen.get("curve") or {}).get("judgements") or ()
    return MitigationSummary(
        method=str(found["method"]),
        experiments=tuple(found["experiments"]),
        language=found.get("language"),
        settings=_settings(found),
        curve=tuple(CurvePoint.model_validate(judgement) for judgement in judgements),
        kept_epoch=(chosen.get("best") or {}).get("epoch"),
        frontier=tuple(FrontierPoint.model_validate(point) for point in found.get("frontier") or ()),
    )


def _settings(found: Mapping[str, Any]) -> dict[str, str]:
    """Plain values of the recipe and of the method, and how much was trained on."""
    told = {**(found.get("recipe") or {}), **(found.get("settings") or {})}
    settings = {
        _AS_ASKED.get(str(name), str(name)).replace("_", " "): str(value)
        for name, value in told.items()
        if isinstance(value, str | int | float)
    }
    examples = (found.get("data") or {}).get("examples")
    seeds = found.get("seeds") or ()
    return {
        **settings,
        **({"examples an epoch": f"{examples:,}"} if isinstance(examples, int) else {}),
        **({"trainings": f"{len(seeds)} with seeds of their own"} if len(seeds) > 1 else {}),
    }
