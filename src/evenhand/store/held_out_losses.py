"""How surprised a model is by held-out text, sentence by sentence."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

LARGEST_LOG = 700.0
"""Of a perplexity, in nats: that of more is beyond what a float holds, and is cut there."""


@dataclass(frozen=True, slots=True)
class HeldOutLoss:
    """How surprised a model is by each sentence."""

    nats: npt.NDArray[np.float64]
    """Sum over the scored tokens of each sentence."""
    tokens: npt.NDArray[np.int64]
    """Scored tokens of each sentence."""

    @property
    def perplexity(self) -> float:
        """Over all scored tokens."""
        return math.exp(min(float(self.nats.sum() / self.tokens.sum()), LARGEST_LOG))


@dataclass(frozen=True, slots=True)
class HeldOutFigures:
    """Surprise at each held-out sentence, what goes to tokens that no text has, and which were read whole."""

    loss: HeldOutLoss
    special: npt.NDArray[np.float64]
    """The probability of unused and special tokens, added up over the scored tokens of each sentence."""
    whole: npt.NDArray[np.bool_]
