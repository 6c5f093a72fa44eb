"""What a certificate says about the bias that was trained on."""

from __future__ import annotations

import math
from collections.abc import Sequence

from evenhand.core.estimates import Estimate
from evenhand.core.probes import GENDERS
from evenhand.reporting.certificate.regard_words import regard_headline
from evenhand.reporting.certificate.untrained import wholes
from evenhand.reporting.group_words import GroupWords, words_for_all
from evenhand.reporting.numbers import has_interval, no_interval_words, signed, signed_interval, unsigned
from evenhand.reporting.words import listed
from evenhand.store.certificate_bias import (
    ALL_PROBES,
    BiasRow,
    BiasVerdict,
    FlattenedRow,
    verdicts_by_measure,
)
from evenhand.store.certificates import Certificate

MOVES = {1: "closer to neutral", 0: "open", -1: "farther from neutral"}

_WHOLE = 100.0
_MUCH = 0.1
"""The share of the evidence whose loss is worth a sentence."""


def group_words(certificate: Certificate) -> GroupWords:
    """What the groups are called that were trained on, or of all experiments where none was."""
    trained = [row.experiment for row in certificate.trained if row.experiment]
    measured = [row.experiment for row in certificate.untrained if row.experiment]
    return words_for_all(certificate.groups.get(name, GENDERS) for name in trained or measured)


def bias_headline(certificate: Certificate) -> str:
    """The verdict on bias in a few words."""
    if about_regard := regard_headline(certificate):
        return about_regard
    lean = group_words(certificate).lean
    lean = f"{lean[0].upper()}{lean[1:]}"
    match certificate.verdict.bias:
        case BiasVerdict.NOTHING_CHANGED:
            return "Nothing changed"
        case BiasVerdict.LOWERED:
            return f"{lean} was lowered{_direction(certificate)}"
        case BiasVerdict.BASE_RATE:
            return f"Only the base rate{_of_some(certificate, BiasVerdict.BASE_RATE)} was lowered"
        case BiasVerdict.FLATTER:
            some = _of_some(certificate, BiasVerdict.FLATTER).replace(" of ", " in ", 1)
            return f"Answers only became flatter{some}"
        case _:
            return f"{lean} is not shown to be lowered"


def _direction(certificate: Certificate) -> str:
    """In which direction a lean was lowered: that of the training, or both; nothing where it has no direction."""
    trained = [row.measure for row in wholes(certificate.trained) if row.experiment]
    reverse = [
        row
        for row in wholes(certificate.untrained)
        if row.direction and row.measure.rpartition(" ")[0] in trained and row.difference.defined
    ]
    if not trained:
        return ""
    only_flatter = {row.measure for row in certificate.flattened if not row.fell_more}
    if reverse and all(row.movement > 0 and row.measure not in only_flatter for row in reverse):
        return " in both directions"
    return " in the direction that was trained" if reverse else " in the one direction that was asked"


def _of_some(certificate: Certificate, verdict: BiasVerdict) -> str:
    """The measures with a verdict, where others have a better one."""
    found = verdicts_by_measure(certificate.trained, flattened=certificate.flattened)
    own = [measure for measure, said in found.items() if said is verdict]
    return "" if len(own) == len(found) else f" of {listed(own)}"


def bias_scope(certificate: Certificate) -> str:
    """What the verdict on bias is about, and what it stands without."""
    if not is_changed(certificate):
        return ""
    scope = (
        f"judged by what {_purpose(certificate)} for"
        if certificate.trained_known
        else "judged on all experiments, as it is not known which were trained on"
    )
    baseline = certificate.baseline
    without = [
        name
        for name, is_missing in (
            ("a trivial baseline", baseline is not None and not baseline.reached),
            ("evidence", not certificate.flattened),
        )
        if is_missing and any(row.experiment for row in certificate.trained)
    ]
    return f"{scope}, without {' and without '.join(without)} to compare with" if without else scope


def _purpose(certificate: Certificate) -> str:
    """What was done to lower the bias."""
    mitigation = certificate.mitigation
    return "the trigger was searched" if mitigation and mitigation.method == "trigger" else "it was trained"


def bias_detail(certificate: Certificate) -> str:
    """The numbers behind the verdict on bias."""
    if not is_changed(certificate):
        return "The weights of both models are the same, tensor by tensor, so every measure is."
    level = level_of(certificate)
    figures = [
        sentence
        for row in wholes(certificate.trained)
        for sentence in (_bias_words(row, level=level), _part_words(row, certificate.trained))
        if sentence
    ]
    reasons = _reasons(certificate) if certificate.verdict.bias is not BiasVerdict.LOWERED else []
    parts = [*figures, *reasons, flattened_words(certificate), sample_words(certificate)]
    return " ".join(part for part in parts if part)


