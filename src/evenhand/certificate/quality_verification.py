"""Quality in a certificate that is read: every row is computed again, and no row may be left out or added."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields

from evenhand.certificate.margins import Margins
from evenhand.certificate.measurements import Measurements
from evenhand.certificate.quality_rows import quality_rows
from evenhand.core.errors import RunError
from evenhand.store.certificate_files import equal_figures, plain_figures, resampling_of
from evenhand.store.certificate_inputs import CertificateInputs
from evenhand.store.certificates import Certificate


def verified_quality(
    certificate: Certificate, inputs: CertificateInputs, before: Measurements, after: Measurements
) -> Iterator[tuple[str, bool]]:
    """Each measure of quality, and whether a certificate states of it what its runs and inputs give, once."""
    expected = quality_rows(
        inputs,
        before,
        after,
        margins=margins_of(inputs),
        resampling=resampling_of(certificate.statistics),
    )
    for measure in dict.fromkeys(row.measure for row in (*certificate.quality, *expected)):
        stated, given = (
            [plain_figures(row) for row in rows if row.measure == measure]
            for rows in (certificate.quality, expected)
        )
        yield measure, equal_figures(stated, given)


def margins_of(inputs: CertificateInputs) -> Mapping[str, float]:
    """The margins of a certificate, by name."""
    margins = inputs.settings.get("margins")
    if not isinstance(margins, dict) or not all(isinstance(value, int | float) for value in margins.values()):
        raise RunError("its inputs have no margins")
    missing = {margin.name for margin in fields(Margins)} - margins.keys()
    if missing:
        raise RunError(f"its inputs have no margin of {min(missing)}")
    return margins
