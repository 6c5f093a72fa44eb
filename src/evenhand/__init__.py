"""Evenhand: measure stereotypes in language models, mitigate them, and certify the difference.

    >>> import evenhand as eh
    >>> run = eh.evaluate(eh.example_scores("leaning"), data="starter", language="de")
    >>> print(run.result.tasks["overall"].SS)

Names are imported when they are first used, so that ``evenhand --help`` stays quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evenhand.certificate import CertificatePlan, Finetuning, HeldOutText, Margins, Measurement
    from evenhand.certificate.verification import read_certificate
    from evenhand.core.errors import EvenhandError
    from evenhand.core.estimates import Estimate
    from evenhand.core.items import Association, Benchmark, Candidate, Label, Task, filled_spans
    from evenhand.core.progress import Monitor
    from evenhand.core.protocols import PROTOCOLS, Protocol
    from evenhand.core.recipes import Recipe
    from evenhand.data import check, describe, load_dataset
    from evenhand.data.annotation_files import read_annotations, write_annotations
    from evenhand.data.datasets import example_scores
    from evenhand.data.group_text_files import GroupTextColumns, read_group_texts
    from evenhand.data.group_texts import GroupText, GroupTexts
    from evenhand.data.label_schemes import load_scheme
    from evenhand.data.next_sentence_pairs import NextSentenceOptions
    from evenhand.data.probes import load_probes
    from evenhand.instruments.association.instrument import AuditOptions
    from evenhand.instruments.association.measures import MEASURES
    from evenhand.instruments.association.results import RunResult
    from evenhand.instruments.instrument import Instrument, InstrumentOptions
    from evenhand.instruments.knowledge.instrument import KnowledgeOptions
    from evenhand.instruments.malor.instrument import MalorOptions
    from evenhand.instruments.regard.audit import RegardOptions
    from evenhand.mitigation.counterfactual import CounterfactualOptions
    from evenhand.mitigation.equalising.equalise import EqualiseOptions
    from evenhand.mitigation.mitigation import MitigatedModel, Mitigation, MitigationData, MitigationOptions
    from evenhand.mitigation.pairs.building import PairOptions
    from evenhand.mitigation.registry import MITIGATIONS
    from evenhand.mitigation.triggers.trigger import TriggerOptions
    from evenhand.models.generation import GenerationOptions
    from evenhand.models.references import ModelRef
    from evenhand.models.references import load_model as load
    from evenhand.regard.agreement import annotator_agreement
    from evenhand.regard.bias_check import check_labelled_files
    from evenhand.regard.classifier import RegardClassifier, open_classifier
    from evenhand.regard.classifier_check import CheckOptions, check_classifier
    from evenhand.regard.gender_balance import balance_genders
    from evenhand.regard.texts import RegardTexts, read_regard_texts
    from evenhand.reporting import format_table, write_certificate_page, write_page
    from evenhand.runs.certificates import Certificate
    from evenhand.runs.comparison import Comparison, ComparisonOptions, compare
    from evenhand.runs.figures import Figure
    from evenhand.runs.run import INSTRUMENTS, Run, open_run
    from evenhand.stats.resampling import Resampling
    from evenhand.workflows.certify import certificate_power, certify
    from evenhand.workflows.defaults.mitigating import CertifyOptions, default_data
    from evenhand.workflows.measure import audit, evaluate, measure_all, probe
    from evenhand.workflows.measurement_jobs import MeasurementJob
    from evenhand.workflows.mitigate import mitigate
    from evenhand.workflows.next_sentence import train_next_sentence
    from evenhand.workflows.next_sentence_pairs import build_next_sentence_pairs
    from evenhand.workflows.pairs import build_pairs
    from evenhand.workflows.regard import RegardTrainingOptions, train_regard_classifier
    from evenhand.workflows.regard_audit import audit_regard
    from evenhand.workflows.regard_evaluation import RegardEvaluationOptions, evaluate_regard
    from evenhand.workflows.show import compare_all, report
    from evenhand.workflows.study import Study, study

_HOME = {
    "INSTRUMENTS": "evenhand.runs.run",
    "MEASURES": "evenhand.instruments.association.measures",
    "MITIGATIONS": "evenhand.mitigation.registry",
    "PROTOCOLS": "evenhand.core.protocols",
    "Association": "evenhand.core.items",
    "AuditOptions": "evenhand.instruments.association.instrument",
    "Benchmark": "evenhand.core.items",
    "Candidate": "evenhand.core.items",
    "Certificate": "evenhand.runs.certificates",
    "CertificatePlan": "evenhand.certificate",
    "CertifyOptions": "evenhand.workflows.defaults.mitigating",
    "CheckOptions": "evenhand.regard.classifier_check",
    "Comparison": "evenhand.runs.comparison",
    "ComparisonOptions": "evenhand.runs.comparison",
    "CounterfactualOptions": "evenhand.mitigation.counterfactual",
    "EqualiseOptions": "evenhand.mitigation.equalising.equalise",
    "Estimate": "evenhand.core.estimates",
    "EvenhandError": "evenhand.core.errors",
    "Figure": "evenhand.runs.figures",
    "Finetuning": "evenhand.certificate",
    "GenerationOptions": "evenhand.models.generation",
    "GroupText": "evenhand.data.group_texts",
    "GroupTextColumns": "evenhand.data.group_text_files",
    "GroupTexts": "evenhand.data.group_texts",
    "HeldOutText": "evenhand.certificate",
    "Instrument": "evenhand.instruments.instrument",
    "InstrumentOptions": "evenhand.instruments.instrument",
    "KnowledgeOptions": "evenhand.instruments.knowledge.instrument",
    "Label": "evenhand.core.items",
    "MalorOptions": "evenhand.instruments.malor.instrument",
    "Margins": "evenhand.certificate",
    "Measurement": "evenhand.certificate",
    "MeasurementJob": "evenhand.workflows.measurement_jobs",
    "MitigatedModel": "evenhand.mitigation.mitigation",
    "Mitigation": "evenhand.mitigation.mitigation",
    "MitigationData": "evenhand.mitigation.mitigation",
    "MitigationOptions": "evenhand.mitigation.mitigation",
    "ModelRef": "evenhand.models.references",
    "Monitor": "evenhand.core.progress",
    "NextSentenceOptions": "evenhand.data.next_sentence_pairs",
    "PairOptions": "evenhand.mitigation.pairs.building",
    "Protocol": "evenhand.core.protocols",
    "Recipe": "evenhand.core.recipes",
    "RegardClassifier": "evenhand.regard.classifier",
    "RegardEvaluationOptions": "evenhand.workflows.regard_evaluation",
    "RegardOptions": "evenhand.instruments.regard.audit",
    "RegardTexts": "evenhand.regard.texts",
    "RegardTrainingOptions": "evenhand.workflows.regard",
    "Resampling": "evenhand.stats.resampling",
    "Run": "evenhand.runs.run",
    "RunResult": "evenhand.instruments.association.results",
    "Study": "evenhand.workflows.study",
    "Task": "evenhand.core.items",
    "TriggerOptions": "evenhand.mitigation.triggers.trigger",
    "annotator_agreement": "evenhand.regard.agreement",
    "audit": "evenhand.workflows.measure",
    "audit_regard": "evenhand.workflows.regard_audit",
    "balance_genders": "evenhand.regard.gender_balance",
    "build_next_sentence_pairs": "evenhand.workflows.next_sentence_pairs",
    "build_pairs": "evenhand.workflows.pairs",
    "certificate_power": "evenhand.workflows.certify",
    "certify": "evenhand.workflows.certify",
    "check": "evenhand.data",
    "check_classifier": "evenhand.regard.classifier_check",
    "check_labelled_files": "evenhand.regard.bias_check",
    "compare": "evenhand.runs.comparison",
    "compare_all": "evenhand.workflows.show",
    "default_data": "evenhand.workflows.defaults.mitigating",
    "describe": "evenhand.data",
    "evaluate": "evenhand.workflows.measure",
    "evaluate_regard": "evenhand.workflows.regard_evaluation",
    "example_scores": "evenhand.data.datasets",
    "filled_spans": "evenhand.core.items",
    "format_table": "evenhand.reporting",
    "load": "evenhand.models.references:load_model",
    "load_dataset": "evenhand.data",
    "load_probes": "evenhand.data.probes",
    "load_scheme": "evenhand.data.label_schemes",
    "measure_all": "evenhand.workflows.measure",
    "mitigate": "evenhand.workflows.mitigate",
    "open_classifier": "evenhand.regard.classifier",
    "open_run": "evenhand.runs.run",
    "probe": "evenhand.workflows.measure",
    "read_annotations": "evenhand.data.annotation_files",
    "read_certificate": "evenhand.certificate.verification",
    "read_group_texts": "evenhand.data.group_text_files",
    "read_regard_texts": "evenhand.regard.texts",
    "report": "evenhand.workflows.show",
    "study": "evenhand.workflows.study",
    "train_next_sentence": "evenhand.workflows.next_sentence",
    "train_regard_classifier": "evenhand.workflows.regard",
    "write_annotations": "evenhand.data.annotation_files",
    "write_certificate_page": "evenhand.reporting",
    "write_page": "evenhand.reporting",
}

__all__ = [
    "INSTRUMENTS",
    "MEASURES",
    "MITIGATIONS",
    "PROTOCOLS",
    "Association",
    "AuditOptions",
    "Benchmark",
    "Candidate",
    "Certificate",
    "CertificatePlan",
    "CertifyOptions",
    "CheckOptions",
    "Comparison",
    "ComparisonOptions",
    "CounterfactualOptions",
    "EqualiseOptions",
    "Estimate",
    "EvenhandError",
    "Figure",
    "Finetuning",
    "GenerationOptions",
    "GroupText",
    "GroupTextColumns",
    "GroupTexts",
    "HeldOutText",
    "Instrument",
    "InstrumentOptions",
    "KnowledgeOptions",
    "Label",
    "MalorOptions",
    "Margins",
    "Measurement",
    "MeasurementJob",
    "MitigatedModel",
    "Mitigation",
    "MitigationData",
    "MitigationOptions",
    "ModelRef",
    "Monitor",
    "NextSentenceOptions",
    "PairOptions",
    "Protocol",
    "Recipe",
    "RegardClassifier",
    "RegardEvaluationOptions",
    "RegardOptions",
    "RegardTexts",
    "RegardTrainingOptions",
    "Resampling",
    "Run",
    "RunResult",
    "Study",
    "Task",
    "TriggerOptions",
    "annotator_agreement",
    "audit",
    "audit_regard",
    "balance_genders",
    "build_next_sentence_pairs",
    "build_pairs",
    "certificate_power",
    "certify",
    "check",
    "check_classifier",
    "check_labelled_files",
    "compare",
    "compare_all",
    "default_data",
    "describe",
    "evaluate",
    "evaluate_regard",
    "example_scores",
    "filled_spans",
    "format_table",
    "load",
    "load_dataset",
    "load_probes",
    "load_scheme",
    "measure_all",
    "mitigate",
    "open_classifier",
    "open_run",
    "probe",
    "read_annotations",
    "read_certificate",
    "read_group_texts",
    "read_regard_texts",
    "report",
    "study",
    "train_next_sentence",
    "train_regard_classifier",
    "write_annotations",
    "write_certificate_page",
    "write_page",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'evenhand' has no attribute {name!r}")
    module, _, attribute = _HOME[name].partition(":")
    try:
        return getattr(import_module(module), attribute or name)
    except ModuleNotFoundError as problem:
        from evenhand.core.errors import missing_extra

        raise missing_extra(problem, purpose=f"evenhand.{name}") or problem from None


def __dir__() -> list[str]:
    return sorted(__all__)
