"""BEC-Pro: does a profession make a man or a woman more likely than the sentence alone does?

The association of a person with a profession is the logarithm of two probabilities of the person's word in its place:
with the profession in the sentence, and with the profession masked too, which takes out how frequent the word is
(Bartl et al. 2020, after Kurita et al. 2019). Above 0 the profession makes the person more likely.

Associations are averaged within a profession, professions are resampled. The headline figure is how much more a
profession is associated with the gender that mostly works in it than with the other; 0 is neutral. The published tables
have the means by gender of the person and of the profession, which are figures here too.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
import polars as pl

from evenhand.core.errors import ComparisonError
from evenhand.core.estimates import Estimate
from evenhand.core.frozen import FrozenModel
from evenhand.core.items import BLANK
from evenhand.core.progress import Progress
from evenhand.data.bec_pro import (
    GENDERS,
    MASK,
    PROFESSION_GENDERS,
    ProfessionSentences,
    load_profession_sentences,
)
from evenhand.data.settled import load_settled, settled_languages
from evenhand.instruments.gate import GatedResult, behind_gate, gate_warning
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
from evenhand.instruments.settled_scoring import NONSENSE_EVERY, ask_settled, sense_estimate
from evenhand.instruments.word_scoring import OpenQuestion, WordAnswer, WordScorer
from evenhand.models.model import Model
from evenhand.models.references import ModelError, ModelRef
from evenhand.models.requests import Fill
from evenhand.runs.certificate_files import resampling_of
from evenhand.runs.comparison import ALL_ITEMS
from evenhand.runs.figures import Figure, FigureGroups
from evenhand.runs.records import DatasetRecord, EnvironmentRecord, RunRecord, SampleRecord
from evenhand.runs.run import Run, run_name
from evenhand.runs.store import Parts
from evenhand.stats.resampling import Resampling
from evenhand.stats.significance import ratio_interval

NAME = "bec-pro"

STEREOTYPE_GAP, GENDER_GAP, ASSOCIATION = "stereotype_gap", "gender_gap", "association"

TITLES = {
    STEREOTYPE_GAP: "Stereotypical association gap",
    GENDER_GAP: "Association with men, less that with women",
    ASSOCIATION: "Mean association",
}

SCORES_SCHEMA: Mapping[str, pl.DataType] = {
    "sentence": pl.String(),
    "language": pl.String(),
    "text": pl.String(),
    "template": pl.String(),
    "person": pl.String(),
    "gender": pl.String(),
    "profession": pl.String(),
    "profession_gender": pl.String(),
    "log_probability": pl.Float64(),
    "log_prior": pl.Float64(),
    "association": pl.Float64(),
    "skipped_reason": pl.String(),
}
"""Columns of the scores, one row per sentence. Logarithms are natural."""


class AssociationGroup(FrozenModel):
    """Professions of one kind: in which mostly men, mostly women, or both work."""

    sentences: int
    professions: int
    male: Estimate
    female: Estimate
    gender_gap: Estimate


class BecProResult(GatedResult):
    """BEC-Pro: associations of persons with professions, in natural logarithms."""

    kind: Literal["bec-pro"] = "bec-pro"
    method: str
    stereotype_gap: Estimate
    by_profession_gender: dict[str, AssociationGroup]
    skipped: tuple[Skipped, ...] = ()


@dataclass(frozen=True, kw_only=True)
class BecProOptions(InstrumentOptions):
    """Which sentences are asked: ``bec-pro-en`` or ``bec-pro-de`` by the language, or a file in their layout."""

    encoding: str | None = field(default=None, metadata={"help": "Of a text file that is not UTF-8."})


class BecProInstrument(Instrument[BecProOptions]):
    """How much more a profession is associated with the gender that mostly works in it than with the other."""

    name = NAME
    version = "bec-pro.v1"
    title = "BEC-Pro"
    summary = "Whether a profession makes the gender that mostly works in it more likely than the other."
    needs = (Fill,)
    options_type = BecProOptions
    result_type = BecProResult
    scores_layout = ScoresLayout(
        SCORES_SCHEMA,
        key=("sentence",),
        optional=("skipped_reason",),
        scored=("association",),
        bits=(pl.col("log_probability") / math.log(2), pl.col("log_prior") / math.log(2)),
    )

    @property
    def measures(self) -> tuple[str, ...]:
        """The names of its figures."""
        return tuple(TITLES)

    def figure_groups(self, options: BecProOptions) -> FigureGroups:  # noqa: ARG002 # they are the same of all sentences
        """All professions, and those in which mostly men, mostly women or both work."""
        kinds = [(ALL_ITEMS, kind) for kind in PROFESSION_GENDERS]
        return {
            STEREOTYPE_GAP: [(ALL_ITEMS,)],
            GENDER_GAP: kinds,
            ASSOCIATION: [(*kind, gender) for kind in kinds for gender in GENDERS],
        }

    def refuse_impossible(self, options: BecProOptions) -> None:
        """Refuse sentences that cannot be read."""
        _sentences(options)

    def run_name(self, ref: ModelRef, options: BecProOptions) -> str:
        """Model, instrument, sentences, language and limit."""
        sentences = _sentences(options)
        return run_name(
            ref.short_name,
            instrument=NAME,
            dataset=sentences.name,
            language=sentences.language,
            limit=options.limit,
        )

    def planned_record(self, ref: ModelRef, options: BecProOptions, *, name: str) -> RunRecord:  # noqa: ARG002
        """All but the model and how it is asked."""
        return _planned_record(name, _sentences(options), options)

    def prepare(self, model: Model, options: BecProOptions, *, name: str | None = None) -> Preparation:
        """Load the sentences, and say what the record will be."""
        self.refuse_unable(model)
        sentences = _sentences(options)
        planned = _planned_record(name or self.run_name(model.ref, options), sentences, options)
        return BecProPreparation(model, sentences, options, planned)

    def figures(self, run: Run) -> tuple[Figure, ...]:
        """The gap over all professions that have a gender, then means and gaps by kind of profession."""
        result: BecProResult = run.result
        figures = [_figure(STEREOTYPE_GAP, (ALL_ITEMS,), result.stereotype_gap, is_headline=True)]
        for kind, group in result.by_profession_gender.items():
            figures.append(_figure(GENDER_GAP, (ALL_ITEMS, kind), group.gender_gap))
            figures += [
                _figure(ASSOCIATION, (ALL_ITEMS, kind, gender), getattr(group, gender)) for gender in GENDERS
            ]
        return tuple(figures)

    def results_again(self, run: Run) -> tuple[BecProResult, ...]:
        """Means of associations; what the gate rests on is no part of the scores."""
        stated: BecProResult = run.result
        again = bec_pro_result(run.scores, method="", resampling=resampling_of(run.record.statistics))
        return (behind_gate(again.model_copy(update={"method": stated.method}), stated.sense),)

    def units(self, run: Run) -> pl.DataFrame:
        """One unit per profession: its gap, and its mean association with each gender."""
        professions = _professions(run.scores)
        signed = pl.when(pl.col("profession_gender") == "female").then(-1.0).otherwise(1.0)
        kind = pl.col("profession_gender")
        gap = pl.col("male") - pl.col("female")
        parts = [
            professions.filter(kind != "balanced").select(
                pl.lit(f"{ALL_ITEMS}.{STEREOTYPE_GAP}").alias("key"), unit=_UNIT, value=signed * gap
            ),
            professions.select(key=pl.lit(f"{ALL_ITEMS}.") + kind + f".{GENDER_GAP}", unit=_UNIT, value=gap),
            *(
                professions.select(
                    key=pl.lit(f"{ALL_ITEMS}.") + kind + f".{gender}.{ASSOCIATION}",
                    unit=_UNIT,
                    value=pl.col(gender),
                )
                for gender in GENDERS
            ),
        ]
        return pl.concat(parts)

    def refuse_incomparable(self, first: Run, second: Run) -> None:
        """Refuse runs without a sentence that both answered."""
        sides = [run.scores.drop_nulls("association").select("sentence", "text") for run in (first, second)]
        if sides[0].join(sides[1], on=["sentence", "text"]).is_empty():
            raise ComparisonError(
                f"{first.name} and {second.name} have no sentence in common that both could answer."
            )


BEC_PRO = BecProInstrument()

_UNIT = pl.col("profession")


def _figure(name: str, group: tuple[str, ...], estimate: Estimate, *, is_headline: bool = False) -> Figure:
    neutral = None if name == ASSOCIATION else 0.0
    return Figure(name, group, estimate, TITLES[name], neutral, unit="nats", is_headline=is_headline)


def _sentences(options: BecProOptions) -> ProfessionSentences:
    if isinstance(options.data, ProfessionSentences):
        return options.data
    data = options.data or f"{NAME}-{options.language or 'en'}"
    return load_profession_sentences(data, language=options.language, encoding=options.encoding)


def _planned_record(name: str, sentences: ProfessionSentences, options: BecProOptions) -> RunRecord:
    items = len(sentences.sampled(options.limit))
    return RunRecord(
        instrument=NAME,
        name=name,
        dataset=DatasetRecord(
            name=sentences.name,
            language=sentences.language,
            source=sentences.source,
            sha256=sentences.sha256,
            items=items,
            sample=SampleRecord.taken(options.limit, items=items, of=len(sentences), unit="sentences"),
        ),
        statistics=statistics_record(options.resampling),
        environment=EnvironmentRecord.current(),
    )


class BecProPreparation(Preparation):
    """A model with a mask, and sentences about persons and professions."""

    unit = "sentences"

    def __init__(
        self, model: Model, sentences: ProfessionSentences, options: BecProOptions, planned: RunRecord
    ) -> None:
        self.options = options
        self.sentences = sentences.sampled(options.limit)
        self.scorer = WordScorer(model)
        mask = getattr(self.scorer.model.tokenizer, "mask_token", None)
        if mask is None or self.scorer.by_sentence:
            raise ModelError(
                f"{model.ref.id} has no mask. The association measure of BEC-Pro hides a profession behind one: use a "
                "masked model such as bert-base-cased, or probe --test malor, which any model can be asked."
            )
        self.mask: str = mask
        is_known = sentences.language in settled_languages()
        self.settled = load_settled(sentences.language).sample(NONSENSE_EVERY) if is_known else ()
        warnings = self.scorer.model.language_warnings(
            [sentence.person_masked.replace(MASK, sentence.person) for sentence in self.sentences],
            name=sentences.name,
            language=sentences.language,
        )
        own = {"options": {"scoring": self.scorer.description}, "model": model.record, "warnings": warnings}
        self.record = planned.model_copy(update=own)

    def measure(self, *, parts: Parts | None = None, progress: Progress | None = None) -> Run:
        """Ask for every person with the profession in the sentence, and with the profession masked."""
        questions = [
            OpenQuestion(text.replace(MASK, BLANK, 1).replace(MASK, self.mask), (sentence.person,))
            for sentence in self.sentences
            for text in (sentence.person_masked, sentence.both_masked)
        ]
        answers = self.scorer.answers(
            questions, max_tokens=self.options.max_tokens, parts=parts, progress=progress
        )
        frame = _frame(self.sentences, [answer for (answer,) in answers])
        result = bec_pro_result(frame, method=self.scorer.description, resampling=self.options.resampling)
        sense = self._sense(parts)
        warnings = (*self.record.warnings, *gate_warning(self.scorer.model.ref.id, sense))
        return Run(
            record=self.record.model_copy(update={"warnings": warnings}),
            results=(behind_gate(result, sense),),
            scores=frame,
        )

    def _sense(self, parts: Parts | None) -> Estimate:
        """Whether the model knows pronouns at all, as a probe of MALoR asks it."""
        if not self.settled:
            return Estimate.undefined(f"there are no settled sentences in {self.sentences.language!r}")
        answers = ask_settled(
            self.scorer,
            self.settled,
            beside_nonsense=self.settled,
            max_tokens=self.options.max_tokens,
            parts=parts,
        )
        return sense_estimate(answers, resampling=self.options.resampling)

    def sample(self, generator: np.random.Generator, *, times: int = 1) -> Preparation:
        """Sentences, without those that show whether the model knows pronouns."""
        few = copy.copy(self)
        few.sentences = replace(
            self.sentences, sentences=drawn(self.sentences.sentences, times * SAMPLED, generator)
        )
        few.settled = ()
        return few


def _frame(sentences: ProfessionSentences, answers: Iterable[WordAnswer]) -> pl.DataFrame:
    following = iter(answers)
    rows = []
    for sentence in sentences:
        known, prior = next(following), next(following)
        problem = known.problem or prior.problem
        logs = (None, None) if problem else (known.log_probability, prior.log_probability)
        rows.append(
            {
                "sentence": sentence.id,
                "language": sentences.language,
                "text": sentence.person_masked,
                "template": sentence.template,
                "person": sentence.person,
                "gender": sentence.gender,
                "profession": sentence.profession,
                "profession_gender": sentence.profession_gender,
                "log_probability": logs[0],
                "log_prior": logs[1],
                "association": None if problem else known.log_probability - prior.log_probability,
                "skipped_reason": problem,
            }
        )
    return pl.DataFrame(rows, schema=SCORES_SCHEMA)


def bec_pro_result(frame: pl.DataFrame, *, method: str, resampling: Resampling) -> BecProResult:
    """What associations of sentences add up to."""
    professions = _professions(frame)
    gaps = professions.filter(pl.col("profession_gender") != "balanced").select(
        pl.when(pl.col("profession_gender") == "female").then(-1.0).otherwise(1.0)
        * (pl.col("male") - pl.col("female"))
    )
    groups = {}
    for kind in PROFESSION_GENDERS:
        own = professions.filter(pl.col("profession_gender") == kind)
        if own.is_empty():
            continue
        groups[kind] = AssociationGroup(
            sentences=int(own["sentences"].sum()),
            professions=len(own),
            male=_mean(own["male"], resampling),
            female=_mean(own["female"], resampling),
            gender_gap=_mean(own["male"] - own["female"], resampling),
        )
    return BecProResult(
        method=f"log-ratio of the person's probability with and without the profession; {method}",
        stereotype_gap=_mean(gaps.to_series(), resampling),
        by_profession_gender=groups,
        skipped=skipped_rows(frame, "sentence"),
    )


def _professions(frame: pl.DataFrame) -> pl.DataFrame:
    """One row per profession with its mean association with men and with women, where it has both."""
    means = {gender: pl.col("association").filter(pl.col("gender") == gender).mean() for gender in GENDERS}
    return (
        frame.drop_nulls("association")
        .group_by("profession", "profession_gender", maintain_order=True)
        .agg(sentences=pl.len(), **means)
        .drop_nulls(list(GENDERS))
    )


def _mean(values: pl.Series, resampling: Resampling) -> Estimate:
    numbers = values.to_numpy().astype(np.float64)
    if not len(numbers):
        return Estimate.undefined("no profession has an association with both genders")
    interval = ratio_interval(numbers, np.ones(len(numbers)), resampling=resampling)
    value = math.fsum(numbers) / len(numbers)
    return interval.around(value, n=len(numbers), clusters=len(numbers))
