"""Direct bias, ready to be measured: a corpus is read once, in bounded memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
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
from evenhand.instruments.direct_bias.corpus_vectors import BESIDE_GENDERED, NOTHING_SOUGHT, CorpusVectors
from evenhand.instruments.direct_bias.gender_direction import (
    RANDOM_DIRECTIONS,
    DirectionWords,
    ProfessionVector,
    gender_direction,
    profession_vector,
    random_baseline,
    words_of_direction,
    words_to_avoid,
)
from evenhand.instruments.direct_bias.instrument import (
    DEFAULT_LANGUAGE,
    NAME,
    SCORES_SCHEMA,
    DirectBiasOptions,
    DirectBiasResult,
    figures_of_cosines,
)
from evenhand.instruments.instrument import (
    Preparation,
    skipped_rows,
    statistics_record,
)
from evenhand.instruments.vectors import cosine, vector_options, vector_warnings
from evenhand.models.model import Model
from evenhand.stats.resampling import Floats, Resampling
from evenhand.store.jobs import Parts
from evenhand.store.records import DatasetRecord, EnvironmentRecord, RunRecord, SampleRecord
from evenhand.store.run import Run
from evenhand.text.sentence_splitting import LONGEST_SENTENCE
from evenhand.text.word_search import WordFinder

FEW_SENTENCES = 100
"""With fewer sentences that have a pronoun, the direction is largely a matter of chance."""


def planned_record(name: str, options: DirectBiasOptions) -> RunRecord:
    """All but the model and its layer."""
    language, limit = options.language or DEFAULT_LANGUAGE, options.limit
    words = words_of_direction(options.pair, language)
    return RunRecord(
        instrument=NAME,
        name=name,
        dataset=DatasetRecord(
            name="corpus",
            language=language,
            source=shortlist(map(str, options.corpus)),
            sha256=corpus_digest(options.corpus),
            sample=None if limit is None else SampleRecord(limit=limit, items=limit, unit="sentences"),
        ),
        data={
            "professions": professions_of(options.professions, language).sha256,
            "gendered words" if words.tell_gender else "words to avoid": sha256_of(
                "\n".join(sorted(_words_to_avoid(words, options))).encode()
            ),
        },
        options={
            "words" if options.pair else "pronouns": list(words.both),
            "random_directions": RANDOM_DIRECTIONS,
        },
        statistics=statistics_record(options.resampling),
        environment=EnvironmentRecord.current(),
    )


def _words_to_avoid(words: DirectionWords, options: DirectBiasOptions) -> frozenset[str]:
    vocabulary = gendered_vocabulary(options.language or DEFAULT_LANGUAGE)
    return words_to_avoid(words, vocabulary) if options.pair else vocabulary


class DirectBiasPreparation(Preparation):
    """A model, a corpus and lists of words."""

    unit = "bytes"

    def __init__(self, model: Model, options: DirectBiasOptions, planned: RunRecord) -> None:
        self.model = model
        self.options = options
        self.language = options.language or DEFAULT_LANGUAGE
        self.professions = professions_of(options.professions, self.language)
        self.pronouns = words_of_direction(options.pair, self.language)
        self.gendered = _words_to_avoid(self.pronouns, options)
        self.layer = model.layer_number(options.layer)
        warnings = model.language_warnings([], name="the corpus", language=self.language)
        self.record = planned.model_copy(
            update={
                "options": {**vector_options(model, self.layer), **planned.options},
                "model": model.record,
                "warnings": (*vector_warnings(model, self.layer), *warnings),
            }
        )

    def measure(self, *, parts: Parts | None = None, progress: Progress | None = None) -> Run:
        """Read the corpus once, and keep running means of vectors."""
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
        vectors.read(islice(text, self.options.limit), parts=parts)
        frame, result = _measured(
            self.professions.occupations, vectors, self.pronouns, resampling=self.options.resampling
        )
        warnings = (
            *self.record.warnings,
            *_warnings_about_pronouns(result, self.pronouns),
            *_warnings_about_corpus(text.counts),
        )
        return Run(
            record=self.record.model_copy(update={"warnings": warnings}), results=(result,), scores=frame
        )


def _measured(
    professions: Sequence[Occupation],
    vectors: CorpusVectors,
    pronouns: DirectionWords,
    *,
    resampling: Resampling,
) -> tuple[pl.DataFrame, DirectBiasResult]:
    """The scores of professions and what they add up to, once the corpus is read."""
    direction = gender_direction(vectors, pronouns)
    found = [
        profession_vector(occupation, vectors, tells_gender=pronouns.tell_gender)
        for occupation in professions
    ]
    _refuse_nothing(found, vectors)
    frame = pl.DataFrame([_row(each, direction, vectors) for each in found], schema=SCORES_SCHEMA)
    known = np.array([each.vector for each in found if each.vector is not None])
    baseline = random_baseline(known, resampling=resampling)
    return frame, _result(frame, vectors, pronouns, baseline=baseline, resampling=resampling)


def professions_of(given: str | Path | None, language: str) -> OccupationsFile:
    """The professions of a file, or the bundled ones of a language."""
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
    pronouns: DirectionWords,
    *,
    baseline: Estimate,
    resampling: Resampling,
) -> DirectBiasResult:
    return DirectBiasResult(
        **figures_of_cosines(frame, resampling=resampling),
        layer=vectors.layer,
        baseline=baseline,
        sentences=vectors.sentences,
        pronouns={word: vectors.means[word].sentences for word in pronouns.both},
        tells_gender=pronouns.tell_gender,
        left_out=dict(sorted(_reasons(vectors.left_out, pronouns).items())),
        skipped=skipped_rows(frame, "profession"),
    )


def _reasons(left_out: Mapping[str, int], words: DirectionWords) -> dict[str, int]:
    """Why sentences were not used, in words that fit the direction."""
    if words.tell_gender:
        return dict(left_out)
    named = {
        NOTHING_SOUGHT: "neither of the two words nor a profession in it",
        BESIDE_GENDERED: "a profession beside one of the two words",
    }
    return {named.get(reason, reason): count for reason, count in left_out.items()}


def _warnings_about_pronouns(result: DirectBiasResult, pronouns: DirectionWords) -> tuple[str, ...]:
    few = [
        f"only {count:,} sentences have {word!r}, so the direction is largely a matter of chance."
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
