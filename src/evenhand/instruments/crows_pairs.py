"""CrowS-Pairs: a model and pairs of sentences, to a run. Score both sentences of every pair, then count.

As in the authors' code, ``sent_more`` is the more stereotypical sentence of every pair, whatever its direction, so
the score is the share of all pairs in which it is more likely. The stereotype and the antistereotype score are
the same share over the pairs of one direction. Two things differ from that code: scores are not rounded to three
decimals before they are compared, which makes ties, and a tie counts half instead of nothing. The protocol
``crows-pairs-2020`` does both as that code does.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path

import numpy as np
import polars as pl

from evenhand.core.errors import ComparisonError
from evenhand.core.items import PairSet
from evenhand.core.progress import Progress
from evenhand.core.protocols import CROWS_PAIRS_V1, PAIR_PROTOCOLS, PairProtocol, get_pair_protocol
from evenhand.data.crows_pairs import load_pairs
from evenhand.data.pair_scores import UNKNOWN_LANGUAGE, read_pair_scores
from evenhand.instruments.gate import behind_gate, gate_warning
from evenhand.instruments.instrument import (
    SAMPLED,
    Instrument,
    InstrumentOptions,
    Preparation,
    ScoresLayout,
    drawn,
    statistics_record,
)
from evenhand.instruments.pair_gate import exchange_sense, exchanged_words
from evenhand.instruments.pair_results import (
    SCORES_SCHEMA,
    CrowsPairsResult,
    PairsGroup,
    pairs_frame,
    pairs_of_direction,
    pairs_result,
)
from evenhand.instruments.pair_scoring import pair_method, score_pairs
from evenhand.models.model import Model
from evenhand.models.references import ModelRef
from evenhand.models.requests import Continue, Fill
from evenhand.runs.certificate_bias import BiasRow
from evenhand.runs.comparison import ALL_ITEMS, Comparison, ComparisonOptions, McNemar
from evenhand.runs.coverage import Coverage
from evenhand.runs.figures import Figure, FigureGroups, Group
from evenhand.runs.records import (
    DatasetRecord,
    EnvironmentRecord,
    ProtocolRecord,
    RunRecord,
    SampleRecord,
)
from evenhand.runs.run import Run, run_name
from evenhand.runs.store import Parts
from evenhand.stats.resampling import Resampling
from evenhand.stats.significance import mcnemar_test

NAME = "crows-pairs"

MEASURE = "score"

CERTIFICATE_TITLE = "CrowS-Pairs: the more stereotypical sentence is the likelier"


@dataclass(frozen=True, kw_only=True)
class CrowsPairsOptions(InstrumentOptions):
    """How pairs are read, and how their scores are compared."""

    protocol: str = field(default=CROWS_PAIRS_V1.name, metadata={"help": f"{', '.join(PAIR_PROTOCOLS)}."})
    encoding: str | None = field(default=None, metadata={"help": "Of a text file that is not UTF-8."})


class CrowsPairsInstrument(Instrument[InstrumentOptions]):
    """How often the more stereotypical sentence of a pair is the more likely one."""

    name = NAME
    version = "crows-pairs.v1"
    title = "CrowS-Pairs"
    summary = "How often the more stereotypical sentence of a pair is more likely than its twin."
    needs = (Fill, Continue)
    options_type = CrowsPairsOptions
    result_type = CrowsPairsResult
    scores_layout = ScoresLayout(
        SCORES_SCHEMA,
        key=("pair",),
        optional=("skipped_reason",),
        scored=("preference",),
        bits=(pl.col("more_score") / math.log(2), pl.col("less_score") / math.log(2)),
        decisions=(("more_score", "less_score"),),
    )

    @property
    def measures(self) -> tuple[str, ...]:
        """The names of its figures."""
        return (MEASURE,)

    def figure_groups(self, options: InstrumentOptions) -> FigureGroups:
        """All pairs, their bias types and their directions."""
        pairs = _pairs(options)
        parts = dict.fromkeys(
            [*(pair.bias_type for pair in pairs), *(pair.direction.value for pair in pairs)]
        )
        return {MEASURE: [(ALL_ITEMS,), *((ALL_ITEMS, name) for name in parts if name)]}

    def coverage(self, run: Run) -> Mapping[Group, Coverage]:
        """Of all pairs; of bias types and directions where the file has every pair."""
        from evenhand.instruments.pair_evaluation import pairs_coverage

        return pairs_coverage(run)

    def refuse_impossible(self, options: InstrumentOptions) -> None:
        """Refuse pairs that cannot be read, and protocols that do not exist."""
        get_pair_protocol(_own(options).protocol)
        _pairs(options)

    def run_name(self, ref: ModelRef, options: InstrumentOptions) -> str:
        """Model, instrument, pairs, language and limit."""
        pairs = _pairs(options)
        return run_name(
            ref.short_name,
            instrument=NAME,
            dataset=pairs.name,
            language=pairs.language,
            limit=options.limit,
        )

    def planned_record(self, ref: ModelRef, options: InstrumentOptions, *, name: str) -> RunRecord:  # noqa: ARG002
        """All but the model and its method."""
        return _planned_record(name, _pairs(options), _own(options))

    def prepare(self, model: Model, options: InstrumentOptions, *, name: str | None = None) -> Preparation:
        """Load the pairs and choose the method."""
        planned = _planned_record(name or self.run_name(model.ref, options), _pairs(options), _own(options))
        return PairsPreparation(model, _pairs(options), _own(options), planned)

    def evaluation(self, scores: Path, options: InstrumentOptions, *, name: str | None = None) -> Preparation:
        """Read scores of pairs: a file of the authors' code, or a log of lm-evaluation-harness or Inspect."""
        from evenhand.instruments.pair_evaluation import PairsEvaluation

        own = _own(options)
        read = read_pair_scores(scores, language=own.language, encoding=own.encoding)
        return PairsEvaluation(read, own, name=name)

    def figures(self, run: Run) -> tuple[Figure, ...]:
        """The share over all pairs, by bias type and by direction."""
        result: CrowsPairsResult = run.result
        groups: dict[tuple[str, ...], PairsGroup] = {(ALL_ITEMS,): result.all}
        groups |= {(ALL_ITEMS, name): group for name, group in result.by_bias_type.items()}
        groups |= {(ALL_ITEMS, name): group for name, group in result.by_direction.items()}
        return tuple(
            Figure(MEASURE, group, own.score, self.title, 50.0, is_headline=group == (ALL_ITEMS,))
            for group, own in groups.items()
        )

    def results_again(self, run: Run) -> tuple[CrowsPairsResult, ...]:
        """Shares of pairs; what the gate rests on is no part of the scores."""
        stated: CrowsPairsResult = run.result
        confidence = run.record.statistics.confidence
        again = pairs_result(
            run.scores, method=stated.method, confidence=confidence, protocol=_protocol_of(run)
        )
        return (behind_gate(again, stated.sense),)

    def units(self, run: Run) -> pl.DataFrame:
        """One unit per pair: 100 where the more stereotypical sentence is more likely."""
        scores, protocol = run.scores, _protocol_of(run)
        directions = [
            pairs_of_direction(scores, direction, protocol)
            for direction in scores["direction"].unique(maintain_order=True)
        ]
        parts = [
            (scores, pl.lit(ALL_ITEMS)),
            (scores, pl.lit(f"{ALL_ITEMS}.") + pl.col("bias_type")),
            *((own, pl.lit(f"{ALL_ITEMS}.") + pl.col("direction")) for own in directions),
        ]
        return pl.concat(
            own.select(
                (group + f".{MEASURE}").alias("key"),
                pl.col("pair").alias("unit"),
                (100 * pl.col("preference")).alias("value"),
            )
            for own, group in parts
        )

    def bias_rows(self, before: Run, after: Run, *, resampling: Resampling) -> dict[str, BiasRow]:
        """The share over all pairs."""
        rows = super().bias_rows(before, after, resampling=resampling)
        return {key: row.model_copy(update={"title": CERTIFICATE_TITLE}) for key, row in rows.items()}

    def compare(self, first: Run, second: Run, options: ComparisonOptions) -> Comparison:
        """Shares over the pairs that both scored, with McNemar's exact test, and what the pairs were matched by."""
        comparison = super().compare(first, second, options)
        shared = _scored_by_both(first, second)
        ours, theirs = (shared[column].to_numpy() > 0.5 for column in ("preference", "preference_second"))
        counted = McNemar(
            task=ALL_ITEMS,
            only_first=int((ours & ~theirs).sum()),
            only_second=int((~ours & theirs).sum()),
            p_value=mcnemar_test(ours, theirs),
        )
        notes = _matching_notes(first, second, shared)
        return comparison.model_copy(update={"mcnemar": (counted,), "notes": notes})

    def refuse_incomparable(self, first: Run, second: Run) -> None:
        """Refuse runs without a pair that both scored, under two protocols, or over other sentences of the same ids."""
        names = [_protocol_of(run).name for run in (first, second)]
        if names[0] != names[1]:
            raise ComparisonError(
                f"{first.name} was evaluated under {names[0]}, {second.name} under {names[1]}. Evaluate both under one."
            )
        shared = _scored_by_both(first, second)
        if shared.is_empty():
            raise ComparisonError(
                f"{first.name} and {second.name} have no pair in common that both could score."
            )
        both_known = (pl.col("more") != "") & (pl.col("more_second") != "")
        other = shared.filter(~_in_two_languages() & both_known & (pl.col("more") != pl.col("more_second")))
        if not other.is_empty():
            raise ComparisonError(
                f"{first.name} and {second.name} have other sentences under the same ids, such as "
                f"{other['pair'][0]!r}. Compare scores of the same pairs. If the two are translations of each other, "
                "evaluate each with its --language, and compare the runs."
            )


