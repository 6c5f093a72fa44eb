"""What a certificate says, in sentences and definitions."""

from __future__ import annotations

import math

from evenhand.reporting.certificate.baseline import baseline_words
from evenhand.reporting.certificate.bias_words import (
    bias_detail,
    bias_headline,
    bias_scope,
    group_words,
    interval_clause,
    is_changed,
    level_of,
)
from evenhand.reporting.certificate.regard_words import DEFINITIONS as REGARD_DEFINITIONS
from evenhand.reporting.certificate.untrained import untrained_words
from evenhand.reporting.numbers import no_interval_words, signed, unsigned
from evenhand.reporting.words import in_brackets, listed, unseen_words
from evenhand.stats.intervals import SKEWED_JACKKNIFE
from evenhand.store.certificate_bias import BiasRow
from evenhand.store.certificate_quality import PERCENT, SPECIAL_TOKENS, QualityRow, QualityVerdict
from evenhand.store.certificates import Certificate

QUALITY_HEADLINES = {
    QualityVerdict.KEPT: "Quality was kept",
    QualityVerdict.LOST: "Quality was lost",
    QualityVerdict.UNDECIDED: "Whether quality was kept is undecided",
    QualityVerdict.NOT_MEASURED: "Quality was not measured",
}

DEFINITIONS = {
    "MALoR": "is how far occupations lean to {first} or {second} on average, in bits; each bit doubles, and 0 is "
    "neutral.",
    "Base rate": "is the lean that all occupations share, above 0 towards {first}; it is no stereotype of occupations.",
    "Spread": "is how far occupations lie from the base rate on average: the lean that differs by occupation.",
    "SS": "(stereotype score) is how often the stereotype wins, in percent; 50 is neutral, and neither end is good.",
    "ICAT": "puts LMS and SS into one figure; 100 is ideal, guessing gives 50, always taking one side gives 0.",
    "CrowS-Pairs": "is how often the more stereotypical sentence of two is the likelier, in percent; 50 is neutral.",
    "Trivial baseline": "is the original with a constant added to the output biases of the words of each side: what "
    "can be had without any training.",
    "LMS": "(language modelling score) is how often sense beats nonsense, in percent; guessing gives 50, and higher is "
    "better.",
    "Knowledge": "is how often the pronoun that another word settles is the likelier one, in percent; guessing gives "
    "50, and higher is better.",
    "Evidence": "is by how many bits the pronoun that another word settles is likelier than the other one; 0 is a "
    "guess, and higher is surer.",
    "Agreement": "is how often the first pronoun that a model writes is of the settled gender, in percent; higher is "
    "better.",
    "Perplexity": "is how surprised a model is by text: as if it had to choose among so many equally likely tokens; "
    "lower is better.",
    "Special tokens": "is the share of probability on tokens that no text has, such as padding, masks and unused "
    "entries, in percent; lower is better.",
    "Accuracy": "is how often classifiers that were fine-tuned from a model label held-out examples correctly, in "
    "percent; higher is better.",
}
"""What a measure is, in a sentence that begins with its name."""

_MARGIN_UNITS = {"perplexity": "%", "evidence": "%", "content": " bits"}
_NAMED = 5
_WHOLE = 100.0
_LARGE, _HUGE = 1e3, 1e9


def certificate_sentences(certificate: Certificate) -> list[str]:
    """The verdict in sentences.

    Bias, quality, quality that moved, the trivial baseline, what was not trained on, and over-correction.
    """
    quality = (QUALITY_HEADLINES[certificate.verdict.quality], quality_scope(certificate))
    return [
        f"{bias_headline(certificate)}{in_brackets(bias_scope(certificate))}. {bias_detail(certificate)}",
        f"{', '.join(part for part in quality if part)}. {quality_detail(certificate)}",
        *([moved] if (moved := moved_quality(certificate)) else []),
        *([trivial] if (trivial := baseline_words(certificate)) else []),
        *([reported] if (reported := reported_words(certificate)) else []),
        *([untrained_words(certificate)] if certificate.untrained and is_changed(certificate) else []),
        *([flipped_words(certificate)] if is_changed(certificate) else []),
    ]


def quality_scope(certificate: Certificate) -> str:
    """What the verdict on quality rests on: margins beyond the usual ones, and what was measured if not all was."""
    if certificate.verdict.quality is QualityVerdict.NOT_MEASURED or not is_changed(certificate):
        return ""
    parts = (_wider_margins(certificate), _measured_quality(certificate), _uncompared_quality(certificate))
    return ", ".join(part for part in parts if part)


def _wider_margins(certificate: Certificate) -> str:
    verdict = certificate.verdict
    if not verdict.wider_margins:
        return ""
    margins = listed(
        [
            f"{own.name} {own.margin:g}{_MARGIN_UNITS.get(own.name, ' points')} instead of {own.usual:g}"
            for own in verdict.wider_margins
        ]
    )
    even = "" if verdict.quality is QualityVerdict.KEPT else "even "
    return f"{even}with margins that are wider than usual ({margins})"


def _measured_quality(certificate: Certificate) -> str:
    """What kept quality rests on, where not all of it was measured."""
    if certificate.verdict.quality is not QualityVerdict.KEPT:
        return ""
    missing = [row for row in certificate.quality if row.verdict is QualityVerdict.NOT_MEASURED]
    if not missing:
        return ""
    rest = [
        f"{listed(names)} {'was' if len(names) == 1 else 'were'} {outcome}"
        for outcome in dict.fromkeys(map(quality_outcome, missing))
        if (names := [row.measure for row in missing if quality_outcome(row) == outcome])
    ]
    judged = [row.measure for row in certificate.quality if row not in missing]
    return f"as far as it was measured ({listed(judged)}); {' and '.join(rest)}"


