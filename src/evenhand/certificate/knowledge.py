"""Knowledge before and after: what another word settles must still be known, whatever became of leans.

The share right is judged against a margin like other quality. The evidence gap and what decoders write are reported
beside it.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from evenhand.certificate.measuring import Measurements
from evenhand.certificate.plan import CertificatePlan
from evenhand.certificate.quality import POINTS, not_measured
from evenhand.core.errors import ComparisonError
from evenhand.instruments.knowledge.instrument import KNOWLEDGE
from evenhand.instruments.knowledge.results import AGREEMENT, GAP, KnowledgeResult
from evenhand.instruments.settled_scoring import GUESSING, WHOLE
from evenhand.runs.certificates import QualityRow, ReportedRow, judged_quality
from evenhand.runs.comparison import ALL_ITEMS, ComparisonOptions
from evenhand.runs.run import Run
from evenhand.stats.intervals import Interval
from evenhand.stats.resampling import Resampling
from evenhand.stats.score_intervals import score_interval

MEASURE, TITLE = "knowledge", "Sentences in which another word settles the pronoun, share right"

REPORTED = {GAP: "evidence gap", AGREEMENT: "agreement of continuations"}
"""Figures that are shown and not judged, by measure."""


def knowledge_row(before: Measurements, after: Measurements, plan: CertificatePlan) -> QualityRow:
    """The share right of both models, and whether it fell by no more than the margin; or why that is not judged."""
    margin = -plan.margins.knowledge
    if KNOWLEDGE.name not in before.runs or KNOWLEDGE.name not in after.runs:
        reason = before.gaps.get(KNOWLEDGE.name) or after.gaps.get(KNOWLEDGE.name)
        return _not_judged(reason or "the plan has no settled sentences", margin=margin)
    runs = before.runs[KNOWLEDGE.name], after.runs[KNOWLEDGE.name]
    reason = nothing_to_lose(runs[0])
    if reason is not None:
        return _not_judged(reason, margin=margin)
    return knowledge_of_runs(*runs, margin=margin, confidence=plan.resampling.confidence)


def nothing_to_lose(before: Run) -> str | None:
    """Why a model has no knowledge that could be lost; None where it is shown to know more than guessing gives."""
    result: KnowledgeResult = before.result
    share = result.share_right
    if share.low > GUESSING:
        return None
    if not share.defined:
        return f"the model before could not be asked: {share.reason}"
    return (
        f"the model before is right in {share.value:.0f}% of the settled sentences, which is not clearly more than "
        f"guessing gives ({GUESSING:.0f}%), so there is nothing that could be lost"
    )


def knowledge_of_runs(before: Run, after: Run, *, margin: float, confidence: float) -> QualityRow:
    """The difference of shares over the pairs of twins that both models could be asked.

    Twins are much alike, so a pair is one observation: both of its sentences may change together.
    """
    sides = [
        run.scores.drop_nulls("is_right")
        .group_by("pair", maintain_order=True)
        .agg(pl.col("is_right").mean().alias("share"), pl.len().alias("sentences"))
        for run in (before, after)
    ]
    shared = sides[0].join(sides[1], on=["pair", "sentences"], suffix="_after", maintain_order="left")
    if shared.is_empty():
        return _not_judged("no settled sentence could be asked of both models", margin=margin)
    first, second = (shared[name].to_numpy().astype(np.float64) for name in ("share", "share_after"))
    interval = score_interval(second - first, confidence=confidence)
    change = Interval(WHOLE * interval.low, WHOLE * interval.high, interval.method, interval.reason)
    difference = change.around(
        WHOLE * float((second - first).mean()), n=int(shared["sentences"].sum()), clusters=len(shared)
    )
    return QualityRow(
        measure=MEASURE,
        title=TITLE,
        before=WHOLE * float(first.mean()),
        after=WHOLE * float(second.mean()),
        difference=difference,
        unit=POINTS,
        margin=margin,
        verdict=judged_quality(difference, margin),
    )


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


def _not_judged(reason: str, *, margin: float) -> QualityRow:
    return not_measured(MEASURE, TITLE, reason, margin=margin, unit=POINTS)
