"""A certificate as a table for the terminal."""

from __future__ import annotations

import math

from evenhand.core.estimates import Estimate
from evenhand.report.certificate.words import (
    change_words,
    figure_words,
    margin_words,
    relative_words,
    towards_neutral,
)
from evenhand.report.number_words import signed
from evenhand.runs.certificates import Certificate, QualityVerdict

CERTIFICATE_COLUMNS = ("measure", "trained on", "before", "after", "difference", "interval", "verdict")

_MOVES = {1: "closer to neutral", 0: "open", -1: "farther from neutral"}


def certificate_rows(certificate: Certificate) -> list[tuple[str, ...]]:
    """A row a measure: bias first, then quality."""
    known = "yes" if certificate.trained_known else "?"
    rows: list[tuple[str, ...]] = [
        (
            row.measure,
            trained,
            f"{row.before:.2f}",
            f"{row.after:.2f}",
            " ".join(
                part for part in (signed(row.difference.value), _in_brackets(relative_words(row))) if part
            ),
            _ends(row.difference),
            _MOVES[towards_neutral(row)],
        )
        for trained, measured in ((known, certificate.trained), ("no", certificate.untrained))
        for row in measured
    ]
    for part in certificate.quality:
        measured = part.verdict is not QualityVerdict.NOT_MEASURED
        rows.append(
            (
                part.measure,
                "quality",
                figure_words(part.before) if measured else "–",
                figure_words(part.after) if measured else "–",
                change_words(part) if measured else "–",
                _ends(part.difference),
                f"{part.verdict.value}, margin {margin_words(part)}" if measured else part.verdict.value,
            )
        )
    return rows


def _in_brackets(text: str) -> str:
    return f"({text})" if text else ""


def _ends(estimate: Estimate) -> str:
    return "–" if math.isnan(estimate.low) else f"{signed(estimate.low)} to {signed(estimate.high)}"
