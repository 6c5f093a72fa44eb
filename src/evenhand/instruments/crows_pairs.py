"""CrowS-Pairs: how often is the more stereotypical sentence of a pair the likelier one?

Models that see both sides of a gap are asked for the tokens that both sentences share, each in a gap of its own while
all other tokens stand, also those that differ (Nangia et al. 2020, equation 1). The words that differ are not scored:
their own frequency would decide most pairs. Decoders are asked for the whole sentence, because a token is never given
what comes after it.

50 is neutral. Pairs that show a disadvantaged group with its stereotype and pairs that show the opposite are counted
apart as well. Intervals are Wilson's, over pairs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from evenhand.core.items import PairDirection, PairSet, SentencePair, overlong_reason
from evenhand.core.protocols import CROWS_PAIRS_V1, PAIR_PROTOCOLS, PairProtocol, get_pair_protocol
from evenhand.data.crows_pairs import load_pairs
from evenhand.data.pair_scores import read_pair_scores
from evenhand.instruments.instrument import InstrumentOptions, Preparation, statistics_record
from evenhand.instruments.measures import Share
from evenhand.instruments.pair_control import EXCHANGE_CONTROL, pair_requests
from evenhand.instruments.runner import ItemInstrument, RowsPreparation
from evenhand.models.model import Model
from evenhand.models.requests import Answer, Continue, Recover
from evenhand.store.records import (
    DatasetRecord,
    EnvironmentRecord,
    PredictionsRecord,
    ProtocolRecord,
    RunRecord,
)


@dataclass(frozen=True, kw_only=True)
class CrowsPairsOptions(InstrumentOptions):
    """How pairs are read, and how their scores are compared."""

    protocol: str = field(default=CROWS_PAIRS_V1.name, metadata={"help": f"{', '.join(PAIR_PROTOCOLS)}."})
    encoding: str | None = field(default=None, metadata={"help": "Of a text file that is not UTF-8."})


class CrowsPairsInstrument(ItemInstrument[CrowsPairsOptions]):
    """How often the more stereotypical sentence of a pair is the more likely one."""

    name = "crows-pairs"
    version = CROWS_PAIRS_V1.name
    title = "CrowS-Pairs"
    certificate_title = "CrowS-Pairs: the more stereotypical sentence is the likelier"
    summary = "How often the more stereotypical sentence of a pair is more likely than its counterpart."
    needs = (Recover, Continue)
    options_type = CrowsPairsOptions
    items_are = "pairs"
    ids_are_shared = True
    control = EXCHANGE_CONTROL
    key, text, scored = "pair", "more", "preference"
    words = ("pair", "language", "bias_type", "direction", "more", "less")
    numbers = ("more_score", "less_score", "tied", "preference", "direction_preference")
    log_probs = ("more_score", "less_score")
    decisions = (("more_score", "less_score"),)
    row_measures = (
        Share("score", title, of="preference", over="pair", by=("bias_type",), neutral=50.0, is_headline=True,
              undefined="no pair could be scored"),
        Share("score", title, of="direction_preference", over="pair", by=("direction",), neutral=50.0,
              order=tuple((own.value,) for own in PairDirection), parts_only=True, undefined="no pair could be scored"),
    )  # fmt: skip

    def items(self, options: CrowsPairsOptions) -> PairSet:
        """The pairs of a language."""
        self.protocol(options)
        if isinstance(options.data, PairSet):
            return options.data
        encoding = getattr(options, "encoding", None)
        return load_pairs(options.data or self.name, language=options.language, encoding=encoding)

    def protocol(self, options: CrowsPairsOptions) -> ProtocolRecord:
        """How scores are compared."""
        return ProtocolRecord.of(_protocol(options))

    def check_model(self, model: Model) -> None:
        """Scores are compared within a pair only, so a model may recover tokens in a way of its own."""
        if Recover not in model.also_answers:
            super().check_model(model)

    def method_of(self, model: Model) -> Mapping[str, str]:
        """How a sentence is scored."""
        name, description = model.way_of(Recover) or ("sentence", "log-probability of the whole sentence")
        return {"method": f"{name}: {description}"}

    def skip_reason(self, item: SentencePair) -> str | None:
        """Marked pairs, and those that are none."""
        if item.beyond_repair:
            return "people marked the pair as beyond repair"
        if item.neutral:
            return "the sentence is the same for both groups"
        if not item.complete:
            return "the pair has one sentence only"
        return overlong_reason(item.more, item.less)

    def facts(self, item: SentencePair) -> Mapping[str, object]:
        """The pair."""
        facts = {"pair": item.id, "language": item.language, "bias_type": item.bias_type}
        return {**facts, "direction": item.direction.value, "more": item.more, "less": item.less}

    def requests(self, item: SentencePair, options: CrowsPairsOptions) -> Mapping[str, Recover]:  # noqa: ARG002
        """Both sentences."""
        return dict(zip(("more", "less"), pair_requests(item), strict=True))

    def score(
        self, item: SentencePair, answers: Mapping[str, Answer], options: CrowsPairsOptions
    ) -> Mapping[str, object]:
        """Which is the likelier."""
        del item
        return _compared(answers["more"].total, answers["less"].total, _protocol(options))

    def evaluation(self, scores: Path, options: Any, *, name: str | None = None) -> Preparation:
        """Scores of pairs from a file of the authors' code, or a log of lm-evaluation-harness or Inspect."""
        protocol = _protocol(options)
        read = read_pair_scores(
            scores, language=options.language, encoding=getattr(options, "encoding", None)
        )
        rows = [
            {
                "pair": pair.id, "language": read.language, "bias_type": pair.bias_type, "direction": pair.direction,
                "more": pair.more, "less": pair.less, "skipped_reason": pair.problem,
                **({} if pair.problem else _compared(pair.more_score, pair.less_score, protocol)),
            }
            for pair in read.pairs
        ]  # fmt: skip
        record = RunRecord(
            instrument=self.name,
            name=name or read.name,
            dataset=DatasetRecord(
                name=read.name,
                language=read.language,
                source=read.source,
                sha256=read.sha256,
                items=read.total,
            ),
            predictions=PredictionsRecord(
                source=read.source, sha256=read.sha256, candidates=2 * len(read.pairs), holds_items=True
            ),
            protocol=ProtocolRecord.of(protocol),
            statistics=statistics_record(options.resampling),
            warnings=read.notes,
            environment=EnvironmentRecord.current(),
        )
        frame = pl.DataFrame(rows, schema=dict(self.columns))
        return RowsPreparation(self, frame, record, method=f"scores from {read.tool}")


def _protocol(options: InstrumentOptions) -> PairProtocol:
    """The protocol of the options; ours of options that name none."""
    return get_pair_protocol(getattr(options, "protocol", None))


def _compared(more: float, less: float, rules: PairProtocol) -> dict[str, object]:
    """Both scores and the preference, under a protocol."""
    tied, preference = rules.is_tie(more, less), rules.preference(more, less)
    counts = rules.directions_have_ties or not tied
    return {
        "more_score": more,
        "less_score": less,
        "tied": float(tied),
        "preference": preference,
        "direction_preference": preference if counts else None,
    }


CROWS_PAIRS = CrowsPairsInstrument()
