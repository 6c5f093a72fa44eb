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

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from evenhand.core.progress import Progress
from evenhand.data.winogender import WINOGENDER, PronounPair, PronounPairs, load_pronoun_pairs
from evenhand.instruments.association.evaluation import statistics_record
from evenhand.instruments.probe_results import CosineResult, OccupationCosine
from evenhand.instruments.skipped import skipped_rows
from evenhand.instruments.vectors import ZERO, cosine, mean_estimate, vector_options, vector_warnings
from evenhand.models.capabilities import NotEmbedded
from evenhand.models.embedding import Vector
from evenhand.models.identity import record_of
from evenhand.models.language_model import LanguageModel, load_language_model
from evenhand.models.references import ModelError, ModelRef
from evenhand.runs.probe_runs import ProbeRecord, ProbeRun
from evenhand.runs.records import EnvironmentRecord
from evenhand.stats.resampling import Resampling

TEST = "cosine"
LANGUAGE = "en"

PAIRS_AT_ONCE = 32
"""Pairs between two reports of progress."""

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
"""Columns of the scores, a row a pair. ``answer`` is 0 where the pronoun means the occupation, 1 where it means the
other participant."""


def probe_cosine(
    model: str | ModelRef | LanguageModel,
    data: str | Path | PronounPairs = WINOGENDER.name,
    *,
    layer: int = -1,
    name: str | None = None,
    resampling: Resampling | None = None,
    report: Progress | None = None,
) -> ProbeRun:
    """Compare each occupation's contextual vector beside a male and a female pronoun.

    Args:
        model: A name or folder, a reference, or a model already loaded.
        data: ``winogender``, a file in its layout, or pairs already loaded.
        layer: Of the model: 0 is the embeddings, -1 the last layer.
        name: Name of the run.
        resampling: Resamples, seed and confidence level of the intervals.
        report: Told about progress.

    Raises:
        ModelError: If the model gives no hidden states, has no such layer, or reads from left to right while in every
            pair the pronoun comes after the occupation.
    """
    asked = model if isinstance(model, LanguageModel) else load_language_model(model)
    pairs = data if isinstance(data, PronounPairs) else load_pronoun_pairs(data)
    number = asked.embedder.layer_number(layer)
    _refuse_unread(asked, pairs)
    chosen = resampling or Resampling()
    rows: list[dict[str, object]] = []
    for start in range(0, len(pairs.pairs), PAIRS_AT_ONCE):
        rows += _rows(asked, pairs.pairs[start : start + PAIRS_AT_ONCE], number)
        if report:
            report(len(rows), len(pairs.pairs))
    frame = pl.DataFrame(rows, schema=SCORES_SCHEMA)
    return ProbeRun(
        record=cosine_record(asked, pairs, layer=number, name=name, resampling=chosen),
        results=(cosine_result(frame, layer=number, resampling=chosen),),
        scores=frame,
    )


def cosine_record(
    model: LanguageModel, pairs: PronounPairs, *, layer: int, name: str | None, resampling: Resampling
) -> ProbeRecord:
    """The record that a run will have; with its fingerprint, known before anything is measured."""
    return ProbeRecord(
        name=name or f"{model.loaded.ref.short_name}_{TEST}_{LANGUAGE}",
        test=TEST,
        language=LANGUAGE,
        data={pairs.name: pairs.sha256},
        options=vector_options(layer),
        model=record_of(model),
        statistics=statistics_record(resampling),
        environment=EnvironmentRecord.current(),
        warnings=vector_warnings(model, layer),
    )


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


def _refuse_unread(model: LanguageModel, pairs: PronounPairs) -> None:
    if model.reads_left_to_right and not any(pair.pronoun_comes_first for pair in pairs.pairs):
        raise ModelError(
            f"{model.loaded.ref.id} reads from left to right, and in all {len(pairs.pairs):,} pairs of {pairs.name} "
            "the pronoun comes after the occupation: its vector is the same in both sentences and the cosine 1, "
            "whatever the model. Test a masked model or an encoder-decoder, or give pairs with the pronoun first."
        )


def _rows(model: LanguageModel, pairs: Sequence[PronounPair], layer: int) -> list[dict[str, object]]:
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
