"""What a calibration says in plain words, and badges: what the lab found out about a measure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from evenhand.core.planted_bias import ProbePart
from evenhand.data.datasets import bundled_calibration, bundled_calibration_path
from evenhand.instruments.association.measures import MEASURES
from evenhand.instruments.association.results import TaskResult
from evenhand.reporting.numbers import number
from evenhand.reporting.words import language_name, listed, task_title
from evenhand.store.calibration import Calibration, Check, DetectableBias, MeasureCalibration, Response
from evenhand.store.run import Run


@dataclass(frozen=True, slots=True)
class Badge:
    """What the lab says, as a sentence and as short as a table cell needs it."""

    sentence: str
    brief: str


REGARD = "Regard"
"""How the figures about regard are called beside the measures."""

Badges = dict[str, dict[str, Badge]]
"""By task and measure; what the lab says nothing about is missing."""


def shipped_calibration() -> Calibration | None:
    """The calibration that ships with the package; None where it ships without one."""
    return bundled_calibration() if bundled_calibration_path().is_file() else None


def run_badges(run: Run, calibration: Calibration | None) -> Badges:
    """What a calibration says about a run."""
    if calibration is None:
        return {task: {} for task in run.result.tasks}
    family = run.record.model.family if run.record.model else None
    return {
        task: _task_badges(result, calibration, task=task, family=family)
        for task, result in run.result.tasks.items()
    }


def _task_badges(
    result: TaskResult, calibration: Calibration, *, task: str, family: str | None
) -> dict[str, Badge]:
    return {
        name: own
        for name, estimate in result.estimates()
        if estimate.defined
        and (own := badge(calibration, name, task=task, items=result.n, family=family)) is not None
    }


def badge(
    calibration: Calibration, measure: str, *, task: str, items: int, family: str | None = None
) -> Badge | None:
    """What the lab says about a measure over so many items of a task; None where it says nothing.

    Args:
        calibration: What the lab found out.
        measure: The measure's name.
        task: The task that it was computed on.
        items: How many items it was computed from.
        family: The family of the model, as its record has it. Without one, or with one that the lab does not build,
            the family on which the measure does worst speaks for all.
    """
    entries = calibration.of(measure, task=task, family=_family_of_the_lab(calibration, family))
    if not entries:
        return None
    return _SAYINGS[entries[0].response](entries, items)


def _family_of_the_lab(calibration: Calibration, family: str | None) -> str | None:
    """The family of the lab that stands for a model's: "encoder-decoder" for every kind of encoder-decoder."""
    built = (entry.family for entry in calibration.measures)
    return next((name for name in built if family is not None and family.startswith(name)), None)


def shown_reading(entry: MeasureCalibration, value: float) -> str:
    """A value of a measure; bits need a digit more than points of 100."""
    return number(value, 2 if reads_bits(entry) else 1)


def short_name(measure: str) -> str:
    """A measure's name as it is read."""
    return measure.replace("_", " ")


def reads_bits(entry: MeasureCalibration) -> bool:
    """Whether the measure reads the planted bits themselves."""
    return not math.isnan(entry.error)


def _detects(entries: Sequence[MeasureCalibration], items: int) -> Badge | None:
    counts = sorted(
        set.intersection(*({detectable.items for detectable in entry.detectable} for entry in entries))
    )
    if not counts:
        return None
    if items < counts[0]:
        return Badge(
            f"The lab tried {counts[0]:,} items and more; what {items:,} would show is not known.",
            f"not tried below {counts[0]:,} items",
        )
    count = max(count for count in counts if count <= items)
    entry, detectable = max(
        (
            (entry, detectable)
            for entry in entries
            for detectable in entry.detectable
            if detectable.items == count
        ),
        key=lambda pair: _hardness(pair[1]),
    )
    if math.isnan(detectable.strength):
        strongest = max(point.strength for point in entry.points)
        return _with_failures(
            entries,
            f"In the lab, {count:,} items do not show even {strongest:g} planted bits in four of five cases.",
            f"more than {strongest:g} bits",
        )
    beyond = items > counts[-1]
    more = f"; {items:,} show at least as little as that" if beyond else ""
    reading = shown_reading(entry, detectable.reading)
    return _with_failures(
        entries,
        f"In the lab, {count:,} items show a planted bias of {detectable.strength:.2f} bits "
        f"({short_name(entry.measure)} {reading}) or more in four of five cases{more}.",
        f"{detectable.strength:.2f} bits (reads {reading}){' or less' if beyond else ''}",
    )


