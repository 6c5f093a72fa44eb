"""The runner: everything that instruments over items have in common, so that one of them says only what is its own.

Such an instrument says which items there are, what is requested of a model for one, how the answers become a row of
numbers, and which measures are taken over the rows. Reading options, the record and its fingerprint, asking in
batches, resuming, skips with their reasons, language warnings, the control, figures, comparison and computing a
finished run again are done here.
"""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import islice
from typing import Any, ClassVar, Literal, Protocol, TypeVar

import numpy as np
import polars as pl

from evenhand.core.errors import ComparisonError
from evenhand.core.estimates import Estimate
from evenhand.core.files import sha256_of
from evenhand.core.frozen import FrozenModel
from evenhand.core.progress import Progress
from evenhand.core.sampling import sample
from evenhand.instruments.controls import Control
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
from evenhand.instruments.measures import RowMeasure, keyed_units
from evenhand.models.model import Model
from evenhand.models.references import ModelRef
from evenhand.models.requests import Answer, ScoringRequest, texts_of
from evenhand.runs.certificate_files import resampling_of
from evenhand.runs.figures import Figure, FigureGroups, Group
from evenhand.runs.records import DatasetRecord, EnvironmentRecord, RunRecord, SampleRecord
from evenhand.runs.run import Run, run_name
from evenhand.runs.store import Parts
from evenhand.stats.resampling import Resampling

Row = Mapping[str, object]
"""What a row of the scores says, by column."""


class Items(Protocol):
    """The items of a run, and where they come from."""

    @property
    def name(self) -> str:
        """Of the dataset."""
        ...

    @property
    def language(self) -> str:
        """Its code."""
        ...

    @property
    def source(self) -> str:
        """Where they were read from."""
        ...

    @property
    def sha256(self) -> str:
        """Of the file."""
        ...

    def __iter__(self) -> Iterator[Any]: ...

    def __len__(self) -> int: ...

    def sampled(self, limit: int | None) -> Items:
        """A sample of them; all if there is no limit."""
        ...


@dataclass(frozen=True, slots=True)
class ItemSet:
    """Items of an instrument's own kind, for instruments that have no type of their own for a set of them."""

    name: str
    language: str
    items: tuple[Any, ...]
    source: str = "bundled"
    cluster: Callable[[Any], str] = str
    """What an item is drawn from; a sample is spread over that."""

    @property
    def sha256(self) -> str:
        """Of the items."""
        return sha256_of(repr(self.items).encode())

    def __iter__(self) -> Iterator[Any]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)

    def sampled(self, limit: int | None) -> ItemSet:
        """A sample over clusters; all items if there is no limit."""
        return replace(self, items=sample(self.items, limit, cluster=self.cluster))


class MeasuredFigure(FrozenModel):
    """One figure of a result."""

    measure: str
    group: tuple[str, ...]
    estimate: Estimate


class ItemsResult(GatedResult):
    """The figures of a run over items."""

    kind: Literal["items"] = "items"
    method: str
    figures: tuple[MeasuredFigure, ...]
    skipped: tuple[Skipped, ...] = ()

    def headline_estimates(self) -> dict[str, Estimate]:
        """By the key of the figure."""
        return {".".join((*own.group, own.measure)): own.estimate for own in self.figures}


Options = TypeVar("Options", bound=InstrumentOptions)


