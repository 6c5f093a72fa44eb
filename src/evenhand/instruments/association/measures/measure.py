"""What a measure is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from evenhand.instruments.association.measures.totals import ClusterTotals, Floats
from evenhand.runs.calibration import Expectation


@dataclass(frozen=True, slots=True)
class Measure:
    """A named, versioned function of totals per target term and weights over terms.

    ``compute`` takes weights of shape (rows, terms) and returns one value a row, so that a value, its
    bootstrap replicates and its leave-one-out values come from the same code.
    """

    name: str
    version: str
    title: str
    neutral: float | None
    """The value that means no lean either way; None where the measure has no such point."""
    ideal: float
    compute: Callable[[ClusterTotals, Floats], Floats]
    doc: str
    lowest: float = 0.0
    highest: float = 100.0
    unit: str | None = None
    """What it is counted in, where that is not points of 100."""
    undefined: str = "it does not follow from these scores"
    """Why there is no value where ``compute`` gives NaN."""
    expectation: Expectation | None = None
    """How it must respond to planted bias; None for a measure that the lab does not calibrate."""

    def value(self, totals: ClusterTotals) -> float:
        """The measure on the items as they are."""
        return float(self.compute(totals, totals.unit_weights)[0])
