"""The cosine test: does an occupation's vector change with the pronoun beside it?

Two sentences of Winogender that differ in the pronoun only, *The nurse told the patient that he was late* and *... that
she was late*, go through the model. The cosine of the two contextual vectors of *nurse* is 1 if the pronoun makes no
difference to it. An occupation's cosine is the mean over its pairs, and the test's value is the mean over occupations,
with an interval that resamples occupations. An occupation's own interval is over its pairs, which are few and much
alike; it says how far they agree and no more.

A decoder has read only what comes before the occupation, and in Winogender the pronoun comes after it: the two vectors
are the same whatever the model makes of the pronoun. Such pairs are left out, and a model for which none is left is
refused.
"""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import polars as pl

from evenhand.core.estimates import Estimate
from evenhand.core.frozen import FrozenModel
from evenhand.core.progress import Progress
from evenhand.core.sampling import sample
from evenhand.data.winogender import WINOGENDER, PronounPair, PronounPairs, load_pronoun_pairs
from evenhand.instruments.instrument import (
    SAMPLED,
    Instrument,
    InstrumentOptions,
    Preparation,
    ScoresLayout,
    Skipped,
    drawn,
    skipped_rows,
    statistics_record,
)
from evenhand.instruments.vectors import ZERO, cosine, mean_estimate, vector_options, vector_warnings
from evenhand.models.model import Model
from evenhand.models.references import ModelError, ModelRef
from evenhand.models.requests import Answer, Embed
from evenhand.stats.resampling import Resampling
from evenhand.store.certificate_files import resampling_of
from evenhand.store.comparison import ALL_ITEMS
from evenhand.store.figures import Figure, FigureGroups
from evenhand.store.jobs import Parts
from evenhand.store.records import DatasetRecord, EnvironmentRecord, RunRecord, SampleRecord
from evenhand.store.run import Run, run_name


class OccupationCosine(FrozenModel):
    """How alike an occupation's contextual vectors are beside a male and a female pronoun."""

    occupation: str
    cosine: Estimate
    n: int


class CosineResult(FrozenModel):
    """The cosine test on pairs of sentences that differ in the pronoun; 1 is neutral."""

    kind: Literal["cosine"] = "cosine"
    layer: int
    mean: Estimate
    occupations: tuple[OccupationCosine, ...]
    skipped: tuple[Skipped, ...] = ()


NAME = "cosine"

MEASURE = "cosine"


@dataclass(frozen=True, kw_only=True)
class CosineOptions(InstrumentOptions):
    """Which layer's vectors are compared."""

    layer: int = field(
        default=-1, metadata={"help": "Layer of the model: 0 is the embeddings, -1 the last layer."}
    )


SCORES_SCHEMA: Mapping[str, pl.DataType] = {
    "pair": pl.String(),
    "occupation": pl.String(),
    "participant": pl.String(),
    "answer": pl.String(),
    "male": pl.String(),
    "female": pl.String(),
    "cosine": pl.Float64(),
    "skipped_reason": pl.String(),
}
"""Columns of the scores, one row per pair. ``answer`` is 0 where the pronoun means the occupation, 1 where it means the
other participant."""


