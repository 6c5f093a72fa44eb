"""Evenhand: measure stereotypes in language models, mitigate them, and certify the difference.

    >>> import evenhand as eh
    >>> run = eh.evaluate(eh.example_scores("leaning"), data="starter", language="de")
    >>> print(run.result.tasks["overall"].SS)

Names are imported when they are first used, so that ``evenhand --help`` stays quick.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenhand.core.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from evenhand.api.certify import certificate_power as certificate_power
    from evenhand.api.certify import certify as certify
    from evenhand.api.defaults.mitigating import CertifyOptions as CertifyOptions
    from evenhand.api.defaults.mitigating import default_data as default_data
    from evenhand.api.measure import audit as audit
    from evenhand.api.measure import evaluate as evaluate
    from evenhand.api.measure import measure_all as measure_all
    from evenhand.api.measure import probe as probe
    from evenhand.api.measurement_jobs import MeasurementJob as MeasurementJob
    from evenhand.api.mitigate import mitigate as mitigate
    from evenhand.api.pairs import build_pairs as build_pairs
    from evenhand.api.regard import RegardTrainingOptions as RegardTrainingOptions
    from evenhand.api.regard import train_regard_classifier as train_regard_classifier
    from evenhand.api.regard_audit import audit_regard as audit_regard
    from evenhand.api.regard_evaluation import RegardEvaluationOptions as RegardEvaluationOptions
    from evenhand.api.regard_evaluation import evaluate_regard as evaluate_regard
    from evenhand.api.show import compare_all as compare_all
    from evenhand.api.show import report as report
    from evenhand.api.study import Study as Study
    from evenhand.api.study import study as study
    from evenhand.certificate.finetuning import Finetuning as Finetuning
    from evenhand.certificate.margins import Margins as Margins
    from evenhand.certificate.plan import CertificatePlan as CertificatePlan
    from evenhand.certificate.plan import HeldOutText as HeldOutText
    from evenhand.certificate.plan import Measurement as Measurement
    from evenhand.certificate.verification import read_certificate as read_certificate
    from evenhand.core.errors import EvenhandError as EvenhandError
    from evenhand.core.estimates import Estimate as Estimate
    from evenhand.core.items import Association as Association
    from evenhand.core.items import Benchmark as Benchmark
    from evenhand.core.items import Candidate as Candidate
    from evenhand.core.items import Label as Label
    from evenhand.core.items import Task as Task
    from evenhand.core.items import filled_spans as filled_spans
    from evenhand.core.progress import Monitor as Monitor
    from evenhand.core.protocols import PROTOCOLS as PROTOCOLS
    from evenhand.core.protocols import Protocol as Protocol
    from evenhand.core.recipes import Recipe as Recipe
    from evenhand.data import check as check
    from evenhand.data import describe as describe
    from evenhand.data import load_dataset as load_dataset
    from evenhand.data.annotation_files import read_annotations as read_annotations
    from evenhand.data.annotation_files import write_annotations as write_annotations
    from evenhand.data.datasets import example_scores as example_scores
    from evenhand.data.group_text_files import GroupTextColumns as GroupTextColumns
    from evenhand.data.group_text_files import read_group_texts as read_group_texts
    from evenhand.data.group_texts import GroupText as GroupText
    from evenhand.data.group_texts import GroupTexts as GroupTexts
    from evenhand.data.label_schemes import load_scheme as load_scheme
    from evenhand.data.probes import load_probes as load_probes
    from evenhand.heads.pairs import NextSentenceOptions as NextSentenceOptions
    from evenhand.heads.pairs_workflow import build_next_sentence_pairs as build_next_sentence_pairs
    from evenhand.heads.workflow import train_next_sentence as train_next_sentence
    from evenhand.instruments.association.instrument import AuditOptions as AuditOptions
    from evenhand.instruments.association.measures import MEASURES as MEASURES
    from evenhand.instruments.association.results import RunResult as RunResult
    from evenhand.instruments.instrument import Instrument as Instrument
    from evenhand.instruments.instrument import InstrumentOptions as InstrumentOptions
    from evenhand.instruments.knowledge.instrument import KnowledgeOptions as KnowledgeOptions
    from evenhand.instruments.malor.instrument import MalorOptions as MalorOptions
    from evenhand.instruments.regard.audit import RegardOptions as RegardOptions
    from evenhand.mitigation.counterfactual import CounterfactualOptions as CounterfactualOptions
    from evenhand.mitigation.equalising.equalise import EqualiseOptions as EqualiseOptions
    from evenhand.mitigation.mitigation import MitigatedModel as MitigatedModel
    from evenhand.mitigation.mitigation import Mitigation as Mitigation
    from evenhand.mitigation.mitigation import MitigationData as MitigationData
    from evenhand.mitigation.mitigation import MitigationOptions as MitigationOptions
    from evenhand.mitigation.pairs.building import PairOptions as PairOptions
    from evenhand.mitigation.registry import MITIGATIONS as MITIGATIONS
    from evenhand.models.references import ModelRef as ModelRef
    from evenhand.models.references import load_model
    from evenhand.models.requests import GenerationOptions as GenerationOptions
    from evenhand.regard.agreement import annotator_agreement as annotator_agreement
    from evenhand.regard.bias_check import check_labelled_files as check_labelled_files
    from evenhand.regard.classifier import RegardClassifier as RegardClassifier
    from evenhand.regard.classifier import open_classifier as open_classifier
    from evenhand.regard.classifier_check import CheckOptions as CheckOptions
    from evenhand.regard.classifier_check import check_classifier as check_classifier
    from evenhand.regard.gender_balance import balance_genders as balance_genders
    from evenhand.regard.texts import RegardTexts as RegardTexts
    from evenhand.regard.texts import read_regard_texts as read_regard_texts
    from evenhand.reporting import format_table as format_table
    from evenhand.reporting import write_certificate_page as write_certificate_page
    from evenhand.reporting import write_page as write_page
    from evenhand.stats.resampling import Resampling as Resampling
    from evenhand.store.certificates import Certificate as Certificate
    from evenhand.store.comparison import Comparison as Comparison
    from evenhand.store.comparison import ComparisonOptions as ComparisonOptions
    from evenhand.store.comparison import compare as compare
    from evenhand.store.figures import Figure as Figure
    from evenhand.store.run import INSTRUMENTS as INSTRUMENTS
    from evenhand.store.run import Run as Run
    from evenhand.store.run import open_run as open_run
    from evenhand.triggers.trigger import TriggerOptions as TriggerOptions

    load = load_model

lazy_exports(__name__)
