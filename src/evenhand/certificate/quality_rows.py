"""All that is judged of quality, in the order of a certificate, from runs and inputs and without the models."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from evenhand.certificate.knowledge import knowledge_rows
from evenhand.certificate.measurements import Measurements
from evenhand.certificate.quality_figures import accuracy_of_answers, lms_row, no_accuracy
from evenhand.certificate.regard import regard_quality_rows
from evenhand.certificate.text_quality import held_out_text_rows, passages_text_rows
from evenhand.stats.resampling import Resampling
from evenhand.store.certificate_inputs import CertificateInputs, UncomparedText
from evenhand.store.certificate_quality import QualityRow


def quality_rows(
    inputs: CertificateInputs,
    before: Measurements,
    after: Measurements,
    *,
    margins: Mapping[str, float],
    resampling: Resampling,
) -> tuple[QualityRow, ...]:
    """Every measure of quality against its margin, or why it was not measured.

    Args:
        inputs: What both models made of text, and where classifiers are right.
        before: Runs of the original.
        after: Runs of the mitigated model.
        margins: By name.
        resampling: Resamples, seed and confidence level.
    """
    on_sentences = held_out_text_rows(
        inputs.held_out,
        perplexity=margins["perplexity"],
        special=margins["special"],
        resampling=resampling,
    )
    return (
        *on_sentences,
        *passages_text_rows(inputs.passages, margin=margins["perplexity"], resampling=resampling),
        lms_row(before, after, margin=-margins["lms"], resampling=resampling),
        *knowledge_rows(before, after, margins=margins, resampling=resampling),
        _accuracy_row(inputs, margin=-margins["accuracy"], confidence=resampling.confidence),
        *regard_quality_rows(
            before,
            after,
            distinct=margins["distinct"],
            content=margins["content"],
            resampling=resampling,
        ),
    )


def _accuracy_row(inputs: CertificateInputs, *, margin: float, confidence: float) -> QualityRow:
    if inputs.answers is None:
        return no_accuracy("no labelled text was given (--labelled)", margin=margin)
    if isinstance(inputs.answers, UncomparedText):
        return no_accuracy(inputs.answers.reason, margin=margin, left_out=inputs.answers.texts)
    first, second = (
        np.array(answers, dtype=np.float64) for answers in (inputs.answers.before, inputs.answers.after)
    )
    return accuracy_of_answers(first, second, margin=margin, confidence=confidence)
