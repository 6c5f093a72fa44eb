"""Runs in the formats of other tools: results of lm-evaluation-harness, logs of Inspect, Every Eval Ever.

All three know figures that are better when higher or lower. A figure with a neutral value is neither: 60 and 40 are as
far from even. So the first says that it has no direction and names the neutral value; the second has it among the
metadata; and the third, which insists on a direction, is given the distance from neutral, where lower is better, with
the figure itself beside it.

They know standard errors rather than intervals. An error is the longer side of an interval over the quantile of t that
makes it: the other side may have been cut off by the end of the scale.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from scipy import special

from evenhand.core.errors import EvenhandError, shortlist
from evenhand.core.estimates import Estimate
from evenhand.core.items import Label
from evenhand.core.planted_bias import MOST_BITS
from evenhand.data.association_logs import CANDIDATE_IDS, LOG_PROBABILITIES
from evenhand.instruments.association.measures import MEASURES
from evenhand.reporting.numbers import has_interval
from evenhand.store.figures import Figure
from evenhand.store.run import Run

ASSOCIATION, CROWS_PAIRS = "association", "crows-pairs"

EEE_SCHEMA = "0.2.1"

INSPECT_VERSION = 2

HIGHEST_POINTS = 100.0


def higher_is_better(figure: Figure) -> bool | None:
    """Whether a figure is better when higher; None where it has a neutral value, or nobody said."""
    if figure.neutral is not None or figure.measure not in MEASURES:
        return None
    measure = MEASURES.get(figure.measure)
    return measure.ideal == measure.highest


def harness_results(runs: Sequence[Run]) -> str:
    """Results as lm-evaluation-harness writes them, one task per run; all runs are of one model."""
    model = _only_model(runs)
    tasks = {_task_name(run): run for run in runs}
    figures = {name: _defined(run) for name, run in tasks.items()}
    document = {
        "results": {
            name: {
                "alias": name,
                **{
                    key: value
                    for figure in shown
                    for error in (_standard_error(figure.estimate, tasks[name]),)
                    for key, value in {
                        f"{figure.key},none": figure.estimate.value,
                        f"{figure.key}_stderr,none": "N/A" if error is None else error,
                    }.items()
                },
            }
            for name, shown in figures.items()
        },
        "group_subtasks": {},
        "configs": {
            name: {
                "task": name,
                "dataset_path": run.record.dataset.name,
                "dataset_name": run.record.language,
                "output_type": "loglikelihood",
                "num_fewshot": 0,
                "metadata": {
                    "instrument": run.record.instrument,
                    "protocol": _protocol(run),
                    **_extent(run),
                },
            }
            for name, run in tasks.items()
        },
        "versions": {name: _version(run) for name, run in tasks.items()},
        "n-shot": dict.fromkeys(tasks, 0),
        "higher_is_better": _by_task(figures, higher_is_better),
        "neutral": _by_task(figures, lambda figure: figure.neutral),
        "intervals": _by_task(figures, lambda figure: _interval(figure.estimate)),
        "n-samples": {
            name: {"original": run.record.dataset.total, "effective": run.figures[0].estimate.n}
            for name, run in tasks.items()
        },
        "config": {"model": "evenhand", "model_args": f"pretrained={model}"},
        "date": runs[0].record.created.timestamp(),
        "evenhand_version": runs[0].record.environment.evenhand,
    }
    return _written(document)


def _by_task(figures: Mapping[str, Sequence[Figure]], value: Any) -> dict[str, dict[str, Any]]:
    return {name: {figure.key: value(figure) for figure in shown} for name, shown in figures.items()}


def inspect_log(runs: Sequence[Run]) -> str:
    """A run as a log of Inspect, with one sample per item."""
    if len(runs) != 1:
        raise EvenhandError(
            f"A log of Inspect is of one run; {len(runs)} were given. Export them one by one."
        )
    run = runs[0]
    samples = _samples(run)
    record = run.record
    created = record.created.isoformat()
    document = {
        "version": INSPECT_VERSION,
        "status": "success",
        "eval": {
            "eval_id": record.fingerprint[:22],
            "run_id": record.fingerprint[:22],
            "task_id": record.fingerprint[22:44],
            "created": created,
            "task": f"evenhand/{record.instrument}",
            "task_version": 0,
            "task_args": {"protocol": _protocol(run), **_extent(run)},
            "dataset": {
                "name": record.dataset.name,
                "location": record.dataset.source,
                "samples": record.dataset.total,
                "sample_ids": [sample["id"] for sample in samples],
                "shuffled": False,
            },
            "model": run.record.model_name,
            "config": {},
            "packages": {"evenhand": record.environment.evenhand},
        },
        "plan": {"name": "plan", "steps": [], "config": {}},
        "results": {
            "total_samples": len(samples),
            "completed_samples": len(samples),
            "scores": [
                {
                    "name": record.instrument,
                    "scorer": record.instrument,
                    "params": {},
                    "metrics": {
                        figure.key: {
                            "name": figure.key,
                            "value": figure.estimate.value,
                            "params": {},
                            "metadata": _reading(figure, run),
                        }
                        for figure in _defined(run)
                    },
                }
            ],
        },
        "stats": {"started_at": created, "completed_at": created, "model_usage": {}},
        "samples": samples,
    }
    return _written(document)


def _reading(figure: Figure, run: Run) -> dict[str, Any]:
    """What it takes to read a figure: its interval, its neutral value, and whether higher is better, if either is."""
    return {
        **_interval(figure.estimate),
        "stderr": _standard_error(figure.estimate, run),
        "n": figure.estimate.n,
        "neutral": figure.neutral,
        "higher_is_better": higher_is_better(figure),
    }


def _samples(run: Run) -> list[dict[str, Any]]:
    if run.record.instrument == CROWS_PAIRS:
        return [_pair_sample(row, run) for row in run.scores.iter_rows(named=True)]
    if run.record.instrument != ASSOCIATION:
        raise EvenhandError(
            f"{run.name} is a run of {run.record.instrument}. Logs of Inspect have one sample per item, and are "
            f"exported of {ASSOCIATION} and {CROWS_PAIRS}."
        )
    items: dict[str, list[dict[str, Any]]] = {}
    for row in run.scores.iter_rows(named=True):
        items.setdefault(row["item"], []).append(row)
    return [_item_sample(item, rows, run) for item, rows in items.items()]


def _pair_sample(row: Mapping[str, Any], run: Run) -> dict[str, Any]:
    return _sample(
        row["pair"],
        run,
        text=row["more"],
        choices=[row["more"], row["less"]],
        metadata={
            "sent_more": row["more"],
            "sent_less": row["less"],
            "stereo_antistereo": row["direction"],
            "bias_type": row["bias_type"],
        },
        values={
            "sent_more_score": row["more_score"],
            "sent_less_score": row["less_score"],
            "preference": row["preference"],
        },
        reason=row["skipped_reason"],
    )


def _item_sample(item: str, rows: Sequence[Mapping[str, Any]], run: Run) -> dict[str, Any]:
    first = rows[0]
    by_label = {row["label"]: row for row in rows}
    labels = [label.value for label in Label]
    return _sample(
        item,
        run,
        text=first["context"],
        choices=[by_label[label]["text"] for label in labels],
        metadata={
            **{name: first[name] for name in ("task", "language", "bias_type", "target", "cluster")},
            CANDIDATE_IDS: {label: by_label[label]["candidate"] for label in labels},
        },
        values={label: by_label[label]["score"] for label in labels},
        reason=first["skipped_reason"],
        details={
            LOG_PROBABILITIES: {label: _finite(by_label[label]["log2_probability"]) for label in labels}
        },
    )


def _finite(value: float | None) -> float | None:
    """A number that JSON can hold."""
    return value if value is not None and math.isfinite(value) else None


def _sample(
    identifier: str,
    run: Run,
    *,
    text: str,
    choices: Sequence[str],
    metadata: Mapping[str, Any],
    values: Mapping[str, float | None],
    reason: str | None,
    details: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """A sample without a target: neither answer is right."""
    return {
        "id": identifier,
        "epoch": 1,
        "input": text,
        "choices": list(choices),
        "target": "",
        "messages": [],
        "output": {"model": run.record.model_name, "choices": []},
        "metadata": dict(metadata),
        "scores": {
            run.record.instrument: {"value": dict(values), "explanation": reason, "metadata": details}
        },
    }


def every_eval_ever(runs: Sequence[Run]) -> str:
    """Runs of one model as a record of Every Eval Ever."""
    model = _only_model(runs)
    record = runs[0].record
    moment = f"{record.created.timestamp():.0f}"
    results = [
        _evaluation(figure, run)
        for run in runs
        for figure in _defined(run)
        if figure.neutral is not None or higher_is_better(figure) is not None
    ]
    if not results:
        raise EvenhandError(
            f"{runs[0].name} has no figure with a neutral value or a direction, which Every Eval Ever needs. Use "
            "--format csv."
        )
    document = {
        "schema_version": EEE_SCHEMA,
        "evaluation_id": f"evenhand/{model.replace('/', '_')}/{moment}",
        "evaluation_timestamp": moment,
        "retrieved_timestamp": moment,
        "source_metadata": {
            "source_name": "Evenhand",
            "source_type": "evaluation_run",
            "source_organization_name": "not stated",
            "evaluator_relationship": "other",
        },
        "eval_library": {"name": "evenhand", "version": record.environment.evenhand},
        "model_info": {"name": model, "id": model},
        "evaluation_results": results,
    }
    return _written(document)


def _evaluation(figure: Figure, run: Run) -> dict[str, Any]:
    estimate = figure.estimate
    if figure.neutral is not None:
        estimate = estimate.distance_from(figure.neutral)
        name, lower = f"{figure.key}, distance from {figure.neutral:g}", True
    else:
        name, lower = figure.key, not higher_is_better(figure)
    highest = HIGHEST_POINTS if figure.unit == "points" else MOST_BITS
    return {
        "evaluation_name": f"{_task_name(run)}: {name}",
        "source_data": {
            "dataset_name": run.record.dataset.name,
            "source_type": "other",
            "additional_details": {
                "language": run.record.language,
                "sha256": run.record.dataset.sha256,
                **_extent(run),
            },
        },
        "metric_config": {
            "evaluation_description": figure.title,
            "lower_is_better": lower,
            "score_type": "continuous",
            "min_score": 0.0,
            "max_score": highest - figure.neutral if figure.neutral is not None else highest,
        },
        "score_details": {
            "score": estimate.value,
            "details": {
                "value": f"{figure.estimate.value:.4f}",
                "neutral": "none" if figure.neutral is None else f"{figure.neutral:g}",
                "protocol": _protocol(run),
            },
            "uncertainty": {
                **(
                    {
                        "standard_error": {
                            "value": _standard_error(figure.estimate, run),
                            "method": f"of {figure.key}, from the longer side of its interval",
                        },
                        "confidence_interval": {
                            "lower": estimate.low,
                            "upper": estimate.high,
                            "confidence_level": run.record.statistics.confidence,
                            "method": estimate.method,
                        },
                    }
                    if has_interval(estimate)
                    else {}
                ),
                "num_samples": estimate.n,
            },
        },
    }


def _defined(run: Run) -> list[Figure]:
    """The headline figures that have a value."""
    return [figure for figure in run.figures if figure.estimate.defined and figure.is_headline]


def _interval(estimate: Estimate) -> dict[str, float]:
    return {"low": estimate.low, "high": estimate.high} if has_interval(estimate) else {}


def _standard_error(estimate: Estimate, run: Run) -> float | None:
    """The error of an estimate, from the longer side of its interval; None without one."""
    if not has_interval(estimate):
        return None
    tail = (1 + run.record.statistics.confidence) / 2
    quantile = special.stdtrit(estimate.clusters - 1, tail) if estimate.clusters > 1 else special.ndtri(tail)
    return max(estimate.high - estimate.value, estimate.value - estimate.low) / float(quantile)


def _extent(run: Run) -> dict[str, str]:
    """How much of the data the figures are of."""
    coverage = run.whole_coverage
    return {"sample": run.record.dataset.extent, **({"coverage": str(coverage)} if coverage else {})}


def _task_name(run: Run) -> str:
    dataset = run.record.dataset
    return f"evenhand_{run.record.instrument}_{dataset.name}_{dataset.language}"


def _protocol(run: Run) -> str:
    return run.record.protocol.name if run.record.protocol else _version(run)


def _version(run: Run) -> str:
    return str(getattr(run.instrument, "version", "1"))


def _only_model(runs: Sequence[Run]) -> str:
    names = dict.fromkeys(run.record.model_name for run in runs)
    if len(names) > 1:
        raise EvenhandError(
            f"The runs are of {len(names)} models ({shortlist(names, 3)}); this format holds one. Export "
            "them one by one."
        )
    tasks = {_task_name(run) for run in runs}
    if len(tasks) < len(runs):
        raise EvenhandError("Two of the runs measure the same with the same data. Export them one by one.")
    return next(iter(names))


def _written(document: Mapping[str, Any]) -> str:
    return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
