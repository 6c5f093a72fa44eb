"""What is looked at after every epoch: the bias that is to fall, and the quality that is to stay."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from evenhand.core.estimates import Estimate
from evenhand.core.probes import Experiment, ProbeSet
from evenhand.instruments.malor.estimates import malor_estimate
from evenhand.instruments.malor.prepared import PreparedProbe
from evenhand.models.language_model import LanguageModel
from evenhand.stats.resampling import Resampling
from evenhand.training.perplexity import HeldOut


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


class ModelWatch:
    """MALoR of the trained experiments, and the perplexity on held-out sentences."""

    def __init__(
        self, model: LanguageModel, probes: ProbeSet, *, experiments: Sequence[Experiment], held_out: HeldOut
    ) -> None:
        self.model = model
        self.held_out = held_out
        self._probe = PreparedProbe(model, probes, experiments=experiments)

    def read(self) -> Reading:
        """Bias and quality of the model as it is now."""
        malor = {experiment.value: value for experiment, value in self._probe.malor().items()}
        return Reading(malor, self._perplexity())

    def estimates(self, resampling: Resampling | None = None) -> dict[str, Estimate]:
        """MALoR by experiment, with intervals."""
        chosen = resampling or Resampling()
        return {
            experiment.value: malor_estimate(ratios, resampling=chosen)
            for experiment, ratios in self._probe.ratios().items()
        }

    def _perplexity(self) -> float:
        try:
            return self.held_out.loss(self.model.loaded.model).perplexity
        except OverflowError:
            return math.inf
