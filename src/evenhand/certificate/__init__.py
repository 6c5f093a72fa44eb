"""The certificate: what a mitigation did to bias and to quality, measured on the same questions to both models."""

from evenhand.certificate.certify import certify
from evenhand.certificate.finetuning import Finetuning, finetuning_preset
from evenhand.certificate.plan import CertificatePlan, HeldOutText, Margins, Measurement

__all__ = [
    "CertificatePlan",
    "Finetuning",
    "HeldOutText",
    "Margins",
    "Measurement",
    "certify",
    "finetuning_preset",
]
