"""What users may rely on: the names, and that importing them is quick."""

from __future__ import annotations

import inspect
import subprocess
import sys
from importlib.util import find_spec

import pytest

import evenhand
import evenhand.testing

PUBLIC = [
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


def test_the_public_names_are_these_and_no_others() -> None:
    assert vars(evenhand)["__all__"] == sorted(PUBLIC)
    assert dir(evenhand) == sorted(PUBLIC)


def test_the_public_names_of_the_checks_for_tests() -> None:
    assert evenhand.testing.__all__ == [
        "AnalyticModel",
        "FakeModel",
        "ModelSamples",
        "check_dataset",
        "check_measure",
        "check_model",
        "lab_benchmark",
    ]


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_can_be_imported_and_is_documented(name: str) -> None:
    thing = getattr(evenhand, name)

    if callable(thing):
        assert inspect.getdoc(thing)
    else:
        assert len(thing) > 0


def test_no_public_name_is_also_a_subpackage_that_would_hide_it() -> None:
    assert [name for name in PUBLIC if find_spec(f"evenhand.{name}")] == []


@pytest.mark.parametrize("name", [name for name in PUBLIC if name.islower()])
def test_public_functions_are_typed_throughout(name: str) -> None:
    signature = inspect.signature(getattr(evenhand, name))

    assert signature.return_annotation is not inspect.Signature.empty
    for parameter in signature.parameters.values():
        assert parameter.annotation is not inspect.Parameter.empty


def test_a_name_that_does_not_exist_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        evenhand.nothing  # type: ignore[attr-defined]  # noqa: B018


def modules_after(statement: str) -> set[str]:
    finished = subprocess.run(
        [sys.executable, "-c", f"{statement}\nimport sys\nprint(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(finished.stdout.split())


def test_importing_the_package_loads_no_heavy_library() -> None:
    assert modules_after("import evenhand") & {"numpy", "polars", "scipy", "altair", "torch"} == set()


def test_a_certificate_is_verified_without_torch() -> None:
    loaded = modules_after("import evenhand\nevenhand.read_certificate")

    assert "evenhand.certificate.verification" in loaded
    assert {"torch", "transformers"} & loaded == set()


def test_an_audit_does_not_wait_for_what_regard_needs() -> None:
    loaded = modules_after("import evenhand.api.measure, evenhand\nevenhand.audit")

    assert "evenhand.instruments.association.instrument" in loaded
    assert "evenhand.instruments.regard.audit" not in loaded


def test_evaluating_and_the_checks_for_tests_do_without_the_command_line_and_torch() -> None:
    loaded = modules_after("import evenhand.testing, evenhand\nevenhand.evaluate\nevenhand.compare")

    assert "evenhand.instruments.association.evaluation" in loaded
    assert {name for name in loaded if name.split(".")[0] in ("torch", "transformers", "typer")} == set()
    assert {name for name in loaded if name.startswith("evenhand.cli")} == set()
