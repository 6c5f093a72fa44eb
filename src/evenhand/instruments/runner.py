"""The runner: everything that instruments over items have in common, so that one of them says only what is its own.

Such an instrument says which items there are, what is requested of a model for one, how the answers become a row of
numbers, and which measures are taken over the rows. Reading options, the record and its fingerprint, asking in
batches, resuming, skips with their reasons, language warnings, the control, figures, comparison and computing a
finished run again are done here.
"""

from __future__ import annotations

import copy
import math
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Literal, Protocol, TypeVar

import numpy as np
import polars as pl

from evenhand.core.errors import ComparisonError
from evenhand.core.estimates import Estimate
from evenhand.core.files import sha256_of
from evenhand.core.frozen import FrozenModel
from evenhand.core.items import common_reason
from evenhand.core.progress import Progress
from evenhand.core.sampling import sample
from evenhand.data.pair_scores import UNKNOWN_LANGUAGE
from evenhand.instruments.controls import Control
from evenhand.instruments.gate import NOT_ASKED, GatedResult, behind_gate, gate_warning
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
from evenhand.instruments.measures import WHOLE, RowMeasure, Share, keyed_units
from evenhand.models.model import Model
from evenhand.models.references import ModelRef
from evenhand.models.requests import Answer, ScoringRequest, texts_of
from evenhand.stats.resampling import Resampling
from evenhand.stats.significance import mcnemar_test
from evenhand.store.certificate_bias import BiasRow
from evenhand.store.certificate_files import resampling_of
from evenhand.store.comparison import ALL_ITEMS, Comparison, ComparisonOptions, McNemar
from evenhand.store.coverage import Coverage
from evenhand.store.figures import Figure, FigureGroups, Group
from evenhand.store.jobs import Parts
from evenhand.store.records import DatasetRecord, EnvironmentRecord, ProtocolRecord, RunRecord, SampleRecord
from evenhand.store.run import Run, run_name

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
    log_probs: ClassVar[tuple[str, ...]] = ()
    """Those of them that are natural log-probabilities, which half precision is compared by."""
    decisions: ClassVar[tuple[tuple[str, str], ...]] = ()
    """Two columns each, of which figures count the larger."""
    columns: ClassVar[Mapping[str, pl.DataType]]
    """Made of these."""
    key: ClassVar[str]
    """The column that no two rows have alike."""
    text: ClassVar[str]
    """The column with the text of an item, by which two runs know that they asked the same."""
    scored: ClassVar[str]
    """A column that has a value in every row that was not skipped."""
    certificate_title: ClassVar[str | None] = None
    """What a certificate calls its headline; the title if None."""
    ids_are_shared: ClassVar[bool] = False
    """Whether translations of the items have the same ids, so that runs in two languages compare."""
    known_words: ClassVar[bool] = False
    """Whether an item is skipped that has a word which the tokenizer does not know."""
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
                cls.columns,
                key=(cls.key,),
                optional=("skipped_reason",),
                scored=(cls.scored,),
                bits=tuple(pl.col(name) / math.log(2) for name in cls.log_probs),
                decisions=cls.decisions,
            )

    @abstractmethod
    def items(self, options: Options) -> Items:
        """All items; ``limit`` is none of its business."""

    @abstractmethod
    def facts(self, item: Any) -> Row:
        """What a row says of an item before a model is asked."""

    @abstractmethod
    def requests(self, item: Any, options: Options) -> Mapping[str, ScoringRequest]:
        """What is requested of a model for an item, by name."""

    @abstractmethod
    def score(self, item: Any, answers: Mapping[str, Answer], options: Options) -> Row:
        """What the answers say, in columns of the scores; none of them has a problem."""

    def skip_reason(self, item: Any) -> str | None:  # noqa: ARG002 # for those that override it
        """Why an item is not asked about, whatever the model."""
        return None

    def protocol(self, options: Options) -> ProtocolRecord | None:  # noqa: ARG002
        """How answers become rows, where there are several ways; None for the instrument's own."""
        return None

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
        return tuple(dict.fromkeys(measure.name for measure in self.row_measures))

    def figure_groups(self, options: Options) -> FigureGroups:
        """The groups that the items have, whatever a model answers."""
        blank = dict.fromkeys(self.numbers, 0.0)
        items = self.items(options)
        rows = pl.DataFrame([{**self.facts(item), **blank} for item in items], schema=dict(self.columns))
        groups: dict[str, list[Group]] = {name: [] for name in self.measures}
        for measure in self.row_measures:
            groups[measure.name] += [group for group, _ in measure.units(rows)]
        return groups

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
            protocol=self.protocol(options),
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
        by_name = {measure.name: measure for measure in reversed(self.row_measures)}
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

    def coverage(self, run: Run) -> Mapping[Group, Coverage]:
        """Of all items; how many a group has is only known where the file has every item."""
        if run.record.predictions is None:
            return {}
        total = run.record.dataset.items
        is_complete = total == len(run.scores)
        coverage = {
            group: Coverage(
                scored=rows[self.scored].count(),
                total=total if group == WHOLE else len(rows) if is_complete else None,
                unit=self.items_are,
            )
            for measure in self.row_measures
            for group, rows in [(WHOLE, run.scores), *measure.groups_of(run.scores)]
        }
        return coverage | {group[1:]: own for group, own in coverage.items()}

    def compare(self, first: Run, second: Run, options: ComparisonOptions) -> Comparison:
        """Paired over units, with McNemar's exact test for shares, and what the items were matched by."""
        comparison = super().compare(first, second, options)
        shared = self._shared(first, second)
        tests = [
            _mcnemar(shared[measure.of], shared[f"{measure.of}_second"])
            for measure in self.row_measures
            if isinstance(measure, Share) and measure.is_headline
        ]
        notes = self._matching_notes(first, second, shared)
        return comparison.model_copy(update={"mcnemar": tuple(tests), "notes": notes})

    def bias_rows(self, before: Run, after: Run, *, resampling: Resampling) -> dict[str, BiasRow]:
        """The headline figures that have a neutral value."""
        rows = super().bias_rows(before, after, resampling=resampling)
        if self.certificate_title is None:
            return rows
        return {key: row.model_copy(update={"title": self.certificate_title}) for key, row in rows.items()}

    def refuse_incomparable(self, first: Run, second: Run) -> None:
        """Refuse runs under two protocols, without a common item, or with other texts under the same ids."""
        names = [run.record.protocol.name if run.record.protocol else self.version for run in (first, second)]
        if names[0] != names[1]:
            raise ComparisonError(
                f"{first.name} was evaluated under {names[0]}, {second.name} under {names[1]}. Evaluate both under one."
            )
        shared = self._shared(first, second)
        if shared.is_empty():
            raise ComparisonError(
                f"{first.name} and {second.name} have none of the {self.items_are} in common that both could score."
            )
        ours, theirs = pl.col(self.text), pl.col(f"{self.text}_second")
        translated = _in_two_languages() if self.ids_are_shared else pl.lit(value=False)
        other = shared.filter((ours != "") & (theirs != "") & (ours != theirs) & ~translated)
        if not other.is_empty():
            raise ComparisonError(
                f"{first.name} and {second.name} have other sentences under the same ids, such as "
                f"{other[self.key][0]!r}. Compare runs over the same {self.items_are}. If the two are translations of "
                "each other, evaluate each with its --language, and compare the runs."
            )

    def _shared(self, first: Run, second: Run) -> pl.DataFrame:
        """The items that both runs scored, by id; what the second says of them has its own columns."""
        columns = [self.key, *({"language"} & {*self.columns}), self.text, *self.numbers]
        sides = [run.scores.drop_nulls(self.scored).select(columns) for run in (first, second)]
        return sides[0].join(sides[1], on=self.key, suffix="_second")

    def _matching_notes(self, first: Run, second: Run, shared: pl.DataFrame) -> tuple[str, ...]:
        """Where items were matched by their ids alone, which may be no more than row numbers."""
        if self.ids_are_shared and shared.filter(_in_two_languages()).height:
            return (
                f"The two are in different languages, so {self.items_are} are matched by id alone. Where ids are row "
                f"numbers, both files must list the {self.items_are} in the same order.",
            )
        texts = {first.name: shared[self.text], second.name: shared[f"{self.text}_second"]}
        without = [name for name, column in texts.items() if (column == "").any()]
        if not without:
            return ()
        hold = "holds" if len(without) == 1 else "hold"
        return (f"{' and '.join(without)} {hold} no sentences, so {self.items_are} are matched by id alone.",)


