"""Evenhand: measure stereotypes in language models, mitigate them, and prove the difference.

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
    from evenhand.core.certificates import Certificate, read_certificate
    from evenhand.core.errors import EvenhandError
    from evenhand.core.estimates import Estimate
    from evenhand.core.items import Association, Benchmark, Candidate, Label, Task
    from evenhand.core.models import ModelRef
    from evenhand.core.probe_runs import ProbeRun, open_probe_run
    from evenhand.core.protocols import PROTOCOLS, Protocol
    from evenhand.core.recipes import Recipe
    from evenhand.core.results import Comparison, RunResult
    from evenhand.core.runs import Run, open_run
    from evenhand.core.spans import filled_spans
    from evenhand.data import check, describe, load_dataset
    from evenhand.data.examples import example_scores
    from evenhand.data.probes import load_probes
    from evenhand.evaluation import compare, evaluate
    from evenhand.materials import material_for
    from evenhand.measures import MEASURES
    from evenhand.mitigation.certificate import CertificatePlan, HeldOutText, Margins, certify
    from evenhand.mitigation.methods.counterfactual import CounterfactualMethod
    from evenhand.mitigation.methods.equalise import EqualiseMethod
    from evenhand.mitigation.pipeline import Mitigated, mitigate
    from evenhand.probing.malor import ProbeOptions, probe
    from evenhand.report import format_table, write_certificate_page, write_page
    from evenhand.scoring.language_model import load_model as load
    from evenhand.stats.resampling import Resampling

_HOME = {
    "MEASURES": "evenhand.measures",
    "PROTOCOLS": "evenhand.core.protocols",
    "Association": "evenhand.core.items",
    "AuditOptions": "evenhand.auditing",
    "Benchmark": "evenhand.core.items",
    "Candidate": "evenhand.core.items",
    "Certificate": "evenhand.core.certificates",
    "CertificatePlan": "evenhand.mitigation.certificate",
    "Comparison": "evenhand.core.results",
    "CounterfactualMethod": "evenhand.mitigation.methods.counterfactual",
    "EqualiseMethod": "evenhand.mitigation.methods.equalise",
    "Estimate": "evenhand.core.estimates",
    "EvenhandError": "evenhand.core.errors",
    "HeldOutText": "evenhand.mitigation.certificate",
    "Label": "evenhand.core.items",
    "Margins": "evenhand.mitigation.certificate",
    "Mitigated": "evenhand.mitigation.pipeline",
    "ModelRef": "evenhand.core.models",
    "ProbeOptions": "evenhand.probing.malor",
    "ProbeRun": "evenhand.core.probe_runs",
    "Protocol": "evenhand.core.protocols",
    "Recipe": "evenhand.core.recipes",
    "Resampling": "evenhand.stats.resampling",
    "Run": "evenhand.core.runs",
    "RunResult": "evenhand.core.results",
    "Task": "evenhand.core.items",
    "audit": "evenhand.auditing",
    "certify": "evenhand.mitigation.certificate",
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
    "material_for": "evenhand.materials",
    "mitigate": "evenhand.mitigation.pipeline",
    "open_probe_run": "evenhand.core.probe_runs",
    "open_run": "evenhand.core.runs",
    "probe": "evenhand.probing.malor",
    "read_certificate": "evenhand.core.certificates",
    "write_certificate_page": "evenhand.report",
    "write_page": "evenhand.report",
}

__all__ = [
    "MEASURES",
    "PROTOCOLS",
    "Association",
    "AuditOptions",
    "Benchmark",
    "Candidate",
    "Certificate",
    "CertificatePlan",
    "Comparison",
    "CounterfactualMethod",
    "EqualiseMethod",
    "Estimate",
    "EvenhandError",
    "HeldOutText",
    "Label",
    "Margins",
    "Mitigated",
    "ModelRef",
    "ProbeOptions",
    "ProbeRun",
    "Protocol",
    "Recipe",
    "Resampling",
    "Run",
    "RunResult",
    "Task",
    "audit",
    "certify",
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
    "material_for",
    "mitigate",
    "open_probe_run",
    "open_run",
    "probe",
    "read_certificate",
    "write_certificate_page",
    "write_page",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'evenhand' has no attribute {name!r}")
    module, _, attribute = _HOME[name].partition(":")
    return getattr(import_module(module), attribute or name)


def __dir__() -> list[str]:
    return sorted(__all__)
