"""Knowledge: does a model know the gender of a pronoun that another word settles?

*The queen took off BLANK crown*: whatever a model expects of occupations, here *her* is right and *his* is wrong. The
share of sentences in which the right pronoun is the likelier says whether it still tells the two apart, and the
evidence gap, log2 P(right) - log2 P(wrong), by how much. A mitigation that makes two pronouns the same lowers every
lean, and both of these.

A sentence and its twin about somebody of the other gender are much alike, so intervals resample pairs of twins. A model
that writes is also asked to go on after the words before the pronoun; the first pronoun that it writes agrees or not.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import polars as pl

from evenhand.core.errors import ComparisonError, DatasetError, EvenhandError, shortlist
from evenhand.core.estimates import Estimate
from evenhand.core.probes import GENDERS
from evenhand.core.progress import Progress
from evenhand.core.settled import PronounRole, SettledBy, SettledSet
from evenhand.data.corpora import sentences
from evenhand.data.settled import load_settled, read_settled, settled_in_text
from evenhand.instruments.instrument import (
    SAMPLED,
    Instrument,
    InstrumentOptions,
    Preparation,
    ScoresLayout,
    drawn,
    statistics_record,
)
from evenhand.instruments.knowledge.quality import (
    AGREEMENT as AGREEMENT_ROW,
)
from evenhand.instruments.knowledge.quality import EVIDENCE, MEASURE, evidence_by_role, quality_of_runs
from evenhand.instruments.knowledge.results import (
    AGREEMENT,
    GAP,
    SCORES_SCHEMA,
    SENSE,
    SHARE_RIGHT,
    TITLES,
    KnowledgeResult,
    knowledge_frame,
    knowledge_result,
)
from evenhand.instruments.settled_scoring import NONSENSE_EVERY, WHOLE, ask_settled, sense_estimate
from evenhand.instruments.word_scoring import WordScorer
from evenhand.models.model import Model
from evenhand.models.references import ModelRef
from evenhand.models.requests import Continue, Fill, GenerationOptions, Write, filled_text
from evenhand.stats.resampling import Resampling
from evenhand.store.certificate_bias import BiasRow
from evenhand.store.certificate_files import resampling_of
from evenhand.store.certificate_quality import QualityRow
from evenhand.store.comparison import ALL_ITEMS
from evenhand.store.figures import Figure, FigureGroups
from evenhand.store.jobs import Parts
from evenhand.store.records import DatasetRecord, EnvironmentRecord, RunRecord, SampleRecord
from evenhand.store.run import Run, run_name

NAME = "knowledge"

DEFAULT_LANGUAGE = "en"

CONTINUATION = GenerationOptions(max_new_tokens=12, temperature=0.0)
"""Greedy, and long enough for a pronoun."""


@dataclass(frozen=True, kw_only=True)
class KnowledgeOptions(InstrumentOptions):
    """Which settled sentences are asked.

    ``data`` is a set of them or a CSV file; the bundled ones of the language if None. ``limit`` takes a sample of whole
    pairs.
    """

    corpus: tuple[Path, ...] = field(
        default=(), metadata={"help": "Text files or folders whose settled sentences are asked instead."}
    )


class KnowledgeInstrument(Instrument[KnowledgeOptions]):
    """How often the pronoun that another word settles is the likelier one, and by how much."""

    name = NAME
    version = "knowledge.v1"
    title = "Knowledge"
    summary = "Whether a model knows the gender of a pronoun that another word settles."
    needs = (Fill, Continue)
    options_type = KnowledgeOptions
    result_type = KnowledgeResult
    quality_measures = (MEASURE, EVIDENCE, AGREEMENT_ROW)
    scores_layout = ScoresLayout(
        SCORES_SCHEMA,
        key=("sentence",),
        optional=("continuation", "skipped_reason"),
        bits=(pl.col("gap"),),
    )

    @property
    def measures(self) -> tuple[str, ...]:
        """The names of its figures."""
        return tuple(TITLES)

    def figure_groups(self, options: KnowledgeOptions) -> FigureGroups:  # noqa: ARG002 # they are the same of all sentences
        """All sentences; for the share right also their parts."""
        parts = (*GENDERS, *SettledBy, *PronounRole)
        whole = ((ALL_ITEMS,),)
        return {
            **dict.fromkeys(self.measures, whole),
            SHARE_RIGHT: [*whole, *((ALL_ITEMS, str(name)) for name in parts)],
        }

    def refuse_impossible(self, options: KnowledgeOptions) -> None:
        """Refuse sentences that cannot be read."""
        settled_of(options)

    def run_name(self, ref: ModelRef, options: KnowledgeOptions) -> str:
        """Model, instrument, sentences, language and limit."""
        return run_name(
            ref.short_name,
            instrument=NAME,
            dataset=_data_name(options),
            language=_language(options),
            limit=options.limit,
        )

    def planned_record(self, ref: ModelRef, options: KnowledgeOptions, *, name: str) -> RunRecord:  # noqa: ARG002
        """All but the model and how it is asked."""
        return _planned_record(name, settled_of(options), options)

    def prepare(self, model: Model, options: KnowledgeOptions, *, name: str | None = None) -> Preparation:
        """Load the sentences, and say what the record will be."""
        self.refuse_unable(model)
        return KnowledgePreparation(
            model, settled_of(options), options, name=name or self.run_name(model.ref, options)
        )

    def figures(self, run: Run) -> tuple[Figure, ...]:
        """Of all sentences, and the shares right of parts of them."""
        result: KnowledgeResult = run.result
        whole = [
            _figure(name, (ALL_ITEMS,), getattr(result, name), is_headline=name == SHARE_RIGHT)
            for name in TITLES
        ]
        parts = {**result.by_gender, **result.by_settling, **result.by_role}
        return (*whole, *(_figure(SHARE_RIGHT, (ALL_ITEMS, name), own) for name, own in parts.items()))

    def results_again(self, run: Run) -> tuple[KnowledgeResult, ...]:
        """Shares and means; sense and why a model did not write on are no part of the scores."""
        stated: KnowledgeResult = run.result
        again = knowledge_result(
            run.scores,
            method=stated.method,
            sense=stated.sense,
            resampling=resampling_of(run.record.statistics),
        )
        kept: dict[str, object] = {"skipped": stated.skipped}
        if not (again.agreement.defined or stated.agreement.defined):
            kept["agreement"] = stated.agreement
        return (again.model_copy(update=kept),)

    def units(self, run: Run) -> pl.DataFrame:
        """One unit per pair of twins: the mean over both sentences."""
        columns = {SHARE_RIGHT: WHOLE * pl.col("is_right"), GAP: pl.col("gap"),
                   SENSE: WHOLE * pl.col("beats_nonsense"), AGREEMENT: WHOLE * pl.col("agrees")}  # fmt: skip
        return pl.concat(
            run.scores.select("pair", value.alias("value"))
            .drop_nulls("value")
            .group_by("pair", maintain_order=True)
            .agg(pl.col("value").mean())
            .select(pl.lit(f"{ALL_ITEMS}.{name}").alias("key"), pl.col("pair").alias("unit"), "value")
            for name, value in columns.items()
        )

    def bias_rows(
        self,
        before: Run,  # noqa: ARG002 # knowledge is no bias
        after: Run,  # noqa: ARG002
        *,
        resampling: Resampling,  # noqa: ARG002
    ) -> dict[str, BiasRow]:
        """None: a certificate counts knowledge as quality."""
        return {}

    def quality_rows(
        self, before: Run, after: Run, *, margins: Mapping[str, float], resampling: Resampling
    ) -> tuple[QualityRow, ...]:
        """What a certificate says of it: share right, evidence and agreement of both models against their margins."""
        return quality_of_runs(before, after, margins=margins, resampling=resampling)

    def kept_evidence(self, before: Run, after: Run, *, resampling: Resampling) -> dict[str, Estimate]:
        """The share of the evidence gap that is left: of all sentences, and by the role of the pronoun."""
        return evidence_by_role(before, after, resampling=resampling)

    def refuse_incomparable(self, first: Run, second: Run) -> None:
        """Refuse runs without a sentence that both answered."""
        sides = [run.scores.drop_nulls("is_right").select("sentence", "text") for run in (first, second)]
        if sides[0].join(sides[1], on=["sentence", "text"]).is_empty():
            raise ComparisonError(
                f"{first.name} and {second.name} have no settled sentence in common that both could answer."
            )


KNOWLEDGE = KnowledgeInstrument()


def _figure(name: str, group: tuple[str, ...], estimate: Estimate, *, is_headline: bool = False) -> Figure:
    unit = "bits" if name == GAP else "points"
    return Figure(name, group, estimate, TITLES[name], None, unit=unit, is_headline=is_headline)


def _language(options: KnowledgeOptions) -> str:
    if isinstance(options.data, SettledSet):
        return options.data.language
    return options.language or DEFAULT_LANGUAGE


def settled_of(options: KnowledgeOptions) -> SettledSet:
    """The sentences that are asked: those of the options, or the bundled ones of a language."""
    language = _language(options)
    if options.corpus:
        if options.data is not None:
            raise EvenhandError("Knowledge was given --data and --corpus. Give the one or the other.")
        found = settled_in_text(sentences(options.corpus), language=language)
        if not found.sentences:
            raise DatasetError(
                f"No sentence of {', '.join(map(str, options.corpus))} has a pronoun whose gender another word before "
                "it settles. Give more text, or leave out --corpus for the bundled sentences."
            )
        return found
    if isinstance(options.data, SettledSet):
        return options.data
    own = options.data is not None
    return read_settled(Path(options.data), language=language) if own else load_settled(language)


def _data_name(options: KnowledgeOptions) -> str:
    """Of the sentences, which are not read for it."""
    if options.corpus:
        return shortlist((path.stem for path in options.corpus), 2)
    if isinstance(options.data, SettledSet):
        return options.data.name
    return "settled" if options.data is None else Path(options.data).stem


def _planned_record(name: str, settled: SettledSet, options: KnowledgeOptions) -> RunRecord:
    items = len(settled.sampled(options.limit).sentences)
    return RunRecord(
        instrument=NAME,
        name=name,
        dataset=DatasetRecord(
            name=f"{settled.name} (knowledge)",
            language=settled.language,
            source=settled.name,
            sha256=settled.sha256,
            items=items,
            sample=SampleRecord.taken(
                options.limit, items=items, of=len(settled.sentences), unit="sentences"
            ),
        ),
        statistics=statistics_record(options.resampling),
        environment=EnvironmentRecord.current(),
    )


class KnowledgePreparation(Preparation):
    """A model and settled sentences."""

    unit = "sentences"

    def __init__(self, model: Model, settled: SettledSet, options: KnowledgeOptions, *, name: str) -> None:
        self.options = options
        self.scorer = WordScorer(model)
        # Where whole sentences are scored, what comes later tells more about the later words than about the pronoun.
        settled = settled.read_from_the_left() if self.scorer.by_sentence else settled
        self.settled = settled.sampled(options.limit)
        self.beside_nonsense = self.settled.sample(NONSENSE_EVERY)
        self.genders = self.settled.genders()
        writes = model.has_capability(Write) and model.has_capability(Continue)
        self.writer = model if writes else None
        self.record = _planned_record(name, settled, options).model_copy(
            update={
                "options": {
                    "scoring": self.scorer.description,
                    "continuations": CONTINUATION.to_record() if self.writer else None,
                    "libraries": dict(self.scorer.model.libraries),
                },
                "model": model.record,
                "warnings": self.scorer.model.language_warnings(
                    [filled_text(sentence.text, sentence.right)[0] for sentence in self.settled.sentences],
                    name="the settled sentences",
                    language=settled.language,
                ),
            }
        )

    @property
    def notices(self) -> tuple[str, ...]:
        """What asking costs."""
        texts = (
            Continue("", filled_text(sentence.text, word)[0])
            for sentence in self.settled.sentences
            for word in (sentence.right, sentence.wrong)
        )
        cost = self.scorer.model.describe_cost(texts)
        return () if cost is None else (cost,)

    def measure(self, *, parts: Parts | None = None, progress: Progress | None = None) -> Run:
        """Ask for the words in every gap, and let a model that writes go on."""
        answers = ask_settled(
            self.scorer,
            self.settled.sentences,
            beside_nonsense=self.beside_nonsense,
            max_tokens=self.options.max_tokens,
            parts=parts,
            progress=progress,
        )
        openings, overlong = self._openings()
        frame = knowledge_frame(answers, self._continuations(openings, parts), genders=self.genders)
        result = knowledge_result(
            frame,
            without_continuation=overlong,
            method=self.scorer.description,
            sense=sense_estimate(answers, resampling=self.options.resampling),
            resampling=self.options.resampling,
        )
        return Run(record=self.record, results=(result,), scores=frame)

    def sample(self, generator: np.random.Generator, *, times: int = 1) -> Preparation:
        """Sentences; which of them are asked with a nonsense word stays as it is."""
        few = copy.copy(self)
        few.settled = replace(
            self.settled, sentences=drawn(self.settled.sentences, times * SAMPLED, generator)
        )
        return few

    def _openings(self) -> tuple[list[str], list[str]]:
        """The openings that settle a gender and that the model has room for, and the sentences of the others."""
        if self.writer is None:
            return [], []
        sentences = self.settled.read_from_the_left().sentences
        openings = list(dict.fromkeys(sentence.opening for sentence in sentences))
        problems = self.writer.problems([Write(opening, CONTINUATION) for opening in openings])
        skipped = {opening for opening, problem in zip(openings, problems, strict=True) if problem}
        asked = [opening for opening in openings if opening not in skipped]
        return asked, [sentence.id for sentence in sentences if sentence.opening in skipped]

    def _continuations(self, openings: Sequence[str], parts: Parts | None) -> dict[str, str]:
        """What the model writes after each opening, by opening."""
        if self.writer is None or not openings:
            return {}
        texts = self.writer.generate(openings, CONTINUATION, parts=parts)
        return {openings[text.prompt]: text.text for text in texts}
