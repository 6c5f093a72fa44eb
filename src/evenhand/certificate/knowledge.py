"""Knowledge before and after: what another word settles must still be known, whatever became of leans.

The share right is judged against a margin like other quality. The evidence gap and what decoders write are reported
beside it.
"""

from __future__ import annotations

from evenhand.certificate.measuring import Measurements
from evenhand.certificate.plan import CertificatePlan
from evenhand.core.errors import ComparisonError
from evenhand.instruments.knowledge.instrument import KNOWLEDGE
from evenhand.instruments.knowledge.quality import knowledge_not_judged, nothing_to_lose
from evenhand.instruments.knowledge.results import AGREEMENT, GAP
from evenhand.runs.certificate_quality import QualityRow
from evenhand.runs.certificates import ReportedRow
from evenhand.runs.comparison import ALL_ITEMS, ComparisonOptions
from evenhand.stats.resampling import Resampling

REPORTED = {GAP: "evidence gap", AGREEMENT: "agreement of continuations"}
"""Figures that are shown and not judged, by measure."""


def knowledge_row(before: Measurements, after: Measurements, plan: CertificatePlan) -> QualityRow:
    """The share right of both models, and whether it fell by no more than the margin; or why that is not judged."""
    margin = -plan.margins.knowledge
    if KNOWLEDGE.name not in before.runs or KNOWLEDGE.name not in after.runs:
        reason = before.gaps.get(KNOWLEDGE.name) or after.gaps.get(KNOWLEDGE.name)
        return knowledge_not_judged(reason or "the plan has no settled sentences", margin=margin)
    runs = before.runs[KNOWLEDGE.name], after.runs[KNOWLEDGE.name]
    return KNOWLEDGE.quality_row(*runs, margin=margin, resampling=plan.resampling)


def reported_rows(
    before: Measurements, after: Measurements, *, resampling: Resampling
) -> tuple[ReportedRow, ...]:
    """The evidence gap, and the agreement of continuations where models write, before and after.

    Of a model before that knows nothing there is nothing to report.
    """
    if KNOWLEDGE.name not in before.runs or KNOWLEDGE.name not in after.runs:
        return ()
    runs = before.runs[KNOWLEDGE.name], after.runs[KNOWLEDGE.name]
    if nothing_to_lose(runs[0]) is not None:
        return ()
    figures = {name: runs[0].figure(f"{ALL_ITEMS}.{name}") for name in REPORTED}
    try:
        KNOWLEDGE.refuse_incomparable(*runs)
    except ComparisonError:
        return ()
    options = ComparisonOptions(measures=tuple(REPORTED), resampling=resampling)
    rows = {
        row.measure: row for row in KNOWLEDGE.compare(*runs, options).differences if row.group == ALL_ITEMS
    }
    return tuple(
        ReportedRow(
            measure=REPORTED[name],
            title=figure.title,
            before=rows[name].first,
            after=rows[name].second,
            difference=rows[name].difference,
            unit=figure.unit,
        )
        for name, figure in figures.items()
        if name in rows
    )
