"""Learning curves: what each epoch did to bias and to quality, and which epoch to keep."""

from __future__ import annotations

import math
from collections.abc import Mapping
from statistics import fmean
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

from evenhand.core.recipes import Plateau

MALOR = "MALoR"
PERPLEXITY = "perplexity"
"""Names of the measures that every training had up to version 0.1."""


class EpochMetrics(BaseModel):
    """A model after an epoch; epoch 0 is the original."""

    model_config = ConfigDict(frozen=True)

    epoch: int
    bias: dict[str, float]
    """What is to come closer to neutral, by key: ``he-she.MALoR``."""
    quality: dict[str, float]
    """What is to stay low, by name: ``perplexity`` on the held-out sentences. Always above 0."""

    @model_validator(mode="before")
    @classmethod
    def _from_fixed_fields(cls, content: Any) -> Any:
        """Records up to version 0.1 had one field for MALoR and one for the perplexity."""
        if not isinstance(content, Mapping) or "malor" not in content:
            return content
        return {
            "epoch": content.get("epoch"),
            "bias": malor_by_key(content["malor"]),
            "quality": {PERPLEXITY: content.get(PERPLEXITY)},
        }

    @property
    def is_broken(self) -> bool:
        """Whether the training diverged, so that a figure is no number."""
        return not all(map(math.isfinite, (*self.bias.values(), *self.quality.values())))


class LearningCurve(BaseModel):
    """The metrics of a training, from the original on."""

    model_config = ConfigDict(frozen=True)

    epochs: tuple[EpochMetrics, ...]
    neutral: dict[str, float] = Field(default_factory=dict)
    """By key of a bias metric, the value that means no lean; 0 where it is not named."""

    @model_validator(mode="before")
    @classmethod
    def _from_judgements(cls, content: Any) -> Any:
        """Records up to version 0.1 had another name for the epochs."""
        if not isinstance(content, Mapping) or "judgements" not in content:
            return content
        return {"epochs": content["judgements"]}

    @property
    def original(self) -> EpochMetrics:
        """The model before the first epoch."""
        return self.epochs[0]

    @property
    def trained(self) -> tuple[EpochMetrics, ...]:
        """Every epoch after the original."""
        return self.epochs[1:]

    @property
    def last(self) -> EpochMetrics:
        """The newest epoch."""
        return self.epochs[-1]

    def followed_by(self, metrics: EpochMetrics) -> LearningCurve:
        """The curve with one more epoch."""
        return self.model_copy(update={"epochs": (*self.epochs, metrics)})

    def relative_bias(self, metrics: EpochMetrics) -> float:
        """Mean over metrics of the distance from neutral, as a share of the original's.

        A metric in which the original is neutral counts as it is, as nothing can be divided by 0.
        """
        return fmean(
            self._distance(key, metrics) / (self._distance(key, self.original) or 1.0) for key in metrics.bias
        )

    def quality_loss(self, metrics: EpochMetrics) -> float:
        """How much the quality metric that suffered most rose, as a share of the original's; negative if it fell."""
        return max(value / self.original.quality[name] - 1 for name, value in metrics.quality.items())

    def keeps_quality(self, metrics: EpochMetrics, *, margin: float) -> bool:
        """Whether no quality metric rose by more than the margin."""
        return all(
            value <= (1 + margin) * self.original.quality[name] for name, value in metrics.quality.items()
        )

    def best(self, *, margin: float) -> EpochMetrics:
        """The epoch to keep: the lowest relative bias among those within the margin, the earliest of equals.

        Where no epoch is within the margin, it is the one that lost least: quality comes first, and whoever reads the
        result is told that the margin was missed. The original itself is never chosen, as handing it back would pass
        off no mitigation as one.
        """
        within = [metrics for metrics in self.trained if self.keeps_quality(metrics, margin=margin)]
        if within:
            return min(within, key=self.relative_bias)
        return min(self.trained, key=self.quality_loss)

    def is_flat(self, plateau: Plateau) -> bool:
        """Whether the last epochs hardly differ in any bias metric."""
        last = self.trained[-plateau.epochs :]
        if len(last) < plateau.epochs:
            return False
        return all(
            _spread([self._distance(key, metrics) for metrics in last]) < plateau.within
            for key in self.original.bias
        )

    def describe_last(self) -> str:
        """The newest epoch in one line."""
        last = self.last
        quality = ", ".join(f"{name} {value:.2f}" for name, value in last.quality.items())
        figures = f"{'; '.join(_by_measure(last.bias))}; {quality}"
        if last.epoch == 0:
            return f"original: {figures}"
        return f"epoch {last.epoch}: {figures} ({self.quality_loss(last):+.2%})"

    def _distance(self, key: str, metrics: EpochMetrics) -> float:
        return abs(metrics.bias[key] - self.neutral.get(key, 0.0))


def malor_by_key(by_experiment: Mapping[str, Any]) -> dict[str, Any]:
    """MALoR of experiments under the keys that metrics have."""
    return {f"{experiment}.{MALOR}": value for experiment, value in by_experiment.items()}


def malor_by_experiment(metrics: Mapping[str, float]) -> dict[str, float]:
    """Those of the metrics that are MALoR, by experiment."""
    return {
        key.removesuffix(f".{MALOR}"): value for key, value in metrics.items() if key.endswith(f".{MALOR}")
    }


def metric_title(key: str) -> str:
    """The key of a metric as tables have it: the measure first."""
    group, _, measure = key.rpartition(".")
    return f"{measure}, {group.replace('.', ', ')}" if group else measure


def _by_measure(metrics: Mapping[str, float]) -> list[str]:
    """Figures as text, those of one measure behind its name."""
    measures: dict[str, list[str]] = {}
    for key, value in metrics.items():
        group, _, measure = key.rpartition(".")
        measures.setdefault(measure, []).append(f"{group.replace('.', ' ')} {value:.3f}".strip())
    return [f"{measure} {', '.join(values)}" for measure, values in measures.items()]


def _spread(values: list[float]) -> float:
    mean = fmean(values)
    return (max(values) - min(values)) / mean if mean else 0.0
