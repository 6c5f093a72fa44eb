"""Evenhand: measure stereotypes in language models, in any language, with honest intervals.

    >>> import evenhand as eh
    >>> run = eh.evaluate(eh.example_scores("leaning"), data="starter", language="de")
    >>> print(run.result.tasks["overall"].SS)

Names are imported when they are first used, so that ``evenhand --help`` stays quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evenhand.auditing import AuditOptions, audit
    from evenhand.core.errors import EvenhandError
    from evenhand.core.estimates import Estimate
    from evenhand.core.items import Association, Benchmark, Candidate, Label, Task
    from evenhand.core.probe_runs import ProbeRun, open_probe_run
    from evenhand.core.protocols import PROTOCOLS, Protocol
    from evenhand.core.results import Comparison, RunResult
    from evenhand.core.runs import Run, open_run
    from evenhand.core.spans import filled_spans
    from evenhand.data import check, describe, load_dataset
    from evenhand.data.examples import example_scores
    from evenhand.data.probes import load_probes
    from evenhand.evaluation import compare, evaluate
    from evenhand.measures import MEASURES
    from evenhand.probing.malor import ProbeOptions, probe
    from evenhand.report import format_table, write_page
    from evenhand.scoring.language_model import load_model as load
    from evenhand.stats.resampling import Resampling

_HOME = {
    "MEASURES": "evenhand.measures",
    "PROTOCOLS": "evenhand.core.protocols",
    "Association": "evenhand.core.items",
    "AuditOptions": "evenhand.auditing",
    "Benchmark": "evenhand.core.items",
    "Candidate": "evenhand.core.items",
    "Comparison": "evenhand.core.results",
    "Estimate": "evenhand.core.estimates",
    "EvenhandError": "evenhand.core.errors",
    "Label": "evenhand.core.items",
    "ProbeOptions": "evenhand.probing.malor",
    "ProbeRun": "evenhand.core.probe_runs",
    "Protocol": "evenhand.core.protocols",
    "Resampling": "evenhand.stats.resampling",
    "Run": "evenhand.core.runs",
    "RunResult": "evenhand.core.results",
    "Task": "evenhand.core.items",
    "audit": "evenhand.auditing",
    "check": "evenhand.data",
    "compare": "evenhand.evaluation",
    "describe": "evenhand.data",
    "evaluate": "evenhand.evaluation",
    "example_scores": "evenhand.data.examples",
    "filled_spans": "evenhand.core.spans",
    "format_table": "evenhand.report",
    "load": "evenhand.scoring.language_model:load_model",
    "load_dataset": "evenhand.data",
    "load_probes": "evenhand.data.probes",
    "open_probe_run": "evenhand.core.probe_runs",
    "open_run": "evenhand.core.runs",
    "probe": "evenhand.probing.malor",
    "write_page": "evenhand.report",
}

__all__ = [
    "MEASURES",
    "PROTOCOLS",
    "Association",
    "AuditOptions",
    "Benchmark",
    "Candidate",
    "Comparison",
    "Estimate",
    "EvenhandError",
    "Label",
    "ProbeOptions",
    "ProbeRun",
    "Protocol",
    "Resampling",
    "Run",
    "RunResult",
    "Task",
    "audit",
    "check",
    "compare",
    "describe",
    "evaluate",
    "example_scores",
    "filled_spans",
    "format_table",
    "load",
    "load_dataset",
    "load_probes",
    "open_probe_run",
    "open_run",
    "probe",
    "write_page",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'evenhand' has no attribute {name!r}")
    module, _, attribute = _HOME[name].partition(":")
    return getattr(import_module(module), attribute or name)


def __dir__() -> list[str]:
    return sorted(__all__)