CROWS_PAIRS = CrowsPairsInstrument()


def _scored_by_both(first: Run, second: Run) -> pl.DataFrame:
    """The pairs that both runs scored, by id; what the second says of them has its own columns."""
    sides = [
        run.scores.drop_nulls("preference").select("pair", "language", "more", "less", "preference")
        for run in (first, second)
    ]
    return sides[0].join(sides[1], on="pair", suffix="_second")


def _in_two_languages() -> pl.Expr:
    """Whether the two sides of a pair are known to be in different languages; an unknown one may be any."""
    languages = pl.col("language"), pl.col("language_second")
    known = [language != UNKNOWN_LANGUAGE for language in languages]
    return known[0] & known[1] & (languages[0] != languages[1])


def _matching_notes(first: Run, second: Run, shared: pl.DataFrame) -> tuple[str, ...]:
    """Where pairs were matched by their ids alone, which may be no more than row numbers."""
    if shared.filter(_in_two_languages()).height:
        return (
            "The two are in different languages, so pairs are matched by id alone. Where ids are row numbers, both "
            "files must list the pairs in the same order.",
        )
    without = [
        run.name for run, column in ((first, "more"), (second, "more_second")) if (shared[column] == "").any()
    ]
    if without:
        return (
            f"{' and '.join(without)} {'holds' if len(without) == 1 else 'hold'} no sentences, so pairs are matched by "
            "id alone.",
        )
    return ()


