"""Knowledge: does a model know the gender of a pronoun that another word settles?

*The queen took off BLANK crown*: whatever a model expects of occupations, here *her* is right and *his* is wrong. The
share of sentences in which the right pronoun is the likelier says whether it still tells the two apart, and the
evidence gap, log2 P(right) - log2 P(wrong), by how much. A mitigation that makes two pronouns the same lowers every
lean, and both of these.

A sentence and its twin about somebody of the other gender are much alike, so intervals resample pairs of twins. A model
that writes is also asked to go on after the words before the pronoun; the first pronoun that it writes agrees or not.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import polars as pl

from evenhand.core.errors import ComparisonError, DatasetError, EvenhandError
from evenhand.core.estimates import Estimate
from evenhand.core.frozen import FrozenModel
from evenhand.core.progress import Progress
from evenhand.core.settled import PronounRole, SettledBy, SettledSet
from evenhand.data.corpora import sentences
from evenhand.data.settled import load_settled, read_settled, settled_in_text
from evenhand.instruments.instrument import (
    Instrument,
    InstrumentOptions,
    Preparation,
    ScoresLayout,
    Skipped,
    default_name,
    skipped_rows,
    statistics_record,
)
from evenhand.instruments.settled_scoring import (
    NONSENSE_EVERY,
    WHOLE,
    SettledAnswer,
    ask_settled,
    sense_estimate,
)
from evenhand.instruments.vectors import mean_estimate
from evenhand.instruments.word_scoring import WordScorer
from evenhand.models.capabilities import FillsBlanks, Generates, Model, ScoresText, has_capability
from evenhand.models.generation import GenerationOptions
from evenhand.models.questions import filled_context
from evenhand.models.references import ModelRef
from evenhand.models.text_model import cost_notices, measurable
from evenhand.runs.certificates import BiasRow
from evenhand.runs.comparison import ALL_ITEMS
from evenhand.runs.figures import Figure
from evenhand.runs.records import DatasetRecord, EnvironmentRecord, RunRecord
from evenhand.runs.run import Run
from evenhand.runs.store import Parts
from evenhand.stats.resampling import Resampling

NAME = "knowledge"

SHARE_RIGHT, GAP, SENSE, AGREEMENT = "share_right", "gap", "sense", "agreement"

TITLES = {
    SHARE_RIGHT: "Share of settled sentences that are right",
    GAP: "Evidence gap",
    SENSE: "Share in which a pronoun beats nonsense",
    AGREEMENT: "Share of continuations that agree",
}

DEFAULT_LANGUAGE = "en"

CONTINUATION = GenerationOptions(max_new_tokens=12, temperature=0.0)
"""Greedy, and long enough for a pronoun."""

DOES_NOT_WRITE = "the model does not write on after an opening"

_WORD = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True, kw_only=True)
class KnowledgeOptions(InstrumentOptions):
    """Which settled sentences are asked.

    ``data`` is a set of them or a CSV file; the bundled ones of the language if None. ``limit`` takes the first.
    """

    corpus: tuple[Path, ...] = field(
        default=(), metadata={"help": "Text files or folders whose settled sentences are asked instead."}
    )


class KnowledgeResult(FrozenModel):
    """What a model knows of the gender of pronouns that another word settles."""

    kind: Literal["knowledge"] = "knowledge"
    method: str
    n: int
    """Sentences that could be scored."""
    share_right: Estimate
    """100 x share of sentences in which the right pronoun is the likelier; guessing gives 50."""
    gap: Estimate
    """Mean of log2 P(right) - log2 P(wrong)."""
    sense: Estimate
    """100 x share in which the right pronoun beats a nonsense word."""
    agreement: Estimate
    """100 x share of continuations whose first pronoun is of the settled gender, of those that have one."""
    by_gender: dict[str, Estimate]
    by_settling: dict[str, Estimate]
    """Shares right by the kind of word that settles the gender."""
    by_role: dict[str, Estimate]
    """Shares right by what the pronoun is in its sentence."""
    skipped: tuple[Skipped, ...] = ()


SCORES_SCHEMA: Mapping[str, pl.DataType] = {
    "sentence": pl.String(),
    "pair": pl.String(),
    "gender": pl.String(),
    "settled_by": pl.String(),
    "role": pl.String(),
    "text": pl.String(),
    "right": pl.String(),
    "wrong": pl.String(),
    "nonsense": pl.String(),
    "gap": pl.Float64(),
    "is_right": pl.Float64(),
    "beats_nonsense": pl.Float64(),
    "continuation": pl.String(),
    "agrees": pl.Float64(),
    "skipped_reason": pl.String(),
}
"""Columns of the scores, one row per sentence. ``gap`` is in bits. ``agrees`` has no value where the model wrote no
pronoun."""


class KnowledgeInstrument(Instrument[KnowledgeOptions]):
    """How often the pronoun that another word settles is the likelier one, and by how much."""

    name = NAME
    version = "knowledge.v1"
    title = "Knowledge"
    summary = "Whether a model knows the gender of a pronoun that another word settles."
    needs = (FillsBlanks, ScoresText)
    options_type = KnowledgeOptions
    result_type = KnowledgeResult
    scores_layout = ScoresLayout(
        SCORES_SCHEMA, key=("sentence",), optional=("continuation", "skipped_reason")
    )

    @property
    def measures(self) -> tuple[str, ...]:
        """The names of its figures."""
        return tuple(TITLES)

    def refuse_impossible(self, options: KnowledgeOptions) -> None:
        """Refuse sentences that cannot be read."""
        settled_of(options)

    def run_name(self, ref: ModelRef, options: KnowledgeOptions) -> str:
        """Model, language of the sentences and instrument."""
        return default_name(ref.short_name, _language(options), self.name)

    def prepare(self, model: Model, options: KnowledgeOptions, *, name: str | None = None) -> Preparation:
        """Load the sentences, and say what the record will be."""
        self.refuse_unable(model)
        return KnowledgePreparation(model, settled_of(options), options, name=name)

    def figures(self, run: Run) -> tuple[Figure, ...]:
        """Of all sentences, and the shares right of parts of them."""
        result: KnowledgeResult = run.result
        whole = [
            _figure(name, (ALL_ITEMS,), getattr(result, name), is_headline=name == SHARE_RIGHT)
            for name in TITLES
        ]
        parts = {**result.by_gender, **result.by_settling, **result.by_role}
        return (*whole, *(_figure(SHARE_RIGHT, (ALL_ITEMS, name), own) for name, own in parts.items()))

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
                "it settles. Give more text, or leave --corpus away for the bundled sentences."
            )
        return found.first(options.limit)
    if isinstance(options.data, SettledSet):
        return options.data.first(options.limit)
    own = options.data is not None
    loaded = read_settled(Path(options.data), language=language) if own else load_settled(language)
    return loaded.first(options.limit)


class KnowledgePreparation(Preparation):
    """A model and settled sentences."""

    unit = "sentences"

    def __init__(
        self, model: Model, settled: SettledSet, options: KnowledgeOptions, *, name: str | None
    ) -> None:
        self.options = options
        self.scorer = WordScorer(measurable(model))
        # Where whole sentences are scored, what comes later tells more about the later words than about the pronoun.
        self.settled = settled = settled.read_from_the_left() if self.scorer.by_sentence else settled
        writes = has_capability(model, Generates) and has_capability(model, ScoresText)
        self.writer: Generates | None = model if writes and isinstance(model, Generates) else None
        self.record = RunRecord(
            instrument=NAME,
            name=name or default_name(model.ref.short_name, settled.language, NAME),
            dataset=DatasetRecord(
                name=f"{settled.name} (knowledge)",
                language=settled.language,
                source=settled.name,
                sha256=settled.sha256,
                items=len(settled.sentences),
            ),
            options={
                "scoring": self.scorer.description,
                "continuations": CONTINUATION.to_record() if self.writer else None,
                "limit": options.limit,
                "libraries": dict(self.scorer.model.libraries),
            },
            model=model.record,
            statistics=statistics_record(options.resampling),
            environment=EnvironmentRecord.current(),
            warnings=self.scorer.model.language_warnings(
                [filled_context(sentence.text, sentence.right)[0] for sentence in settled.sentences],
                name="the settled sentences",
                language=settled.language,
            ),
        )

    @property
    def notices(self) -> tuple[str, ...]:
        """What asking costs."""
        texts = (
            filled_context(sentence.text, word)[0]
            for sentence in self.settled.sentences
            for word in (sentence.right, sentence.wrong)
        )
        return cost_notices(self.scorer.model, texts)

    def measure(self, *, parts: Parts | None = None, progress: Progress | None = None) -> Run:
        """Ask for the words in every gap, and let a model that writes go on."""
        answers = ask_settled(
            self.scorer,
            self.settled.sentences,
            beside_nonsense=self.settled.sample(NONSENSE_EVERY),
            max_tokens=self.options.max_tokens,
            parts=parts,
            progress=progress,
        )
        frame = knowledge_frame(self.settled, answers, self._continuations(parts))
        result = knowledge_result(
            frame,
            method=self.scorer.description,
            sense=sense_estimate(answers, resampling=self.options.resampling),
            resampling=self.options.resampling,
        )
        return Run(record=self.record, results=(result,), scores=frame)

    def _continuations(self, parts: Parts | None) -> dict[str, str]:
        """What the model writes after each opening, by opening."""
        if self.writer is None:
            return {}
        openings = list(dict.fromkeys(sentence.opening for sentence in self.settled.sentences))
        texts = self.writer.generate(openings, CONTINUATION, parts=parts)
        return {openings[text.prompt]: text.text for text in texts}


def knowledge_frame(
    settled: SettledSet, answers: Sequence[SettledAnswer], continuations: Mapping[str, str]
) -> pl.DataFrame:
    """One row per sentence with the model's answer, which is missing where there is a reason to skip it."""
    genders = settled.genders()
    rows = []
    for answer in answers:
        sentence = answer.sentence
        continuation = continuations.get(sentence.opening)
        first = first_gender(continuation or "", genders)
        rows.append(
            {
                "sentence": sentence.id,
                "pair": sentence.pair,
                "gender": "male" if sentence.is_male else "female",
                "settled_by": sentence.settled_by.value,
                "role": sentence.role.value,
                "text": sentence.text,
                "right": sentence.right,
                "wrong": sentence.wrong,
                "nonsense": sentence.nonsense,
                "gap": _or_null(answer.gap),
                "is_right": _or_null(answer.is_right),
                "beats_nonsense": _or_null(answer.beats_nonsense),
                "continuation": continuation,
                "agrees": None if first is None else float(first is sentence.is_male),
                "skipped_reason": answer.problem,
            }
        )
    return pl.DataFrame(rows, schema=SCORES_SCHEMA)


