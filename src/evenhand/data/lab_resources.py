"""What the lab found out about the measures, as it ships with the package."""

from __future__ import annotations

from functools import cache
from importlib import resources
from pathlib import Path

from pydantic import ValidationError

from evenhand.core.errors import EvenhandError
from evenhand.runs.calibration import Calibration


def bundled_calibration_path() -> Path:
    """Where the bundled calibration lies."""
    return Path(str(resources.files("evenhand.data") / "resources" / "lab" / "calibration.json"))


@cache
def bundled_calibration() -> Calibration:
    """The calibration of every measure that ships with the package."""
    path = bundled_calibration_path()
    try:
        return Calibration.model_validate_json(path.read_bytes())
    except (OSError, ValidationError) as problem:
        raise EvenhandError(
            f"The bundled calibration {path} cannot be read ({type(problem).__name__}). Install Evenhand again."
        ) from None
