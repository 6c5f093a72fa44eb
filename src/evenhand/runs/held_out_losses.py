"""How surprised a model is by held-out text, sentence by sentence."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


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
        return float(math.exp(self.nats.sum() / self.tokens.sum()))


@dataclass(frozen=True, slots=True)
class HeldOutFigures:
    """Surprise at each held-out sentence, and which sentences were read whole."""

    loss: HeldOutLoss
    whole: npt.NDArray[np.bool_]
