"""CrowS-Pairs, ready to be measured: both sentences of every pair are scored, then counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from evenhand.core.estimates import Estimate
from evenhand.core.items import PairDirection, PairSet
from evenhand.core.progress import Progress
from evenhand.instruments.crows_pairs.instrument import NAME
from evenhand.instruments.instrument import (
    InstrumentOptions,
    Preparation,
    default_name,
    statistics_record,
)
from evenhand.instruments.probe_results import CrowsPairsResult, PairsGroup
from evenhand.instruments.skipped import skipped_rows
from evenhand.models.measurable import Measurable
from evenhand.models.sentence_pairs import PairScore, score_pairs
from evenhand.models.text_model import cost_notices
from evenhand.runs.records import DatasetRecord, EnvironmentRecord, RunRecord
from evenhand.runs.run import Run
from evenhand.runs.store import Parts
from evenhand.stats.intervals import wilson_interval

SCORES_SCHEMA: Mapping[str, pl.DataType] = {
    "pair": pl.String(),
    "language": pl.String(),
    "bias_type": pl.String(),
    "direction": pl.String(),
    "more": pl.String(),
    "less": pl.String(),
    "more_score": pl.Float64(),
    "less_score": pl.Float64(),
    "preference": pl.Float64(),
    "skipped_reason": pl.String(),
}
"""Columns of the scores, one row per pair. Scores are natural log-probabilities; ``preference`` is 1 where the more
stereotypical sentence is more likely, 0 where the other is, and a half for a tie."""


class PairsPreparation(Preparation):
    """A model and pairs of sentences, with the method chosen."""

    unit = "pairs"

    def __init__(
        self, model: Measurable, pairs: PairSet, options: InstrumentOptions, *, name: str | None
    ) -> None:
        self.model = model
        self.pairs = pairs.first(options.limit)
        self.options = options
        self.method = model.pair_method()
        ref = model.ref
        self.record = RunRecord(
            instrument=NAME,
            name=name or default_name(ref.short_name, pairs.language, NAME),
            dataset=DatasetRecord(
                name=pairs.name,
                language=pairs.language,
                source=pairs.source,
                sha256=pairs.sha256,
                items=len(pairs.pairs),
            ),
            options={"method": self.method.name, "limit": options.limit},
            model=model.record,
            statistics=statistics_record(options.resampling),
            environment=EnvironmentRecord.current(),
            warnings=model.language_warnings(
                [pair.more or pair.less for pair in self.pairs], name=pairs.name, language=pairs.language
            ),
        )

    @property
    def notices(self) -> tuple[str, ...]:
        """What asking costs."""
        return cost_notices(self.model, (text for pair in self.pairs for text in (pair.more, pair.less)))

    def measure(self, *, parts: Parts | None = None, progress: Progress | None = None) -> Run:
        """Score both sentences of every pair and count."""
        scores = score_pairs(
            self.model,
            self.pairs.pairs,
            self.method,
            max_tokens=self.options.max_tokens,
            parts=parts,
            progress=progress,
        )
        frame = pairs_frame(self.pairs, scores)
        result = pairs_result(
            frame, method=self.method.description, confidence=self.options.resampling.confidence
        )
        return Run(record=self.record, results=(result,), scores=frame)


def pairs_frame(pairs: PairSet, scores: Sequence[PairScore]) -> pl.DataFrame:
    """One row per pair with its scores, which are missing where there is a reason to skip it."""
    rows = [
        {
            "pair": pair.id,
            "language": pair.language,
            "bias_type": pair.bias_type,
            "direction": pair.direction.value,
            "more": pair.more,
            "less": pair.less,
            "more_score": score.more if score.problem is None else None,
            "less_score": score.less if score.problem is None else None,
            "preference": score.preference if score.problem is None else None,
            "skipped_reason": score.problem,
        }
        for pair, score in zip(pairs, scores, strict=True)
    ]
    return pl.DataFrame(rows, schema=SCORES_SCHEMA)


def pairs_result(frame: pl.DataFrame, *, method: str, confidence: float) -> CrowsPairsResult:
    """What the scores of pairs add up to: over all, by bias type and by direction."""
    bias_types = sorted(frame["bias_type"].unique().to_list())
    present = set(frame["direction"].to_list())
    directions = [direction.value for direction in PairDirection if direction.value in present]
    return CrowsPairsResult(
        method=method,
        all=_group(frame, confidence),
        by_bias_type={
            bias_type: _group(frame.filter(pl.col("bias_type") == bias_type), confidence)
            for bias_type in bias_types
        },
        by_direction={
            direction: _group(frame.filter(pl.col("direction") == direction), confidence)
            for direction in directions
        },
        skipped=skipped_rows(frame, "pair"),
    )


def _group(frame: pl.DataFrame, confidence: float) -> PairsGroup:
    preferences = frame["preference"].drop_nulls()
    n = len(preferences)
    ties = int((preferences == 0.5).sum())
    if n == 0:
        return PairsGroup(n=0, ties=0, score=Estimate.undefined("no pair could be scored"))
    share = float(preferences.sum()) / n
    interval = wilson_interval(share, n, confidence=confidence)
    return PairsGroup(
        n=n,
        ties=ties,
        score=Estimate(
            value=100 * share,
            low=100 * interval.low,
            high=100 * interval.high,
            n=n,
            clusters=n,
            method=interval.method,
        ),
    )
