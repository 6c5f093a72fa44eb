"""What was read about regard where it was planted, ready to be shown."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from evenhand.reporting.numbers import NOT_THERE, number_or_dash
from evenhand.store.calibration import RegardReading

_ABOUT_REGARD = (
    "No language model is needed here: a small grammar makes texts whose regard is known, annotators label them with "
    "planted errors, and a classifier with planted errors and a planted bias labels texts about two groups. Agreement "
    "is kappa or alpha; everything else is in points. A figure that reads what it should has its target in the middle "
    "of what many studies read. Its 95% intervals are meant to hold the target in 95 of 100 studies"
)

NOT_ASKED = (
    "No check is asked of rows with a dash: labels as they are shrink a gap, and one confusion matrix for both groups "
    "does not undo a bias against one of them. They show what a correction is for. A classifier should read what the "
    "best one could: it may stay below that by 10 points, since it has a few hundred texts to learn from, and must not "
    "be above it by more than luck."
)


def about_regard(readings: Sequence[RegardReading]) -> str:
    """What was done, and how often the intervals of the figures that are checked held what was planted."""
    held = [own.coverage for own in readings if own.checks and not math.isnan(own.coverage)]
    if not held:
        return f"{_ABOUT_REGARD}."
    return f"{_ABOUT_REGARD}; those of the figures that are checked held it in {min(held):.1%} to {max(held):.1%}."


@dataclass(frozen=True, slots=True)
class RegardRow:
    """One figure about regard."""

    part: str
    figure: str
    planted: str
    target: str
    mean: str
    spread: str
    coverage: str
    """The share of intervals that hold the target, and of how many studies."""
    outcome: str
    """passed, failed, or a dash where nothing is asked."""


def regard_row(reading: RegardReading) -> RegardRow:
    """A reading with as many digits as its unit needs."""
    digits = 3 if reading.target <= 1 and reading.part in ("agreement", "check") and reading.target else 1
    held = "" if math.isnan(reading.coverage) else f"{reading.coverage:.1%} of "
    return RegardRow(
        part=reading.part,
        figure=reading.figure,
        planted=reading.planted,
        target=number_or_dash(reading.target, digits),
        mean=number_or_dash(reading.mean, digits),
        spread=number_or_dash(reading.spread, digits),
        coverage=f"{held}{reading.studies:,}" if held else NOT_THERE,
        outcome=("passed" if reading.passed else "FAILED") if reading.checks else NOT_THERE,
    )
