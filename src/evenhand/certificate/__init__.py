"""The certificate: what a mitigation did to bias and to quality, measured on the same questions to both models.

Nothing is imported before it is used: making a certificate needs torch, verifying one does not.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evenhand.certificate.certification import certify
    from evenhand.certificate.finetuning import Finetuning, finetuning_preset
    from evenhand.certificate.margins import Margins
    from evenhand.certificate.plan import CertificatePlan, HeldOutText, Measurement

_HOME = {
    "CertificatePlan": "evenhand.certificate.plan",
    "Finetuning": "evenhand.certificate.finetuning",
    "HeldOutText": "evenhand.certificate.plan",
    "Margins": "evenhand.certificate.margins",
    "Measurement": "evenhand.certificate.plan",
    "certify": "evenhand.certificate.certification",
    "finetuning_preset": "evenhand.certificate.finetuning",
}

__all__ = [
    "CertificatePlan",
    "Finetuning",
    "HeldOutText",
    "Margins",
    "Measurement",
    "certify",
    "finetuning_preset",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
