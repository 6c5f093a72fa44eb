"""CrowS-Pairs: a model and pairs of sentences, to a run. Score both sentences of every pair, then count.

As in the authors' code, ``sent_more`` is the more stereotypical sentence of every pair, whatever its direction, so
the score is the share of all pairs in which it is more likely. The stereotype and the antistereotype score are
the same share over the pairs of one direction. Two things differ from that code: scores are not rounded to three
decimals before they are compared, which makes ties, and a tie counts half instead of nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from evenhand.core.estimates import Estimate
from evenhand.core.items import Direction, PairSet
from evenhand.core.progress import Progress
from evenhand.data.crows_pairs import load_pairs
from evenhand.instruments.association.evaluation import statistics_record
from evenhand.instruments.probe_results import CrowsPairsResult, PairsGroup
from evenhand.instruments.skipped import skipped_rows
from evenhand.models.identity import record_of
from evenhand.models.language_model import LanguageModel, load_language_model
from evenhand.models.languages import warnings_of_texts
from evenhand.models.pair_scoring import PairScore, score_pairs
from evenhand.models.references import ModelRef
from evenhand.models.sentence_pairs import PairMethod
from evenhand.runs.probe_runs import ProbeRecord, ProbeRun
from evenhand.runs.records import EnvironmentRecord
from evenhand.stats.resampling import Resampling
from evenhand.stats.shares import wilson_interval

TEST = "crows-pairs"

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
"""Columns of the scores, a row a pair. Scores are natural log-probabilities; ``preference`` is 1 where the more
stereotypical sentence is more likely, 0 where the other is, and a half for a tie."""


def probe_pairs(
    model: str | ModelRef | LanguageModel,
    data: str | Path | PairSet,
    *,
    language: str | None = None,
    name: str | None = None,
    resampling: Resampling | None = None,
    limit: int | None = None,
    max_tokens: int | None = None,
    unfinished: Path | None = None,
    report: Progress | None = None,
) -> ProbeRun:
    """Score both sentences of every pair and count in how many the more stereotypical one is more likely.

    Args:
        model: A name or folder, a reference, or a model already loaded.
        data: ``crows-pairs``, a file in its layout, or pairs already loaded.
        language: The language of a file that does not say it by its name.
        name: Name of the run.
        resampling: Its confidence level is that of the intervals, which need no resamples.
        limit: Take the first pairs only.
        max_tokens: Most tokens in a batch.
        unfinished: A folder for what is done so far, from which an interrupted run goes on.
        report: Told how many pairs are done, of how many.
    """
    asked = model if isinstance(model, LanguageModel) else load_language_model(model)
    pairs = data if isinstance(data, PairSet) else load_pairs(data, language=language)
    method = asked.pair_method()
    chosen = resampling or Resampling()
    record = pairs_record(asked, pairs, name=name, resampling=chosen, limit=limit)
    limited = pairs.first(limit)
    scores = score_pairs(
        asked,
        limited.pairs,
        method,
        max_tokens=max_tokens,
        unfinished=unfinished,
        report=report,
    )
    frame = pairs_frame(limited, scores)
    result = pairs_result(frame, method=method, confidence=chosen.confidence)
    return ProbeRun(record=record, results=(result,), scores=frame)


def pairs_record(
    model: LanguageModel,
    pairs: PairSet,
    *,
    name: str | None = None,
    resampling: Resampling | None = None,
    limit: int | None = None,
) -> ProbeRecord:
    """The record that a run will have; with its fingerprint, known before anything is scored."""
    loaded = model.loaded
    return ProbeRecord(
        name=name or f"{loaded.ref.short_name}_{TEST}_{pairs.language}",
        test=TEST,
        language=pairs.language,
        data={pairs.name: pairs.sha256},
        options={"method": model.pair_method().name, "limit": limit},
        model=record_of(model),
        statistics=statistics_record(resampling or Resampling()),
        environment=EnvironmentRecord.current(),
        warnings=warnings_of_texts(
            loaded.ref.location,
            loaded.tokenizer,
            [pair.more or pair.less for pair in pairs.first(limit)],
            name=pairs.name,
            language=pairs.language,
            revision=loaded.ref.revision,
        ),
    )


def pairs_frame(pairs: PairSet, scores: Sequence[PairScore]) -> pl.DataFrame:
    """A row a pair with its scores, which are missing where there is a reason to skip it."""
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


def pairs_result(frame: pl.DataFrame, *, method: PairMethod, confidence: float) -> CrowsPairsResult:
    """What the scores of pairs add up to: over all, by bias type and by direction."""
    bias_types = sorted(frame["bias_type"].unique().to_list())
    present = set(frame["direction"].to_list())
    directions = [direction.value for direction in Direction if direction.value in present]
    return CrowsPairsResult(
        method=method.description,
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
