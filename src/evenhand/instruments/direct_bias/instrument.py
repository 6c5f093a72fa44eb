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

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import polars as pl

from evenhand.core.errors import DatasetError, shortlist
from evenhand.core.estimates import Estimate
from evenhand.core.files import sha256_of
from evenhand.core.probes import Occupation
from evenhand.core.progress import Progress
from evenhand.data.corpora import CorpusCounts, corpus_digest, sentences
from evenhand.data.probe_files import OccupationsFile, read_occupations
from evenhand.data.probes import bundled_probe_path, gendered_vocabulary
from evenhand.instruments.direct_bias.corpus_vectors import CorpusVectors
from evenhand.instruments.direct_bias.gender_direction import (
    PRONOUNS,
    GenderPronouns,
    ProfessionVector,
    gender_direction,
    profession_vector,
)
from evenhand.instruments.direct_bias.random_directions import RANDOM_DIRECTIONS, random_baseline
from evenhand.instruments.instrument import (
    Instrument,
    InstrumentOptions,
    Preparation,
    default_name,
    statistics_record,
)
from evenhand.instruments.probe_results import DirectBiasResult, ProfessionCosine
from evenhand.instruments.skipped import skipped_rows
from evenhand.instruments.vectors import cosine, mean_estimate, vector_options, vector_warnings
from evenhand.models.capabilities import Embeds
from evenhand.models.identity import record_of
from evenhand.models.language_model import LanguageModel
from evenhand.runs.comparison import ALL_ITEMS
from evenhand.runs.figures import Figure
from evenhand.runs.records import DatasetRecord, EnvironmentRecord, RunRecord
from evenhand.runs.run import Run
from evenhand.runs.store import Parts
from evenhand.stats.resampling import Floats, Resampling
from evenhand.text.sentence_splitting import LONGEST_SENTENCE
from evenhand.text.word_search import WordFinder

MEASURE = "direct_bias"
DEFAULT_LANGUAGE = "en"

FEW_SENTENCES = 100
"""With fewer sentences that have a pronoun, the direction is much a matter of chance."""

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
    """The corpus, and which layer's vectors are read."""

    corpus: tuple[str | Path, ...] = field(
        default=(),
        metadata={
            "help": "Files or folders of text, plain, gzip-compressed or JSON Lines; read in bounded memory."
        },
    )
    layer: int = field(
        default=-1, metadata={"help": "Layer of the model: 0 is the embeddings, -1 the last layer."}
    )
    professions: str | Path | None = field(
        default=None,
        metadata={"help": "A file with one profession per line; the 60 bundled ones if not given."},
    )


class DirectBiasInstrument(Instrument[DirectBiasOptions]):
    """How far professions lean towards the gender direction of a model's contextual vectors."""

    name = "direct-bias"
    version = "direct-bias.v1"
    title = "Direct bias"
    summary = "How far professions lean towards the gender direction of contextual vectors over a corpus."
    needs = (Embeds,)
    options_type = DirectBiasOptions
    result_type = DirectBiasResult

    def prepare(
        self, model: LanguageModel, options: DirectBiasOptions, *, name: str | None = None
    ) -> Preparation:
        """Read the word lists and look at the corpus.

        Raises:
            DatasetError: If no corpus was given or it cannot be read.
            ModelError: If the model gives no hidden states or has no such layer.
            UnknownNameError: If there are no word lists in the language.
        """
        self.refuse_unable(model)
        if not options.corpus:
            raise DatasetError("Direct bias needs a corpus: text files, or folders of them (--corpus PATH).")
        return _DirectBiasPreparation(model, options, name=name)

    def figures(self, run: Run) -> tuple[Figure, ...]:
        """The mean absolute cosine, its signed mean, and what random directions would give."""
        result: DirectBiasResult = run.result
        whole = (ALL_ITEMS,)
        return (
            Figure(MEASURE, whole, result.direct_bias, "Direct bias", 0.0, unit="", is_headline=True),
            Figure("signed_mean", whole, result.signed_mean, "Mean signed cosine", 0.0, unit=""),
            Figure("baseline", whole, result.baseline, "Random directions", None, unit=""),
        )

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


DIRECT_BIAS = DirectBiasInstrument()


class _DirectBiasPreparation(Preparation):
    """A model, a corpus and lists of words."""

    unit = "bytes"

    def __init__(self, model: LanguageModel, options: DirectBiasOptions, *, name: str | None) -> None:
        self.model = model
        self.options = options
        self.language = options.language or DEFAULT_LANGUAGE
        self.gendered = gendered_vocabulary(self.language)
        self.professions = _professions(options.professions, self.language)
        self.pronouns = PRONOUNS[self.language]
        self.layer = model.embedder.layer_number(options.layer)
        self.record = RunRecord(
            instrument=DirectBiasInstrument.name,
            name=name or default_name(model.loaded.ref.short_name, self.language, DirectBiasInstrument.name),
            dataset=DatasetRecord(
                name="corpus",
                language=self.language,
                source=shortlist(map(str, options.corpus)),
                sha256=corpus_digest(options.corpus),
            ),
            data={
                "professions": self.professions.sha256,
                "gendered words": sha256_of("\n".join(sorted(self.gendered)).encode()),
            },
            options={
                **vector_options(self.layer),
                "pronouns": list(self.pronouns.both),
                "random_directions": RANDOM_DIRECTIONS,
            },
            model=record_of(model),
            statistics=statistics_record(options.resampling),
            environment=EnvironmentRecord.current(),
        )

    def measure(self, *, parts: Parts | None = None, progress: Progress | None = None) -> Run:  # noqa: ARG002
        """Read the corpus once. Running means of vectors are all there is, so there are no parts to keep."""
        text = sentences(self.options.corpus, report=progress)
        vectors = CorpusVectors(
            self.model,
            layer=self.layer,
            pronouns=WordFinder(self.pronouns.spellings),
            nouns=WordFinder.of_nouns(
                form.noun for each in self.professions.occupations for form in each.forms
            ),
            gendered=self.gendered,
        )
        vectors.read(text)
        frame, result = _measured(
            self.professions.occupations, vectors, self.pronouns, resampling=self.options.resampling
        )
        warnings = (
            *vector_warnings(self.model, self.layer),
            *_warnings_about_pronouns(result, self.pronouns),
            *_warnings_about_corpus(text.counts),
        )
        return Run(
            record=self.record.model_copy(update={"warnings": warnings}), results=(result,), scores=frame
        )


