"""Direct bias: how far professions lean towards the gender direction of a model's contextual vectors.

The gender direction g is the mean contextual vector of *he* minus that of *she*, over every place where they stand in a
corpus (German: *er* and *sie*). A profession's vector w is its mean contextual vector over the sentences of the corpus
that have the profession and no gendered word: no pronoun, no word of the definitional pairs, no first name of the
bundled lists. Then

    direct bias = mean over professions of |cos(w, g)|,

which is Bolukbasi et al.'s DirectBias_c with the strictness c = 1. A profession's own cosine has its sign: above 0 it
points to the male side. The signed mean is given too, because some report it in place of direct bias; professions that
lean to opposite sides cancel in it, so it can be 0 where direct bias is not. The interval resamples professions.

In a space of few directions that matter everything has a cosine with everything, so the baseline is the same mean for
random directions, drawn evenly from all directions; its interval holds the middle of what they give. Direct bias that
lies within it is no sign of anything.

In German a profession has a masculine and a feminine form. Its vector is the mean of the two forms' mean vectors, so
that grammar cancels as far as it is symmetric; a profession of which only one form was seen is left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import polars as pl

from evenhand.core.errors import DatasetError, shortlist
from evenhand.core.estimates import Estimate, Number
from evenhand.core.frozen import FrozenModel
from evenhand.data.corpora import CorpusCounts, corpus_files
from evenhand.data.probes import gendered_vocabulary
from evenhand.instruments.instrument import (
    Instrument,
    InstrumentOptions,
    Preparation,
    ScoresLayout,
    Skipped,
)
from evenhand.instruments.vectors import mean_estimate
from evenhand.models.references import ModelRef
from evenhand.models.requests import Embed
from evenhand.stats.resampling import Resampling
from evenhand.store.certificate_files import resampling_of
from evenhand.store.comparison import ALL_ITEMS
from evenhand.store.figures import Figure, FigureGroups
from evenhand.store.records import RunRecord
from evenhand.store.run import Run, run_name


class ProfessionCosine(FrozenModel):
    """A profession's mean contextual vector against the gender direction; above 0 it points to the male side."""

    profession: str
    cosine: Number
    n: int
    """Sentences that it was seen in."""


class DirectBiasResult(FrozenModel):
    """Direct bias over a corpus: the mean absolute cosine of professions with the gender direction."""

    kind: Literal["direct-bias"] = "direct-bias"
    layer: int
    direct_bias: Estimate
    signed_mean: Estimate
    """The mean of the signed cosines, in which professions of opposite sides cancel."""
    baseline: Estimate
    """The same for random directions: their mean, and the range in which most of them lie."""
    professions: tuple[ProfessionCosine, ...]
    sentences: int
    pronouns: dict[str, int]
    """Sentences with each of the two words that the direction was made of."""
    tells_gender: bool
    """Whether the direction is one of gender."""
    left_out: dict[str, int]
    """Sentences that were not used, or not for everything in them, by reason."""
    skipped: tuple[Skipped, ...] = ()


NAME = "direct-bias"

MEASURE = "direct_bias"

DEFAULT_LANGUAGE = "en"


SCORES_SCHEMA: Mapping[str, pl.DataType] = {
    "profession": pl.String(),
    "field": pl.String(),
    "forms": pl.String(),
    "cosine": pl.Float64(),
    "sentences": pl.Int64(),
    "occurrences": pl.Int64(),
    "sentences_left_out": pl.Int64(),
    "skipped_reason": pl.String(),
}
"""Columns of the scores, one row per profession. ``sentences_left_out`` have the profession beside a gendered word."""


@dataclass(frozen=True, kw_only=True)
class DirectBiasOptions(InstrumentOptions):
    """The corpus, and which layer's vectors are read. ``limit`` takes the first sentences of the corpus."""

    corpus: tuple[str | Path, ...] = field(
        default=(),
        metadata={
            "help": "Files or folders of text, plain, gzip-compressed or JSON Lines; read in bounded memory."
        },
    )
    layer: int = field(
        default=-1, metadata={"help": "Layer of the model: 0 is the embeddings, -1 the last layer."}
    )
    pair: str | None = field(
        default=None,
        metadata={
            "help": "The two words that the direction lies between, such as father-mother; pronouns if not given."
        },
    )
    professions: str | Path | None = field(
        default=None,
        metadata={"help": "A file with one profession per line; the 60 bundled ones if not given."},
    )