class ItemInstrument(Instrument[Options]):
    """An instrument over items. See ``docs/extending.md`` for one in full."""

    row_measures: ClassVar[tuple[RowMeasure, ...]]
    """In the order in which figures are shown."""
    words: ClassVar[tuple[str, ...]]
    """Columns of text of the scores, one row per item; ``language`` is filled in, ``skipped_reason`` is added."""
    numbers: ClassVar[tuple[str, ...]]
    """Columns of numbers, empty in rows that were skipped."""
    columns: ClassVar[Mapping[str, pl.DataType]]
    """Made of these."""
    key: ClassVar[str]
    """The column that no two rows have alike."""
    text: ClassVar[str]
    """The column with the text of an item, by which two runs know that they asked the same."""
    scored: ClassVar[str]
    """A column that has a value in every row that was not skipped."""
    items_are: ClassVar[str] = "items"
    """What progress and samples are counted in."""
    control: ClassVar[Control | None] = None
    result_type = ItemsResult

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """The layout of the scores follows from the columns."""
        super().__init_subclass__(**kwargs)
        if "words" in vars(cls):
            words, numbers = (dict.fromkeys(cls.words, pl.String()), dict.fromkeys(cls.numbers, pl.Float64()))
            cls.columns = {**words, **numbers, "skipped_reason": pl.String()}
            cls.scores_layout = ScoresLayout(
                cls.columns, key=(cls.key,), optional=("skipped_reason",), scored=(cls.scored,)
            )

    @abstractmethod
    def items(self, options: Options) -> Items:
        """All items; ``limit`` is none of its business."""

    @abstractmethod
    def facts(self, item: Any) -> Row:
        """What a row says of an item before a model is asked."""

    @abstractmethod
    def requests(self, item: Any) -> Mapping[str, ScoringRequest]:
        """What is requested of a model for an item, by name."""

    @abstractmethod
    def score(self, item: Any, answers: Mapping[str, Answer]) -> Row:
        """What the answers say, in columns of the scores; none of them has a problem."""

    def check_model(self, model: Model) -> None:
        """Raise a ModelError for a model that cannot be asked."""
        self.refuse_unable(model)

    def method_of(self, model: Model) -> Mapping[str, str]:
        """How a model is asked, in words, for the record."""
        ways = (model.way_of(request) for request in self.needs if model.has_capability(request))
        return {"method": next((": ".join(way) for way in ways if way), "as the model answers")}

    @property
    def measures(self) -> tuple[str, ...]:
        """The names of its figures."""
        return tuple(measure.name for measure in self.row_measures)

    def figure_groups(self, options: Options) -> FigureGroups:
        """The groups that the items have, whatever a model answers."""
        blank = dict.fromkeys(self.numbers, 0.0)
        items = self.items(options)
        rows = pl.DataFrame([{**self.facts(item), **blank} for item in items], schema=dict(self.columns))
        return {measure.name: [group for group, _ in measure.units(rows)] for measure in self.row_measures}

    def refuse_impossible(self, options: Options) -> None:
        """Refuse items that cannot be read."""
        self.items(options)

    def run_name(self, ref: ModelRef, options: Options) -> str:
        """Model, instrument, dataset, language and limit."""
        items = self.items(options)
        return run_name(
            ref.short_name,
            instrument=self.name,
            dataset=items.name,
            language=items.language,
            limit=options.limit,
        )

    def planned_record(self, ref: ModelRef, options: Options, *, name: str) -> RunRecord:  # noqa: ARG002
        """All but the model and how it is asked."""
        return self._planned(name, self.items(options), options)

    def _planned(self, name: str, items: Items, options: Options) -> RunRecord:
        asked = len(items.sampled(options.limit))
        return RunRecord(
            instrument=self.name,
            name=name,
            dataset=DatasetRecord(
                name=items.name,
                language=items.language,
                source=items.source,
                sha256=items.sha256,
                items=asked,
                sample=SampleRecord.taken(options.limit, items=asked, of=len(items), unit=self.items_are),
            ),
            statistics=statistics_record(options.resampling),
            environment=EnvironmentRecord.current(),
        )

    def prepare(self, model: Model, options: Options, *, name: str | None = None) -> Preparation:
        """Load the items, and say what the record will be."""
        self.check_model(model)
        items = self.items(options)
        record = self._planned(name or self.run_name(model.ref, options), items, options)
        return ItemPreparation(self, model, items, options, record)

    def figures(self, run: Run) -> tuple[Figure, ...]:
        """Every measure of all items and of each group."""
        by_name = {measure.name: measure for measure in self.row_measures}
        return tuple(
            _figure(by_name[own.measure], own.group, own.estimate)
            for own in run.result.figures
            if own.measure in by_name
        )

    def result(
        self, rows: pl.DataFrame, *, method: str, sense: Estimate, resampling: Resampling
    ) -> ItemsResult:
        """What rows add up to, void where the control failed."""
        result = ItemsResult(
            method=method,
            figures=tuple(
                MeasuredFigure(measure=measure.name, group=group, estimate=estimate)
                for measure in self.row_measures
                for group, estimate in measure.estimates(rows, resampling).items()
            ),
            skipped=skipped_rows(rows, self.key),
        )
        return behind_gate(result, sense) if self.control else result

    def results_again(self, run: Run) -> tuple[ItemsResult, ...]:
        """The figures that the rows give; what the control read is no part of the rows."""
        stated: ItemsResult = run.result
        resampling = resampling_of(run.record.statistics)
        return (self.result(run.scores, method=stated.method, sense=stated.sense, resampling=resampling),)

    def units(self, run: Run) -> pl.DataFrame:
        """What each figure is the mean of."""
        return keyed_units(self.row_measures, run.scores)

    def refuse_incomparable(self, first: Run, second: Run) -> None:
        """Refuse runs without an item that both answered."""
        sides = [run.scores.drop_nulls(self.scored).select(self.key, self.text) for run in (first, second)]
        if sides[0].join(sides[1], on=[self.key, self.text]).is_empty():
            raise ComparisonError(
                f"{first.name} and {second.name} have none of the {self.items_are} in common that both could answer."
            )


