"""Learning curves: what each epoch did to bias and to quality, and which epoch to keep."""

from __future__ import annotations

import math
from statistics import fmean

from pydantic import BaseModel, ConfigDict

from evenhand.core.recipes import Plateau


class Judgement(BaseModel):
    """A model after an epoch; epoch 0 is the original."""

    model_config = ConfigDict(frozen=True)

    epoch: int
    malor: dict[str, float]
    """By experiment, in bits."""
    perplexity: float
    """On the held-out sentences."""


class LearningCurve(BaseModel):
    """The judgements of a training, from the original on."""

    model_config = ConfigDict(frozen=True)

    judgements: tuple[Judgement, ...]

    @property
    def original(self) -> Judgement:
        """The model before the first epoch."""
        return self.judgements[0]

    @property
    def trained(self) -> tuple[Judgement, ...]:
        """Every judgement after the original's."""
        return self.judgements[1:]

    def followed_by(self, judgement: Judgement) -> LearningCurve:
        """The curve with one more judgement."""
        return LearningCurve(judgements=(*self.judgements, judgement))

    def relative_malor(self, judgement: Judgement) -> float:
        """Mean over experiments of MALoR as a share of the original's.

        An experiment in which the original leans nowhere counts in bits, as nothing can be divided by 0.
        """
        return fmean(
            value / (self.original.malor[experiment] or 1.0) for experiment, value in judgement.malor.items()
        )

    def perplexity_rise(self, judgement: Judgement) -> float:
        """How much the perplexity rose, as a share of the original's; negative if it fell."""
        return judgement.perplexity / self.original.perplexity - 1

    def keeps_quality(self, judgement: Judgement, *, margin: float) -> bool:
        """Whether the perplexity rose by no more than the margin."""
        return judgement.perplexity <= (1 + margin) * self.original.perplexity

    def best(self, *, margin: float) -> Judgement:
        """The epoch to keep: the lowest relative MALoR among those within the margin, the earliest of equals.

        Where no epoch is within the margin, it is the one whose perplexity rose least: quality comes first, and
        whoever reads the result is told that the margin was missed. The original itself is never chosen, as handing it
        back would pass off no mitigation as one.
        """
        within = [known for known in self.trained if self.keeps_quality(known, margin=margin)]
        if within:
            return min(within, key=self.relative_malor)
        return min(self.trained, key=self.perplexity_rise)

    def is_flat(self, plateau: Plateau) -> bool:
        """Whether the last epochs hardly differ in any experiment."""
        last = self.trained[-plateau.epochs :]
        if len(last) < plateau.epochs:
            return False
        return all(
            _spread([known.malor[experiment] for known in last]) < plateau.within
            for experiment in self.original.malor
        )


def is_broken(judgement: Judgement) -> bool:
    """Whether a training went off the rails, so that its figures are no numbers."""
    return not all(map(math.isfinite, (judgement.perplexity, *judgement.malor.values())))


def _spread(values: list[float]) -> float:
    mean = fmean(values)
    return (max(values) - min(values)) / mean if mean else 0.0
