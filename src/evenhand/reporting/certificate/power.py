"""What the data of a certificate can exclude: a table and a few sentences."""

from __future__ import annotations

import math

from evenhand.reporting.numbers import NOT_THERE
from evenhand.stats.power import WANTED_POWER
from evenhand.store.certificate_power import CertificatePower, PowerCase, QualityPower
from evenhand.store.certificate_quality import PERCENT

POWER_COLUMNS = ("measure", "margin", "data", "if", "excludes", "needed", "kept")


def power_rows(power: CertificatePower) -> list[tuple[str, ...]]:
    """One row per measure and assumption."""
    rows: list[tuple[str, ...]] = []
    for quality in power.qualities:
        margin = _amount(quality.margin, quality)
        if not quality.cases:
            rows.append((quality.measure, margin, NOT_THERE, str(quality.reason), *3 * (NOT_THERE,)))
        for number, case in enumerate(quality.cases):
            data = f"{quality.available:,} {quality.counted}"
            rows.append(
                (*((quality.measure, margin, data) if number == 0 else 3 * ("",)), *_cells(quality, case))
            )
    return rows


def power_words(power: CertificatePower) -> tuple[str, ...]:
    """How to read the table, and what it says of the certificate as a whole."""
    columns = (
        "Planned as if nothing is lost. "
        f"'excludes' is the smallest margin within which quality would be called kept in {WANTED_POWER:.0%} of cases, "
        "'needed' how much data that takes at the margin in force, 'kept' how often it would be called kept. How much "
        "answers vary is assumed."
    )
    if power.overall is None:
        return (columns,)
    little, much = (f"{100 * share:.0f}%" for share in power.overall)
    words = [
        columns,
        f"All measures together would be called kept in {little} of cases if answers vary little, in {much} if they "
        "vary much, as if the measures were independent.",
    ]
    weak = [
        quality for quality in power.qualities if quality.cases and quality.cases[-1].power < WANTED_POWER
    ]
    if weak:
        words.append(f"More data is needed for {', '.join(_needs(quality) for quality in weak)}.")
    return tuple(words)


def _cells(quality: QualityPower, case: PowerCase) -> tuple[str, ...]:
    return (
        case.assumption,
        NOT_THERE if math.isnan(case.provable) else _amount(case.provable, quality),
        NOT_THERE if case.needed is None else f"{case.needed:,}",
        f"{100 * case.power:.0f}%",
    )


def _amount(value: float, quality: QualityPower) -> str:
    amount = f"{value:.2g}"
    if quality.unit == PERCENT:
        return f"{amount}{PERCENT}"
    return f"{amount} {quality.unit.removesuffix('s') if amount == '1' else quality.unit}"


def _needs(quality: QualityPower) -> str:
    needed = quality.cases[-1].needed
    if needed is None:
        return f"{quality.measure} (no number of {quality.counted} is enough)"
    return f"{quality.measure} (up to {needed:,} {quality.counted})"
