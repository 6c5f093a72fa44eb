"""The statements that a certificate's page begins with: each verdict in big words, with its figures."""

from __future__ import annotations

import math
from typing import Any

from evenhand.reporting.certificate.bias_words import bias_detail, bias_headline, bias_scope, relative_words
from evenhand.reporting.certificate.untrained import (
    UNTRAINED_HEADLINES,
    UntrainedVerdict,
    clearly_away,
    untrained_verdict,
    untrained_words,
)
from evenhand.reporting.certificate.words import (
    QUALITY_HEADLINES,
    margin_words,
    moved_quality,
    quality_detail,
    quality_outcome,
    quality_scope,
)
from evenhand.reporting.numbers import signed, unsigned
from evenhand.reporting.words import as_sentence
from evenhand.store.certificate_bias import BiasRow, BiasVerdict
from evenhand.store.certificate_quality import QualityVerdict
from evenhand.store.certificates import Certificate

TONES = {
    BiasVerdict.LOWERED: "good",
    BiasVerdict.BASE_RATE: "open",
    BiasVerdict.FLATTER: "bad",
    BiasVerdict.NOT_LOWERED: "open",
    BiasVerdict.NOTHING_CHANGED: "open",
    QualityVerdict.KEPT: "good",
    QualityVerdict.LOST: "bad",
    QualityVerdict.UNDECIDED: "open",
    QualityVerdict.NOT_MEASURED: "open",
    UntrainedVerdict.REMAIN: "bad",
    UntrainedVerdict.AGAINST: "bad",
    UntrainedVerdict.FARTHER: "bad",
    UntrainedVerdict.CLOSER: "good",
    UntrainedVerdict.OPEN: "open",
}
"""How a verdict is coloured; words say the same."""

IDEAL = 100.0
"""Of ICAT, which has no neutral value."""


def statements_of(certificate: Certificate) -> list[dict[str, Any]]:
    """The big statements, each with its figures: what was trained on, quality, and what was not trained on."""
    verdict = certificate.verdict
    changed = verdict.bias is not BiasVerdict.NOTHING_CHANGED
    statements: list[dict[str, Any]] = [
        {
            "about": "Bias that was trained on" if certificate.trained_known else "Bias",
            "tone": TONES[verdict.bias],
            "headline": bias_headline(certificate),
            "scope": as_sentence(bias_scope(certificate)),
            "figures": [
                (
                    row.measure,
                    relative_words(row) or signed(row.difference.value),
                    "" if relative_words(row) else row.unit,
                    f"{unsigned(row.before)} → {unsigned(row.after)} {row.unit}",
                )
                for row in certificate.trained
                if row.difference.defined and changed and row.part_of is None
            ],
            "attention": "",
            "detail": bias_detail(certificate),
        },
        {
            "about": "Quality",
            "tone": TONES[verdict.quality],
            "headline": QUALITY_HEADLINES[verdict.quality],
            "scope": as_sentence(quality_scope(certificate)),
            "figures": [
                (
                    row.measure,
                    f"{signed(row.difference.value)}{'%' if row.unit == '%' else ''}",
                    "" if row.unit == "%" else row.unit,
                    f"{quality_outcome(row)}; margin {margin_words(row)}",
                )
                for row in certificate.quality
                if row.verdict is not QualityVerdict.NOT_MEASURED and changed
            ],
            "attention": moved_quality(certificate),
            "detail": quality_detail(certificate),
        },
    ]
    untrained = untrained_verdict(certificate)
    if untrained is not UntrainedVerdict.NOT_MEASURED:
        statements.append(
            {
                "about": "Bias that was not trained on",
                "tone": TONES[untrained],
                "headline": UNTRAINED_HEADLINES[untrained],
                "scope": "",
                "figures": [
                    (row.measure, unsigned(row.after, _digits(row)), "", _beside_neutral(row))
                    for row in certificate.untrained
                    if math.isfinite(row.after) and row.part_of is None
                ],
                "attention": "",
                "detail": untrained_words(certificate),
            }
        )
    return statements


def _beside_neutral(row: BiasRow) -> str:
    """Where a measure is after, and where it was."""
    where = {1: "above", -1: "below", 0: "not clearly away from"}[clearly_away(row)]
    neutral = f"neutral {row.neutral:g}" if row.neutral != IDEAL else f"the ideal {row.neutral:g}"
    return f"{where} {neutral}; was {unsigned(row.before, _digits(row))}"


def _digits(row: BiasRow) -> int:
    return 2 if row.unit == "bits" else 1
