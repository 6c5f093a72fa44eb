"""What is looked at after every epoch: the bias that is to fall, and the quality that is to stay."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Reading:
    """MALoR by experiment, and the perplexity on held-out sentences."""

    malor: dict[str, float]
    perplexity: float


class Watch(Protocol):
    """Reads a model as it is now; its weights change between one reading and the next."""

    def read(self) -> Reading:
        """Bias and quality of the model in training."""
        ...