class CosineInstrument(Instrument[CosineOptions]):
    """The cosine of an occupation's contextual vectors beside a male and a female pronoun."""

    name = NAME
    version = "cosine.v1"
    title = "Cosine test"
    summary = "Whether an occupation's contextual vector changes with the pronoun beside it."
    needs = (Embed,)
    options_type = CosineOptions
    result_type = CosineResult
    scores_layout = ScoresLayout(
        SCORES_SCHEMA, key=("pair",), optional=("skipped_reason",), scored=("cosine",)
    )
    unused_options = frozenset({"language", "max_tokens"})

    @property
    def measures(self) -> tuple[str, ...]:
        """The names of its figures."""
        return (MEASURE,)

    def figure_groups(self, options: CosineOptions) -> FigureGroups:
        """All occupations, and each."""
        occupations = dict.fromkeys(pair.occupation for pair in _pairs(options).pairs)
        return {MEASURE: [(ALL_ITEMS,), *((ALL_ITEMS, occupation) for occupation in occupations)]}

    def refuse_impossible(self, options: CosineOptions) -> None:
        """Refuse sentences that cannot be read."""
        _pairs(options)

    def run_name(self, ref: ModelRef, options: CosineOptions) -> str:
        """Model, instrument, pairs, language and limit."""
        pairs = _pairs(options)
        return run_name(
            ref.short_name, instrument=NAME, dataset=pairs.name, language=LANGUAGE, limit=options.limit
        )

    def planned_record(self, ref: ModelRef, options: CosineOptions, *, name: str) -> RunRecord:  # noqa: ARG002
        """All but the model and its layer."""
        return _planned_record(name, _pairs(options), options)

    def prepare(self, model: Any, options: CosineOptions, *, name: str | None = None) -> Preparation:
        """Load the pairs of sentences.

        Raises:
            ModelError: If the model gives no hidden states, has no such layer, or reads from left to right while in
                every pair the pronoun comes after the occupation.
        """
        self.refuse_unable(model)
        pairs = _pairs(options)
        planned = _planned_record(name or self.run_name(model.ref, options), pairs, options)
        return CosinePreparation(model, pairs, options, planned)

    def figures(self, run: Run) -> tuple[Figure, ...]:
        """The mean over occupations, and each occupation."""
        result: CosineResult = run.result
        return (
            Figure(MEASURE, (ALL_ITEMS,), result.mean, "Mean cosine", 1.0, unit="", is_headline=True),
            *(
                Figure(MEASURE, (ALL_ITEMS, own.occupation), own.cosine, own.occupation, 1.0, unit="")
                for own in result.occupations
            ),
        )

    def results_again(self, run: Run) -> tuple[CosineResult, ...]:
        """Means of cosines."""
        stated: CosineResult = run.result
        return (
            cosine_result(run.scores, layer=stated.layer, resampling=resampling_of(run.record.statistics)),
        )

    def units(self, run: Run) -> pl.DataFrame:
        """One unit per occupation: the mean over its pairs."""
        return (
            run.scores.drop_nulls("cosine")
            .group_by("occupation", maintain_order=True)
            .agg(pl.col("cosine").mean().alias("value"))
            .select(
                pl.lit(f"{ALL_ITEMS}.{MEASURE}").alias("key"), pl.col("occupation").alias("unit"), "value"
            )
        )


COSINE = CosineInstrument()


def _pairs(options: CosineOptions) -> PronounPairs:
    data = options.data
    return data if isinstance(data, PronounPairs) else load_pronoun_pairs(data or WINOGENDER.name)


def _sampled(pairs: PronounPairs, limit: int | None) -> tuple[PronounPair, ...]:
    return sample(pairs.pairs, limit, cluster=lambda pair: pair.occupation)


def _planned_record(name: str, pairs: PronounPairs, options: CosineOptions) -> RunRecord:
    items = len(_sampled(pairs, options.limit))
    return RunRecord(
        instrument=NAME,
        name=name,
        dataset=DatasetRecord(
            name=pairs.name,
            language=LANGUAGE,
            source=pairs.name,
            sha256=pairs.sha256,
            items=items,
            sample=SampleRecord.taken(options.limit, items=items, of=len(pairs.pairs), unit="pairs"),
        ),
        statistics=statistics_record(options.resampling),
        environment=EnvironmentRecord.current(),
    )


LANGUAGE = "en"

PAIRS_AT_ONCE = 32
"""Pairs between two signs of progress."""

UNREAD_PRONOUN = (
    "the pronoun comes after the occupation, where a model that reads from left to right has not seen it"
)


