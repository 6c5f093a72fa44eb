"""Evaluate: a benchmark and the scores of its candidates, to a run."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

import polars as pl

from evenhand.core.errors import PredictionsError, shortlist
from evenhand.core.files import sha256_of
from evenhand.core.items import Association, Benchmark, Task, common_reason, replaced_items
from evenhand.core.progress import Progress, activity, no_progress, share_of
from evenhand.core.protocols import DEFAULT_PROTOCOL, Protocol, get_protocol
from evenhand.data.association_logs import read_association_log
from evenhand.data.inspection import CheckReport, check
from evenhand.data.layouts import load_dataset
from evenhand.data.predictions import Predictions, Score, as_score, read_predictions
from evenhand.instruments.association.estimation import (
    OTHER_CANDIDATE,
    estimate_task,
    skipped_reasons,
    tasks_of,
)
from evenhand.instruments.association.results import (
    SCORES_SCHEMA,
    RunResult,
    SkippedReason,
    items_from_scores,
)
from evenhand.instruments.instrument import Preparation, statistics_record
from evenhand.stats.resampling import Resampling
from evenhand.store.jobs import Parts
from evenhand.store.records import (
    DatasetRecord,
    DefectRecord,
    EnvironmentRecord,
    PredictionsRecord,
    ProtocolRecord,
    RunRecord,
)
from evenhand.store.run import Run


class Evaluation(Preparation):
    """Scores per candidate and their benchmark, ready to be evaluated."""

    def __init__(
        self,
        predictions: str | Path | Mapping[str, float] | Predictions,
        data: str | Path | Benchmark = "starter",
        *,
        language: str | None = None,
        source: str | Path | Benchmark | None = None,
        protocol: str | Protocol = DEFAULT_PROTOCOL,
        resampling: Resampling | None = None,
        name: str | None = None,
    ) -> None:
        """Read the scores and the benchmark.

        Args:
            predictions: A file of scores, or scores by candidate id.
            data: A dataset's name, a file or folder in a known layout, or a benchmark already loaded.
            language: Which language of ``data``, where it has several.
            source: What ``data`` were translated from: then what the checks of translations find is flagged too.
            protocol: How scores become numbers; see ``evenhand.core.protocols``.
            resampling: Number of resamples, seed and confidence level.
            name: Name of the run; the name of the predictions if not given.
        """
        self.benchmark = data if isinstance(data, Benchmark) else load_dataset(data, language=language)
        self.source = as_source(source)
        self.predictions = _as_predictions(predictions)
        self.protocol = get_protocol(protocol)
        self.resampling = resampling or Resampling()
        self.record = evaluation_record(
            name or self.predictions.name,
            self.benchmark,
            protocol=self.protocol,
            resampling=self.resampling,
            source=self.source,
            predictions=self.predictions,
        )

    def measure(self, *, parts: Parts | None = None, progress: Progress | None = None) -> Run:  # noqa: ARG002
        """Turn the scores into a run with estimates, intervals and tests; it takes moments for thousands of items."""
        return assemble(
            self.record,
            self.predictions,
            self.benchmark,
            protocol=self.protocol,
            resampling=self.resampling,
            source=self.source,
            progress=progress or no_progress,
        )


CHECKED = 0.75
"""The share of the time after which the data are checked; the rest goes to the estimates."""


def assemble(
    record: RunRecord,
    predictions: Predictions,
    benchmark: Benchmark,
    *,
    protocol: Protocol,
    resampling: Resampling,
    source: Benchmark | None = None,
    warnings: tuple[str, ...] = (),
    progress: Progress = no_progress,
) -> Run:
    """Make a run of scores, whoever gave them; progress is counted in items."""
    scores, unknown = score_table(benchmark, predictions)
    count = len(benchmark)
    with activity("checking the data"):
        checked = check(benchmark, source=source, progress=share_of(progress, count, first=0, last=CHECKED))
    scores = _with_defects(scores, checked)
    estimated = share_of(progress, count, first=CHECKED, last=1)
    with activity("estimating"):
        result = _result(record.name, benchmark, scores, checked, unknown, protocol, resampling, estimated)
    all_warnings = (*warnings, *result.warnings, *_reversed_labels(result, record))
    result = result.model_copy(update={"warnings": all_warnings})
    return Run(
        record=_completed(record, result, checked=checked, unknown=unknown), results=(result,), scores=scores
    )


REPLACED = "they are culture-specific and the file has others in their place"
"""Why culture-specific items are not counted whose own item of the language is there."""


def score_table(benchmark: Benchmark, predictions: Predictions) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """A row a candidate of every task that the predictions touch, and the ids that fit no candidate."""
    task_of = {candidate.id: item.task for item in benchmark for candidate in item.candidates}
    unknown = tuple(candidate for candidate in predictions.scores if candidate not in task_of)
    touched = {task_of[candidate] for candidate in predictions.scores if candidate in task_of}
    if not touched:
        raise PredictionsError(
            f"None of the {len(predictions.scores):,} scores in {predictions.source} belongs to a candidate of "
            f"{benchmark.name} ({benchmark.language}); ids such as {shortlist(unknown, 3)} are unknown. "
            "Check --data."
        )
    replaced = replaced_items(benchmark)
    rows = [
        {**row, "score": None, "skipped_reason": REPLACED} if item.id in replaced else row
        for item in benchmark
        if item.task in touched
        for row in _item_rows(item, predictions.scores)
    ]
    return pl.DataFrame(rows, schema=dict(SCORES_SCHEMA), orient="row"), unknown


def _item_rows(item: Association, scores: Mapping[str, Score]) -> list[dict[str, object]]:
    found = [scores.get(candidate.id, Score(math.nan, "there is no score")) for candidate in item.candidates]
    usable = all(score.problem is None for score in found)
    return [
        {
            "item": item.id,
            "task": item.task.value,
            "language": item.language,
            "bias_type": item.bias_type,
            "target": item.target,
            "cluster": item.cluster,
            "context": item.context,
            "defects": [],
            "candidate": candidate.id,
            "label": candidate.label.value,
            "text": candidate.text,
            "token_log_probabilities": score.token_log_probabilities,
            "log2_probability": score.log2_probability,
            "score": None if score.problem else score.value,
            "skipped_reason": None
            if usable
            else (
                f"{score.problem} ({candidate.label.value} candidate)" if score.problem else OTHER_CANDIDATE
            ),
        }
        for candidate, score in zip(item.candidates, found, strict=True)
    ]


def as_source(source: str | Path | Benchmark | None) -> Benchmark | None:
    """The benchmark that a translation was made from; a name or a file is read, in its default language."""
    return source if source is None or isinstance(source, Benchmark) else load_dataset(source)


def _as_predictions(predictions: str | Path | Mapping[str, float] | Predictions) -> Predictions:
    if isinstance(predictions, Predictions):
        return predictions
    if isinstance(predictions, Mapping):
        lines = "".join(f"{key}\t{value!r}\n" for key, value in predictions.items())
        return Predictions(
            name="scores",
            source="scores given in Python",
            sha256=sha256_of(lines.encode()),
            scores={key: as_score(value) for key, value in predictions.items()},
        )
    log = read_association_log(Path(predictions))
    return log.predictions if log else read_predictions(Path(predictions))


def _with_defects(scores: pl.DataFrame, checked: CheckReport) -> pl.DataFrame:
    defects = checked.defects_by_item()
    found = pl.DataFrame(
        {"item": list(defects), "defects": [list(names) for names in defects.values()]},
        schema={"item": pl.String(), "defects": pl.List(pl.String())},
    )
    joined = scores.drop("defects").join(found, on="item", how="left", maintain_order="left")
    return joined.with_columns(pl.col("defects").fill_null([])).select(scores.columns)


def _result(
    name: str,
    benchmark: Benchmark,
    scores: pl.DataFrame,
    checked: CheckReport,
    unknown: tuple[str, ...],
    protocol: Protocol,
    resampling: Resampling,
    progress: Progress,
) -> RunResult:
    empty = RunResult(name=name, language=benchmark.language, protocol=protocol.name, tasks={})
    items = items_from_scores(scores)
    flagged = checked.flagged_items()
    skipped = skipped_reasons(scores)
    frames = tasks_of(items)
    tasks = {}
    for number, (task, frame) in enumerate(frames.items(), start=1):
        tasks[task] = estimate_task(
            frame,
            protocol=protocol,
            resampling=resampling,
            flagged=flagged,
            defects=checked.flagged_defects(task),
        )
        progress(number, len(frames))
    return empty.model_copy(
        update={
            "tasks": tasks,
            "skipped": skipped,
            "warnings": _warnings(benchmark, unknown, skipped, items),
        }
    )


def _reversed_labels(result: RunResult, record: RunRecord) -> tuple[str, ...]:
    """A warning where a model with a planted lean reads as leaning the other way: then labels are the wrong way round.

    No file shows that by itself. Integers in particular can stand for anything.
    """
    planted = record.model.planted.strength if record.model and record.model.planted else 0.0
    whole = result.tasks[list(result.tasks)[-1]].SS
    is_opposite = whole.low > NEUTRAL_SS if planted < 0 else whole.high < NEUTRAL_SS and planted > 0
    if not is_opposite:
        return ()
    return (
        f"SS is {whole.value:.1f}, on the other side of 50 than what was planted in the model: the labels of "
        f"{record.dataset.name} are likely reversed. Check what stands for stereotype in it.",
    )


NEUTRAL_SS = 50.0


def _warnings(
    benchmark: Benchmark,
    unknown: tuple[str, ...],
    skipped: tuple[SkippedReason, ...],
    items: pl.DataFrame,
) -> tuple[str, ...]:
    warnings = []
    if unknown:
        warnings.append(
            f"scores left aside, because they belong to no candidate of {benchmark.name} "
            f"({benchmark.language}): {len(unknown):,} ({shortlist(unknown)})."
        )
    for (task, reason), ids in _by_common_reason(skipped).items():
        total = len(items.filter(pl.col("task") == task))
        warnings.append(
            f"{task} items skipped, because {reason}: {len(ids):,} of {total:,} ({shortlist(ids, 3)})."
        )
    return tuple(warnings)


def _by_common_reason(skipped: tuple[SkippedReason, ...]) -> dict[tuple[str, str], list[str]]:
    """Skipped items by task and by what their reasons have in common."""
    found: dict[tuple[str, str], list[str]] = {}
    for reason in skipped:
        found.setdefault((reason.task, common_reason(reason.reason)), []).extend(reason.items)
    return found


def evaluation_record(
    name: str,
    benchmark: Benchmark,
    *,
    protocol: Protocol,
    resampling: Resampling,
    source: Benchmark | None = None,
    predictions: Predictions | None = None,
) -> RunRecord:
    """The record of a run before it is made."""
    return RunRecord(
        instrument="association",
        name=name,
        dataset=DatasetRecord(
            name=benchmark.name,
            language=benchmark.language,
            source=benchmark.source,
            sha256=benchmark.sha256,
            items=len(benchmark),
            licence=benchmark.licence,
        ),
        data={f"translated from {source.name} ({source.language})": source.sha256} if source else {},
        predictions=predictions
        and PredictionsRecord(
            source=predictions.source,
            sha256=predictions.sha256,
            candidates=len(predictions.scores),
            repeated_ids=predictions.repeated_ids,
        ),
        protocol=ProtocolRecord.of(protocol),
        statistics=statistics_record(resampling),
        environment=EnvironmentRecord.current(),
    )


def _completed(
    record: RunRecord, result: RunResult, *, checked: CheckReport, unknown: tuple[str, ...]
) -> RunRecord:
    """The record with what is known when the scores are evaluated."""
    tasks = [task.value for task in Task if task.value in result.tasks]
    predictions = record.predictions and record.predictions.model_copy(update={"unknown_ids": unknown})
    return record.model_copy(
        update={
            "predictions": predictions,
            "scored": {task: result.tasks[task].n for task in tasks},
            "skipped": {task: result.tasks[task].skipped for task in tasks},
            "warnings": result.warnings,
            "defects": tuple(
                DefectRecord(
                    name=finding.defect.name,
                    task=finding.task.value,
                    count=finding.count,
                    unit=finding.defect.unit.value,
                    description=finding.defect.description,
                    flagged=finding.defect.flagged,
                )
                for finding in checked.findings
                if finding.task.value in result.tasks
            ),
        }
    )
