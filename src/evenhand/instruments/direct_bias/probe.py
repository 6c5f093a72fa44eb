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

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
import polars as pl

from evenhand.core.errors import DatasetError, shortlist
from evenhand.core.estimates import Estimate
from evenhand.core.files import sha256_of
from evenhand.core.probes import Occupation
from evenhand.core.progress import Progress
from evenhand.data.corpora import CorpusCounts, sentences
from evenhand.data.probe_files import OccupationsFile, read_occupations
from evenhand.data.probes import bundled_probe_path, gendered_vocabulary
from evenhand.instruments.association.evaluation import statistics_record
from evenhand.instruments.direct_bias.corpus_vectors import CorpusVectors
from evenhand.instruments.direct_bias.gender_direction import (
    PRONOUNS,
    GenderPronouns,
    ProfessionVector,
    gender_direction,
    profession_vector,
)
from evenhand.instruments.direct_bias.random_directions import RANDOM_DIRECTIONS, random_baseline
from evenhand.instruments.probe_results import DirectBiasResult, ProfessionCosine
from evenhand.instruments.skipped import skipped_rows
from evenhand.instruments.vectors import cosine, mean_estimate, vector_options, vector_warnings
from evenhand.models.identity import record_of
from evenhand.models.language_model import LanguageModel, load_language_model
from evenhand.models.references import ModelRef
from evenhand.runs.probe_runs import ProbeRecord, ProbeRun
from evenhand.runs.records import EnvironmentRecord
from evenhand.stats.resampling import Floats, Resampling
from evenhand.text.sentence_splitting import LONGEST_SENTENCE
from evenhand.text.word_search import WordFinder

TEST = "direct-bias"

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
"""Columns of the scores, a row a profession. ``sentences_left_out`` have the profession beside a gendered word."""


def probe_direct_bias(
    model: str | ModelRef | LanguageModel,
    corpus: str | Path | Iterable[str | Path],
    *,
    language: str = "en",
    layer: int = -1,
    professions: str | Path | None = None,
    name: str | None = None,
    resampling: Resampling | None = None,
    report: Progress | None = None,
) -> ProbeRun:
    """Measure how far professions lean towards the gender direction over a corpus.

    Args:
        model: A name or folder, a reference, or a model already loaded.
        corpus: Files or folders of text, plain, gzip-compressed or JSON Lines. It is read once, in bounded memory.
        language: Of the corpus: ``en`` or ``de``.
        layer: Of the model: 0 is the embeddings, -1 the last layer.
        professions: A file with one a line, or with the columns of a file of occupations; the 60 bundled ones if not
            given.
        name: Name of the run.
        resampling: Resamples, seed and confidence level of the intervals, and the seed of the random directions.
        report: Told how many bytes of the corpus are read, of how many.

    Raises:
        DatasetError: If a file cannot be read, or the corpus lacks one of the pronouns or all professions.
        ModelError: If the model gives no hidden states or has no such layer.
        UnknownNameError: If there are no word lists in the language.
    """
    gendered = gendered_vocabulary(language)
    listed = _professions(professions, language)
    text = sentences(corpus, report=report)
    asked = model if isinstance(model, LanguageModel) else load_language_model(model)
    pronouns = PRONOUNS[language]
    vectors = CorpusVectors(
        asked,
        layer=asked.embedder.layer_number(layer),
        pronouns=WordFinder(pronouns.spellings),
        nouns=WordFinder.of_nouns(form.noun for each in listed.occupations for form in each.forms),
        gendered=gendered,
    )
    vectors.read(text)
    chosen = resampling or Resampling()
    frame, result = _measured(listed.occupations, vectors, pronouns, resampling=chosen)
    record = ProbeRecord(
        name=name or f"{asked.loaded.ref.short_name}_{TEST}_{language}",
        test=TEST,
        language=language,
        data={
            "corpus": text.sha256,
            "professions": listed.sha256,
            "gendered words": sha256_of("\n".join(sorted(gendered)).encode()),
        },
        options=_options(vectors, pronouns),
        model=record_of(asked),
        statistics=statistics_record(chosen),
        environment=EnvironmentRecord.current(),
        warnings=(
            *vector_warnings(asked, vectors.layer),
            *_warnings_about_pronouns(result, pronouns),
            *_warnings_about_corpus(text.counts),
        ),
    )
    return ProbeRun(record=record, results=(result,), scores=frame)


def _options(vectors: CorpusVectors, pronouns: GenderPronouns) -> dict[str, object]:
    """What determines the result besides the data."""
    return {
        **vector_options(vectors.layer),
        "pronouns": list(pronouns.both),
        "random_directions": RANDOM_DIRECTIONS,
    }


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
    return read_occupations(Path(given), language=language, known=bundled.occupations)


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
