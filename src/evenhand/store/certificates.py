"""Certificates: what a mitigation did to bias and to quality, and what is needed to repeat it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, Literal

from pydantic import Field, field_validator

from evenhand.core.estimates import Estimate, Number
from evenhand.core.files import is_file_name
from evenhand.core.frozen import FrozenModel
from evenhand.store.certificate_bias import BiasRow, BiasVerdict, FlattenedRow, bias_verdict
from evenhand.store.certificate_quality import QualityRow, QualityVerdict, quality_verdict
from evenhand.store.mitigation_summaries import MitigationSummary
from evenhand.store.records import EnvironmentRecord, ModelRecord, StatisticsRecord
from evenhand.store.weights_changes import WeightsChange

CERTIFICATE_SCHEMA_VERSION = 3

BEFORE, AFTER = "before", "after"
"""Folders of the runs of both models."""

BASELINE = "baseline"
"""Folder of the run of the original with shifted output biases."""

SCORE_SHIFTS = "score shifts"
"""Option of that run: what was added to the score of each token, in nats."""


class WiderMargin(FrozenModel):
    """A margin that tolerates more than the usual one."""

    name: str
    margin: float
    usual: float


class Verdict(FrozenModel):
    """The two statements of a certificate."""

    bias: BiasVerdict
    quality: QualityVerdict
    wider_margins: tuple[WiderMargin, ...] = ()
    """With which margins quality was judged, where they are beyond the usual ones."""


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


def token_shifts(shifts: Iterable[FittedShift]) -> dict[int, float]:
    """What is added to the score of each token, in nats: half of the constant to male terms, half off female ones."""
    added: dict[int, float] = {}
    for shift in shifts:
        if shift.reason is None:
            half = shift.bits * math.log(2) / 2
            for tokens, sign in ((shift.male_tokens, 1), (shift.female_tokens, -1)):
                for token in tokens:
                    added[token] = added.get(token, 0.0) + sign * half
    return added


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
    special: QualityRow | None = None
    """The share of probability on unused and special tokens, likewise."""
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


class TakenOver(FrozenModel):
    """Figures that an earlier command measured and that lay in the folder of the certificate."""

    figures: str
    """Their place in that folder: ``before/malor``."""
    measured: datetime
    asked_again: int
    """How many of their answers were asked again and are the same; 0 where none can be asked by itself."""


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
    """Figures of what models know beside those that are judged."""
    flattened: tuple[FlattenedRow, ...] = ()
    """What flatter answers alone would have given; empty where no evidence could be measured."""
    flipped: tuple[OverCorrection, ...]
    baseline: TrivialBaseline | None = None
    """None where nothing changed, and where occupations were not asked for."""
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
    fingerprint: str = ""
    """Of all that determines the certificate; this and what follows is empty until it is written."""
    runs: dict[str, str] = Field(default_factory=dict)
    """SHA-256 of the record of each run that it was made from, by the run's folder: ``before/malor``."""
    taken_over: tuple[TakenOver, ...] = ()
    """What of it was not measured for it, but lay there from an earlier command."""
    inputs: str = ""
    """SHA-256 of ``inputs.json`` beside the runs, what else the certificate was made from."""
    sha256: str = ""
    """Of everything else in the file."""

    @property
    def models_differ(self) -> bool:
        """Whether there was anything to measure on the model after."""
        return self.weights.any or not self.same_tokenizer or self.before.prefix != self.after.prefix

    @property
    def lacks_comparison(self) -> bool:
        """Whether quality is undecided because there was something to compare it on, and too much of that was not."""
        return self.verdict.quality is QualityVerdict.UNDECIDED and any(
            row.is_incomplete for row in self.quality
        )

    @field_validator("runs")
    @classmethod
    def _lie_beside_it(cls, runs: dict[str, str]) -> dict[str, str]:
        for name in runs:
            side, _, own = name.partition("/")
            if side not in (BEFORE, AFTER, BASELINE) or not is_file_name(own):
                raise ValueError(f"{name!r} is no run of a certificate")
        return runs


def verdict_of(certificate: Certificate) -> Verdict:
    """The verdict that follows from the rows of a certificate."""
    return Verdict(
        bias=bias_verdict(
            certificate.trained, changed=certificate.models_differ, flattened=certificate.flattened
        ),
        quality=quality_verdict(certificate.quality),
        wider_margins=certificate.verdict.wider_margins,
    )