def first_gender(text: str, genders: Mapping[str, bool]) -> bool | None:
    """Whether the first pronoun of a text is of a man; None if it has no pronoun."""
    return next((genders[word] for word in map(str.casefold, _WORD.findall(text)) if word in genders), None)


def knowledge_result(
    frame: pl.DataFrame, *, method: str, sense: Estimate, resampling: Resampling
) -> KnowledgeResult:
    """What the answers add up to."""

    def share(rows: pl.DataFrame) -> Estimate:
        return pair_mean(rows, "is_right", scale=WHOLE, resampling=resampling)

    wrote = frame["continuation"].drop_nulls()
    return KnowledgeResult(
        method=method,
        n=frame["is_right"].drop_nulls().len(),
        share_right=share(frame),
        gap=pair_mean(frame, "gap", resampling=resampling),
        sense=sense,
        agreement=pair_mean(frame, "agrees", scale=WHOLE, resampling=resampling)
        if len(wrote)
        else Estimate.undefined(DOES_NOT_WRITE),
        by_gender=_parts(frame, "gender", ("male", "female"), share),
        by_settling=_parts(frame, "settled_by", tuple(SettledBy), share),
        by_role=_parts(frame, "role", tuple(PronounRole), share),
        skipped=skipped_rows(frame, "sentence"),
    )


def pair_mean(
    frame: pl.DataFrame, column: str, *, resampling: Resampling, scale: float | None = None
) -> Estimate:
    """The mean over pairs of twins of a column, with an interval that resamples pairs.

    Args:
        frame: Rows with a column ``pair``.
        column: What is averaged.
        resampling: Resamples, seed and confidence level.
        scale: What a share of one is written as; None for what is no share.
    """
    known = frame.drop_nulls(column)
    means = known.group_by("pair", maintain_order=True).agg(pl.col(column).mean())[column]
    return mean_estimate(
        [(scale or 1.0) * mean for mean in means],
        unit="pair of sentences",
        n=len(known),
        resampling=resampling,
        lowest=0.0 if scale else -math.inf,
        highest=scale or math.inf,
    )


def _parts(
    frame: pl.DataFrame, column: str, names: Sequence[str], share: Callable[[pl.DataFrame], Estimate]
) -> dict[str, Estimate]:
    present = set(frame[column].to_list())
    return {str(name): share(frame.filter(pl.col(column) == name)) for name in names if name in present}


def _or_null(value: float) -> float | None:
    return None if math.isnan(value) else value
