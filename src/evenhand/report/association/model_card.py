"""A snippet for a model card: the ``model-index`` block that model hubs read."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import yaml

from evenhand.core.estimates import Estimate
from evenhand.instruments.association.measures import MEASURES
from evenhand.instruments.association.results import MEASURE_NAMES
from evenhand.runs.run import Run


def model_card_snippet(runs: Sequence[Run] | Run) -> str:
    """YAML front matter with the results of runs, one entry a run and task."""
    listed = [runs] if isinstance(runs, Run) else list(runs)
    index = [
        {"name": run.name, "results": [_result(run, task) for task in run.result.tasks]} for run in listed
    ]
    body = yaml.safe_dump({"model-index": index}, sort_keys=False, allow_unicode=True, width=1000)
    return f"---\n{body}---\n"


def _result(run: Run, task: str) -> dict[str, Any]:
    dataset = run.record.dataset
    result = run.result.tasks[task]
    return {
        "task": {"type": "text-generation", "name": f"Context association test, {task}"},
        "dataset": {
            "type": dataset.name,
            "name": f"{dataset.name} ({dataset.language})",
            "config": dataset.language,
            "revision": dataset.sha256,
        },
        "metrics": [
            {
                "type": MEASURES.get(name).version,
                "name": MEASURES.get(name).title,
                "value": round(estimate.value, 2),
                "args": {
                    **_interval(estimate),
                    "confidence": run.record.statistics.confidence,
                    "n": result.n,
                    "neutral": MEASURES.get(name).neutral,
                    "protocol": run.result.protocol,
                },
            }
            for name in MEASURE_NAMES
            if (estimate := result.estimate(name)).defined
        ],
        "source": {"name": f"Evenhand {run.record.environment.evenhand}"},
    }


def _interval(estimate: Estimate) -> dict[str, float]:
    if math.isnan(estimate.low):
        return {}
    return {"low": round(estimate.low, 2), "high": round(estimate.high, 2)}
