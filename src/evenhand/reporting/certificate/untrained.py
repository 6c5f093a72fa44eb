"""What a certificate says about the measures that were not trained on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import StrEnum

from evenhand.reporting.words import listed
from evenhand.store.certificate_bias import BiasRow
from evenhand.store.certificates import Certificate

_IDEAL = 100.0
"""The neutral value of ICAT, which has no other side and mixes in LMS."""


def wholes(rows: Sequence[BiasRow]) -> list[BiasRow]:
    """Rows that are no part of another."""
    return [row for row in rows if row.part_of is None]


def untrained_words(certificate: Certificate) -> str:
    """What became of the measures that were not trained on, and which of them are away from neutral still."""
    measured = [
        row for row in wholes(certificate.untrained) if not (math.isnan(row.before) or math.isnan(row.after))
    ]
    others, pairs = (
        [row for row in measured if (row.untrained_pair is not None) is is_pair] for is_pair in (False, True)
    )
    sentences = [
        f"Of {of}, {_moves(rows)}."
        for of, rows in (
            ("the measures that were not trained on", others),
            ("pairs of words that no mitigation is trained for", pairs),
        )
        if rows
    ]
    return " ".join([*sentences, *_away(certificate)])


def _moves(rows: Sequence[BiasRow]) -> str:
    """Which measures came closer, which went farther, and of which neither is clear."""
    groups = {
        "closer to neutral": [row for row in rows if row.movement > 0],
        "farther from neutral": [row for row in rows if row.movement < 0],
        "not clearly closer or farther": [row for row in rows if row.movement == 0],
    }
    return "; ".join(
        f"{listed([_moved(row) for row in own])} {'is' if len(own) == 1 else 'are'} {says}"
        for says, own in groups.items()
        if own
    )


class UntrainedVerdict(StrEnum):
    """What measures that were not trained on say about the model after."""

    REMAIN = "stereotypes remain"
    AGAINST = "against the stereotypes"
    FARTHER = "farther from neutral"
    CLOSER = "closer to neutral"
    OPEN = "open"
    NOT_MEASURED = "not measured"


UNTRAINED_HEADLINES = {
    UntrainedVerdict.REMAIN: "Stereotypes remain beyond what was trained on",
    UntrainedVerdict.AGAINST: "Other measures lean against the stereotypes",
    UntrainedVerdict.FARTHER: "Other measures moved away from neutral",
    UntrainedVerdict.CLOSER: "Other measures moved towards neutral",
    UntrainedVerdict.OPEN: "Nothing is shown beyond what was trained on",
    UntrainedVerdict.NOT_MEASURED: "Nothing else was measured",
}


def untrained_verdict(certificate: Certificate) -> UntrainedVerdict:
    """What is left of the bias that nobody trained against: what is away from neutral counts before what moved."""
    rows = [row for row in wholes(certificate.untrained) if row.neutral != _IDEAL]
    if not rows:
        return UntrainedVerdict.NOT_MEASURED
    sides = {clearly_away(row) for row in rows}
    if sides & {1, -1}:
        return UntrainedVerdict.REMAIN if 1 in sides else UntrainedVerdict.AGAINST
    moves = {row.movement for row in rows}
    if -1 in moves:
        return UntrainedVerdict.FARTHER
    return UntrainedVerdict.CLOSER if 1 in moves else UntrainedVerdict.OPEN


def clearly_away(row: BiasRow) -> int:
    """1 if the whole interval after lies above neutral, -1 if below, 0 if it includes neutral or there is none."""
    return (row.after_interval.low > row.neutral) - (row.after_interval.high < row.neutral)


def _away(certificate: Certificate) -> list[str]:
    """Measures whose interval after excludes neutral. ICAT has no other side, and mixes in LMS."""
    rows = [row for row in wholes(certificate.untrained) if row.neutral != _IDEAL]
    sides = {
        "Stereotypes remain": ("above", [row for row in rows if clearly_away(row) > 0]),
        "Against the stereotypes": ("below", [row for row in rows if clearly_away(row) < 0]),
    }
    return [f"{says}: {_beyond(own, side)}." for says, (side, own) in sides.items() if own]


def _beyond(rows: Sequence[BiasRow], side: str) -> str:
    """Measures with the neutral value that they are clearly above or below."""
    parts = []
    for neutral in dict.fromkeys(row.neutral for row in rows):
        own = [f"{row.measure} ({row.after:.2f})" for row in rows if row.neutral == neutral]
        parts.append(f"{listed(own)} {'is' if len(own) == 1 else 'are'} clearly {side} neutral ({neutral:g})")
    return "; ".join(parts)


def _moved(row: BiasRow) -> str:
    return f"{row.measure} ({row.before:.2f} to {row.after:.2f})"
