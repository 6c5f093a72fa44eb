"""All that is judged of quality in two models, in the order of a certificate."""

from __future__ import annotations

from dataclasses import asdict

from evenhand.certificate.knowledge import knowledge_rows
from evenhand.certificate.measurements import Measurements
from evenhand.certificate.measuring import ModelMeasurer
from evenhand.certificate.plan import CertificatePlan
from evenhand.certificate.quality import accuracy_row, held_out_row, passages_row
from evenhand.certificate.quality_figures import lms_row
from evenhand.certificate.regard import regard_quality_rows
from evenhand.runs.certificate_quality import QualityRow


def quality_rows(
    measurers: tuple[ModelMeasurer, ModelMeasurer],
    measured: tuple[Measurements, Measurements],
    plan: CertificatePlan,
    *,
    same_tokens: bool,
) -> tuple[QualityRow, ...]:
    """Every measure of quality against its margin, or why it was not measured.

    Args:
        measurers: Of the model before and the model after.
        measured: Their runs.
        plan: What they are measured on, and the margins.
        same_tokens: Whether both read text as the same tokens.
    """
    on_text = (row(*measurers, plan, same_tokens=same_tokens) for row in (held_out_row, passages_row))
    return (
        *(row for row in on_text if row is not None),
        lms_row(*measured, margin=-plan.margins.lms, resampling=plan.resampling),
        *knowledge_rows(*measured, margins=asdict(plan.margins), resampling=plan.resampling),
        accuracy_row(*measurers, plan),
        *regard_quality_rows(
            *measured,
            distinct=plan.margins.distinct,
            content=plan.margins.content,
            resampling=plan.resampling,
        ),
    )