def _figure(measure: RowMeasure, group: Group, estimate: Estimate) -> Figure:
    is_headline = measure.is_headline and len(group) == 1
    return Figure(
        measure.name, group, estimate, measure.title, measure.neutral, measure.unit, is_headline=is_headline
    )


def _own_options(options: InstrumentOptions) -> dict[str, object]:
    """Options that the instrument adds to those of every instrument, as far as they are given and plain values."""
    common = {each.name for each in fields(InstrumentOptions)}
    own = {each.name: getattr(options, each.name) for each in fields(options) if each.name not in common}
    return {name: value for name, value in own.items() if isinstance(value, str | int | float)}


class ItemPreparation(Preparation):
    """A model and the items that it is asked about."""

    def __init__(
        self, instrument: ItemInstrument[Any], model: Model, items: Items, options: Any, record: RunRecord
    ) -> None:
        self.instrument = instrument
        self.model = model
        self.options = options
        self.unit = instrument.items_are
        self.asked: Sequence[Any] = tuple(items.sampled(options.limit))
        self.has_control = instrument.control is not None
        self._language = items.language
        warnings = model.language_warnings(list(self._texts()), name=items.name, language=items.language)
        self.method = instrument.method_of(model)
        own = {**self.method, **_own_options(options)}
        self.record = record.model_copy(update={"options": own, "model": model.record, "warnings": warnings})

    @property
    def notices(self) -> tuple[str, ...]:
        """What asking costs."""
        cost = self.model.describe_cost(
            text
            for item in self.asked
            for request in self.instrument.requests(item).values()
            for text in texts_of(request)
        )
        return () if cost is None else (cost,)

    def measure(self, *, parts: Parts | None = None, progress: Progress | None = None) -> Run:
        """Ask for every item, then what shows whether the model knows the words."""
        rows = self._rows(parts, progress)
        sense = self._sense(parts)
        instrument, options = self.instrument, self.options
        result = instrument.result(
            rows,
            method="; ".join(self.method.values()),
            sense=sense,
            resampling=options.resampling,
        )
        warnings = self.record.warnings
        if self.has_control:
            warnings = (*warnings, *gate_warning(self.model.ref.id, sense))
        record = self.record.model_copy(update={"warnings": warnings})
        return Run(record=record, results=(result,), scores=rows)

    def sample(self, generator: np.random.Generator) -> Preparation:
        """Some items, without the control."""
        few = copy.copy(self)
        few.asked = drawn(self.asked, SAMPLED, generator)
        few.has_control = False
        return few

    def _rows(self, parts: Parts | None, progress: Progress | None) -> pl.DataFrame:
        instrument = self.instrument
        names = [str(instrument.facts(item)[instrument.key]) for item in self.asked]
        requests = [instrument.requests(item) for item in self.asked]
        answers = iter(
            self.model.answer(
                [request for own in requests for request in own.values()],
                items=[name for name, own in zip(names, requests, strict=True) for _ in own],
                whole_items=True,
                known_words=True,
                max_tokens=self.options.max_tokens,
                parts=parts,
                progress=progress,
            )
        )
        rows = [
            self._row(item, {name: next(answers) for name in own})
            for item, own in zip(self.asked, requests, strict=True)
        ]
        return pl.DataFrame(rows, schema=dict(instrument.columns))

    def _row(self, item: Any, answers: Mapping[str, Answer]) -> Row:
        problem = next((answer.problem for answer in answers.values() if answer.problem), None)
        scored = {} if problem else self.instrument.score(item, answers)
        return {
            "language": self._language,
            **self.instrument.facts(item),
            **scored,
            "skipped_reason": problem,
        }

    def _sense(self, parts: Parts | None) -> Estimate:
        if not self.has_control or self.instrument.control is None:
            return Estimate.undefined("the control is not asked of a sample")
        return self.instrument.control.sense(
            self.model,
            language=self._language,
            resampling=self.options.resampling,
            max_tokens=self.options.max_tokens,
            parts=parts,
        )

    def _texts(self) -> Iterable[str]:
        """One of each item."""
        for item in self.asked:
            yield from islice(
                (text for own in self.instrument.requests(item).values() for text in texts_of(own)), 1
            )
