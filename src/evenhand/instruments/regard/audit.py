"""Audit: let a model write texts about groups, have them labelled, and analyse them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

import polars as pl

from evenhand.core.errors import EvenhandError
from evenhand.core.files import sha256_of
from evenhand.core.progress import Progress, activity
from evenhand.data.group_texts import GroupText, GroupTexts
from evenhand.data.regard_prompts import PromptSet, load_prompts
from evenhand.instruments.instrument import (
    InstrumentOptions,
    Preparation,
    statistics_record,
)
from evenhand.instruments.regard.analysis import LabelPairs, RegardAnalysisOptions
from evenhand.instruments.regard.comparison import CLASSIFIER, DECODING
from evenhand.instruments.regard.content import ContentFiles, ContentLists
from evenhand.instruments.regard.evaluation import assemble_regard
from evenhand.instruments.regard.generation import PUBLISHED_DECODING, refuse_lack_of_texts, write_texts
from evenhand.instruments.regard.results import NAME, LabellingClassifier
from evenhand.models.references import ModelRef
from evenhand.models.requests import GenerationOptions, Write
from evenhand.store.jobs import Parts
from evenhand.store.records import DatasetRecord, EnvironmentRecord, RunRecord, SampleRecord
from evenhand.store.run import Run, run_name

DEFAULT_LANGUAGE = "en"
TEXTS_FILE = "texts.csv"
_PREFIX_LETTERS = 24
"""Of a prefix in the name of a run."""

FEWEST_TEXTS = 10
"""Texts per prompt with which shares are more than chance."""


@dataclass(frozen=True, slots=True)
class SampledTexts:
    """Texts of which people labelled a sample.

    Attributes:
        texts: With people's labels where they are among the texts.
        other_texts: Labels of the sample where it is of other texts, which a classifier labelled too.
        warnings: What was not used of the sample.
    """

    texts: GroupTexts
    other_texts: LabelPairs | None = None
    warnings: tuple[str, ...] = ()


class RegardLabeller(Protocol):
    """Labels texts about groups: a classifier that is open."""

    @property
    def description(self) -> LabellingClassifier:
        """What a result says about it."""
        ...

    def refuse_unsuitable(self, language: str) -> None:
        """Raise an error if its labels say nothing about texts in a language."""
        ...

    @property
    def sample_digest(self) -> str | None:
        """Digest of the texts that people labelled too; None without any."""
        ...

    def label(self, texts: GroupTexts) -> SampledTexts:
        """The same texts with labels, and with people's where there are any."""
        ...


