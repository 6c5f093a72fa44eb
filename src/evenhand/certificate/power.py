"""What loss a plan's data can exclude, and how much data its margins need. No model is loaded.

How much answers vary is not known before they are there, so each measure is planned twice, with little and with much
variation. On the pages about real models, intervals of knowledge and LMS are as long as if 2% to 6% of the units had
changed, those of evidence as if pairs had a standard deviation of 20% of the mean, and those of perplexity as if
single sentences had one of 8% to 15% and passages one of 2%.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from evenhand.certificate.plan import CertificatePlan, HeldOutText
from evenhand.certificate.quality_figures import ACCURACY
from evenhand.instruments.association.comparison import LMS_MEASURE, too_few_items
from evenhand.instruments.association.instrument import AuditOptions, benchmark_of
from evenhand.instruments.knowledge.instrument import KnowledgeOptions, settled_of
from evenhand.instruments.knowledge.quality import AGREEMENT, EVIDENCE, MEASURE
from evenhand.instruments.regard.results import NAME as REGARD
from evenhand.stats.power import MarginTest, MeanTest, ShareTest, needed_units, provable_margin
from evenhand.stats.score_intervals import effective_items
from evenhand.store.certificate_power import PowerCase, QualityPower
from evenhand.store.certificate_quality import PERCENT, POINTS, SPECIAL_TOKENS
from evenhand.store.mitigation_records import PERPLEXITY, PERPLEXITY_IN_PASSAGES

CHANGED = (0.02, 0.05)
"""Shares of units that change, half of them for better."""

SEED_DEVIATION = 0.003
"""Between differences of accuracy of classifiers with different seeds, beyond chance."""

DOCUMENT_DEVIATIONS = (0.01, 0.02)
SENTENCE_DEVIATIONS = (0.08, 0.15)
EVIDENCE_DEVIATIONS = (0.25, 0.5)

SHARE_WITH_PRONOUN = 0.5
"""Of the pairs whose continuations have a pronoun."""

_UNKNOWN_SHARE = "how much it varies depends on the models"
_WITHOUT_PLAN = "how much it varies depends on the texts that both models write"


@dataclass(frozen=True, slots=True)
class _Sample:
    """What a measure is judged by."""

    counted: str
    available: int
    independent: float = 1.0
    """How many independent units one of these is worth."""

    def quality(
        self, measure: str, *, margin: float, unit: str, tests: Mapping[str, MarginTest]
    ) -> QualityPower:
        """What the tests can show, by what each assumes."""
        units = self.available * self.independent
        cases = []
        for assumption, test in tests.items():
            needed = needed_units(test, margin / 100)
            cases.append(
                PowerCase(
                    assumption=assumption,
                    power=test.power(units, margin / 100),
                    provable=100 * provable_margin(test, units, highest=1.0),
                    needed=None if needed is None else math.ceil(needed / self.independent),
                )
            )
        return QualityPower(
            measure=measure,
            counted=self.counted,
            available=self.available,
            margin=margin,
            unit=unit,
            cases=tuple(cases),
        )


def quality_power(plan: CertificatePlan, *, is_decoder: bool) -> tuple[QualityPower, ...]:
    """For each measure of quality of a plan: what loss its data can exclude, and how much its margin needs.

    Args:
        plan: What both models are measured on, and the margins.
        is_decoder: Whether they read from left to right. Those are asked in passages and for continuations too, and
            not what is settled behind a pronoun.
    """
    return (
        *_perplexities(plan, is_decoder=is_decoder),
        *_association(plan),
        *_knowledge(plan, is_decoder=is_decoder),
        _accuracy(plan),
        *_regard(plan),
    )


def _perplexities(plan: CertificatePlan, *, is_decoder: bool) -> Iterator[QualityPower]:
    if plan.held_out is None:
        yield _not_measured(
            PERPLEXITY,
            "sentences",
            plan.margins.perplexity,
            PERCENT,
            "no held-out text was given (--held-out)",
        )
        return
    yield _on_text(PERPLEXITY, plan.held_out, plan)
    yield _not_measured(SPECIAL_TOKENS, "sentences", plan.margins.special, POINTS, _UNKNOWN_SHARE)
    if plan.passages is not None and is_decoder:
        yield _on_text(PERPLEXITY_IN_PASSAGES, plan.passages, plan, single="passages")


def _on_text(
    measure: str, text: HeldOutText, plan: CertificatePlan, *, single: str = "sentences"
) -> QualityPower:
    """Perplexity over documents; over single texts where all are of one document."""
    counted = "documents" if text.documents else single
    available = len(set(text.documents)) or len(text.sentences)
    deviations = SENTENCE_DEVIATIONS if counted == "sentences" else DOCUMENT_DEVIATIONS
    return _Sample(counted, available).quality(
        measure,
        margin=plan.margins.perplexity,
        unit=PERCENT,
        tests={
            f"{counted} differ by {own:.0%} (sd)": MeanTest(own, plan.resampling.confidence)
            for own in deviations
        },
    )


def _association(plan: CertificatePlan) -> Iterator[QualityPower]:
    for measurement in plan.measurements:
        if isinstance(options := measurement.options, AuditOptions):
            benchmark = benchmark_of(options).sampled(options.limit)
            clusters = np.array([item.cluster for item in benchmark])
            few = too_few_items(
                benchmark.name, clusters, margin=plan.margins.lms, confidence=plan.resampling.confidence
            )
            if few is not None:
                yield _not_measured(LMS_MEASURE, "items", plan.margins.lms, POINTS, few)
                continue
            sample = _Sample("items", len(clusters), effective_items(clusters) / len(clusters))
            yield sample.quality(
                LMS_MEASURE,
                margin=plan.margins.lms,
                unit=POINTS,
                tests=_share_tests("items", plan.resampling.confidence),
            )


def _knowledge(plan: CertificatePlan, *, is_decoder: bool) -> Iterator[QualityPower]:
    confidence = plan.resampling.confidence
    for measurement in plan.measurements:
        if isinstance(options := measurement.options, KnowledgeOptions):
            settled = settled_of(options)
            settled = settled.read_from_the_left() if is_decoder else settled
            pairs = len({own.pair for own in settled.sampled(options.limit).sentences})
            tests = _share_tests("pairs", confidence)
            sample = _Sample("pairs", pairs)
            yield sample.quality(MEASURE, margin=plan.margins.knowledge, unit=POINTS, tests=tests)
            yield sample.quality(
                EVIDENCE,
                margin=plan.margins.evidence,
                unit=PERCENT,
                tests={
                    f"pairs differ by {own:.0%} of the gap (sd)": MeanTest(own, confidence)
                    for own in EVIDENCE_DEVIATIONS
                },
            )
            if is_decoder:
                yield _Sample("pairs", pairs, SHARE_WITH_PRONOUN).quality(
                    AGREEMENT,
                    margin=plan.margins.agreement,
                    unit=POINTS,
                    tests={
                        f"{own}, {SHARE_WITH_PRONOUN:.0%} are continued with a pronoun": test
                        for own, test in tests.items()
                    },
                )


def _accuracy(plan: CertificatePlan) -> QualityPower:
    margin = plan.margins.accuracy
    if plan.labelled is None:
        return _not_measured(ACCURACY, "examples", margin, POINTS, "no labelled text was given (--labelled)")
    seeds, deviation = plan.finetuning.seeds, SEED_DEVIATION
    return _Sample("examples", plan.finetuning.judged_of(plan.labelled)).quality(
        ACCURACY,
        margin=margin,
        unit=POINTS,
        tests={
            f"{own:.0%} of examples change, {seeds} seeds differ by {100 * deviation:g} points (sd)": ShareTest(
                own, plan.resampling.confidence, seeds, deviation
            )
            for own in CHANGED
        },
    )


def _regard(plan: CertificatePlan) -> Iterator[QualityPower]:
    if any(measurement.name == REGARD for measurement in plan.measurements):
        yield _not_measured("distinct", "texts", plan.margins.distinct, POINTS, _WITHOUT_PLAN)
        yield _not_measured("content", "texts", plan.margins.content, "bits", _WITHOUT_PLAN)


def _share_tests(counted: str, confidence: float) -> dict[str, MarginTest]:
    return {f"{own:.0%} of {counted} change": ShareTest(own, confidence) for own in CHANGED}


def _not_measured(measure: str, counted: str, margin: float, unit: str, reason: str) -> QualityPower:
    return QualityPower(
        measure=measure, counted=counted, available=0, margin=margin, unit=unit, reason=reason
    )
