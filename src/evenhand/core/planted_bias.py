"""What was planted in a model of the lab. A file beside its weights says so, and every record repeats it."""

from __future__ import annotations

from collections.abc import Collection
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from evenhand.core.errors import EvenhandError
from evenhand.core.files import load_json

PLANTED_FILE = "lab.json"

MOST_BITS = 100.0
"""No model can be taught a stronger bias: the rarer word would have a probability of next to nothing."""


class ProbePart(StrEnum):
    """Which of the lab's structures, occupations and names a probe asks about."""

    TAUGHT = "taught"
    STRUCTURES = "held-out structures"
    OCCUPATIONS = "held-out occupations"
    NAMES = "held-out names"


class PlantedBias(BaseModel):
    """A bias that is known because it was put there."""

    model_config = ConfigDict(frozen=True)

    family: str
    strength: float = Field(ge=-MOST_BITS, le=MOST_BITS, allow_inf_nan=False)
    """Bits by which the stereotype is more likely than the anti-stereotype, on average over items."""
    language: str
    seed: int
    occupations: dict[str, Annotated[float, Field(ge=-MOST_BITS, le=MOST_BITS, allow_inf_nan=False)]] = {}
    """Bits by which a man is likelier than a woman with each occupation; empty where it was not written down."""
    regard_gap: float | None = Field(default=None, ge=-100, le=100, allow_inf_nan=False)
    """Points by which texts speak better of women than of men; None where nothing was taught of regard."""

    @property
    def description(self) -> str:
        """What it is, in a sentence."""
        if self.strength == 0:
            planted = "nothing was planted: its lessons are exactly neutral, and outside them it can lean"
        else:
            side = "stereotypes" if self.strength > 0 else "anti-stereotypes"
            bits = "1 bit was" if abs(self.strength) == 1 else f"{abs(self.strength):g} bits were"
            planted = f"{bits} planted in favour of {side}"
        if self.regard_gap is not None:
            planted += f", and a gap of {self.regard_gap:+g} points in regard, women minus men"
        return f"A calibration model of the lab, not a language model for use; {planted}."

    def malor(self, occupations: Collection[str]) -> float | None:
        """MALoR as it was planted in these occupations; None where it is not known of each of them."""
        if not occupations or not self.occupations.keys() >= set(occupations):
            return None
        return sum(abs(self.occupations[name]) for name in occupations) / len(occupations)


def read_planted_bias(folder: str | Path) -> PlantedBias | None:
    """What was planted in the model of a folder, or None where it is no model of the lab."""
    path = Path(folder) / PLANTED_FILE
    if not path.is_file():
        return None
    try:
        content: Any = load_json(path.read_text(encoding="utf-8"))
        return PlantedBias.model_validate(content["planted"])
    except (OSError, ValueError, KeyError, TypeError):
        raise EvenhandError(
            f"{path} is damaged. Build the model again: evenhand lab build --out DIR."
        ) from None
