"""What is read off a model after every epoch: the bias that is to fall, and the quality that is to stay."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Protocol

from evenhand.core.estimates import Estimate
from evenhand.instruments.figure_readers import FigureReader
from evenhand.models.language_model import LanguageModel
from evenhand.runs.learning_curves import PERPLEXITY, EpochMetrics
from evenhand.training.perplexity import HeldOut


class EpochEvaluator(Protocol):
    """Reads a model as it is now; its weights change between one epoch and the next."""

    @property
    def neutral(self) -> Mapping[str, float]:
        """The neutral value of each bias metric, by key."""
        ...

    def evaluate(self, epoch: int) -> EpochMetrics:
        """Bias and quality of the model in training."""
        ...


class ModelEvaluator:
    """The figures of instruments, and the perplexity on held-out sentences."""

    def __init__(self, model: LanguageModel, readers: Sequence[FigureReader], *, held_out: HeldOut) -> None:
        self.model = model
        self.held_out = held_out
        self._readers = tuple(readers)

    @property
    def neutral(self) -> dict[str, float]:
        """Of all figures that are not neutral at 0."""
        neutral = {key: value for reader in self._readers for key, value in reader.neutral.items()}
        return {key: value for key, value in neutral.items() if value}

    def evaluate(self, epoch: int) -> EpochMetrics:
        """Bias and quality of the model as it is now."""
        bias = {key: value for reader in self._readers for key, value in reader.values().items()}
        return EpochMetrics(epoch=epoch, bias=bias, quality={PERPLEXITY: self._perplexity()})

    def estimates(self) -> dict[str, Estimate]:
        """The bias metrics with intervals."""
        return {key: value for reader in self._readers for key, value in reader.estimates().items()}

    def _perplexity(self) -> float:
        try:
            return self.held_out.loss(self.model.loaded.model).perplexity
        except OverflowError:
            return math.inf
