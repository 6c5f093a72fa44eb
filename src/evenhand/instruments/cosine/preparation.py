"""The cosine test, ready to be measured: vectors of every pair of sentences are compared."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence

import polars as pl

from evenhand.core.progress import Progress
from evenhand.data.winogender import PronounPair, PronounPairs
from evenhand.instruments.cosine.instrument import NAME, CosineOptions
from evenhand.instruments.instrument import (
    Preparation,
    default_name,
    statistics_record,
)
from evenhand.instruments.probe_results import CosineResult, OccupationCosine
from evenhand.instruments.skipped import skipped_rows
from evenhand.instruments.vectors import ZERO, cosine, mean_estimate, vector_options, vector_warnings
from evenhand.models.capabilities import EmbeddingModel, NotEmbedded
from evenhand.models.embedding import Vector
from evenhand.models.references import ModelError
from evenhand.runs.records import DatasetRecord, EnvironmentRecord, RunRecord
from evenhand.runs.run import Run
from evenhand.runs.store import Parts
from evenhand.stats.resampling import Resampling

LANGUAGE = "en"


PAIRS_AT_ONCE = 32
"""Pairs between two signs of progress."""


UNREAD_PRONOUN = (
    "the pronoun comes after the occupation, where a model that reads from left to right has not seen it"
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


class CosinePreparation(Preparation):
    """A model and pairs of sentences that differ in the pronoun."""

    unit = "pairs"

    def __init__(
        self, model: EmbeddingModel, pairs: PronounPairs, options: CosineOptions, *, name: str | None
    ) -> None:
        self.model = model
        self.pairs = pairs.pairs[: options.limit]
        self.options = options
        self.layer = model.layer_number(options.layer)
        _refuse_unread(model, pairs)
        self.record = RunRecord(
            instrument=NAME,
            name=name or default_name(model.ref.short_name, LANGUAGE, NAME),
            dataset=DatasetRecord(
                name=pairs.name,
                language=LANGUAGE,
                source=pairs.name,
                sha256=pairs.sha256,
                items=len(pairs.pairs),
            ),
            options={**vector_options(model, self.layer), "limit": options.limit},
            model=model.record,
            statistics=statistics_record(options.resampling),
            environment=EnvironmentRecord.current(),
            warnings=vector_warnings(model, self.layer),
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


def _refuse_unread(model: EmbeddingModel, pairs: PronounPairs) -> None:
    if model.reads_left_to_right and not any(pair.pronoun_comes_first for pair in pairs.pairs):
        raise ModelError(
            f"{model.ref.id} reads from left to right, and in all {len(pairs.pairs):,} pairs of {pairs.name} "
            "the pronoun comes after the occupation: its vector is the same in both sentences and the cosine 1, "
            "whatever the model. Test a masked model or an encoder-decoder, or give pairs with the pronoun first."
        )


def _rows(model: EmbeddingModel, pairs: Sequence[PronounPair], layer: int) -> list[dict[str, object]]:
    readable = [pair for pair in pairs if pair.pronoun_comes_first or not model.reads_left_to_right]
    vectors = model.embed_words(
        [text for pair in readable for text in (pair.male, pair.female)],
        [span for pair in readable for span in (pair.male_span, pair.female_span)],
        layer=layer,
    )
    compared = {
        pair.id: _compared(male, female)
        for pair, male, female in zip(readable, vectors[::2], vectors[1::2], strict=True)
    }
    return [_row(pair, compared.get(pair.id, NotEmbedded(UNREAD_PRONOUN))) for pair in pairs]


def _compared(male: Vector | NotEmbedded, female: Vector | NotEmbedded) -> float | NotEmbedded:
    if isinstance(male, NotEmbedded):
        return male
    if isinstance(female, NotEmbedded):
        return female
    value = cosine(male, female)
    return NotEmbedded(ZERO) if math.isnan(value) else value


def _row(pair: PronounPair, compared: float | NotEmbedded) -> dict[str, object]:
    return {
        "pair": pair.id,
        "occupation": pair.occupation,
        "participant": pair.participant,
        "answer": pair.answer,
        "male": pair.male,
        "female": pair.female,
        "cosine": None if isinstance(compared, NotEmbedded) else compared,
        "skipped_reason": compared.reason if isinstance(compared, NotEmbedded) else None,
    }
