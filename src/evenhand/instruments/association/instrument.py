"""The context association test as an instrument: score every candidate of a benchmark, then evaluate the scores."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import polars as pl

from evenhand.core.items import OVERALL, Association, Benchmark, Label, Task
from evenhand.core.protocols import DEFAULT_PROTOCOL, HEADLINE, PROTOCOLS, Protocol
from evenhand.data.layouts import load_dataset
from evenhand.data.stereoset import STARTER
from evenhand.instruments.association import comparison
from evenhand.instruments.association.measures import MEASURES
from evenhand.instruments.association.results import (
    SCORES_SCHEMA,
    GroupResult,
    RunResult,
    checked_candidates,
    items_from_scores,
    predictions_json,
    score_in_bits,
)
from evenhand.instruments.instrument import Instrument, InstrumentOptions, Preparation, ScoresLayout
from evenhand.models.model import Model
from evenhand.models.references import ModelRef
from evenhand.models.requests import Continue, Fill
from evenhand.stats.resampling import Resampling
from evenhand.store.certificate_bias import BiasRow
from evenhand.store.certificate_quality import QualityRow
from evenhand.store.comparison import Comparison, ComparisonOptions
from evenhand.store.coverage import Coverage
from evenhand.store.figures import Figure, FigureGroups, Group
from evenhand.store.records import PREDICTIONS_FILE, RunRecord
from evenhand.store.run import Run, run_name


@dataclass(frozen=True, kw_only=True)
class AuditOptions(InstrumentOptions):
    """How a model is scored on association items, and how scores are evaluated.

    ``inter`` and ``score`` suit the model where they are None, ``tasks`` are all that the model can do. ``limit`` takes
    a sample of the items of each task over target terms. ``source`` is what the data were translated from.
    """

    protocol: str | Protocol = field(default=DEFAULT_PROTOCOL, metadata={"help": f"{', '.join(PROTOCOLS)}."})
    tasks: tuple[Task, ...] | None = None
    inter: str | None = field(
        default=None,
        metadata={
            "help": "How the inter-sentence task is scored: next-sentence, pll, orig, b, c, d, e or f."
        },
    )
    score: str | None = field(
        default=None,
        metadata={
            "help": "How the intra-sentence task is scored: mean-prob, mean-log, sum-log, pll or pll-within-word."
        },
    )
    source: Any = field(
        default=None, metadata={"help": "The benchmark that the data were translated from: a name or a file."}
    )


class AssociationInstrument(Instrument[AuditOptions]):
    """SS, LMS and ICAT over context association items."""

    name = "association"
    version = "association.v1"
    title = "Context association test"
    summary = "How often a model prefers the stereotypical candidate: SS, LMS and ICAT."
    needs = (Fill, Continue)
    options_type = AuditOptions
    result_type = RunResult
    quality_measures = (comparison.LMS_MEASURE,)
    scores_layout = ScoresLayout(
        SCORES_SCHEMA,
        key=("item", "label"),
        optional=("skipped_reason",),
        scored=("score",),
        bits=(score_in_bits(),),
        decisions=tuple(combinations([label.value for label in Label], 2)),
    )

    @property
    def measures(self) -> tuple[str, ...]:
        """Those that are registered, other packages' too."""
        return MEASURES.names()

    def figure_groups(self, options: AuditOptions) -> FigureGroups:
        """Tasks of the benchmark, both together, and their bias types."""
        items = [
            item for item in benchmark_of(options) if options.tasks is None or item.task in options.tasks
        ]
        types_of = {task.value: _bias_types(item for item in items if item.task is task) for task in Task}
        tasks = {task: types for task, types in types_of.items() if types}
        if len(tasks) == len(Task):
            tasks[OVERALL] = _bias_types(items)
        groups = [
            (task, *part) for task, types in tasks.items() for part in ((), *((name,) for name in types))
        ]
        return dict.fromkeys(self.measures, groups)

    def coverage(self, run: Run) -> Mapping[Group, Coverage]:
        """By task and bias type."""
        from evenhand.instruments.association.coverage import association_coverage

        return association_coverage(run)

    def refuse_impossible(self, options: AuditOptions) -> None:
        """Refuse data that cannot be read, and names of protocols and scores that do not exist."""
        from evenhand.instruments.association.ways import MethodOptions

        MethodOptions.named(options.protocol, inter=options.inter, score=options.score)
        benchmark_of(options)

    def run_name(self, ref: ModelRef, options: AuditOptions) -> str:
        """Model, instrument, benchmark, language and limit."""
        return _run_name(ref, benchmark_of(options), options)

    def planned_record(self, ref: ModelRef, options: AuditOptions, *, name: str) -> RunRecord:  # noqa: ARG002
        """All but the model and its methods."""
        from evenhand.instruments.association.scoring import audit_record

        return audit_record(name, benchmark_of(options), options, tasks=options.tasks or tuple(Task))

    def other_scoring(self, present: RunRecord, options: AuditOptions) -> Mapping[str, str]:
        """Tasks of --task, and scores and variants that were asked for by name."""
        from evenhand.instruments.association.ways import MethodOptions, choice_of

        methods = present.scoring.methods if present.scoring else {}
        chosen = MethodOptions.named(options.protocol, inter=options.inter, score=options.score)
        asked = {Task.INTRASENTENCE: chosen.score, Task.INTERSENTENCE: chosen.inter}
        other: dict[str, str] = {}
        for task in benchmark_of(options).tasks:
            method, choice = methods.get(task.value), asked[task]
            if options.tasks is not None and task not in options.tasks:
                if method is not None:
                    other[task.value] = "none"
            elif method is None:
                if options.tasks is not None:
                    other[task.value] = choice.value if choice else "asked for"
            elif choice is not None and choice_of(method) in set(type(choice)) - {choice}:
                other[task.value] = choice.value
        return other

    def prepare(self, model: Model, options: AuditOptions, *, name: str | None = None) -> Preparation:
        """Choose the methods, and say what the record will be."""
        from evenhand.instruments.association.scoring import AuditPreparation
        from evenhand.instruments.association.ways import tasks_of_model

        if not tasks_of_model(model):
            self.refuse_unable(model)
        benchmark = benchmark_of(options)
        return AuditPreparation(
            model, benchmark, options, name=name or _run_name(model.ref, benchmark, options)
        )

    def figures(self, run: Run) -> tuple[Figure, ...]:
        """Every measure of every task and bias type; the whole is last among the tasks, and comes first here."""
        result: RunResult = run.result
        tasks = sorted(result.tasks, key=lambda task: task != OVERALL)
        return tuple(
            figure
            for task in tasks
            for figure in (
                *_figures((task,), result.tasks[task], is_headline=True),
                *(
                    figure
                    for bias_type, group in result.tasks[task].by_bias_type.items()
                    for figure in _figures((task, bias_type), group, is_headline=False)
                ),
            )
        )

    def results_again(self, run: Run) -> tuple[RunResult, ...]:
        """Every measure of every task; warnings are as they were said."""
        from evenhand.instruments.association.estimation import results_of_scores

        return (results_of_scores(run),)

    def compare(self, first: Run, second: Run, options: ComparisonOptions) -> Comparison:
        """Paired by item, whole target terms resampled and swapped."""
        return comparison.compare_associations(first, second, options)

    def bias_rows(self, before: Run, after: Run, *, resampling: Resampling) -> dict[str, BiasRow]:
        """SS and ICAT, and SS about gender."""
        return comparison.association_bias_rows(before, after, resampling=resampling)

    def quality_rows(
        self, before: Run, after: Run, *, margins: Mapping[str, float], resampling: Resampling
    ) -> tuple[QualityRow, ...]:
        """LMS of both models against a margin."""
        margin = margins[comparison.LMS_MEASURE]
        return (comparison.lms_of_runs(before, after, margin=margin, resampling=resampling),)

    def refuse_incomparable(self, first: Run, second: Run) -> None:
        """Refuse runs without a common item, and runs of different protocols."""
        comparison.shared_protocol(first, second)
        comparison.shared_items(first, second)

    def item_rows(self, scores: pl.DataFrame) -> pl.DataFrame:
        """One row per item with the scores of its three candidates side by side."""
        return items_from_scores(scores)

    def read_scores(self, scores: pl.DataFrame) -> pl.DataFrame:
        """Scores, if they are of known tasks and of three candidates per item."""
        return checked_candidates(super().read_scores(scores))

    def extra_files(self, run: Run) -> Mapping[str, str]:
        """The scores in StereoSet's own layout."""
        return {PREDICTIONS_FILE: predictions_json(run.scores)}


ASSOCIATION = AssociationInstrument()


def benchmark_of(options: AuditOptions) -> Benchmark:
    """The items that are asked: those of the options, or the starter set."""
    data = options.data
    return (
        data if isinstance(data, Benchmark) else load_dataset(data or STARTER.name, language=options.language)
    )


def _bias_types(items: Iterable[Association]) -> list[str]:
    return list(dict.fromkeys(item.bias_type for item in items))


def _run_name(ref: ModelRef, benchmark: Benchmark, options: AuditOptions) -> str:
    return run_name(
        ref.short_name,
        instrument=ASSOCIATION.name,
        dataset=benchmark.name,
        language=benchmark.language,
        limit=options.limit,
    )


def _figures(group: tuple[str, ...], result: GroupResult, *, is_headline: bool) -> Iterator[Figure]:
    for measure, estimate in result.estimates():
        known = MEASURES.get(measure) if measure in MEASURES else None
        yield Figure(
            measure=measure,
            group=group,
            estimate=estimate,
            title=known.title if known else measure,
            neutral=known.neutral if known else None,
            unit=(known.unit if known else None) or "points",
            is_headline=is_headline and measure in HEADLINE,
        )