class CosinePreparation(Preparation):
    """A model and pairs of sentences that differ in the pronoun."""

    unit = "pairs"

    def __init__(self, model: Model, pairs: PronounPairs, options: CosineOptions, planned: RunRecord) -> None:
        self.model = model
        self.pairs = _sampled(pairs, options.limit)
        self.options = options
        self.layer = model.layer_number(options.layer)
        _refuse_unread(model, pairs)
        warnings = model.language_warnings(
            [pair.male for pair in self.pairs], name=pairs.name, language=LANGUAGE
        )
        self.record = planned.model_copy(
            update={
                "options": vector_options(model, self.layer),
                "model": model.record,
                "warnings": (*vector_warnings(model, self.layer), *warnings),
            }
        )

    def measure(self, *, parts: Parts | None = None, progress: Progress | None = None) -> Run:
        """Compare the vectors of every pair."""
        rows: list[dict[str, object]] = []
        for start in range(0, len(self.pairs), PAIRS_AT_ONCE):
            rows += self._rows(start, parts)
            if progress:
                progress(len(rows), len(self.pairs))
        frame = pl.DataFrame(rows, schema=SCORES_SCHEMA)
        result = cosine_result(frame, layer=self.layer, resampling=self.options.resampling)
        return Run(record=self.record, results=(result,), scores=frame)

    def sample(self, generator: np.random.Generator, *, times: int = 1) -> Preparation:
        """Pairs of sentences."""
        few = copy.copy(self)
        few.pairs = drawn(self.pairs, times * SAMPLED, generator)
        return few

    def _rows(self, start: int, parts: Parts | None) -> list[dict[str, object]]:
        key = f"pairs-{start:06d}"
        kept = parts.get(key) if parts else None
        if kept is not None:
            rows: list[dict[str, object]] = json.loads(kept)
            return rows
        rows = _rows(self.model, self.pairs[start : start + PAIRS_AT_ONCE], self.layer)
        if parts:
            parts.put(key, json.dumps(rows).encode())
        return rows


def cosine_result(frame: pl.DataFrame, *, layer: int, resampling: Resampling) -> CosineResult:
    """What the cosines of pairs add up to: by occupation, and over all occupations."""
    by_occupation: dict[str, list[float]] = {}
    for occupation, value in frame.select("occupation", "cosine").iter_rows():
        known = by_occupation.setdefault(occupation, [])
        if value is not None:
            known.append(value)
    measured = [values for values in by_occupation.values() if values]
    return CosineResult(
        layer=layer,
        mean=mean_estimate(
            [math.fsum(values) / len(values) for values in measured],
            unit="occupation",
            n=sum(map(len, measured)),
            resampling=resampling,
            lowest=-1.0,
        ),
        occupations=tuple(
            OccupationCosine(
                occupation=occupation,
                cosine=mean_estimate(values, unit="pair", n=len(values), resampling=resampling, lowest=-1.0),
                n=len(values),
            )
            for occupation, values in by_occupation.items()
        ),
        skipped=skipped_rows(frame, "pair"),
    )


def _refuse_unread(model: Model, pairs: PronounPairs) -> None:
    if model.reads_left_to_right and not any(pair.pronoun_comes_first for pair in pairs.pairs):
        raise ModelError(
            f"{model.ref.id} reads from left to right, and in all {len(pairs.pairs):,} pairs of {pairs.name} "
            "the pronoun comes after the occupation: its vector is the same in both sentences and the cosine 1, "
            "whatever the model. Test a masked model or an encoder-decoder, or give pairs with the pronoun first."
        )


def _rows(model: Model, pairs: Sequence[PronounPair], layer: int) -> list[dict[str, object]]:
    readable = [pair for pair in pairs if pair.pronoun_comes_first or not model.reads_left_to_right]
    vectors = model.answer(
        [
            Embed(text, span, layer)
            for pair in readable
            for text, span in ((pair.male, pair.male_span), (pair.female, pair.female_span))
        ]
    )
    compared = {
        pair.id: _compared(male, female)
        for pair, male, female in zip(readable, vectors[::2], vectors[1::2], strict=True)
    }
    return [_row(pair, compared.get(pair.id, UNREAD_PRONOUN)) for pair in pairs]


def _compared(male: Answer, female: Answer) -> float | str:
    """The cosine of two vectors, or why there is none."""
    if male.vector is None or female.vector is None:
        return male.problem or female.problem or ZERO
    value = cosine(male.vector, female.vector)
    return ZERO if math.isnan(value) else value


def _row(pair: PronounPair, compared: float | str) -> dict[str, object]:
    return {
        "pair": pair.id,
        "occupation": pair.occupation,
        "participant": pair.participant,
        "answer": pair.answer,
        "male": pair.male,
        "female": pair.female,
        "cosine": None if isinstance(compared, str) else compared,
        "skipped_reason": compared if isinstance(compared, str) else None,
    }