def _measured(
    professions: Sequence[Occupation],
    vectors: CorpusVectors,
    pronouns: GenderPronouns,
    *,
    resampling: Resampling,
) -> tuple[pl.DataFrame, DirectBiasResult]:
    """The scores of professions and what they add up to, once the corpus is read."""
    direction = gender_direction(vectors, pronouns)
    found = [profession_vector(occupation, vectors) for occupation in professions]
    _refuse_nothing(found, vectors)
    frame = pl.DataFrame([_row(each, direction, vectors) for each in found], schema=SCORES_SCHEMA)
    known = np.array([each.vector for each in found if each.vector is not None])
    baseline = random_baseline(known, resampling=resampling)
    return frame, _result(frame, vectors, pronouns, baseline=baseline, resampling=resampling)


def _professions(given: str | Path | None, language: str) -> OccupationsFile:
    bundled = read_occupations(bundled_probe_path(language, "occupations"), language=language)
    if given is None:
        return bundled
    return read_occupations(Path(given), language=language, bundled=bundled.occupations)


def _refuse_nothing(found: Sequence[ProfessionVector], vectors: CorpusVectors) -> None:
    if all(each.vector is None for each in found):
        reasons = shortlist(dict.fromkeys(each.problem for each in found if each.problem))
        raise DatasetError(
            f"The corpus has {vectors.sentences:,} sentences, and in none of them could any of the {len(found):,} "
            f"professions be measured ({reasons}). Give a larger corpus, or other professions."
        )


def _row(found: ProfessionVector, direction: Floats, vectors: CorpusVectors) -> dict[str, object]:
    means = [vectors.means[noun] for noun in found.nouns if noun in vectors.means]
    return {
        "profession": found.occupation.name,
        "field": found.occupation.field,
        "forms": ", ".join(found.nouns),
        "cosine": None if found.vector is None else cosine(found.vector, direction),
        "sentences": sum(mean.sentences for mean in means),
        "occurrences": sum(mean.occurrences for mean in means),
        "sentences_left_out": sum(vectors.beside_gendered[noun] for noun in found.nouns),
        "skipped_reason": found.problem,
    }


def _result(
    frame: pl.DataFrame,
    vectors: CorpusVectors,
    pronouns: GenderPronouns,
    *,
    baseline: Estimate,
    resampling: Resampling,
) -> DirectBiasResult:
    measured = frame.drop_nulls("cosine")
    cosines = measured["cosine"].to_list()
    n = int(measured["sentences"].sum())
    return DirectBiasResult(
        layer=vectors.layer,
        direct_bias=mean_estimate(
            [abs(value) for value in cosines], unit="profession", n=n, resampling=resampling, lowest=0.0
        ),
        signed_mean=mean_estimate(cosines, unit="profession", n=n, resampling=resampling, lowest=-1.0),
        baseline=baseline,
        professions=tuple(
            ProfessionCosine(profession=row["profession"], cosine=row["cosine"], n=row["sentences"])
            for row in measured.iter_rows(named=True)
        ),
        sentences=vectors.sentences,
        pronouns={word: vectors.means[word].sentences for word in pronouns.both},
        left_out=dict(sorted(vectors.left_out.items())),
        skipped=skipped_rows(frame, "profession"),
    )


def _warnings_about_pronouns(result: DirectBiasResult, pronouns: GenderPronouns) -> tuple[str, ...]:
    few = [
        f"only {count:,} sentences have {word!r}, so the gender direction is much a matter of chance."
        for word, count in result.pronouns.items()
        if count < FEW_SENTENCES
    ]
    return (pronouns.caveat, *few) if pronouns.caveat else tuple(few)


def _warnings_about_corpus(counts: CorpusCounts) -> tuple[str, ...]:
    warnings = []
    if counts.cuts:
        warnings.append(
            f"sentences of more than {LONGEST_SENTENCE:,} characters were cut in {counts.cuts:,} places of the corpus."
        )
    if counts.records_skipped:
        warnings.append(
            f"{counts.records_skipped:,} lines of JSON Lines were skipped because they are too long."
        )
    if counts.files_left_out:
        names = shortlist(Path(path).name for path in counts.files_left_out)
        warnings.append(f"files of the corpus that are not named like text were left out: {names}.")
    return tuple(warnings)