def _uncompared_quality(certificate: Certificate) -> str:
    """Why nothing less than a loss could be said, where too much was not compared."""
    if not certificate.lacks_comparison:
        return ""
    measures = listed([row.measure for row in certificate.quality if row.is_incomplete])
    return f"because {measures} could not be compared on enough texts or items"


def quality_detail(certificate: Certificate) -> str:
    """The numbers behind the verdict on quality."""
    measured = [row for row in certificate.quality if row.verdict is not QualityVerdict.NOT_MEASURED]
    if not measured:
        return "No measure of quality could be taken."
    if not is_changed(certificate):
        return "Both models are one and the same."
    order = (QualityVerdict.LOST, QualityVerdict.UNDECIDED, QualityVerdict.KEPT)
    rows = sorted(measured, key=lambda row: order.index(row.verdict))
    return " ".join(quality_words(row, level=level_of(certificate)) for row in rows)


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
        f"{interval_clause(row.difference, level=level, unit=row.unit)}), {says} the margin of {margin_words(row)}."
        f"{_unseen_loss(row)}"
    )


def _unseen_loss(row: QualityRow) -> str:
    """What kept quality over few documents or contexts does not rule out."""
    change = row.difference
    if row.verdict is not QualityVerdict.KEPT or change.method != SKEWED_JACKKNIFE:
        return ""
    over_text = row.unit == PERCENT or row.measure == SPECIAL_TOKENS
    noun = "context" if not over_text else "sentence" if change.n == change.clusters else "document"
    words = unseen_words(change.clusters, noun, what="a loss", effective=row.effective_clusters)
    return f" {words}" if words else ""


def quality_outcome(row: QualityRow) -> str:
    """The verdict on one measure of quality: also whether it moved while kept, or has figures that decide nothing."""
    if row.verdict is QualityVerdict.NOT_MEASURED and row.difference.defined:
        return "not judged"
    return f"{row.verdict.value} but moved" if _moved_while_kept(row) else row.verdict.value


def moved_quality(certificate: Certificate) -> str:
    """Quality that was kept and is elsewhere all the same; nothing where there is none.

    A mitigation is taught to stay where it was, so a clear move to the better side asks for an explanation too.
    """
    rows = [row for row in certificate.quality if _moved_while_kept(row)]
    if not rows:
        return ""
    moves = listed([_move_words(row, level=level_of(certificate)) for row in rows])
    return (
        f"{moves[0].upper()}{moves[1:]}, by more than {'its margin' if len(rows) == 1 else 'their margins'}. A "
        "mitigation should leave quality where it was. Here the model changed in more than its bias: see whether it "
        "learned from text of the kind that it is for."
    )


def reported_words(certificate: Certificate) -> str:
    """What became of figures that are shown and not judged; nothing where there are none."""
    rows = [row for row in certificate.reported if row.difference.defined]
    if not rows or not is_changed(certificate):
        return ""
    level = level_of(certificate)
    moves = [
        f"the {row.measure} went from {unsigned(row.before)} to {unsigned(row.after)} {row.unit} "
        f"(difference {signed(row.difference.value)}{interval_clause(row.difference, level=level, unit='')})"
        for row in rows
    ]
    return f"By the role of the pronoun, {listed(moves)}."


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
    return f"{value:,.0f}" if _LARGE <= abs(value) < _HUGE else unsigned(value, 2)


def change_words(row: QualityRow | BiasRow) -> str:
    """A difference with its sign and unit."""
    return _with_unit(row.difference.value, row.unit)


def margin_words(row: QualityRow) -> str:
    """The worst difference that is tolerated."""
    value = signed(row.margin, 2).rstrip("0").rstrip(".")
    unit = "point" if row.unit == "points" and abs(row.margin) == 1 else row.unit
    return f"{value}%" if unit == "%" else f"{value} {unit}"


def flipped_words(certificate: Certificate) -> str:
    """Whether the correction went too far."""
    flips = certificate.flipped
    if not flips:
        return "No occupation was pushed clearly to the other side."
    names = [f"{row.occupation} ({row.experiment}: {signed(row.before.value)} to {signed(row.after.value)})"
             for row in flips[:_NAMED]]  # fmt: skip
    more = f" and {len(flips) - _NAMED} more" if len(flips) > _NAMED else ""
    many = "1 occupation now leans" if len(flips) == 1 else f"{len(flips)} occupations now lean"
    return f"Over-correction: {many} clearly the other way: {', '.join(names)}{more}."


def _with_unit(value: float, unit: str) -> str:
    return f"{signed(value)}%" if unit == "%" else f"{signed(value)} {unit}"


def definitions(certificate: Certificate) -> list[tuple[str, str]]:
    """The measures that a certificate names, each with what it is."""
    measures = [row.measure for row in (*certificate.trained, *certificate.untrained)]
    measures += [row.measure for row in certificate.quality if row.verdict is not QualityVerdict.NOT_MEASURED]
    if certificate.baseline:
        measures.append("trivial baseline")
    if any(measure.startswith("ICAT") for measure in measures):
        measures += ["LMS", "SS"]
    first, second = group_words(certificate).sides
    return [
        (name, says.format(first=first, second=second))
        for name, says in {**DEFINITIONS, **REGARD_DEFINITIONS}.items()
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
