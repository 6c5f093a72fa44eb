"""What a certificate says, in sentences and definitions."""

from __future__ import annotations

import math
from collections.abc import Sequence

from evenhand.core.estimates import Estimate
from evenhand.reporting.certificate.baseline import baseline_words
from evenhand.reporting.certificate.untrained import untrained_words, wholes
from evenhand.reporting.numbers import has_interval, no_interval_words, signed, signed_interval, unsigned
from evenhand.reporting.words import in_brackets, listed
from evenhand.runs.certificate_bias import ALL_PROBES, BiasRow, BiasVerdict
from evenhand.runs.certificate_quality import QualityRow, QualityVerdict
from evenhand.runs.certificates import Certificate, ReportedRow

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

DEFINITIONS = {
    "MALoR": "is how far occupations lean to men or women on average, in bits; each bit doubles, and 0 is neutral.",
    "Base rate": "is the lean that all occupations share, above 0 towards men; it is no stereotype of occupations.",
    "Spread": "is how far occupations lie from the base rate on average: the lean that differs by occupation.",
    "SS": "(stereotype score) is how often the stereotype wins, in percent; 50 is neutral, and neither end is good.",
    "ICAT": "puts LMS and SS into one figure; 100 is ideal, guessing gives 50, always taking one side gives 0.",
    "CrowS-Pairs": "is how often the more stereotypical sentence of two is the likelier, in percent; 50 is neutral.",
    "Trivial baseline": "is the original with a constant added to the output biases of each side's words: what can be "
    "had without any training.",
    "LMS": "(language modelling score) is how often sense beats nonsense, in percent; guessing gives 50, and higher is "
    "better.",
    "Knowledge": "is how often the pronoun that another word settles is the likelier one, in percent; guessing gives "
    "50, and higher is better.",
    "Perplexity": "is how surprised a model is by text: as if it had to choose among so many equally likely tokens; "
    "lower is better.",
}
"""What a measure is, in a sentence that begins with its name."""

MOVES = {1: "closer to neutral", 0: "open", -1: "farther from neutral"}

_NAMED = 5
_WHOLE = 100.0
_LARGE = 1000
_MUCH = 0.25
"""The share of the evidence whose loss is worth a sentence."""


def certificate_sentences(certificate: Certificate) -> list[str]:
    """The verdict in sentences.

    Bias, quality, quality that moved, the trivial baseline, what was not trained on, and over-correction.
    """
    quality = (QUALITY_HEADLINES[certificate.verdict.quality], quality_scope(certificate))
    return [
        f"{BIAS_HEADLINES[certificate.verdict.bias]}{in_brackets(bias_scope(certificate))}. "
        + " ".join(part for part in (bias_detail(certificate), sample_words(certificate)) if part),
        f"{', '.join(part for part in quality if part)}. {quality_detail(certificate)}",
        *([moved] if (moved := moved_quality(certificate)) else []),
        *([trivial] if (trivial := baseline_words(certificate)) else []),
        *([reported] if (reported := reported_words(certificate)) else []),
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
    sentences = [
        sentence
        for row in wholes(certificate.trained)
        for sentence in (_bias_words(row, level=level), _part_words(row, certificate.trained))
        if sentence
    ]
    if certificate.verdict.bias is BiasVerdict.LOWERED:
        return " ".join(sentences)
    open_rows = [row for row in certificate.trained if not row.is_lowered]
    if not open_rows:
        return " ".join([*sentences, "Nothing was measured."])
    neutral_before = [row for row in open_rows if row.difference.defined and not row.leaned]
    others = [row for row in open_rows if row not in neutral_before]
    if neutral_before:
        sentences.append(
            f"{_beginning(neutral_before)} did not clearly lean before, so there is no lean that "
            "could be shown to be lowered."
        )
    if others:
        sentences.append(f"{_beginning(others)} did not clearly come closer to neutral.")
    if others and all(row.part_of for row in others) and not neutral_before:
        sentences.append("So a part of the lean is not shown to be lowered, though the whole is less.")
    return " ".join(sentences)


def sample_words(certificate: Certificate) -> str:
    """Which structures and occupations the figures are over, with those over all of them; nothing if not divided."""
    rows = [row for row in wholes(certificate.whole) if row.experiment and row.difference.defined]
    judged = {row.experiment for row in certificate.trained}
    figures = [
        f"{row.measure.removesuffix(f', {ALL_PROBES}')} went from {unsigned(row.before)} to {unsigned(row.after)}"
        for row in rows
        if row.experiment in judged
    ]
    if not figures or not _changed(certificate):
        return ""
    seen = (
        "that no training saw"
        if certificate.mitigation and certificate.mitigation.unseen
        else "that is held out"
    )
    return f"MALoR is over the half of structures and occupations {seen}; over all of them {listed(figures)}."


def _beginning(rows: Sequence[BiasRow]) -> str:
    """Names of measures at the beginning of a sentence."""
    names = listed([row.measure for row in rows])
    return f"{names[0].upper()}{names[1:]}"


def _part_words(whole: BiasRow, rows: Sequence[BiasRow]) -> str:
    """What became of the parts of a measure."""
    parts = [row for row in rows if row.part_of == whole.measure and row.difference.defined]
    moves = [
        f"its {row.measure.removesuffix(f' {row.experiment}')} went from {unsigned(row.before)} to "
        f"{unsigned(row.after)} ({_part_move(row)})"
        for row in parts
    ]
    sentence = listed(moves)
    return f"{sentence[0].upper()}{sentence[1:]}." if moves else ""


def _part_move(row: BiasRow) -> str:
    return MOVES[row.movement] if row.leaned or row.movement else "not clearly away from 0 before"


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
        f"{_interval_clause(row.difference, level=level, unit=row.unit)}), {says} the margin of {margin_words(row)}."
    )


