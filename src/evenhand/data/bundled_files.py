"""Files that ship with the package: example scores of the starter set, and the lab's calibration.

The example scores let people try everything without a model. They come from a simulated scorer with a known lean, not
from a language model; see ``examples/simulate_scores.py``.
"""

from __future__ import annotations

from functools import cache
from importlib import resources
from pathlib import Path

from pydantic import ValidationError

from evenhand.core.errors import EvenhandError, UnknownNameError
from evenhand.runs.calibration import Calibration

EXAMPLES = ("leaning", "neutral")


def example_scores(name: str) -> Path:
    """The file of simulated scores of this name: ``leaning`` or ``neutral``."""
    if name not in EXAMPLES:
        raise UnknownNameError("example", name, EXAMPLES)
    folder = resources.files("evenhand.data") / "resources" / "starter" / "example_scores"
    return Path(str(folder / f"simulated-{name}.json"))


def bundled_calibration_path() -> Path:
    """The path of the bundled calibration."""
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
