"""The certificate: what a mitigation did to bias and to quality, proved on the same questions to both models."""

from evenhand.mitigation.certificate.finetuning import Finetuning
from evenhand.mitigation.certificate.margins import Margins
from evenhand.mitigation.certificate.pipeline import certify
from evenhand.mitigation.certificate.plan import CertificatePlan, HeldOutText

__all__ = ["CertificatePlan", "Finetuning", "HeldOutText", "Margins", "certify"]