class DirectBiasInstrument(Instrument[DirectBiasOptions]):
    """How far professions point along the gender direction, or another one, of a model's contextual vectors."""

    name = NAME
    version = "direct-bias.v1"
    title = "Direct bias"
    summary = "How far professions point along a direction, by default that of gender, over a corpus."
    needs = (Embed,)
    options_type = DirectBiasOptions
    result_type = DirectBiasResult
    scores_layout = ScoresLayout(
        SCORES_SCHEMA, key=("profession",), optional=("field", "skipped_reason"), scored=("cosine",)
    )
    unused_options = frozenset({"data", "max_tokens"})

    @property
    def measures(self) -> tuple[str, ...]:
        """The names of its figures."""
        return (MEASURE, "signed_mean", "baseline")

    def figure_groups(self, options: DirectBiasOptions) -> FigureGroups:  # noqa: ARG002 # they are of the whole corpus
        """All professions."""
        return dict.fromkeys(self.measures, ((ALL_ITEMS,),))

    def refuse_impossible(self, options: DirectBiasOptions) -> None:
        """Refuse a corpus that cannot be read, and a language without word lists."""
        from evenhand.instruments.direct_bias.gender_direction import words_of_direction
        from evenhand.instruments.direct_bias.preparation import professions_of

        if not options.corpus:
            raise DatasetError("Direct bias needs a corpus: text files, or folders of them (--corpus PATH).")
        corpus_files(options.corpus, counts=CorpusCounts())
        gendered_vocabulary(options.language or DEFAULT_LANGUAGE)
        words_of_direction(options.pair, options.language or DEFAULT_LANGUAGE)
        professions_of(options.professions, options.language or DEFAULT_LANGUAGE)

    def run_name(self, ref: ModelRef, options: DirectBiasOptions) -> str:
        """Model, instrument, corpus, language and limit."""
        return run_name(
            ref.short_name,
            instrument=NAME,
            dataset=shortlist((Path(path).stem for path in options.corpus), 2),
            language=options.language or DEFAULT_LANGUAGE,
            limit=options.limit,
        )

    def planned_record(self, ref: ModelRef, options: DirectBiasOptions, *, name: str) -> RunRecord:  # noqa: ARG002
        """All but the model and its layer."""
        from evenhand.instruments.direct_bias.preparation import planned_record

        return planned_record(name, options)

    def prepare(self, model: Any, options: DirectBiasOptions, *, name: str | None = None) -> Preparation:
        """Read the word lists and look at the corpus.

        Raises:
            DatasetError: If no corpus was given or it cannot be read.
            ModelError: If the model gives no hidden states or has no such layer.
            UnknownNameError: If there are no word lists in the language.
        """
        from evenhand.instruments.direct_bias.preparation import DirectBiasPreparation, planned_record

        self.refuse_unable(model)
        self.refuse_impossible(options)
        planned = planned_record(name or self.run_name(model.ref, options), options)
        return DirectBiasPreparation(model, options, planned)

    def figures(self, run: Run) -> tuple[Figure, ...]:
        """The mean absolute cosine, its signed mean, and what random directions would give."""
        result: DirectBiasResult = run.result
        whole = (ALL_ITEMS,)
        return (
            Figure(MEASURE, whole, result.direct_bias, "Direct bias", 0.0, unit="", is_headline=True),
            Figure("signed_mean", whole, result.signed_mean, "Mean signed cosine", 0.0, unit=""),
            Figure("baseline", whole, result.baseline, "Random directions", None, unit=""),
        )

    def results_again(self, run: Run) -> tuple[DirectBiasResult, ...]:
        """Means of cosines; what was counted in the corpus, and random directions, are no part of the scores."""
        stated: DirectBiasResult = run.result
        again = figures_of_cosines(run.scores, resampling=resampling_of(run.record.statistics))
        return (stated.model_copy(update=again),)

    def units(self, run: Run) -> pl.DataFrame:
        """One unit per profession: its absolute and its signed cosine."""
        unit = pl.col("profession").alias("unit")
        measured = run.scores.drop_nulls("cosine")
        return pl.concat(
            [
                measured.select(pl.lit(f"{ALL_ITEMS}.{measure}").alias("key"), unit, value.alias("value"))
                for measure, value in ((MEASURE, pl.col("cosine").abs()), ("signed_mean", pl.col("cosine")))
            ]
        )


def figures_of_cosines(frame: pl.DataFrame, *, resampling: Resampling) -> dict[str, Any]:
    """The fields of a result that follow from the cosines of professions."""
    measured = frame.drop_nulls("cosine")
    cosines = measured["cosine"].to_list()
    n = int(measured["sentences"].sum())
    return {
        "direct_bias": mean_estimate(
            [abs(value) for value in cosines], unit="profession", n=n, resampling=resampling, lowest=0.0
        ),
        "signed_mean": mean_estimate(cosines, unit="profession", n=n, resampling=resampling, lowest=-1.0),
        "professions": tuple(
            ProfessionCosine(profession=row["profession"], cosine=row["cosine"], n=row["sentences"])
            for row in measured.iter_rows(named=True)
        ),
    }


DIRECT_BIAS = DirectBiasInstrument()
