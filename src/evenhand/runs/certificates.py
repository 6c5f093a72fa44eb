"""Certificates: what a mitigation did to bias and to quality, and what is needed to repeat it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Literal

from pydantic import Field, field_validator

from evenhand.core.estimates import Estimate, Number
from evenhand.core.files import is_file_name
from evenhand.core.frozen import FrozenModel
from evenhand.runs.certificate_quality import QualityRow, QualityVerdict, quality_verdict
from evenhand.runs.comparison import Difference
from evenhand.runs.mitigation_summaries import MitigationSummary
from evenhand.runs.records import EnvironmentRecord, ModelRecord, StatisticsRecord
from evenhand.runs.weights_changes import WeightsChange
from evenhand.stats.intervals import Interval
from evenhand.stats.significance import distance_interval

CERTIFICATE_SCHEMA_VERSION = 2
"""Version 2 states how the distance from neutral changed, splits MALoR into base rate and spread, judges the
held-out half of the probes, and has a trivial baseline."""

SMALLEST_CHANGE = 0.01
"""The share of its distance from neutral by which a measure must change to count as closer or farther."""

BEFORE, AFTER = "before", "after"
"""Folders of the runs of both models."""

BASELINE = "baseline"
"""Folder of the run of the original with shifted output biases."""


HELD_OUT, ALL_PROBES = "held-out", "all probes"
"""Of which structures and occupations a figure is: the half that no training may see, or all of them."""


class BiasVerdict(StrEnum):
    """What became of the bias that was trained against."""

    LOWERED = "lowered"
    NOT_LOWERED = "not lowered"
    NOTHING_CHANGED = "nothing changed"


class Verdict(FrozenModel):
    """The two statements of a certificate."""

    bias: BiasVerdict
    quality: QualityVerdict


class Bounds(FrozenModel):
    """The two ends of an interval; undefined where there is none."""

    low: Number
    high: Number
    reason: str | None = None
    """Why there is none."""

    @classmethod
    def of(cls, estimate: Estimate) -> Bounds:
        """The interval of an estimate, or why it has none."""
        reason = estimate.reason if math.isnan(estimate.low) else None
        return cls(low=estimate.low, high=estimate.high, reason=reason)

    def excludes(self, value: float) -> bool:
        """Whether all of the interval lies on one side of a value; False where there is none."""
        return self.low > value or self.high < value


class BiasRow(FrozenModel):
    """One measure of bias, before and after."""

    measure: str
    title: str
    """In words."""
    before: Number
    after: Number
    difference: Estimate
    """After minus before, paired."""
    before_interval: Bounds
    after_interval: Bounds
    neutral: float
    unit: str
    experiment: str | None = None
    """For MALoR."""
    distance: Estimate | None = None
    """How much farther from neutral it is after than before, paired; None in certificates of schema version 1."""
    part_of: str | None = None
    """The measure that this one is a part of: MALoR, of its base rate and of its spread."""
    direction: str | None = None
    """For MALoR: what is hidden from the model where that is not the gendered term, which mitigations train."""
    untrained_pair: str | None = None
    """For MALoR: which pair of words it is about, where no mitigation is trained for it."""
    sample: str | None = None
    """For MALoR: ``HELD_OUT`` or ``ALL_PROBES``; None where structures or occupations are too few to be divided."""

    @classmethod
    def of(
        cls,
        difference: Difference,
        estimates: tuple[Estimate, Estimate],
        *,
        measure: str,
        title: str | None = None,
        neutral: float | None = None,
        experiment: str | None = None,
        part_of: str | None = None,
        direction: str | None = None,
        untrained_pair: str | None = None,
    ) -> BiasRow:
        """A difference between two runs as a row.

        Args:
            difference: Of the measure, after minus before.
            estimates: Of each run, with their intervals.
            measure: The name in the certificate.
            title: The name in words; that of the difference if not given.
            neutral: The neutral value; that of the difference if not given.
            experiment: For MALoR.
            part_of: The measure that it is a part of.
            direction: For MALoR, what is hidden where that is not the gendered term.
            untrained_pair: For MALoR, the pair of words where no mitigation is trained for it.
        """
        value = difference.neutral if neutral is None else neutral
        value = 0.0 if value is None else value
        return cls(
            measure=measure,
            title=title or difference.title,
            before=difference.first,
            after=difference.second,
            difference=difference.difference,
            before_interval=Bounds.of(estimates[0]),
            after_interval=Bounds.of(estimates[1]),
            neutral=value,
            unit=difference.unit,
            experiment=experiment,
            distance=difference.distance,
            part_of=part_of,
            direction=direction,
            untrained_pair=untrained_pair,
        )

    @property
    def movement(self) -> int:
        """1 if the measure clearly came closer to its neutral value, -1 if it clearly went farther, 0 if that is open.

        What counts is the distance: from 47 to 53 is a clear difference, and no step towards 50. The farther of the two
        must be clearly away from neutral by itself: an answer that varies less makes a mean of absolute values fall
        even where nothing ever leaned. A change below a hundredth is none, however sure it is.
        """
        distances = [abs(value - self.neutral) for value in (self.before, self.after)]
        if abs(distances[1] - distances[0]) < SMALLEST_CHANGE * max(distances):
            return 0
        low, high = self._change_of_distance
        closer = high < 0 and self.leaned
        farther = low > 0 and self.after_interval.excludes(self.neutral)
        return closer - farther

    @property
    def is_lowered(self) -> bool:
        """Whether it came clearly closer to neutral; a part that was not clearly away from it has but to stay there."""
        return self.movement > 0 or (self.part_of is not None and not self.leaned and self.movement == 0)

    @property
    def leaned(self) -> bool:
        """Whether the model before was clearly away from neutral."""
        return self.before_interval.excludes(self.neutral)

    @property
    def _change_of_distance(self) -> tuple[float, float]:
        """The interval of the change of the distance; from the two intervals of the models where it is not stated.

        Their ends added up are an interval of the total that is wider than it need be.
        """
        if self.distance is not None:
            return self.distance.low, self.distance.high
        total = Interval(
            self.before_interval.low + self.after_interval.low,
            self.before_interval.high + self.after_interval.high,
            self.difference.method,
        )
        own = Interval(self.difference.low, self.difference.high, self.difference.method)
        interval = distance_interval(own, total, neutral=self.neutral)
        return interval.low, interval.high


class FittedShift(FrozenModel):
    """A constant that moves the log-odds of an experiment's male terms against its female ones."""

    experiment: str
    bits: Number
    """Added to the log-odds of male against female terms; undefined where it could not be fitted."""
    places: int
    """Places in the text where a term is the only gendered word."""
    male_tokens: tuple[int, ...]
    female_tokens: tuple[int, ...]
    reason: str | None = None
    """Why it could not be fitted."""


