"""Knowledge of two models as a measure of quality: whether the share right fell by no more than a margin."""

from __future__ import annotations

import numpy as np
import polars as pl

from evenhand.instruments.knowledge.results import KnowledgeResult
from evenhand.instruments.settled_scoring import GUESSING, WHOLE
from evenhand.runs.certificate_quality import POINTS, QualityRow
from evenhand.runs.run import Run
from evenhand.stats.intervals import Interval
from evenhand.stats.score_intervals import score_interval

MEASURE, TITLE = "knowledge", "Sentences in which another word settles the pronoun, share right"


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

    Twins are much alike, so a pair is one observation: both of its sentences may change together. Of a model before
    that knows nothing, nothing can be lost.
    """
    reason = nothing_to_lose(before)
    if reason is not None:
        return knowledge_not_judged(reason, margin=margin)
    sides = [
        run.scores.drop_nulls("is_right")
        .group_by("pair", maintain_order=True)
        .agg(pl.col("is_right").mean().alias("share"), pl.len().alias("sentences"))
        for run in (before, after)
    ]
    shared = sides[0].join(sides[1], on=["pair", "sentences"], suffix="_after", maintain_order="left")
    if shared.is_empty():
        return knowledge_not_judged("no settled sentence could be asked of both models", margin=margin)
    first, second = (shared[name].to_numpy().astype(np.float64) for name in ("share", "share_after"))
    interval = score_interval(second - first, confidence=confidence)
    change = Interval(WHOLE * interval.low, WHOLE * interval.high, interval.method, interval.reason)
    difference = change.around(
        WHOLE * float((second - first).mean()), n=int(shared["sentences"].sum()), clusters=len(shared)
    )
    return QualityRow.judged(
        MEASURE,
        TITLE,
        (WHOLE * float(first.mean()), WHOLE * float(second.mean())),
        difference,
        unit=POINTS,
        margin=margin,
    )


def knowledge_not_judged(reason: str, *, margin: float) -> QualityRow:
    """A row that says why knowledge is not judged."""
    return QualityRow.not_measured(MEASURE, TITLE, reason, unit=POINTS, margin=margin)
