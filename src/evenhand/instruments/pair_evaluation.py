"""Scores of sentence pairs from files: to a run, and how many of the pairs have scores."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from evenhand.core.progress import Progress
from evenhand.core.protocols import get_pair_protocol
from evenhand.data.pair_scores import PairScores
from evenhand.instruments.crows_pairs import NAME, CrowsPairsOptions
from evenhand.instruments.instrument import Preparation, statistics_record
from evenhand.instruments.pair_results import SCORES_SCHEMA, pairs_result, score_columns
from evenhand.instruments.pair_scoring import PairScore
from evenhand.runs.comparison import ALL_ITEMS
from evenhand.runs.coverage import Coverage
from evenhand.runs.figures import Group
from evenhand.runs.records import (
    DatasetRecord,
    EnvironmentRecord,
    PredictionsRecord,
    ProtocolRecord,
    RunRecord,
)
from evenhand.runs.run import Run
from evenhand.runs.store import Parts


class PairsEvaluation(Preparation):
    """Scores of pairs that another tool has computed."""

    unit = "pairs"

    def __init__(self, scores: PairScores, options: CrowsPairsOptions, *, name: str | None) -> None:
        self.scores = scores
        self.options = options
        self.protocol = get_pair_protocol(options.protocol)
        self.record = RunRecord(
            instrument=NAME,
            name=name or scores.name,
            dataset=DatasetRecord(
                name=scores.name,
                language=scores.language,
                source=scores.source,
                sha256=scores.sha256,
                items=scores.total,
            ),
            predictions=PredictionsRecord(
                source=scores.source,
                sha256=scores.sha256,
                candidates=2 * len(scores.pairs),
                holds_items=True,
            ),
            protocol=ProtocolRecord.of(self.protocol),
            statistics=statistics_record(options.resampling),
            warnings=scores.notes,
            environment=EnvironmentRecord.current(),
        )

    def measure(self, *, parts: Parts | None = None, progress: Progress | None = None) -> Run:  # noqa: ARG002 # nothing is asked
        """Count which sentence of each pair has the higher score."""
        rows = [
            {
                "pair": pair.id,
                "language": self.scores.language,
                "bias_type": pair.bias_type,
                "direction": pair.direction,
                "more": pair.more,
                "less": pair.less,
                **score_columns(
                    PairScore(pair.more_score, pair.less_score, pair.problem), protocol=self.protocol
                ),
            }
            for pair in self.scores.pairs
        ]
        frame = pl.DataFrame(rows, schema=SCORES_SCHEMA)
        result = pairs_result(
            frame,
            method=f"scores from {self.scores.tool}",
            confidence=self.options.resampling.confidence,
            protocol=self.protocol,
        )
        return Run(record=self.record, results=(result,), scores=frame)


def pairs_coverage(run: Run) -> Mapping[Group, Coverage]:
    """Of all pairs; how many a bias type or a direction has is only known where the file has every pair."""
    if run.record.predictions is None:
        return {}
    total = run.record.dataset.items
    parts: dict[Group, pl.DataFrame] = {(): run.scores, (ALL_ITEMS,): run.scores}
    for column in ("bias_type", "direction"):
        for (name,), rows in run.scores.group_by(column, maintain_order=True):
            parts |= {(str(name),): rows, (ALL_ITEMS, str(name)): rows}
    is_complete = total == len(run.scores)
    totals = {group: len(rows) if is_complete else None for group, rows in parts.items()}
    totals |= {(): total, (ALL_ITEMS,): total}
    return {
        group: Coverage(scored=rows["preference"].count(), total=totals[group], unit="pairs")
        for group, rows in parts.items()
    }
