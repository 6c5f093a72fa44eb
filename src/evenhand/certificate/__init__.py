"""The certificate: what a mitigation did to bias and to quality, measured on the same questions to both models.

Nothing is imported before it is used: making a certificate needs torch, verifying one does not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenhand.core.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from evenhand.certificate.certification import certify as certify
    from evenhand.certificate.finetuning import Finetuning as Finetuning
    from evenhand.certificate.finetuning import finetuning_preset as finetuning_preset
    from evenhand.certificate.margins import Margins as Margins
    from evenhand.certificate.plan import CertificatePlan as CertificatePlan
    from evenhand.certificate.plan import HeldOutText as HeldOutText
    from evenhand.certificate.plan import Measurement as Measurement

lazy_exports(__name__)