HALF = 0.5
"""Above it a row counts towards a share."""


def _mcnemar(ours: pl.Series, theirs: pl.Series) -> McNemar:
    first, second = (column.to_numpy() > HALF for column in (ours, theirs))
    return McNemar(
        task=ALL_ITEMS,
        only_first=int((first & ~second).sum()),
        only_second=int((~first & second).sum()),
        p_value=mcnemar_test(first, second),
    )


def _in_two_languages() -> pl.Expr:
    """Whether the two sides of an item are known to be in different languages; an unknown one may be any."""
    languages = pl.col("language"), pl.col("language_second")
    known = [language != UNKNOWN_LANGUAGE for language in languages]
    return known[0] & known[1] & (languages[0] != languages[1])


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


class RowsPreparation(Preparation):
    """Rows that another tool has computed."""

    def __init__(
        self, instrument: ItemInstrument[Any], rows: pl.DataFrame, record: RunRecord, *, method: str
    ) -> None:
        self.instrument = instrument
        self.rows = rows
        self.record = record
        self.method = method
        self.unit = instrument.items_are

    def measure(self, *, parts: Parts | None = None, progress: Progress | None = None) -> Run:  # noqa: ARG002 # nothing is asked
        """Make a run of the rows."""
        result = self.instrument.result(
            self.rows,
            method=self.method,
            sense=Estimate.undefined(NOT_ASKED),
            resampling=resampling_of(self.record.statistics),
        )
        return Run(record=self.record, results=(result,), scores=self.rows)


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
        self.control = instrument.control
        self.method = instrument.method_of(model)
        self._language = items.language
        warnings = model.language_warnings(
            [texts_of(own[0])[0] for own in map(self._requests, self.asked) if own],
            name=items.name,
            language=items.language,
        )
        own = {**self.method, **_own_options(options)}
        self.record = record.model_copy(update={"options": own, "model": model.record, "warnings": warnings})

    @property
    def notices(self) -> tuple[str, ...]:
        """What asking costs."""
        requests = (request for item in self.asked for request in self._requests(item))
        cost = self.model.describe_cost(requests)
        return () if cost is None else (cost,)

    def measure(self, *, parts: Parts | None = None, progress: Progress | None = None) -> Run:
        """Ask for every item, then what shows whether the model knows the words."""
        rows = self._rows(parts, progress)
        sense, warnings = Estimate.undefined(NOT_ASKED), self.record.warnings
        if self.control is not None:
            sense = self.control.sense(
                self.model,
                self.asked,
                language=self._language,
                resampling=self.options.resampling,
                max_tokens=self.options.max_tokens,
                parts=parts,
            )
            warnings = (*warnings, *gate_warning(self.model.ref.id, sense))
        result = self.instrument.result(
            rows, method="; ".join(self.method.values()), sense=sense, resampling=self.options.resampling
        )
        return Run(
            record=self.record.model_copy(update={"warnings": warnings}), results=(result,), scores=rows
        )

    def sample(self, generator: np.random.Generator, *, times: int = 1) -> Preparation:
        """Some items, without the control."""
        few = copy.copy(self)
        few.asked = drawn(self.asked, times * SAMPLED, generator)
        few.control = None
        return few

    def _requests(self, item: Any) -> list[ScoringRequest]:
        if self.instrument.skip_reason(item) is not None:
            return []
        return list(self.instrument.requests(item, self.options).values())

    def _rows(self, parts: Parts | None, progress: Progress | None) -> pl.DataFrame:
        instrument, options = self.instrument, self.options
        names = [str(instrument.facts(item)[instrument.key]) for item in self.asked]
        requests = [self._requests(item) for item in self.asked]
        answers = iter(
            self.model.answer(
                [request for own in requests for request in own],
                items=[name for name, own in zip(names, requests, strict=True) for _ in own],
                whole_items=True,
                known_words=instrument.known_words,
                max_tokens=options.max_tokens,
                parts=parts,
                progress=progress,
            )
        )
        rows = [
            self._row(item, [next(answers) for _ in own])
            for item, own in zip(self.asked, requests, strict=True)
        ]
        return pl.DataFrame(rows, schema=dict(instrument.columns))

    def _row(self, item: Any, answers: Sequence[Answer]) -> Row:
        instrument, options = self.instrument, self.options
        problem = instrument.skip_reason(item) or next((own.problem for own in answers if own.problem), None)
        row = {"language": self._language, **instrument.facts(item)}
        if problem:
            return {**row, "skipped_reason": common_reason(problem)}
        by_name = dict(zip(instrument.requests(item, options), answers, strict=True))
        return {**row, **instrument.score(item, by_name, options)}