@dataclass(frozen=True, kw_only=True)
class RegardOptions(InstrumentOptions):
    """Which texts a model writes, and how they are labelled and analysed.

    ``data`` is a set of prompts, or texts that are written and labelled already; the prompts that ship in the language
    if None. ``limit`` takes a sample of the contexts over their kinds.
    """

    groups: Path | None = field(default=None, metadata={"help": "CSV with group and words."})
    contexts: Path | None = field(default=None, metadata={"help": "CSV with context and perhaps kind."})
    texts: int = field(default=PUBLISHED_DECODING.samples, metadata={"help": "Texts per prompt."})
    new_tokens: int = field(
        default=PUBLISHED_DECODING.max_new_tokens, metadata={"help": "Most new tokens of a text."}
    )
    temperature: float | None = field(
        default=None, metadata={"help": "Of sampling; 0.7 as published if not given."}
    )
    top_p: float | None = field(
        default=None, metadata={"help": "Nucleus that is sampled from; 0.92 as published if not given."}
    )
    text_seed: int = field(default=PUBLISHED_DECODING.seed, metadata={"help": "Seed of the texts."})
    classifier: str | Path | RegardLabeller | None = field(
        default=None, metadata={"help": "Folder of the classifier that labels texts."}
    )
    labelled: tuple[Path, ...] = field(
        default=(), metadata={"help": "Annotations of a random sample of the texts, or of others."}
    )
    margin: float = field(default=5.0, metadata={"help": "The largest gap that is called no difference."})
    lexicon: Path | None = field(default=None, metadata={"help": "CSV with category and word."})
    occupations: Path | None = field(default=None, metadata={"help": "CSV with occupation and forms."})
    review: Path | None = field(default=None, metadata={"help": "Matches of the lexicon with verdicts."})

    @property
    def decoding(self) -> GenerationOptions:
        """How texts are decoded."""
        published = PUBLISHED_DECODING
        return GenerationOptions(
            max_new_tokens=self.new_tokens,
            samples=self.texts,
            temperature=published.temperature if self.temperature is None else self.temperature,
            top_p=published.top_p if self.top_p is None else self.top_p,
            seed=self.text_seed,
        )

    @property
    def prompts(self) -> PromptSet:
        """What the model goes on from."""
        return self.all_prompts.sampled(self.limit)

    @property
    def all_prompts(self) -> PromptSet:
        """The prompts without a limit."""
        if isinstance(self.data, PromptSet):
            return self.data
        if self.data is not None:
            raise EvenhandError(
                f"Regard was given the data {self.data!r}. Give groups and contexts as files: groups=FILE and "
                "contexts=FILE."
            )
        return load_prompts(self.language or DEFAULT_LANGUAGE, groups=self.groups, contexts=self.contexts)

    @property
    def lists(self) -> ContentLists:
        """What is looked for in the texts."""
        files = ContentFiles(lexicon=self.lexicon, occupations=self.occupations, review=self.review)
        language = self.data.language if isinstance(self.data, GroupTexts) else self.prompts.language
        return ContentLists.load(language, files)


def audit_name(ref: ModelRef, options: RegardOptions) -> str:
    """The name of a run that was given none.

    One with a prefix has its first words and a digest at the end, so it does not replace that without, and comes behind
    it in every list.
    """
    data = options.data if isinstance(options.data, GroupTexts) else options.all_prompts
    name = run_name(
        ref.short_name,
        instrument=NAME,
        dataset=data.name.removesuffix(f"({data.language})"),
        language=data.language,
        limit=options.limit,
    )
    if not ref.prefix:
        return name
    words = re.sub(r"[^a-z0-9]+", "-", ref.prefix.casefold())[:_PREFIX_LETTERS].strip("-")
    return "-".join(filter(None, (name, "prefix", words, sha256_of(ref.prefix.encode())[:4])))


def planned_record(name: str, labeller: RegardLabeller, options: RegardOptions) -> RunRecord:
    """The record of an audit without its model."""
    prompts, decoding = options.prompts, options.decoding
    contexts, of = len(prompts.contexts), len(options.all_prompts.contexts)
    return RunRecord(
        instrument=NAME,
        name=name,
        dataset=DatasetRecord(
            name=prompts.name,
            language=prompts.language,
            source=prompts.name,
            sha256=prompts.sha256,
            items=len(prompts.prompts) * decoding.samples,
            sample=SampleRecord.taken(options.limit, items=contexts, of=of, unit="contexts"),
        ),
        data={
            **options.lists.digests,
            **({"labelled": labeller.sample_digest} if labeller.sample_digest else {}),
        },
        options={
            "margin": options.margin,
            CLASSIFIER: labeller.description.fingerprint,
            DECODING: _decoding_record(decoding),
            "texts": decoding.samples,
            "text_seed": decoding.seed,
        },
        statistics=statistics_record(options.resampling),
        environment=EnvironmentRecord.current(),
    )


