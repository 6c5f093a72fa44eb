"""What an instrument is: one way of measuring a model, under a versioned name."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
import polars as pl
from pydantic import BaseModel, TypeAdapter

from evenhand.core.errors import EvenhandError, shortlist
from evenhand.core.frozen import FrozenModel
from evenhand.core.progress import Progress
from evenhand.data.predictions import LARGEST_SCORE
from evenhand.instruments.figure_readers import FigureReader, MeasuringReader
from evenhand.models.model import Model, missing_capability
from evenhand.models.references import ModelRef
from evenhand.stats.resampling import Resampling
from evenhand.store.calibration import Expectation
from evenhand.store.certificate_bias import BiasRow
from evenhand.store.claims import Claim
from evenhand.store.comparison import Comparison, ComparisonOptions, compare_units
from evenhand.store.coverage import Coverage
from evenhand.store.energy import energy_meter
from evenhand.store.figures import Figure, FigureGroups, Group
from evenhand.store.jobs import Parts, open_job
from evenhand.store.records import RunRecord, StatisticsRecord
from evenhand.store.run import Run, TextFile, fingerprint_of_run, open_run

ANSWERS = "answers"
"""The stage of a job that keeps what a model answered."""


class Skipped(FrozenModel):
    """Why something was not scored, and how much of it."""

    reason: str
    count: int
    examples: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class InstrumentOptions:
    """What every instrument can be told. Fields that an instrument adds may carry ``help`` in their metadata."""

    data: Any = field(
        default=None, metadata={"help": "A dataset's name or a file; the instrument's own if not given."}
    )
    language: str | None = field(default=None, metadata={"help": "Which language of the data."})
    limit: int | None = field(default=None, metadata={"help": "Size of a sample; all items if not given."})
    max_tokens: int | None = field(default=None, metadata={"help": "Most tokens in a batch."})
    resampling: Resampling = field(default_factory=Resampling)


Options = TypeVar("Options", bound=InstrumentOptions)


class Preparation(ABC):
    """A measurement that is ready to start: everything that determines it is known and checked."""

    record: RunRecord
    """As it will be; ``fingerprint`` is final, counts and warnings come with the results."""
    unit: str = "items"
    """What progress is counted in."""
    kept_answers: Parts | None = None
    """What an interrupted measurement kept; set before ``notices`` are read, which may count what is left."""

    @property
    def notices(self) -> tuple[str, ...]:
        """What should be known before the work starts."""
        return ()

    @abstractmethod
    def measure(self, *, parts: Parts | None = None, progress: Progress | None = None) -> Run:
        """Ask the model, and make a run of the answers.

        Args:
            parts: Where answers are kept as they come; those that are there are not asked for again.
            progress: Told how much is done.
        """

    def sample(self, generator: np.random.Generator, *, times: int = 1) -> Preparation | None:  # noqa: ARG002 # for those that override it
        """The same over a few of its items, drawn at random, to ask for them once more; ``times`` as many as usual.

        None where an answer cannot be asked for by itself.
        """
        return None


def keep_run(
    preparation: Preparation,
    place: Path,
    *,
    replace: bool = False,
    progress: Progress | None = None,
    pages: Callable[[Run], Iterable[TextFile]] = lambda _: (),
    claim: Claim | None = None,
    complete: Callable[[Run], Run] = lambda run: run,
) -> Run:
    """The run at a place: opened if it is this very one, else measured, from where an interrupted process left off.

    Args:
        preparation: What is measured.
        place: The run folder.
        replace: Start afresh, and let another run give way.
        progress: Told how much is done.
        pages: Further text files for the run folder, with their names.
        claim: On the place, if it was claimed before.
        complete: Adds to the record of the run before it is saved.
    """
    fingerprint = preparation.record.fingerprint
    with open_job(place, fingerprint, fingerprint_at=fingerprint_of_run, replace=replace, claim=claim) as job:
        if job.is_done:
            return open_run(place)
        model = preparation.record.model
        with energy_meter(model.device if model else None) as meter:
            run = complete(preparation.measure(parts=job.parts(ANSWERS), progress=progress))
        if model:
            run = dataclasses.replace(run, record=run.record.model_copy(update={"energy": meter.record}))
        run.save(job, pages=pages(run))
        return run


@dataclass(frozen=True, slots=True)
class ScoresLayout:
    """How the scores of an instrument are stored. What is read from a run folder is held against it.

    Attributes:
        columns: By name; scores may have others.
        key: Columns that no two rows have alike.
        optional: Columns without a value in some rows; those of floats and lists always may.
        scored: Columns that have a value in every row without a ``skipped_reason``.
        bits: What the model answered, in bits; empty where answers are no probabilities.
        decisions: Of the rows that ``Run.items`` gives, two columns each: figures count which of them is the larger.
    """

    columns: Mapping[str, pl.DataType]
    key: tuple[str, ...]
    optional: tuple[str, ...] = ()
    scored: tuple[str, ...] = ()
    bits: tuple[pl.Expr, ...] = ()
    decisions: tuple[tuple[str, str], ...] = ()

    def checked(self, scores: pl.DataFrame) -> pl.DataFrame:
        """The scores, if they are in this layout.

        Raises:
            ValueError: With the first thing that is not.
        """
        for name, kind in self.columns.items():
            if name not in scores.columns:
                raise ValueError(f"the column {name} is missing")
            column = scores[name]
            if column.dtype != kind:
                raise ValueError(f"the column {name} is of the type {column.dtype}, not {kind}")
            if kind.is_float():
                if not (column.drop_nulls().abs() <= LARGEST_SCORE).all():
                    raise ValueError(f"the column {name} has values that are not finite or too large")
            elif name not in self.optional and not kind.is_nested() and column.null_count():
                raise ValueError(f"the column {name} lacks values")
        if self.scored:
            kept = scores.filter(pl.col("skipped_reason").is_null())
            missing = [name for name in self.scored if kept[name].null_count()]
            if missing:
                raise ValueError(f"the column {missing[0]} lacks values in rows that were not skipped")
        if scores.select(self.key).is_duplicated().any():
            raise ValueError(f"several rows have the same {' and '.join(self.key)}")
        return scores


class Instrument(ABC, Generic[Options]):
    """One way of measuring a model."""

    name: ClassVar[str]
    """The name under which it is registered."""
    version: ClassVar[str]
    """Changes with the meaning of its figures: ``malor.v1``."""
    title: ClassVar[str]
    """Its name for people."""
    summary: ClassVar[str]
    """What it measures, in one sentence."""
    needs: ClassVar[tuple[type, ...]]
    """Capabilities, of which a model needs one."""
    options_type: ClassVar[type[InstrumentOptions]]
    result_type: ClassVar[type[BaseModel]]
    expectation: ClassVar[Expectation | None] = None
    """How its headline figures must respond to planted bias, where the lab calibrates it as a whole."""
    gives_one_result: ClassVar[bool] = True
    """Whether a run has one result, or one for each experiment."""
    scores_layout: ClassVar[ScoresLayout | None] = None
    """How its scores are stored; whatever is read is taken where it does not say."""
    unused_options: ClassVar[frozenset[str]] = frozenset()
    """Options of every instrument that this one has no use for; they are refused where they are given."""

    @property
    def measures(self) -> tuple[str, ...]:
        """Names of the measures that its figures have, so that a wrong name is told before anything is measured.

        None are known of an instrument that does not say.
        """
        return ()

    def figure_groups(self, options: Options) -> FigureGroups:  # noqa: ARG002 # for those that override it
        """By measure the groups that figures can be about, so that a wrong name is refused before a model is loaded.

        Data may be read for it. Empty where an instrument does not say; a model may be unable to give some.
        """
        return {}

    def refuse_impossible(self, options: Options) -> None:
        """Raise an error for options that no model can be measured with, before one is loaded.

        Unknown names, languages that the data do not have, files that are missing.
        """

    def refuse_unused(self, options: Options) -> None:
        """Raise an error for an option that would be ignored."""
        for name in sorted(self.unused_options):
            if getattr(options, name) is not None:
                raise EvenhandError(
                    f"{self.title} has no use for the option {name}, which is {getattr(options, name)!r}. Leave it "
                    "out."
                )

    def run_name(self, ref: ModelRef, options: Options) -> str | None:  # noqa: ARG002 # for those that override it
        """What a run is called that is given no name, as far as that is known before the model is loaded.

        Where it is, nobody loads a model for a run that another process is making.
        """
        return None

    def planned_record(self, ref: ModelRef, options: Options, *, name: str) -> RunRecord | None:  # noqa: ARG002
        """The record of a run without what only the loaded model tells; None where nothing is known.

        Where it is, nobody loads a model for a place that holds another run.
        """
        return None

    def other_scoring(self, present: RunRecord, options: Options) -> Mapping[str, str]:  # noqa: ARG002
        """By task the scoring that options ask for where a run was scored in another way.

        As far as that is known before the model is loaded, which has the defaults.
        """
        return {}

    @abstractmethod
    def prepare(self, model: Any, options: Options, *, name: str | None = None) -> Preparation:
        """Load and check what is asked, so that what is left is asking.

        Args:
            model: The model, loaded.
            options: What is measured, and how.
            name: Name of the run.
        """

    def evaluation(self, scores: Path, options: Options, *, name: str | None = None) -> Preparation:  # noqa: ARG002 # for those that override it
        """A run from a file of scores that another tool has computed."""
        raise EvenhandError(
            f"{self.title} is measured with a model: evenhand probe --test {self.name}. Scores that exist are "
            "evaluated for association and crows-pairs."
        )

    @abstractmethod
    def figures(self, run: Run) -> tuple[Figure, ...]:
        """The numbers of a run, those of the whole first."""

    def coverage(self, run: Run) -> Mapping[Group, Coverage]:
        """How many items have scores in a run that was made from a file: of the whole, and of its parts.

        How many there are is not known unless an instrument says so.
        """
        return {(): Coverage(scored=len(run.scores), total=None)} if run.record.predictions else {}

    def reader(self, model: Any, options: Options) -> FigureReader:
        """Reads the headline figures off a model in training, after every epoch."""
        return MeasuringReader.of(self, model, options)

    def units(self, run: Run) -> pl.DataFrame:  # noqa: ARG002 # for those that override it
        """What figures are means of, for paired comparisons: ``key`` of the figure, ``unit`` and ``value``."""
        return pl.DataFrame(schema={"key": pl.String(), "unit": pl.String(), "value": pl.Float64()})

    def compare(self, first: Run, second: Run, options: ComparisonOptions) -> Comparison:
        """Differences between two runs over what both were asked."""
        self.refuse_incomparable(first, second)
        return compare_units(first, second, (self.units(first), self.units(second)), options)

    def refuse_incomparable(self, first: Run, second: Run) -> None:
        """Raise a ComparisonError where two runs have nothing that can be compared."""

    def experiments(self, options: Options) -> tuple[str, ...]:  # noqa: ARG002 # for those that override it
        """What a mitigation can be trained on: the beginnings of figure keys."""
        return ()

    def bias_rows(self, before: Run, after: Run, *, resampling: Resampling) -> dict[str, BiasRow]:
        """What a certificate shows of bias in two runs, by figure key: headline figures that have a neutral value."""
        comparison = self.compare(before, after, ComparisonOptions(resampling=resampling))
        rows = [row for row in comparison.differences if row.neutral is not None]
        return {
            row.key: BiasRow.of(
                row,
                (before.figure(row.key).estimate, after.figure(row.key).estimate),
                measure=self.title if len(rows) == 1 else f"{self.title} {row.key}",
            )
            for row in rows
        }

    def write_results(self, results: Sequence[BaseModel]) -> str:
        """Results as JSON: one object, or a list where there may be several."""
        if self.gives_one_result:
            (result,) = results
            return result.model_dump_json(indent=1) + "\n"
        return _several(self.result_type).dump_json(list(results), indent=1).decode() + "\n"

    def read_results(self, content: bytes) -> tuple[BaseModel, ...]:
        """Results from JSON, in either form."""
        if content.lstrip().startswith(b"["):
            return tuple(_several(self.result_type).validate_json(content))
        return (self.result_type.model_validate_json(content),)

    def read_scores(self, scores: pl.DataFrame) -> pl.DataFrame:
        """Scores as this version has them.

        Raises:
            ValueError: If they are not in the layout of the instrument.
        """
        return self.scores_layout.checked(scores) if self.scores_layout else scores

    def results_again(self, run: Run) -> tuple[BaseModel, ...] | None:  # noqa: ARG002 # for those that override it
        """The results that the scores of a run give; fields that do not follow from scores are as they are stated.

        None where an instrument cannot compute them from scores alone.
        """
        return None

    def extra_files(self, run: Run) -> Mapping[str, str]:  # noqa: ARG002 # for those that override it
        """Further files for the run folder, by name."""
        return {}

    def refuse_unable(self, model: Model) -> None:
        """Raise a ModelError if a model has none of the capabilities that are needed."""
        if not any(model.has_capability(needed) for needed in self.needs):
            raise missing_capability(model, *self.needs, purpose=f"be measured with {self.title}")


def _several(result_type: type[BaseModel]) -> TypeAdapter[list[BaseModel]]:
    return TypeAdapter(list[result_type])  # type: ignore[valid-type] # known only at run time


def statistics_record(resampling: Resampling) -> StatisticsRecord:
    """The record of how intervals and tests were made."""
    return StatisticsRecord(
        resamples=resampling.resamples, seed=resampling.seed, confidence=resampling.confidence
    )


SAMPLED = 16
"""Items that are asked again of answers that are kept."""

Item = TypeVar("Item")


def drawn(items: Sequence[Item], count: int, generator: np.random.Generator) -> tuple[Item, ...]:
    """Some items at random, each as likely as any other, in their order; all of them where there are no more."""
    chosen = generator.choice(len(items), size=min(count, len(items)), replace=False)
    return tuple(items[place] for place in sorted(chosen.tolist()))


MOST_EXAMPLES = 5
"""Names that are given for each reason to skip something."""


def skipped_rows(frame: pl.DataFrame, names: str) -> tuple[Skipped, ...]:
    """The reasons in the column ``skipped_reason``, those that hit most first, with examples from another column."""
    reasons = (
        frame.filter(pl.col("skipped_reason").is_not_null())
        .group_by("skipped_reason", maintain_order=True)
        .agg(pl.len().alias("count"), pl.col(names).head(MOST_EXAMPLES).alias("examples"))
        .sort("count", descending=True, maintain_order=True)
    )
    return tuple(
        Skipped(reason=row["skipped_reason"], count=row["count"], examples=tuple(row["examples"]))
        for row in reasons.iter_rows(named=True)
    )


def skip_warnings(run: Run) -> tuple[str, ...]:
    """What was left out of the results of a run and why, unless its record tells it."""
    return tuple(
        f"{_experiment(result)}skipped, because {row.reason}: {row.count:,} ({shortlist(row.examples, 3)})."
        for result in run.results
        for row in getattr(result, "skipped", ())
        if isinstance(row, Skipped)
    )


def _experiment(result: BaseModel) -> str:
    """The beginning of a line about one of several results of a run."""
    names = (getattr(result, name, None) for name in ("experiment", "direction"))
    told = ", ".join(filter(None, names))
    return f"{told}: " if told else ""
