"""Endings: an instrument with items of its own, openings that are followed by one of two words."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field

import polars as pl
from pydantic import BaseModel, ConfigDict

from evenhand.core.estimates import Estimate
from evenhand.core.progress import Progress
from evenhand.instruments.instrument import (
    Instrument,
    InstrumentOptions,
    Preparation,
    statistics_record,
)
from evenhand.models.model import Model
from evenhand.models.requests import Continue
from evenhand.runs.figures import Figure
from evenhand.runs.records import DatasetRecord, EnvironmentRecord, RunRecord
from evenhand.runs.run import Run, run_name
from evenhand.runs.store import Parts
from evenhand.stats.intervals import wilson_interval

MEASURE = "first_ending"


@dataclass(frozen=True, slots=True)
class Ending:
    """An opening and two words that may end it."""

    id: str
    opening: str
    first: str
    second: str


ITEMS = tuple(
    Ending(f"ending-{number}", f"The {who} came home and was", "tired", "glad")
    for number, who in enumerate(
        ("baker", "pilot", "teacher", "nurse", "farmer", "judge", "tailor", "singer")
    )
)


@dataclass(frozen=True, kw_only=True)
class EndingsOptions(InstrumentOptions):
    """How an ending is marked."""

    mark: str = field(default=".", metadata={"help": "What stands behind the last word."})


class EndingsResult(BaseModel):
    """How often the first ending is the likelier one."""

    model_config = ConfigDict(frozen=True)

    kind: str = "endings"
    first_ending: Estimate


class EndingsInstrument(Instrument[EndingsOptions]):
    """The share of openings that a model rather ends with the first word."""

    name = "endings"
    version = "endings.v1"
    title = "Endings"
    summary = "Which of two words a model rather ends a sentence with."
    needs = (Continue,)
    options_type = EndingsOptions
    result_type = EndingsResult
    unused_options = frozenset({"data", "language", "max_tokens"})

    @property
    def measures(self) -> tuple[str, ...]:
        """Its only one."""
        return (MEASURE,)

    def prepare(self, model: Model, options: EndingsOptions, *, name: str | None = None) -> Preparation:
        """There is nothing to load."""
        self.refuse_unable(model)
        return EndingsPreparation(model, options, name=name)

    def figures(self, run: Run) -> tuple[Figure, ...]:
        """The share."""
        return (Figure(MEASURE, ("all",), run.result.first_ending, "First ending", 50.0, is_headline=True),)

    def units(self, run: Run) -> pl.DataFrame:
        """One unit per opening."""
        return run.scores.select(
            pl.lit(f"all.{MEASURE}").alias("key"),
            pl.col("id").alias("unit"),
            (100 * pl.col("first")).alias("value"),
        )


class EndingsPreparation(Preparation):
    """A model and openings."""

    unit = "openings"

    def __init__(self, model: Model, options: EndingsOptions, *, name: str | None) -> None:
        self.model = model
        self.options = options
        self.items = ITEMS[: options.limit]
        content = json.dumps([(item.opening, item.first, item.second) for item in self.items])
        self.record = RunRecord(
            instrument="endings",
            name=name
            or run_name(
                model.ref.short_name,
                instrument="endings",
                dataset="endings",
                language="en",
                limit=options.limit,
            ),
            dataset=DatasetRecord(
                name="endings",
                language="en",
                source="bundled",
                sha256=hashlib.sha256(content.encode()).hexdigest(),
                items=len(self.items),
            ),
            options={"mark": options.mark},
            model=model.record,
            statistics=statistics_record(options.resampling),
            environment=EnvironmentRecord.current(),
        )

    def measure(self, *, parts: Parts | None = None, progress: Progress | None = None) -> Run:
        """Score both sentences of every opening."""
        rows = []
        for number, item in enumerate(self.items, start=1):
            kept = parts.get(item.id) if parts else None
            first = json.loads(kept) if kept is not None else self._prefers_first(item)
            if parts and kept is None:
                parts.put(item.id, json.dumps(first).encode())
            rows.append({"id": item.id, "first": float(first)})
            if progress:
                progress(number, len(self.items))
        frame = pl.DataFrame(rows)
        return Run(record=self.record, results=(self._result(frame["first"].to_list()),), scores=frame)

    def _prefers_first(self, item: Ending) -> bool:
        texts = [f"{item.opening} {word}{self.options.mark}" for word in (item.first, item.second)]
        first, second = (score.total for score in self.model.score_texts(texts))
        return first > second

    def _result(self, firsts: Sequence[float]) -> EndingsResult:
        n = len(firsts)
        share = sum(firsts) / n
        interval = wilson_interval(share, n, confidence=self.options.resampling.confidence)
        estimate = Estimate(
            value=100 * share,
            low=100 * interval.low,
            high=100 * interval.high,
            n=n,
            clusters=n,
            method=interval.method,
        )
        return EndingsResult(first_ending=estimate)


ENDINGS = EndingsInstrument()
