"""Knowledge before and after: what another word settles must still be known, and as surely as before."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from evenhand.certificate.measurements import Measurements
from evenhand.certificate.quality_figures import asked_of_one
from evenhand.core.settled import PronounRole
from evenhand.instruments.knowledge.instrument import KNOWLEDGE
from evenhand.instruments.knowledge.quality import (
    AGREEMENT,
    EVIDENCE,
    MEASURE,
    not_judged,
    nothing_to_lose,
    shared_pairs,
)
from evenhand.stats.resampling import Resampling
from evenhand.stats.significance import difference_of_means
from evenhand.store.certificate_quality import QualityRow
from evenhand.store.certificates import ReportedRow
from evenhand.store.run import Run

_FEWEST_PAIRS = 2


def knowledge_rows(
    before: Measurements, after: Measurements, *, margins: Mapping[str, float], resampling: Resampling
) -> tuple[QualityRow, ...]:
    """Share right, evidence and agreement of both models against their margins; or why that is not judged.

    Args:
        before: What was measured on the original.
        after: What was measured on the mitigated model.
        margins: How much of each measure may be lost, by its name.
        resampling: Resamples, seed and confidence level.
    """
    worst = {measure: -margins[measure] for measure in (MEASURE, EVIDENCE, AGREEMENT)}
    runs = both_runs(before, after)
    if runs is None:
        reason = before.gaps.get(KNOWLEDGE.name) or after.gaps.get(KNOWLEDGE.name)
        return tuple(
            not_judged(
                measure,
                reason or "the plan has no settled sentences",
                margin=worst[measure],
                left_out=asked_of_one(before, after, KNOWLEDGE.name),
            )
            for measure in (MEASURE, EVIDENCE)
        )
    return KNOWLEDGE.quality_rows(*runs, margins=worst, resampling=resampling)


def both_runs(before: Measurements, after: Measurements) -> tuple[Run, Run] | None:
    """The runs of knowledge of both models; None where one has none."""
    runs = [side.runs.get(KNOWLEDGE.name) for side in (before, after)]
    return None if runs[0] is None or runs[1] is None else (runs[0], runs[1])


def reported_rows(
    before: Measurements, after: Measurements, *, resampling: Resampling
) -> tuple[ReportedRow, ...]:
    """The evidence gap of each role of the pronoun, before and after.

    Of a model before that knows nothing there is nothing to report.
    """
    runs = both_runs(before, after)
    if runs is None or nothing_to_lose(runs[0]) is not None:
        return ()
    rows = []
    for role in PronounRole:
        first, second, sentences = shared_pairs(*runs, "gap", role=role)
        if len(first) < _FEWEST_PAIRS:
            continue
        value, interval = difference_of_means(
            first, second, weights=np.ones(len(first)), resampling=resampling
        )
        rows.append(
            ReportedRow(
                measure=f"evidence of {role.value} pronouns",
                title=f"Evidence gap of {role.value} pronouns",
                before=float(first.mean()),
                after=float(second.mean()),
                difference=interval.around(value, n=sentences, clusters=len(first)),
                unit="bits",
            )
        )
    return tuple(rows)