class TrivialBaseline(FrozenModel):
    """What a shift of a few output biases would have reached in the place of the mitigation."""

    shifts: tuple[FittedShift, ...] = ()
    fitted_on: str = ""
    """Which text the shifts were fitted on."""
    reached: tuple[BiasRow, ...] = ()
    """From the original to the original with the shifts."""
    against: tuple[BiasRow, ...] = ()
    """From the original with the shifts to the mitigated model."""
    perplexity: QualityRow | None = None
    """From the original to the original with the shifts."""
    reason: str | None = None
    """Why there is none."""


class ReportedRow(FrozenModel):
    """A figure before and after that is shown and not judged."""

    measure: str
    title: str
    before: Number
    after: Number
    difference: Estimate
    """After minus before, paired."""
    unit: str


class LeanChange(FrozenModel):
    """One occupation, before and after, in bits towards men or whatever the first group is."""

    experiment: str
    occupation: str
    before: Estimate
    after: Estimate


class OverCorrection(FrozenModel):
    """An occupation that now leans to the other side, more surely than chance allows."""

    experiment: str
    occupation: str
    before: Estimate
    after: Estimate
    p_value: Number
    """Of no lean after; adjusted by Holm for all occupations of the experiment."""


class Certificate(FrozenModel):
    """What was claimed, the numbers behind it, and what is needed to repeat it."""

    schema_version: int = CERTIFICATE_SCHEMA_VERSION
    kind: Literal["certificate"] = "certificate"
    created: datetime = Field(default_factory=lambda: datetime.now(UTC).replace(microsecond=0))
    verdict: Verdict
    words: tuple[str, ...] = ()
    """The verdict in sentences."""
    weights_changed: bool
    trained: tuple[BiasRow, ...]
    untrained: tuple[BiasRow, ...]
    whole: tuple[BiasRow, ...] = ()
    """Figures over all structures and occupations, beside those of the held-out half; no verdict rests on them."""
    quality: tuple[QualityRow, ...]
    reported: tuple[ReportedRow, ...] = ()
    """Figures of what models know beside the one that is judged."""
    flipped: tuple[OverCorrection, ...]
    baseline: TrivialBaseline | None = None
    """None where nothing changed, and in certificates of schema version 1."""
    caveats: tuple[str, ...] = ()
    occupations: tuple[LeanChange, ...] = ()
    groups: dict[str, tuple[str, str]] = Field(default_factory=dict)
    """The two groups of experiments that are not about men and women, by experiment."""
    trained_known: bool = True
    """Whether it is known which experiments were trained on; if not, all are judged."""
    before: ModelRecord
    after: ModelRecord
    language: str
    same_tokenizer: bool
    outputs_changed: bool
    weights: WeightsChange
    mitigation: MitigationSummary | None = None
    data: dict[str, str] = Field(default_factory=dict)
    """SHA-256 of what was measured on, by name."""
    settings: dict[str, Any] = Field(default_factory=dict)
    """Margins, seeds and sizes."""
    statistics: StatisticsRecord
    environment: EnvironmentRecord
    fingerprint: str | None = None
    """Of all that determines the certificate; None in those of version 0.1.0."""
    runs: dict[str, str] = Field(default_factory=dict)
    """SHA-256 of the record of each run that it was made from, by the run's folder: ``before/malor``."""
    sha256: str | None = None
    """Of everything else in the file, where it was read from one."""

    @field_validator("runs")
    @classmethod
    def _lie_beside_it(cls, runs: dict[str, str]) -> dict[str, str]:
        for name in runs:
            side, _, own = name.partition("/")
            if side not in (BEFORE, AFTER, BASELINE) or not is_file_name(own):
                raise ValueError(f"{name!r} is no run of a certificate")
        return runs


def bias_verdict(trained: Sequence[BiasRow], *, changed: bool) -> BiasVerdict:
    """Lowered if every measure that was trained on was clearly away from neutral and came clearly closer to it.

    Of a measure with parts, every part that was clearly away from neutral must have come closer too.
    """
    if not changed:
        return BiasVerdict.NOTHING_CHANGED
    is_lowered = bool(trained) and all(row.is_lowered for row in trained)
    return BiasVerdict.LOWERED if is_lowered else BiasVerdict.NOT_LOWERED


def verdict_of(certificate: Certificate) -> Verdict:
    """The verdict that follows from the rows of a certificate."""
    changed = (
        certificate.weights.any
        or not certificate.same_tokenizer
        or certificate.before.prefix != certificate.after.prefix
    )
    return Verdict(
        bias=bias_verdict(certificate.trained, changed=changed), quality=quality_verdict(certificate.quality)
    )
