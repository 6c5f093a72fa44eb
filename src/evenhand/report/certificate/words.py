"""What a certificate says, in plain words."""

from __future__ import annotations

import math
from collections.abc import Sequence

from evenhand.core.estimates import Estimate
from evenhand.report.number_words import in_brackets, listed, signed
from evenhand.runs.certificates import (
    BiasRow,
    BiasVerdict,
    Certificate,
    QualityRow,
    QualityVerdict,
)

BIAS_HEADLINES = {
    BiasVerdict.LOWERED: "Gender lean was lowered",
    BiasVerdict.NOT_LOWERED: "Gender lean is not shown to be lowered",
    BiasVerdict.NOTHING_CHANGED: "Nothing changed",
}

QUALITY_HEADLINES = {
    QualityVerdict.KEPT: "Quality was kept",
    QualityVerdict.LOST: "Quality was lost",
    QualityVerdict.UNDECIDED: "Whether quality was kept is undecided",
    QualityVerdict.NOT_MEASURED: "Quality was not measured",
}

_NAMED = 5
_IDEAL = 100.0
_WHOLE = 100.0
_LARGE = 1000


def certificate_sentences(certificate: Certificate) -> list[str]:
    """The verdict in sentences: bias, quality, what was not trained on, over-correction."""
    quality = (QUALITY_HEADLINES[certificate.verdict.quality], quality_scope(certificate))
    return [
        f"{BIAS_HEADLINES[certificate.verdict.bias]}{in_brackets(bias_scope(certificate))}. {bias_detail(certificate)}",
        f"{', '.join(part for part in quality if part)}. {quality_detail(certificate)}",
        *([untrained_words(certificate)] if certificate.untrained and _changed(certificate) else []),
        *([flipped_words(certificate)] if _changed(certificate) else []),
    ]


def bias_scope(certificate: Certificate) -> str:
    """What the verdict on bias is about."""
    if not _changed(certificate):
        return ""
    if certificate.trained_known:
        return "judged on what was trained on"
    return "judged on all experiments, as it is not known which were trained on"


def quality_scope(certificate: Certificate) -> str:
    """What kept quality rests on, where not all of it was measured."""
    if certificate.verdict.quality is not QualityVerdict.KEPT or not _changed(certificate):
        return ""
    measured, missing = (
        [row.measure for row in certificate.quality if (row.verdict is QualityVerdict.NOT_MEASURED) is absent]
        for absent in (False, True)
    )
    if not missing:
        return ""
    verb = "was" if len(missing) == 1 else "were"
    return f"as far as it was measured ({listed(measured)}); {listed(missing)} {verb} not measured"


def bias_detail(certificate: Certificate) -> str:
    """The numbers behind the verdict on bias."""
    if not _changed(certificate):
        return "The weights of both models are the same, tensor by tensor, so every measure is."
    level = _level(certificate)
    told = [_bias_words(row, level=level) for row in certificate.trained]
    if certificate.verdict.bias is BiasVerdict.LOWERED:
        return " ".join(told)
    open_rows = [row.measure for row in certificate.trained if not _fell(row)]
    if not open_rows:
        return " ".join([*told, "Nothing was measured."])
    which, verb = ("interval", "does") if len(open_rows) == 1 else ("intervals", "do")
    return " ".join([*told, f"The {which} of {listed(open_rows)} {verb} not lie below 0."])


def quality_detail(certificate: Certificate) -> str:
    """The numbers behind the verdict on quality."""
    measured = [row for row in certificate.quality if row.verdict is not QualityVerdict.NOT_MEASURED]
    if not measured:
        return "No measure of quality could be taken."
    if not _changed(certificate):
        return "Both models are one and the same."
    order = (QualityVerdict.LOST, QualityVerdict.UNDECIDED, QualityVerdict.KEPT)
    rows = sorted(measured, key=lambda row: order.index(row.verdict))
    return " ".join(quality_words(row, level=_level(certificate)) for row in rows)


def quality_words(row: QualityRow, *, level: str) -> str:
    """One measure of quality in a sentence."""
    says = {
        QualityVerdict.KEPT: "which stays within",
        QualityVerdict.LOST: "which is beyond",
        QualityVerdict.UNDECIDED: "which may or may not stay within",
        QualityVerdict.NOT_MEASURED: "measured against",
    }[row.verdict]
    name = row.measure[0].upper() + row.measure[1:]
    return (
        f"{name} went from {figure_words(row.before)} to {figure_words(row.after)} ({change_words(row)}"
        f"{_interval(row.difference, level=level, unit=row.unit)}), {says} the margin of {margin_words(row)}."
    )


def figure_words(value: float) -> str:
    """A figure with as many decimals as say anything."""
    return f"{value:,.0f}" if abs(value) >= _LARGE else f"{value:.2f}"


def change_words(row: QualityRow | BiasRow) -> str:
    """A difference with its sign and unit."""
    return _with_unit(row.difference.value, row.unit)


