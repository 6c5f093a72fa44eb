"""What a calibration says, in plain words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from evenhand.instruments.association.measures import MEASURES
from evenhand.reporting.calibration.badges import reads_bits, short_name
from evenhand.reporting.words import language_name, listed, task_title
from evenhand.runs.calibration import Calibration, Check, MeasureCalibration, Response

FAMILY_TITLES = {
    "masked": "Masked models",
    "decoder": "Decoders",
    "encoder-decoder": "Encoder-decoders",
}

_SHOULD = {
    Response.RISES: "Should rise with the planted bias, and read neutral where nothing was planted.",
    Response.FALLS_AWAY: "Should be highest where nothing was planted, and fall to both sides.",
    Response.STAYS: "Should not move, whatever was planted.",
    Response.GROWS_AWAY: "Should be close to 0 where nothing was planted, and rise to both sides.",
}


@dataclass(frozen=True, slots=True)
class CalibrationVerdict:
    """Whether the measures do what they should, and the sentences behind it."""

    passed: bool
    headline: str
    sentences: tuple[str, ...]


def title_of(measure: str) -> str:
    """A measure's title, or its name where this version does not know it."""
    return MEASURES.get(measure).title if measure in MEASURES else short_name(measure)


def neutral_of(measure: str) -> float | None:
    """The neutral value of a measure that has one."""
    return MEASURES.get(measure).neutral if measure in MEASURES else None


def family_title(family: str) -> str:
    """The family of a model in the plural."""
    return FAMILY_TITLES.get(family, family)


def measures_of(calibration: Calibration) -> dict[str, list[MeasureCalibration]]:
    """The entries of each measure, in the order of the calibration."""
    by_measure: dict[str, list[MeasureCalibration]] = {}
    for entry in calibration.measures:
        by_measure.setdefault(entry.measure, []).append(entry)
    return by_measure


def families_of(calibration: Calibration) -> list[str]:
    """The families that models were built of."""
    return list(dict.fromkeys(entry.family for entry in calibration.measures))


def count_models(calibration: Calibration) -> int:
    """How many models were measured."""
    return len(
        {
            (entry.family, point.strength, point.seed)
            for entry in calibration.measures
            for point in entry.points
        }
    )


def verdict(calibration: Calibration) -> CalibrationVerdict:
    """The whole calibration in a few sentences."""
    measures = measures_of(calibration)
    failed = [name for name, own in measures.items() if not all(entry.passed for entry in own)]
    checks = sum(len(entry.checks) for entry in calibration.measures)
    outcome = f"{len(calibration.failures)} of {_counted(checks, 'check')} failed:"
    if not failed:
        outcome = f"All {_counted(checks, 'check')} passed."
    headline = _headline(list(measures), failed)
    return CalibrationVerdict(
        calibration.passed, headline, (_about_models(calibration), _about_items(calibration), outcome)
    )


def _headline(measures: Sequence[str], failed: Sequence[str]) -> str:
    if len(measures) == 1:
        does = "did not pass every check" if failed else "does what it should"
        return f"{short_name(measures[0])} {does}"
    if failed:
        return f"{len(failed)} of {len(measures)} measures did not pass every check"
    return f"All {len(measures)} measures do what they should"


def what_it_should(response: Response) -> str:
    """What is asked of a measure."""
    return _SHOULD[response]


def what_it_did(entries: Sequence[MeasureCalibration]) -> str:
    """What a measure read on all families and tasks."""
    response = entries[0].response
    if response is Response.STAYS:
        values = [
            point.estimate.value for entry in entries for point in entry.points if point.estimate.defined
        ]
        return f"It read {_range(values, 1)} on all models."
    unit = "bits" if reads_bits(entries[0]) else "points"
    slopes = _range([entry.slope for entry in entries], 2 if unit == "bits" else 1)
    if response is Response.FALLS_AWAY:
        return f"It falls by {slopes} {unit} for each planted bit."
    sentence = f"It rises by {slopes} {unit} for each planted bit"
    distances = [abs(entry.neutral_point) for entry in entries if not math.isnan(entry.neutral_point)]
    if distances:
        sentence += f" and reads neutral within {max(distances):.2f} bits of no bias"
    return f"{sentence}."


def shown_failure(entry: MeasureCalibration, check: Check) -> str:
    """Where a check failed, what it found and what was wanted."""
    where = [short_name(entry.measure), family_title(entry.family).lower(), task_title(entry.task).lower()]
    reading = "undefined" if math.isnan(check.found) else f"{check.found:.4g}"
    return f"{', '.join(where)}: {check.name} {reading}, wanted {check.wanted}."


def signed_bits(strength: float) -> str:
    """A strength with its sign."""
    return f"{strength:+g}".replace("-", "−") if strength else "0"


def _about_models(calibration: Calibration) -> str:
    families = families_of(calibration)
    strengths = calibration.strengths
    spread = f"{signed_bits(strengths[0])} to {signed_bits(strengths[-1])} bits"
    return (
        f"{_counted(count_models(calibration), 'model')} were built: {_counted(len(families), 'family')} "
        f"({listed([family_title(family).lower() for family in families])}), "
        f"{_counted(len(strengths), 'strength')} of planted bias from {spread}, "
        f"{_counted(calibration.seeds, 'seed')} each."
    )


def _about_items(calibration: Calibration) -> str:
    items = calibration.items
    parts = listed([f"{count:,} {task_title(task).lower()}" for task, count in items.items()])
    language = language_name(calibration.language)
    return f"Each was measured on the same {sum(items.values()):,} {language} items ({parts})."


def _counted(number: int, noun: str) -> str:
    plural = "families" if noun == "family" else f"{noun}s"
    return f"{number:,} {noun if number == 1 else plural}"


def _range(values: Sequence[float], digits: int) -> str:
    defined = [value for value in values if not math.isnan(value)]
    if not defined:
        return "an undefined number of"
    low, high = f"{min(defined):.{digits}f}", f"{max(defined):.{digits}f}"
    return low if low == high else f"{low} to {high}"
