"""Knowledge of two models as measures of quality, each against a margin of its own.

The share right says which of two pronouns wins, and not by how much: a model whose answers were all flattened is right
as often as before. So the evidence gap, by how many bits the right pronoun is ahead, is judged beside it, and for
models that write the agreement of what they write.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from evenhand.core.estimates import Estimate
from evenhand.core.settled import ALL_ROLES, PronounRole
from evenhand.instruments.knowledge.results import KnowledgeResult
from evenhand.instruments.settled_scoring import GUESSING, WHOLE
from evenhand.stats.intervals import Interval
from evenhand.stats.resampling import Floats, Resampling
from evenhand.stats.score_intervals import score_interval
from evenhand.stats.significance import NO_ITEM_DIFFERS, ratio_interval
from evenhand.store.certificate_quality import PERCENT, POINTS, QualityRow
from evenhand.store.run import Run

MEASURE, TITLE = "knowledge", "Sentences in which another word settles the pronoun, share right"
EVIDENCE, EVIDENCE_TITLE = (
    "evidence",
    "Evidence gap where another word settles the pronoun, in bits; the difference is in percent",
)
AGREEMENT, AGREEMENT_TITLE = (
    "agreement",
    "Continuations whose first pronoun is of the settled gender, share right",
)
_COLUMNS = {MEASURE: "is_right", EVIDENCE: "gap", AGREEMENT: "agrees"}
_UNITS = {MEASURE: POINTS, EVIDENCE: PERCENT, AGREEMENT: POINTS}
_TITLES = {MEASURE: TITLE, EVIDENCE: EVIDENCE_TITLE, AGREEMENT: AGREEMENT_TITLE}

_NOTHING_SHARED = "no settled sentence could be asked of both models"


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


def quality_of_runs(
    before: Run, after: Run, *, margins: Mapping[str, float], resampling: Resampling
) -> tuple[QualityRow, ...]:
    """Share right, evidence gap, and the agreement of continuations where both models write.

    Of a model before that knows nothing, nothing can be lost.

    Args:
        before: The run of the original.
        after: That of the mitigated model.
        margins: The worst difference that is tolerated, by measure.
        resampling: Resamples, seed and confidence level.
    """
    writes = before.scores["agrees"].drop_nulls().len() > 0
    measures = [MEASURE, EVIDENCE, *([AGREEMENT] if writes and AGREEMENT in margins else [])]
    reason = nothing_to_lose(before)
    if reason is not None:
        return tuple(not_judged(measure, reason, margin=margins[measure]) for measure in measures)
    return tuple(
        _row_of_runs(measure, before, after, margin=margins[measure], resampling=resampling)
        for measure in measures
    )


def _row_of_runs(
    measure: str, before: Run, after: Run, *, margin: float, resampling: Resampling
) -> QualityRow:
    """One measure over what both models answered, and how much the model after did not.

    Models need not write a pronoun after the same words, so the agreement lacks something only where there is none.
    """
    first, second, sentences = shared_pairs(before, after, _COLUMNS[measure])
    row = row_of_pairs(measure, first, second, sentences, margin=margin, resampling=resampling)
    left_out = before.scores[_COLUMNS[measure]].drop_nulls().len() - sentences
    if not left_out or (sentences and measure == AGREEMENT):
        return row
    reason = row.reason or f"{left_out:,} sentences were answered by the model before only"
    return row.model_copy(update={"left_out": left_out, "reason": reason})


def row_of_pairs(
    measure: str, first: Floats, second: Floats, sentences: int, *, margin: float, resampling: Resampling
) -> QualityRow:
    """One measure from what both models are at over pairs of twins.

    Twins are much alike, so a pair is one observation: both of its sentences may change together.

    Args:
        measure: Knowledge, evidence or agreement.
        first: Of the original, one value per pair.
        second: Of the mitigated model.
        sentences: How many sentences the pairs have.
        margin: The worst difference that is tolerated.
        resampling: Resamples, seed and confidence level.
    """
    if not len(first):
        return not_judged(measure, _NOTHING_SHARED, margin=margin)
    if measure == EVIDENCE:
        return _evidence_row(first, second, sentences, margin=margin, resampling=resampling)
    interval = score_interval(second - first, confidence=resampling.confidence)
    change = Interval(WHOLE * interval.low, WHOLE * interval.high, interval.method, interval.reason)
    difference = change.around(WHOLE * float((second - first).mean()), n=sentences, clusters=len(first))
    return QualityRow.judged(
        measure,
        _TITLES[measure],
        (WHOLE * float(first.mean()), WHOLE * float(second.mean())),
        difference,
        unit=POINTS,
        margin=margin,
    )


def _evidence_row(
    first: Floats, second: Floats, sentences: int, *, margin: float, resampling: Resampling
) -> QualityRow:
    """The change of the evidence gap in percent of what it was."""
    kept = kept_evidence(first, second, sentences=sentences, resampling=resampling)
    if not kept.defined:
        return not_judged(EVIDENCE, str(kept.reason), margin=margin)
    change = kept.model_copy(
        update={name: WHOLE * (kept.bound(name) - 1) for name in ("value", "low", "high")}
    )
    figures = (float(first.mean()), float(second.mean()))
    return QualityRow.judged(EVIDENCE, EVIDENCE_TITLE, figures, change, unit=PERCENT, margin=margin)


def kept_evidence(first: Floats, second: Floats, *, sentences: int, resampling: Resampling) -> Estimate:
    """The evidence gap after as a share of that before, with an interval over pairs of twins.

    Undefined where the gap before is not clearly above 0.

    Args:
        first: Gaps before, one per pair.
        second: Gaps after.
        sentences: How many sentences the pairs have.
        resampling: Resamples, seed and confidence level.
    """
    ones = np.ones(len(first))
    before = ratio_interval(first, ones, resampling=resampling)
    if not before.low > 0:
        return Estimate.undefined(
            f"the evidence gap of the model before, {first.mean():.2f} bits, is not clearly above 0"
        )
    interval = (
        Interval(1.0, 1.0, NO_ITEM_DIFFERS)
        if np.array_equal(first, second)
        else ratio_interval(second, first, resampling=resampling)
    )
    return interval.around(float(second.sum() / first.sum()), n=sentences, clusters=len(first))


_FEWEST_PAIRS = 10
"""Pairs of twins without which nothing is said of one role of the pronoun."""


def evidence_by_role(before: Run, after: Run, *, resampling: Resampling) -> dict[str, Estimate]:
    """The share of the evidence gap that is left, of all sentences and by the role of the pronoun.

    Roles with too few sentences are left out; of a model before that knows nothing there is none.
    """
    if nothing_to_lose(before) is not None:
        return {}
    found = {}
    for role in (None, *PronounRole):
        first, second, sentences = shared_pairs(before, after, "gap", role=role)
        if len(first) >= _FEWEST_PAIRS:
            found[role.value if role else ALL_ROLES] = kept_evidence(
                first, second, sentences=sentences, resampling=resampling
            )
    return found


def shared_pairs(
    before: Run, after: Run, column: str, *, role: str | None = None
) -> tuple[Floats, Floats, int]:
    """Means over each pair of twins that both models answered, before and after, and how many sentences that are.

    Args:
        before: The run of the original.
        after: That of the mitigated model.
        column: What is averaged.
        role: Of the pronoun; all of them if None.
    """
    sides = [
        run.scores.filter(pl.lit(True) if role is None else pl.col("role") == role)
        .drop_nulls(column)
        .select("pair", "sentence", "text", pl.col(column).alias("value"))
        for run in (before, after)
    ]
    shared = (
        sides[0]
        .join(sides[1], on=["pair", "sentence", "text"], suffix="_after", maintain_order="left")
        .group_by("pair", maintain_order=True)
        .agg(pl.col("value").mean(), pl.col("value_after").mean(), pl.len().alias("sentences"))
    )
    first, second = (shared[name].to_numpy().astype(np.float64) for name in ("value", "value_after"))
    return first, second, int(shared["sentences"].sum())


def not_judged(measure: str, reason: str, *, margin: float, left_out: int = 0) -> QualityRow:
    """A row that says why it is not judged, and how many sentences it should have been over."""
    return QualityRow.not_measured(
        measure, _TITLES[measure], reason, unit=_UNITS[measure], margin=margin, left_out=left_out
    )