class RegardAudit(Preparation):
    """A model, prompts and a classifier."""

    unit = "texts"

    def __init__(
        self, model: Any, labeller: RegardLabeller, options: RegardOptions, planned: RunRecord
    ) -> None:
        self.model = model
        self.prompts = options.prompts
        self.lists = options.lists
        self.labeller = labeller
        self.decoding = options.decoding
        classifier = self.labeller.description.about([group.words for group in self.prompts.groups])
        self.analysis = RegardAnalysisOptions(
            margin=options.margin,
            classifier=classifier,
            resampling=options.resampling,
        )
        warning = classifier.warning
        self.record = planned.model_copy(
            update={"model": model.record, "warnings": (warning,) if warning else ()}
        )

    @property
    def notices(self) -> tuple[str, ...]:
        """What the texts cost, and what is odd about the options."""
        notices = []
        prefix = self.model.ref.prefix
        if prefix and not prefix[-1].isspace():
            notices.append(
                f"The prefix {prefix!r} does not end with a space, so it runs into the first word of every prompt."
            )
        if self.decoding.samples < FEWEST_TEXTS:
            notices.append(
                f"There are {self.decoding.samples} texts per prompt. With fewer than {FEWEST_TEXTS}, shares are "
                "mostly chance."
            )
        requests = (
            Write(prompt.text, self.decoding, number) for number, prompt in enumerate(self.prompts.prompts)
        )
        cost = self.model.describe_cost(requests, parts=self.kept_answers)
        return tuple(notices if cost is None else (*notices, cost))

    @property
    def _place_of_group(self) -> pl.Expr:
        """Groups are compared in the order of their file, also where the first texts about one are skipped."""
        places = {group.name: place for place, group in enumerate(self.prompts.groups)}
        return pl.col("group").replace_strict(places, return_dtype=pl.Int64)

    def measure(self, *, parts: Parts | None = None, progress: Progress | None = None) -> Run:
        """Write texts, label those that can be used, and analyse them."""
        frame = write_texts(self.model, self.prompts, self.decoding, parts=parts, progress=progress)
        refuse_lack_of_texts(frame, self.prompts)
        return self.assemble(frame)

    def assemble(self, frame: pl.DataFrame) -> Run:
        """Label the texts that can be used, and analyse them.

        Args:
            frame: What was written after the prompts, as ``write_texts`` gives it.
        """
        kept = frame.filter(pl.col("skipped_reason").is_null()).sort(
            self._place_of_group, maintain_order=True
        )
        texts = GroupTexts(
            name=self.record.name,
            language=self.prompts.language,
            texts=tuple(
                GroupText(text=row["text"], group=row["group"], context=row["context"], kind=row["kind"])
                for row in kept.iter_rows(named=True)
            ),
            source=self.prompts.name,
            left_out=_left_out(frame),
        )
        with activity("labelling texts"):
            sampled = self.labeller.label(texts)
        with activity("estimating"):
            run = assemble_regard(
                self.record.model_copy(update={"warnings": (*self.record.warnings, *sampled.warnings)}),
                sampled.texts,
                replace(self.analysis, other_texts=sampled.other_texts),
                lists=self.lists,
            )
        return replace(run, scores=run.scores.with_columns(kept["sample"], kept["raw"], kept["finish"]))


def _left_out(frame: pl.DataFrame) -> dict[str, dict[str, int]]:
    """Skipped texts by reason and by group."""
    counts: dict[str, dict[str, int]] = {}
    for reason, group in frame.select("skipped_reason", "group").drop_nulls().iter_rows():
        own = counts.setdefault(reason, {})
        own[group] = own.get(group, 0) + 1
    return counts


def text_files(scores: pl.DataFrame) -> dict[str, str]:
    """Files for a run folder by name: the texts that a model wrote, in the columns that ``regard evaluate`` reads."""
    if "raw" not in scores.columns:
        return {}
    return {TEXTS_FILE: scores.select("text", "label", "group", "context", "kind", "raw").write_csv()}


def _decoding_record(options: GenerationOptions) -> dict[str, Any]:
    """What must be the same in two runs that are compared; the prefix is the model's own."""
    return {
        name: value
        for name, value in options.to_record().items()
        if name not in ("samples", "seed", "prefix")
    }
