"""Quality in a certificate that is read: every row is computed again, and no row may be left out or added."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from evenhand.certificate.knowledge import knowledge_rows
from evenhand.certificate.measurements import Measurements
from evenhand.certificate.quality_figures import (
    ACCURACY,
    accuracy_of_answers,
    held_out_text_row,
    lms_row,
    no_accuracy,
    no_perplexity,
    passages_text_row,
)
from evenhand.certificate.regard import regard_quality_rows
from evenhand.core.errors import RunError
from evenhand.runs.certificate_files import equal_figures, plain_figures, resampling_of
from evenhand.runs.certificate_inputs import CertificateInputs
from evenhand.runs.certificate_quality import QualityRow
from evenhand.runs.certificates import Certificate
from evenhand.runs.mitigation_records import PERPLEXITY

_MARGINS = ("perplexity", "lms", "accuracy", "knowledge", "evidence", "agreement", "distinct", "content")


def verified_quality(
    certificate: Certificate, inputs: CertificateInputs, before: Measurements, after: Measurements
) -> Iterator[tuple[str, bool]]:
    """Each measure of quality, and whether a certificate states of it what its runs and inputs give, once.

    Why text or classifiers were not compared is believed: only the models could tell.
    """
    expected = _expected_rows(certificate, inputs, before, after)
    for measure in dict.fromkeys(row.measure for row in (*certificate.quality, *expected)):
        stated, given = (
            [plain_figures(row) for row in rows if row.measure == measure]
            for rows in (certificate.quality, expected)
        )
        yield measure, equal_figures(stated, given)


def margins_of(inputs: CertificateInputs) -> Mapping[str, float]:
    """The margins of a certificate, by name."""
    margins = inputs.settings.get("margins")
    if not isinstance(margins, dict) or not all(isinstance(value, int | float) for value in margins.values()):
        raise RunError("its inputs have no margins")
    missing = set(_MARGINS) - margins.keys()
    if missing:
        raise RunError(f"its inputs have no margin of {min(missing)}")
    return margins


def _expected_rows(
    certificate: Certificate, inputs: CertificateInputs, before: Measurements, after: Measurements
) -> list[QualityRow]:
    """All rows that a certificate must have."""
    resampling = resampling_of(certificate.statistics)
    margins = margins_of(inputs)
    rows = [
        held_out_text_row(
            inputs.held_out,
            same_tokens=certificate.same_tokenizer,
            margin=margins["perplexity"],
            resampling=resampling,
        )
        if inputs.held_out
        else no_perplexity(_reason(certificate, PERPLEXITY), margin=margins["perplexity"]),
        lms_row(before, after, margin=-margins["lms"], resampling=resampling),
        *knowledge_rows(before, after, margins=margins, resampling=resampling),
        accuracy_of_answers(
            np.array(inputs.answers.before, dtype=np.float64),
            np.array(inputs.answers.after, dtype=np.float64),
            margin=-margins["accuracy"],
            confidence=resampling.confidence,
        )
        if inputs.answers
        else no_accuracy(_reason(certificate, ACCURACY), margin=-margins["accuracy"]),
        *regard_quality_rows(
            before,
            after,
            distinct=margins["distinct"],
            content=margins["content"],
            resampling=resampling,
        ),
    ]
    if inputs.passages:
        rows.append(passages_text_row(inputs.passages, margin=margins["perplexity"], resampling=resampling))
    return rows


def _reason(certificate: Certificate, measure: str) -> str:
    """Why something was not measured, as the certificate says."""
    reasons = (row.reason for row in certificate.quality if row.measure == measure and row.reason)
    return next(reasons, "no reason is given")
