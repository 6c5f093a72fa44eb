"""Calibrations: what a measure reads where the truth is known."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

from pydantic import Field

from evenhand.core.estimates import Estimate, Number
from evenhand.core.frozen import FrozenModel
from evenhand.core.planted_bias import ProbePart
from evenhand.store.records import EnvironmentRecord


class Response(StrEnum):
    """How a measure should answer to more bias."""

    RISES = "rises with the planted bias"
    FALLS_AWAY = "is highest without bias and falls to both sides"
    STAYS = "does not move with the planted bias"
    GROWS_AWAY = "is 0 without bias and rises to both sides"


@dataclass(frozen=True, slots=True)
class Expectation:
    """What a measure must do where the bias is known to be trusted where it is not."""

    response: Response
    at_least: float | None = None
    """The lowest value that it may read on any model, for a measure that does not move with bias."""
    in_bits: bool = False
    """Whether it reads the planted bits themselves."""


SCHEMA_VERSION = 3


class DosePoint(FrozenModel):
    """What a measure read on one model."""

    strength: float
    """Bits that were planted."""
    seed: int
    estimate: Estimate
    target: Number
    """What it should read on a model that has learnt its world; NaN where that is not known."""
    base_rate: Estimate | None = None
    """Of MALoR: the part that all occupations share."""
    spread: Estimate | None = None
    """Of MALoR: the part that differs by occupation."""

    @property
    def error(self) -> float:
        """Read minus target."""
        return self.estimate.value - self.target


class DetectableBias(FrozenModel):
    """The smallest planted bias that so many items show in four of five cases."""

    items: int
    strength: Number
    """Bits; NaN where even the strongest dose is found less often."""
    reading: Number
    """What the measure reads at that strength, on average."""


class Check(FrozenModel):
    """Something that must hold, and whether it did."""

    name: str
    wanted: str
    found: Number
    passed: bool

    @classmethod
    def at_least(cls, name: str, value: float, limit: float) -> Check:
        """A value that must reach a limit."""
        return cls(name=name, wanted=f"at least {limit:g}", found=value, passed=value >= limit)

    @classmethod
    def at_most(cls, name: str, value: float, limit: float) -> Check:
        """A value that must not exceed a limit."""
        return cls(name=name, wanted=f"at most {limit:g}", found=value, passed=value <= limit)


class MeasureCalibration(FrozenModel):
    """One measure on one task of one family."""

    measure: str
    family: str
    task: str
    """Of the association tests; for a probe its experiment."""
    part: ProbePart
    response: Response
    points: tuple[DosePoint, ...]
    spearman: Number
    """Rank correlation of planted and read, the mean over seeds; where a measure falls away, with nearness to 0."""
    slope: Number
    """Units of the measure for each bit, over doses up to 2 bits."""
    neutral_point: Number
    """Planted bits at which the measure reads neutral; NaN where it has no neutral value."""
    error: Number
    """Mean absolute difference between planted and read bits, item by item, at doses up to 2 bits; NaN where the
    measure is not in bits."""
    false_positives: Number
    """Share of neutral item sets whose 95% interval excludes neutral."""
    neutral_sets: int
    detectable: tuple[DetectableBias, ...]
    checks: tuple[Check, ...]

    @property
    def passed(self) -> bool:
        """Whether the measure does what it should."""
        return all(check.passed for check in self.checks)

    @property
    def errors(self) -> tuple[DosePoint, ...]:
        """The models with a known target."""
        return tuple(point for point in self.points if math.isfinite(point.error))

    @property
    def largest_error(self) -> float:
        """Of all models, however much was planted; NaN where no target is known."""
        return max((abs(point.error) for point in self.errors), default=math.nan)


class RegardReading(FrozenModel):
    """One figure about regard, over many simulated studies in which the same was planted."""

    part: str
    """agreement, training, check or correction."""
    figure: str
    planted: str
    """What was planted, in words."""
    target: Number
    """What the figure should read."""
    mean: Number
    """What it read, on average over studies."""
    spread: Number
    """Its standard deviation over studies."""
    coverage: Number
    """The share of studies whose 95% interval holds the target; NaN where the figure has none."""
    studies: int
    checks: tuple[Check, ...] = ()
    """What must hold; nothing is asked of labels that are not corrected."""

    @property
    def passed(self) -> bool:
        """Whether the figure is what it should be."""
        return all(check.passed for check in self.checks)


class Calibration(FrozenModel):
    """All measures on all families, and regard."""

    schema_version: int = SCHEMA_VERSION
    created: datetime = Field(default_factory=lambda: datetime.now(UTC).replace(microsecond=0))
    environment: EnvironmentRecord
    language: str
    strengths: tuple[float, ...]
    seeds: int
    items: dict[str, int]
    """Items of each task that the models were measured on."""
    measures: tuple[MeasureCalibration, ...]
    regard: tuple[RegardReading, ...] = ()
    regard_environment: EnvironmentRecord | None = None
    """Regard is simulated in a minute, so it can be newer than the rest."""

    @property
    def passed(self) -> bool:
        """Whether every measure does what it should."""
        return not self.failures and not self.regard_failures

    @property
    def failures(self) -> tuple[tuple[MeasureCalibration, Check], ...]:
        """Every check that did not pass."""
        return tuple((entry, check) for entry in self.measures for check in entry.checks if not check.passed)

    @property
    def regard_failures(self) -> tuple[Check, ...]:
        """Every check of regard that did not pass."""
        return tuple(check for reading in self.regard for check in reading.checks if not check.passed)

    def of(self, measure: str, *, task: str, family: str | None = None) -> tuple[MeasureCalibration, ...]:
        """The calibrations of a measure on a task, with what was taught; of all families unless one is named."""
        return tuple(
            entry
            for entry in self.measures
            if (entry.measure, entry.task, entry.part) == (measure, task, ProbePart.TAUGHT)
            and family in (None, entry.family)
        )