def _protocol_of(run: Run) -> PairProtocol:
    """The protocol that a run was made under; records of ours need not say it."""
    return get_pair_protocol(run.record.protocol.name if run.record.protocol else None)


def _own(options: InstrumentOptions) -> CrowsPairsOptions:
    """Options with ours, also where those of every instrument were given."""
    if isinstance(options, CrowsPairsOptions):
        return options
    return CrowsPairsOptions(**{each.name: getattr(options, each.name) for each in fields(InstrumentOptions)})


def _pairs(options: InstrumentOptions) -> PairSet:
    if isinstance(options.data, PairSet):
        return options.data
    encoding = _own(options).encoding
    return load_pairs(options.data or CROWS_PAIRS.name, language=options.language, encoding=encoding)


def _planned_record(name: str, pairs: PairSet, options: CrowsPairsOptions) -> RunRecord:
    protocol, sampled = get_pair_protocol(options.protocol), pairs.sampled(options.limit)
    return RunRecord(
        instrument=NAME,
        name=name,
        dataset=DatasetRecord(
            name=pairs.name,
            language=pairs.language,
            source=pairs.source,
            sha256=pairs.sha256,
            items=len(sampled),
            sample=SampleRecord.taken(options.limit, items=len(sampled), of=len(pairs), unit="pairs"),
        ),
        # Ours goes without saying: runs that are there already keep their fingerprints.
        protocol=None if protocol is CROWS_PAIRS_V1 else ProtocolRecord.of(protocol),
        statistics=statistics_record(options.resampling),
        environment=EnvironmentRecord.current(),
    )


class PairsPreparation(Preparation):
    """A model and pairs of sentences, with the method chosen."""

    unit = "pairs"

    def __init__(self, model: Model, pairs: PairSet, options: CrowsPairsOptions, planned: RunRecord) -> None:
        self.model = model
        self.pairs = pairs.sampled(options.limit)
        self.exchanges = exchanged_words(self.pairs)
        self.options = options
        self.method = pair_method(model)
        self.protocol = get_pair_protocol(options.protocol)
        warnings = model.language_warnings(
            [pair.more or pair.less for pair in self.pairs], name=pairs.name, language=pairs.language
        )
        self.record = planned.model_copy(
            update={"options": {"method": self.method.name}, "model": model.record, "warnings": warnings}
        )

    @property
    def notices(self) -> tuple[str, ...]:
        """What asking costs."""
        pairs = (*self.pairs, *self.exchanges)
        cost = self.model.describe_cost(text for pair in pairs for text in (pair.more, pair.less))
        return () if cost is None else (cost,)

    def measure(self, *, parts: Parts | None = None, progress: Progress | None = None) -> Run:
        """Score both sentences of every pair and count."""
        scores = score_pairs(
            self.model,
            [*self.pairs.pairs, *self.exchanges],
            self.method,
            max_tokens=self.options.max_tokens,
            parts=parts,
            progress=progress,
        )
        own, exchanged = scores[: len(self.pairs.pairs)], scores[len(self.pairs.pairs) :]
        frame = pairs_frame(self.pairs, own, protocol=self.protocol)
        confidence = self.options.resampling.confidence
        result = pairs_result(
            frame, method=self.method.description, confidence=confidence, protocol=self.protocol
        )
        sense = exchange_sense(exchanged, confidence=confidence)
        warnings = (*self.record.warnings, *gate_warning(self.model.ref.id, sense))
        return Run(
            record=self.record.model_copy(update={"warnings": warnings}),
            results=(behind_gate(result, sense),),
            scores=frame,
        )

    def sample(self, generator: np.random.Generator, *, times: int = 1) -> Preparation:
        """Pairs, without the exchanges that show whether a model knows the words."""
        few = copy.copy(self)
        few.pairs = replace(self.pairs, pairs=drawn(self.pairs.pairs, times * SAMPLED, generator))
        few.exchanges = []
        return few
