"""Study: measure a model, mitigate it, measure it again on the same questions, and certify the difference.

OUT/model/             the mitigated model, an ordinary folder
    certificate.html   what was proved, for people
    certificate.json   the same, for machines
    certificate/       the audits and probes of the model before and after
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from evenhand.certificate import CertificatePlan, certify
from evenhand.core.progress import SILENT, Monitor
from evenhand.mitigation.mitigate import Mitigated
from evenhand.models.language_model import LanguageModel
from evenhand.models.references import ModelRef
from evenhand.report.certificate.page import write_certificate_page
from evenhand.runs.certificates import Certificate

MODEL_FOLDER = "model"
PAGE_FILE = "certificate.html"
RECORD_FILE = "certificate.json"

Mitigation = Callable[[Path], Mitigated]
"""Mitigates the model into a folder; any way that takes a model and gives one back."""


@dataclass(frozen=True, slots=True)
class Study:
    """What a study came to."""

    mitigated: Mitigated
    certificate: Certificate
    page: Path


def study(
    original: LanguageModel,
    mitigation: Mitigation,
    plan: CertificatePlan,
    *,
    out: Path,
    monitor: Monitor = SILENT,
) -> Study:
    """Carry a study out, or what is left of it.

    Args:
        original: The model to study.
        mitigation: How to mitigate it.
        plan: What it is measured on, before and after.
        out: Folder for everything; called again with the same, the study goes on where it was.
        monitor: Told how measuring goes.
    """
    mitigated = mitigation(out / MODEL_FOLDER)
    certificate = certify(
        original, _measured_alike(mitigated.ref, original), plan, place=out / RECORD_FILE, monitor=monitor
    )
    page = write_certificate_page(certificate, out / PAGE_FILE)
    return Study(mitigated, certificate, page)


def _measured_alike(ref: ModelRef, original: LanguageModel) -> ModelRef:
    """The mitigated model in the precision and on the device of the original."""
    before = original.loaded.ref
    return ref.model_copy(update={"precision": before.precision, "device": before.device})
