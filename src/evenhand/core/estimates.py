"""Estimates: a number that knows how sure it is."""

from __future__ import annotations

import math
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, PlainSerializer, model_validator

from evenhand.core.errors import EvenhandError


def _nan_from_null(value: Any) -> Any:
    return math.nan if value is None else value


def _null_from_nan(value: float) -> float | None:
    return value if math.isfinite(value) else None


Number = Annotated[
    float,
    BeforeValidator(_nan_from_null),
    PlainSerializer(_null_from_nan, return_type=float | None, when_used="json"),
]
"""A float whose undefined value is NaN in Python and ``null`` in JSON."""


class Estimate(BaseModel):
    """A value with its interval, what it was computed from, and how.

    An undefined value is NaN and carries a ``reason``; it is never 0. The same holds for an
    interval that cannot be computed although the value can.
    """

    model_config = ConfigDict(frozen=True)

    value: Number
    low: Number
    high: Number
    n: int
    clusters: int
    method: str
    reason: str | None = None

    @model_validator(mode="after")
    def _undefined_has_a_reason(self) -> Estimate:
        bounds = (self.value, self.low, self.high)
        if any(math.isnan(bound) for bound in bounds) and not self.reason:
            raise ValueError("an undefined value or interval needs a reason")
        if not any(math.isnan(bound) for bound in bounds) and self.low > self.high:
            raise ValueError(f"the interval's low end {self.low} is above its high end {self.high}")
        return self

    @classmethod
    def undefined(cls, reason: str, *, n: int = 0, clusters: int = 0) -> Estimate:
        """An estimate that could not be made."""
        nan = math.nan
        return cls(value=nan, low=nan, high=nan, n=n, clusters=clusters, method="none", reason=reason)

    @property
    def defined(self) -> bool:
        """Whether there is a value."""
        return not math.isnan(self.value)

    def distance_from(self, neutral: float) -> Estimate:
        """How far the value is from neutral, and how far it may be."""
        ends = sorted(abs(bound - neutral) for bound in (self.low, self.high))
        holds_neutral = self.low <= neutral <= self.high
        return self.model_copy(
            update={
                "value": abs(self.value - neutral),
                "low": 0.0 if holds_neutral else ends[0],
                "high": ends[1],
            }
        )

    def bound(self, name: str) -> float:
        """``value``, ``low`` or ``high`` by name."""
        if name not in ("value", "low", "high"):
            raise EvenhandError(f"An estimate has value, low and high, not {name!r}.")
        return float(getattr(self, name))

    def __str__(self) -> str:
        if not self.defined:
            return f"undefined ({self.reason})"
        if math.isnan(self.low):
            return f"{self.value:.2f}"
        return f"{self.value:.2f} [{self.low:.2f}, {self.high:.2f}]"