def margin_words(row: QualityRow) -> str:
    """The worst difference that is tolerated."""
    value = signed(row.margin, 2).rstrip("0").rstrip(".")
    unit = "point" if row.unit == "points" and abs(row.margin) == 1 else row.unit
    return f"{value}%" if unit == "%" else f"{value} {unit}"


def relative_words(row: BiasRow) -> str:
    """How much of a measure whose neutral value is 0 went away, in percent of before."""
    if row.neutral != 0 or not row.before or math.isnan(row.before) or math.isnan(row.after):
        return ""
    percent = _WHOLE * (row.after / row.before - 1)
    return f"{signed(percent, 0)}%"


def untrained_words(certificate: Certificate) -> str:
    """What became of the measures that were not trained on, and which of them are away from neutral still."""
    groups = {
        "closer to neutral": [row for row in certificate.untrained if towards_neutral(row) > 0],
        "farther from neutral": [row for row in certificate.untrained if towards_neutral(row) < 0],
        "not clearly different": [row for row in certificate.untrained if towards_neutral(row) == 0],
    }
    parts = [
        f"{listed([_moved(row) for row in rows])} {'is' if len(rows) == 1 else 'are'} {says}"
        for says, rows in groups.items()
        if rows
    ]
    return " ".join([f"Of the measures that were not trained on, {'; '.join(parts)}.", *_away(certificate)])


def _away(certificate: Certificate) -> list[str]:
    """Measures whose interval after excludes neutral. ICAT has no other side, and mixes in LMS."""
    rows = [row for row in certificate.untrained if row.neutral != _IDEAL]
    sides = {
        "Stereotypes remain": ("above", [row for row in rows if row.after_interval.low > row.neutral]),
        "Against the stereotypes": ("below", [row for row in rows if row.after_interval.high < row.neutral]),
    }
    return [f"{says}: {_beyond(found, side)}." for says, (side, found) in sides.items() if found]


def _beyond(rows: Sequence[BiasRow], side: str) -> str:
    """Measures with the neutral value that they are clearly above or below."""
    parts = []
    for neutral in dict.fromkeys(row.neutral for row in rows):
        own = [f"{row.measure} ({row.after:.2f})" for row in rows if row.neutral == neutral]
        parts.append(f"{listed(own)} {'is' if len(own) == 1 else 'are'} clearly {side} neutral ({neutral:g})")
    return "; ".join(parts)


def towards_neutral(row: BiasRow) -> int:
    """1 if a measure clearly moved towards its neutral value, -1 if clearly away, 0 if that is open."""
    if not row.difference.defined or math.isnan(row.difference.low):
        return 0
    rose, fell = row.difference.low > 0, row.difference.high < 0
    if not rose and not fell:
        return 0
    nearer = abs(row.after - row.neutral) < abs(row.before - row.neutral)
    return 1 if nearer else -1


def flipped_words(certificate: Certificate) -> str:
    """Whether the correction went too far."""
    flips = certificate.flipped
    if not flips:
        return "No occupation was pushed clearly to the other side."
    names = [f"{row.occupation} ({row.experiment}: {signed(row.before.value)} to {signed(row.after.value)})"
             for row in flips[:_NAMED]]  # fmt: skip
    more = f" and {len(flips) - _NAMED} more" if len(flips) > _NAMED else ""
    many = "1 occupation leans" if len(flips) == 1 else f"{len(flips)} occupations lean"
    return f"Over-correction: {many} clearly to the other side than before: {', '.join(names)}{more}."


def _bias_words(row: BiasRow, *, level: str) -> str:
    if not row.difference.defined:
        return f"{row.measure} is undefined: {row.difference.reason}."
    relative = relative_words(row)
    verb = "fell" if _fell(row) else "went"
    return (
        f"{row.measure} {verb} from {row.before:.2f} to {row.after:.2f} {row.unit} "
        f"({f'{relative}; ' if relative else ''}difference {signed(row.difference.value)}"
        f"{_interval(row.difference, level=level, unit='')})."
    )


def _moved(row: BiasRow) -> str:
    return f"{row.measure} ({row.before:.2f} to {row.after:.2f})"


def _interval(estimate: Estimate, *, level: str, unit: str) -> str:
    if math.isnan(estimate.low):
        return f", no interval: {estimate.reason}"
    if estimate.low == estimate.high:
        return ", on every item the same" if estimate.low == 0 else ""
    sign = "%" if unit == "%" else ""
    return f", {level} interval {signed(estimate.low)}{sign} to {signed(estimate.high)}{sign}"


def _with_unit(value: float, unit: str) -> str:
    return f"{signed(value)}%" if unit == "%" else f"{signed(value)} {unit}"


def _fell(row: BiasRow) -> bool:
    return row.difference.defined and row.difference.high < 0


def _changed(certificate: Certificate) -> bool:
    return certificate.verdict.bias is not BiasVerdict.NOTHING_CHANGED


def _level(certificate: Certificate) -> str:
    return f"{certificate.statistics.confidence:.0%}"