def _hardness(detectable: DetectableBias) -> float:
    return math.inf if math.isnan(detectable.strength) else detectable.strength


def _stays(entries: Sequence[MeasureCalibration], _items: int) -> Badge | None:
    values = [point.estimate.value for entry in entries for point in entry.points if point.estimate.defined]
    if not values:
        return None
    lowest = f"{math.floor(10 * min(values)) / 10:.1f}"
    if not all(entry.passed for entry in entries):
        return Badge(
            f"In the lab it moves with planted bias: down to {lowest} on {len(values):,} models.",
            f"down to {lowest}",
        )
    return Badge(
        f"In the lab it does not move with planted bias: never below {lowest} on {len(values):,} models.",
        f"never below {lowest}",
    )


def _falls_away(entries: Sequence[MeasureCalibration], _items: int) -> Badge | None:
    slopes = [entry.slope for entry in entries if not math.isnan(entry.slope)]
    if not slopes:
        return None
    fall = f"{'at least ' if len(slopes) > 1 else ''}{min(slopes):.1f} points"
    return _with_failures(
        entries, f"In the lab it falls by {fall} for each planted bit.", f"falls {fall} a bit"
    )


def _with_failures(entries: Sequence[MeasureCalibration], sentence: str, brief: str) -> Badge:
    checks = [check for entry in entries for check in entry.checks]
    failed = sum(not check.passed for check in checks)
    if not failed:
        return Badge(sentence, brief)
    return Badge(f"{sentence} It failed {failed} of {len(checks)} checks there.", f"{brief}, failed a check")


_SAYINGS = {
    Response.RISES: _detects,
    Response.STAYS: _stays,
    Response.FALLS_AWAY: _falls_away,
}

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
    """The entries of each measure on what was taught, in the order of the calibration."""
    by_measure: dict[str, list[MeasureCalibration]] = {}
    for entry in calibration.measures:
        if entry.part is ProbePart.TAUGHT:
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
    names = list(measures)
    if calibration.regard:
        names.append(REGARD)
        failed += [REGARD] if calibration.regard_failures else []
    checks = sum(len(entry.checks) for entry in calibration.measures)
    checks += sum(len(reading.checks) for reading in calibration.regard)
    failures = len(calibration.failures) + len(calibration.regard_failures)
    outcome = f"{failures} of {_counted(checks, 'check')} failed:"
    if not failed:
        outcome = f"All {_counted(checks, 'check')} passed."
    about = [_about_models(calibration), _about_items(calibration)] if measures else []
    if calibration.regard:
        about.append(
            f"{_counted(len(calibration.regard), 'figure')} about regard were held against what was planted, over up "
            f"to {max(reading.studies for reading in calibration.regard):,} simulated studies each."
        )
    return CalibrationVerdict(calibration.passed, _headline(names, failed), (*about, outcome))


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


def shown_failures(calibration: Calibration) -> list[str]:
    """Where checks failed, what they found and what was wanted."""
    return [
        *(_shown_failure(_where(entry), check) for entry, check in calibration.failures),
        *(_shown_failure(REGARD, check) for check in calibration.regard_failures),
    ]


def _where(entry: MeasureCalibration) -> str:
    return ", ".join(
        [short_name(entry.measure), family_title(entry.family).lower(), task_title(entry.task).lower()]
    )


def _shown_failure(where: str, check: Check) -> str:
    reading = "undefined" if math.isnan(check.found) else f"{check.found:.4g}"
    return f"{where}: {check.name} {reading}, wanted {check.wanted}."


def signed_bits(strength: float) -> str:
    """A strength with its sign."""
    return f"{strength:+g}".replace("-", "−") if strength else "0"


def _about_models(calibration: Calibration) -> str:
    families = families_of(calibration)
    strengths = calibration.strengths
    spread = f"{signed_bits(strengths[0])} to {signed_bits(strengths[-1])} bits"
    models = count_models(calibration)
    is_even = models == len(families) * len(strengths) * calibration.seeds
    return (
        f"{_counted(models, 'model')} were built: {_counted(len(families), 'family')} "
        f"({listed([family_title(family).lower() for family in families])}), "
        f"{_counted(len(strengths), 'strength')} of planted bias from {spread}, "
        f"{'' if is_even else 'up to '}{_counted(calibration.seeds, 'seed')} each."
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