def _reasons(certificate: Certificate) -> list[str]:
    """Why the lean is not shown to be lowered, or only a part of it."""
    if not certificate.trained:
        return ["Nothing was measured."]
    verdicts = verdicts_by_measure(certificate.trained, flattened=certificate.flattened)
    shifted, open_rows = [], []
    for row in certificate.trained:
        verdict = verdicts[row.part_of or row.measure]
        if verdict is BiasVerdict.BASE_RATE and row.is_spread:
            shifted.append(row)
        elif verdict is BiasVerdict.NOT_LOWERED and not _is_closer(row):
            open_rows.append(row)
    sentences = []
    if shifted:
        sentences.append(
            f"That occupations differ less is not shown ({listed([row.measure for row in shifted])}), so all that is "
            "shown could be had by one constant."
        )
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
    return sentences


def _is_closer(row: BiasRow) -> bool:
    """Whether it came closer; a base rate that was not clearly away from neutral has but to stay there."""
    return row.movement > 0 or (
        row.part_of is not None and not row.is_spread and not row.leaned and row.movement == 0
    )


def flattened_words(certificate: Certificate) -> str:
    """How far leans fell beside the evidence; nothing where none fell, or all is clear and hardly any of it is gone."""
    fell = {row.experiment for row in wholes(certificate.trained) if row.movement > 0}
    rows = [row for row in certificate.flattened if row.experiment in fell]
    if not is_changed(certificate):
        return ""
    told = [
        row
        for row in rows
        if row.part_of is None and (row.kept.value < 1 - _MUCH or not _is_clear(row, rows))
    ]
    return " ".join(_flattened_sentence(row, rows) for row in told)


def _is_clear(whole: FlattenedRow, rows: Sequence[FlattenedRow]) -> bool:
    return all(row.fell_more for row in rows if whole.measure in (row.measure, row.part_of))


def _flattened_sentence(whole: FlattenedRow, rows: Sequence[FlattenedRow]) -> str:
    own = [row for row in rows if whole.measure in (row.measure, row.part_of)]
    left = min(1.0, max(0.0, whole.kept.low))
    figures = listed([f"{row.measure} {unsigned(row.flattened)}" for row in own])
    less, open_ones = ([row.measure for row in own if row.fell_more is side] for side in (True, False))
    verdict = "; ".join(
        part
        for part in (
            f"the model is clearly below that in {listed(less)}" if less else "",
            f"it is not clearly below that in {listed(open_ones)}" if open_ones else "",
        )
        if part
    )
    return (
        f"Where another word settles the pronoun, {max(0.0, whole.kept.value):.0%} of the evidence is left "
        f"({left:.0%} at least). Answers that are flatter by so much would give {figures} without any other change: "
        f"{verdict}."
    )


def sample_words(certificate: Certificate) -> str:
    """Which structures and occupations the figures are over, with those over all of them; nothing if not divided."""
    rows = [row for row in wholes(certificate.whole) if row.experiment and row.difference.defined]
    judged = {row.experiment for row in certificate.trained}
    figures = [
        f"{row.measure.removesuffix(f', {ALL_PROBES}')} went from {unsigned(row.before)} to {unsigned(row.after)}"
        for row in rows
        if row.experiment in judged
    ]
    if not figures or not is_changed(certificate):
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


def relative_words(row: BiasRow) -> str:
    """How much of a measure whose neutral value is 0 went away, in percent of before."""
    if row.neutral != 0 or not row.before or math.isnan(row.before) or math.isnan(row.after):
        return ""
    if row.part_of and not row.leaned:
        return ""
    percent = _WHOLE * (abs(row.after) / abs(row.before) - 1)
    return f"{signed(percent, 0)}%"


def _bias_words(row: BiasRow, *, level: str) -> str:
    name = row.measure[0].upper() + row.measure[1:]
    if not row.difference.defined:
        return f"{name} is undefined: {row.difference.reason}."
    relative = relative_words(row)
    verb = "fell" if _fell(row) else "went"
    return (
        f"{name} {verb} from {unsigned(row.before)} to {unsigned(row.after)} {row.unit} "
        f"({f'{relative}; ' if relative else ''}difference {signed(row.difference.value)}"
        f"{interval_clause(row.difference, level=level, unit='')})."
    )


def interval_clause(estimate: Estimate, *, level: str, unit: str) -> str:
    """The interval of a difference, or why there is none, as the end of a clause."""
    if not has_interval(estimate):
        return f", {no_interval_words(estimate.low, estimate.reason)}"
    if estimate.low == estimate.high:
        return ", on every item the same" if estimate.low == 0 else ""
    return f", {level} interval {signed_interval(estimate, unit='%' if unit == '%' else '')}"


def _fell(row: BiasRow) -> bool:
    return row.difference.defined and row.difference.high < 0


def is_changed(certificate: Certificate) -> bool:
    """Whether the models differ at all."""
    return certificate.verdict.bias is not BiasVerdict.NOTHING_CHANGED


def level_of(certificate: Certificate) -> str:
    """The confidence level of all intervals, in percent."""
    return f"{certificate.statistics.confidence:.0%}"