def quality_outcome(row: QualityRow) -> str:
    """The verdict on one measure of quality, and whether it moved though it was kept."""
    return f"{row.verdict.value} but moved" if _moved_while_kept(row) else row.verdict.value


def moved_quality(certificate: Certificate) -> str:
    """Quality that was kept and is elsewhere all the same; nothing where there is none.

    A mitigation is taught to stay where it was, so a clear move to the better side asks for an explanation too.
    """
    rows = [row for row in certificate.quality if _moved_while_kept(row)]
    if not rows:
        return ""
    moves = listed([_move_words(row, level=_level(certificate)) for row in rows])
    return (
        f"{moves[0].upper()}{moves[1:]}, by more than {'its margin' if len(rows) == 1 else 'their margins'}. A "
        "mitigation should leave quality where it was. Here the model changed in more than its bias: see whether it "
        "learned from text of the kind that it is for."
    )


def reported_words(certificate: Certificate) -> str:
    """What became of figures that are shown and not judged; nothing where there are none."""
    rows = [row for row in certificate.reported if row.difference.defined]
    if not rows or not _changed(certificate):
        return ""
    level = _level(certificate)
    moves = [
        f"its {row.measure} went from {unsigned(row.before)} to {unsigned(row.after)} {row.unit} "
        f"(difference {signed(row.difference.value)}{_interval_clause(row.difference, level=level, unit='')})"
        for row in rows
    ]
    return " ".join([f"Of what the model knows, {listed(moves)}.", *map(_less_sure, rows)]).strip()


def _less_sure(row: ReportedRow) -> str:
    """Of evidence in bits of which much is gone: flatter answers lower every lean."""
    loss = 1 - row.after / row.before if row.before > 0 else 0.0
    if row.unit != "bits" or row.difference.high >= 0 or loss < _MUCH:
        return ""
    return (
        f"So {loss:.0%} of the evidence is gone where another word settles the gender. A lean that falls by no more "
        "than that shows only that answers became flatter."
    )


def _moved_while_kept(row: QualityRow) -> bool:
    return row.moved and row.verdict is QualityVerdict.KEPT


def _move_words(row: QualityRow, *, level: str) -> str:
    """How far a measure fell or rose, with the interval of that."""
    change = row.difference
    bounds = [figure_words(bound) for bound in sorted((abs(change.low), abs(change.high)))]
    unit, between = ("%", "% to ") if row.unit == "%" else (f" {row.unit}", " to ")
    interval = f" ({level} interval {between.join(bounds)}{unit})" if bounds[0] != bounds[1] else ""
    verb = "fell" if change.value < 0 else "rose"
    return f"{row.measure} {verb} by {figure_words(abs(change.value))}{unit}{interval}"


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
    if row.part_of and not row.leaned:
        return ""
    percent = _WHOLE * (abs(row.after) / abs(row.before) - 1)
    return f"{signed(percent, 0)}%"


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
        f"{_interval_clause(row.difference, level=level, unit='')})."
    )


def _interval_clause(estimate: Estimate, *, level: str, unit: str) -> str:
    if not has_interval(estimate):
        return f", {no_interval_words(estimate.low, estimate.reason)}"
    if estimate.low == estimate.high:
        return ", on every item the same" if estimate.low == 0 else ""
    return f", {level} interval {signed_interval(estimate, unit='%' if unit == '%' else '')}"


def _with_unit(value: float, unit: str) -> str:
    return f"{signed(value)}%" if unit == "%" else f"{signed(value)} {unit}"


def _fell(row: BiasRow) -> bool:
    return row.difference.defined and row.difference.high < 0


def _changed(certificate: Certificate) -> bool:
    return certificate.verdict.bias is not BiasVerdict.NOTHING_CHANGED


def _level(certificate: Certificate) -> str:
    return f"{certificate.statistics.confidence:.0%}"


def definitions(certificate: Certificate) -> list[tuple[str, str]]:
    """The measures that a certificate names, each with what it is."""
    measures = [row.measure for row in (*certificate.trained, *certificate.untrained)]
    measures += [row.measure for row in certificate.quality]
    if certificate.baseline:
        measures.append("trivial baseline")
    if any(measure.startswith("ICAT") for measure in measures):
        measures += ["LMS", "SS"]
    return [
        (name, says)
        for name, says in DEFINITIONS.items()
        if any(measure.casefold().startswith(name.casefold()) for measure in measures)
    ]


def turned_words(turned: int, clearly: int, *, of: int) -> str:
    """How many occupations of an experiment changed sides, and for how many chance is no explanation."""
    if not turned:
        return "No occupation is on the other side than before."
    many = f"{turned} of {of} occupations {'is' if turned == 1 else 'are'} on the other side than before"
    if turned == 1:
        return f"{many}, {'' if clearly else 'not '}more clearly than chance allows."
    return f"{many}, {clearly or 'none'} of them more clearly than chance allows."


def without_interval(rows: tuple[BiasRow, ...]) -> list[str]:
    """Each figure that stands without an interval, with the reason."""
    return [
        f"{row.measure} {side}: {why}"
        for row in rows
        for side, value, ends in (
            ("before", row.before, row.before_interval),
            ("after", row.after, row.after_interval),
        )
        if math.isfinite(value) and (why := no_interval_words(ends.low, ends.reason))
    ]
